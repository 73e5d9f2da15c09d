//! The end of a sender.

use std::sync::atomic::Ordering;
use std::time::Duration;

use super::chunks::Chunks;
use crate::send::work::{GivenUp, Verdict};

/// The end of a sender.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    Delivered(Totals),
    /// Everything else is delivered.
    ChunksFailed(Vec<GivenUp>),
    /// The ends have different files; in words.
    DigestMismatch(String),
    Stopped,
    /// Another sender finishes, and tells how the transfer has ended.
    LeftToAnother,
    Fenced,
}

/// Counts of what was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Totals {
    pub bytes: u64,
    pub files: u64,
    pub chunks: u64,
    /// Payload bytes sent, resent ones included.
    pub sent_bytes: u64,
    /// Bytes of those for which nothing went out: of holes, and by packing.
    pub saved_bytes: u64,
    /// Bytes of chunks that went out on a second path too, since the first was cut off or late.
    pub hedged_bytes: u64,
    /// Chunks that were sent again since the files at the end differed.
    pub repaired_chunks: u64,
    /// Entries that were left out; bytes and files are without them.
    pub skipped: u64,
    /// Entries that are kept of what the transfer has replaced or removed.
    pub kept: u64,
    /// Bytes of large files that the receiver has copied to other inodes, and how long it gathered.
    pub copied_bytes: u64,
    pub gathering: Duration,
}

/// The chunks that were given up, in words.
#[must_use]
pub fn describe(chunks: &[GivenUp]) -> String {
    match chunks.iter().min_by_key(|given_up| given_up.chunk) {
        Some(first) => format!(
            "{} chunks failed, all others are delivered; the first: chunk {} ({}): {}",
            chunks.len(),
            first.chunk,
            first.path,
            first.reason
        ),
        None => "no chunk failed".to_owned(),
    }
}

fn totals(chunks: &Chunks, repaired_chunks: u64) -> Totals {
    let (counters, left_out) = (&chunks.counters, chunks.skipped.sum());
    let count = |counter: &std::sync::atomic::AtomicU64| counter.load(Ordering::Relaxed);
    let [bytes, chunks_elsewhere, files] = counters.elsewhere.each_ref().map(count);
    Totals {
        bytes: (count(&counters.bytes) + bytes).saturating_sub(left_out.bytes),
        files: (count(&counters.files) + files).saturating_sub(left_out.entries),
        chunks: count(&counters.chunks) + chunks_elsewhere,
        sent_bytes: count(&counters.moved),
        saved_bytes: count(&counters.saved).min(count(&counters.moved)),
        hedged_bytes: chunks.queue.hedged_bytes(),
        repaired_chunks,
        skipped: left_out.entries,
        kept: count(&counters.kept),
        copied_bytes: count(&counters.copied),
        gathering: Duration::from_millis(count(&counters.gathering_ms)),
    }
}

/// What a transfer comes to by the verdict of the two ends; `repaired_chunks` were sent again.
pub fn outcome(chunks: &Chunks, repaired_chunks: u64, verdict: Verdict) -> Outcome {
    let given_up = chunks.queue.given_up();
    match verdict {
        Verdict { agreed: false, message } => Outcome::DigestMismatch(message),
        Verdict { .. } if given_up.is_empty() => Outcome::Delivered(totals(chunks, repaired_chunks)),
        Verdict { .. } => Outcome::ChunksFailed(given_up),
    }
}
