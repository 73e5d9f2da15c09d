//! Why a chunk was not sent to its end.

use crate::ends::SourceFailure;
use crate::transport::stream::StreamError;

/// Why a chunk was not sent to its end.
#[derive(Debug)]
pub enum ChunkError {
    /// A failure of one file, which is left out.
    Source(SourceFailure),
    /// The plan is wrong about the chunk; the stream goes on.
    Plan(String),
    /// The receiver has refused the chunk before its end; the stream goes on.
    Answered,
    /// The stream's fault.
    Stream(StreamError),
}

impl<E: Into<StreamError>> From<E> for ChunkError {
    fn from(error: E) -> Self {
        Self::Stream(error.into())
    }
}
