//! What has gone out of a chunk.

use crate::digest::Digest;
use crate::ends::Version;

/// Digests that count once the chunk is acknowledged.
#[derive(Clone, Debug)]
pub enum Sent {
    /// One part of a large file: entry, size of the file, offset, state of the file that was read, chaining value.
    Part { entry: u64, size: u64, offset: u64, state: Version, digest: Digest },
    /// Whole files, links and directories by entry.
    Whole(Vec<(u64, Digest)>),
}
