//! Reads chunks ahead of the lanes: leases a range, reads its items and their manifest lines.

use std::sync::Arc;

use super::error::SendError;
use super::manifests::{Manifests, adjacent};
use super::questions::Questions;
use super::settled::Chunks;
use crate::control::Control;
use crate::defaults::WATCH_INTERVAL;
use crate::documents::chunk::{Chunk, ChunkState};
use crate::documents::plan::TransferPlan;
use crate::stop::Stop;

/// The loop that reads the plan.
pub struct Feeder {
    /// As it was at the beginning.
    pub plan: TransferPlan,
    pub plan_key: String,
    /// Names this process in leases.
    pub owner: String,
    pub epoch: u64,
    pub control: Arc<dyn Control>,
    pub manifests: Manifests,
    pub questions: Arc<Questions>,
    pub chunks: Arc<Chunks>,
    pub stop: Stop,
}

impl Feeder {
    /// Feeds the work queue with all chunks in order, as far as they are planned; follows the plan until it is whole.
    pub fn run(&self) -> Result<(), SendError> {
        let mut plan = self.plan.clone();
        let mut fed = 0;
        loop {
            if !self.feed(&plan, fed)? {
                return Ok(());
            }
            fed = plan.chunks;
            if !plan.open {
                return Ok(());
            }
            plan = match self.next(fed) {
                Some(plan) => plan,
                None => return Ok(()),
            };
            if !plan.open {
                self.chunks.planned(&plan);
            }
        }
    }

    /// The plan once it has more than `fed` chunks or is whole; none when the process ends.
    fn next(&self, fed: u64) -> Option<TransferPlan> {
        while !self.stop.sleep(WATCH_INTERVAL) && !self.chunks.queue.is_over() {
            let read = self.control.read_object(&self.plan_key, None).map_err(|error| error.to_string());
            match read.and_then(|text| TransferPlan::parse(&text)) {
                Ok(plan) if plan.plan_id != self.plan.plan_id => tracing::warn!(key = self.plan_key, "another plan"),
                Ok(plan) if plan.chunks > fed || !plan.open => return Some(plan),
                Ok(_) => {}
                // Whoever takes the transfer down removes the plan first and fences this process next.
                Err(why) => tracing::warn!(key = self.plan_key, why, "plan"),
            }
        }
        None
    }

    /// Feeds what `plan` has beyond its first `fed` chunks; `false` once the work queue is closed.
    fn feed(&self, plan: &TransferPlan, fed: u64) -> Result<bool, SendError> {
        let begin = plan.first_range * plan.range_size;
        let (first, end) = (begin + fed, begin + plan.chunks);
        let partly_fed = |range: &u64| fed < plan.chunks && (range + 1) * plan.range_size > first;
        for range in plan.ranges().filter(partly_fed) {
            let lease = || Ok(self.control.lease(range, &self.owner, self.epoch)?);
            let items = || Ok(self.control.range_chunks(range)?);
            let Some(()) = self.questions.until_answered("lease", lease)? else { return Ok(false) };
            let Some(items) = self.questions.until_answered("chunks", items)? else { return Ok(false) };
            // What the planner has written beyond the plan may be written once more.
            let chunks: Vec<Chunk> = items.into_iter().filter(|chunk| (first..end).contains(&chunk.chunk)).collect();
            let expected = end.min((range + 1) * plan.range_size) - first.max(range * plan.range_size);
            if let Some(other) = chunks.iter().find(|chunk| chunk.plan_id != plan.plan_id) {
                return Err(SendError::Plan(format!("chunk {} is of plan {}, not of {}", other.chunk, other.plan_id, plan.plan_id)));
            }
            if chunks.len() as u64 != expected {
                return Err(SendError::Plan(format!(
                    "range {range} holds {} of the plan's chunks; the plan says {expected}",
                    chunks.len()
                )));
            }
            if !self.feed_range(&chunks)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn feed_range(&self, chunks: &[Chunk]) -> Result<bool, SendError> {
        // First what is settled: the last phase waits for it, and a full work queue would wait for the last phase.
        self.chunks.settled_before(chunks.iter().filter(|chunk| chunk.state != ChunkState::Pending));
        for run in adjacent(chunks.iter().filter(|chunk| chunk.state == ChunkState::Pending)) {
            let Some(works) = self.questions.until_answered("manifest", || self.manifests.read(&run))? else { return Ok(false) };
            for (chunk, work) in works {
                if chunk.failed_attempt == Some(chunk.attempt) {
                    self.chunks.queue.feed_undecided(work);
                } else if !self.chunks.queue.feed(work) {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }
}

#[cfg(test)]
#[path = "feeder_tests.rs"]
mod tests;
