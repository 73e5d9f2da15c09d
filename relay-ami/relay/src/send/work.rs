//! An attempt at a chunk, and how a chunk and a transfer end.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// One attempt at one chunk.
#[derive(Clone, Debug)]
pub struct Work {
    pub chunk: u64,
    pub attempt: u32,
    pub phase: u8,
    pub bytes: u64,
    /// Files and links that it completes.
    pub files: u64,
    /// The chunk's lines of the manifest.
    pub manifest: Arc<[u8]>,
    /// It was delivered before, and the receiver's file differs all the same.
    pub again: bool,
    pub flight: Arc<Flight>,
}

/// State that all copies of one attempt share.
#[derive(Debug, Default)]
pub struct Flight {
    is_settled: AtomicBool,
    is_out: AtomicBool,
}

impl Flight {
    /// The receiver has acknowledged a copy; whether it is the first one.
    pub fn settle(&self) -> bool {
        !self.is_settled.swap(true, Ordering::SeqCst)
    }

    pub fn is_settled(&self) -> bool {
        self.is_settled.load(Ordering::SeqCst)
    }

    /// One lane has sent all of it: only its acknowledgement is missing.
    pub fn goes_out(&self) {
        self.is_out.store(true, Ordering::SeqCst);
    }

    pub fn is_out(&self) -> bool {
        self.is_out.load(Ordering::SeqCst)
    }
}

/// A chunk that the retry policy gave up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GivenUp {
    pub chunk: u64,
    /// First path of the chunk, percent-encoded.
    pub path: String,
    pub reason: String,
}

/// The parting of the two ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    pub agreed: bool,
    pub message: String,
}
