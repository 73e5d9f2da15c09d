//! From the disk to the table.

use std::sync::Arc;
use std::time::Duration;

use super::queue::CommitQueue;
use super::verified::Verified;
use crate::control::{Control, Delivery, Undelivered};
use crate::documents::event::FailureReason;
use crate::receive::files::{Refusal, Site};
use crate::stop::Stop;
use crate::under_way::UnderWay;
use crate::wire::frame::Frame;

/// A batch that is on the disk and that the table has yet to take.
pub struct OnDisk {
    pub deliveries: Vec<Delivery>,
    /// Each with the entries that are complete by it.
    pub placed: Vec<(Verified, u64)>,
    /// Chunks that are settled by it, and the memory of all of them.
    pub chunks: u64,
    pub memory: usize,
}

/// Checkpoints batches, and acknowledges them.
pub struct Checkpoint {
    pub site: Arc<Site>,
    pub verified: Arc<CommitQueue<Verified>>,
    pub control: Arc<dyn Control>,
    /// Calls of the control plane.
    pub asked: Arc<UnderWay>,
    pub stop: Stop,
}

impl Checkpoint {
    /// Tells the table, then the sender.
    pub fn acknowledge(&self, batch: OnDisk) {
        let OnDisk { deliveries, placed, chunks, memory } = batch;
        if let Some(moved_on) = self.checkpoint(&deliveries) {
            for (chunk, entries) in placed {
                // The sender looks the chunk up: the table says how it goes on.
                if let Some(other) = moved_on.iter().find(|other| other.chunk == chunk.chunk) {
                    let refusal = Refusal::Failed { reason: FailureReason::StreamLost, message: other.why.clone() };
                    self.site.refuse(&chunk.replies, chunk.chunk, chunk.attempt, refusal);
                    continue;
                }
                self.site.counters.delivered(chunk.bytes, entries);
                // A broken stream: the sender finds the chunk DELIVERED in the table.
                let _ = chunk.replies.send(&Frame::Ack { chunk: chunk.chunk, attempt: chunk.attempt });
            }
        }
        self.verified.settle(chunks, memory);
    }

    /// Tries until the table takes the results or the process is told to stop: the bytes are safe, so nothing is to be undone.
    /// What the table has otherwise is returned.
    fn checkpoint(&self, deliveries: &[Delivery]) -> Option<Vec<Undelivered>> {
        let _call = self.asked.enter();
        let mut pause = Duration::from_millis(500);
        loop {
            match self.control.deliver(deliveries) {
                Ok(undelivered) => return Some(undelivered),
                Err(error) => tracing::warn!(%error, chunks = deliveries.len(), "checkpoint"),
            }
            if self.stop.sleep(pause) {
                return None;
            }
            pause = (pause * 2).min(Duration::from_secs(10));
        }
    }
}
