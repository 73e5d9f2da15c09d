//! What the lanes of a sender have in common.

use std::sync::Arc;
use std::time::Instant;

use super::lease::Lease;
use crate::send::error::Trouble;
use crate::send::reading::Reading;
use crate::send::settled::{Chunks, Ending};
use crate::send::streams::{Blame, Hearing, Pace, Streams};
use crate::stop::Stop;

/// What a lane opens its streams by, takes its chunks from and reads them with, and what lanes know of each other.
pub struct Common {
    pub streams: Arc<Streams>,
    pub chunks: Arc<Chunks>,
    pub reading: Reading,
    pub ending: Arc<Ending>,
    pub hearing: Arc<Hearing>,
    pub blame: Blame,
    pub pace: Pace,
    pub lease: Lease,
    pub trouble: Arc<Trouble>,
    pub stop: Stop,
}

impl Common {
    /// Sets money for so many bytes aside, if there is enough.
    pub fn affords(&self, bytes: u64) -> bool {
        self.lease.set_aside(bytes, self.chunks.counters.sent(), Instant::now())
    }
}
