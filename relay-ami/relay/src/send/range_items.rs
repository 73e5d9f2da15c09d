//! The chunk items of ranges, and their way into the work queue.

use std::ops::Range;
use std::sync::Arc;

use super::error::SendError;
use super::manifests::{Manifests, adjacent};
use super::questions::Questions;
use super::settled::{Chunks, Origin};
use crate::control::Control;
use crate::documents::chunk::{Chunk, ChunkState};
use crate::documents::plan::TransferPlan;

/// Reads ranges of the chunk table, and feeds what they hold.
pub struct RangeItems {
    pub control: Arc<dyn Control>,
    pub manifests: Manifests,
    pub questions: Arc<Questions>,
    pub chunks: Arc<Chunks>,
}

impl RangeItems {
    /// The items of a range that the plan names, of those `within`; none once the work queue is closed. What the planner has written
    /// beyond the plan may be written once more.
    pub fn read(&self, plan: &TransferPlan, range: u64, within: &Range<u64>) -> Result<Option<Vec<Chunk>>, SendError> {
        let items = || Ok(self.control.range_chunks(range)?);
        let Some(items) = self.questions.until_answered("chunks", items)? else { return Ok(None) };
        let chunks: Vec<Chunk> = items.into_iter().filter(|chunk| within.contains(&chunk.chunk)).collect();
        let expected = within.end.min((range + 1) * plan.range_size) - within.start.max(range * plan.range_size);
        if let Some(other) = chunks.iter().find(|chunk| chunk.plan_id != plan.plan_id) {
            return Err(SendError::Plan(format!("chunk {} is of plan {}, not of {}", other.chunk, other.plan_id, plan.plan_id)));
        }
        if chunks.len() as u64 != expected {
            return Err(SendError::Plan(format!("range {range} holds {} of the plan's chunks; the plan says {expected}", chunks.len())));
        }
        Ok(Some(chunks))
    }

    /// Feeds chunks of one range; `false` once the work queue is closed.
    pub fn feed(&self, chunks: &[Chunk], origin: Origin) -> Result<bool, SendError> {
        // First what is settled: the last phase waits for it, and a full work queue would wait for the last phase.
        self.chunks.settled_before(chunks.iter().filter(|chunk| chunk.state != ChunkState::Pending), origin);
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
