//! Reads chunks ahead of the lanes: leases a range, reads its items and their manifest lines.

use std::sync::Arc;

use super::board::Work;
use super::{SendError, Shared};
use crate::defaults::MANIFEST_READ_BYTES;
use crate::documents::chunk::{Chunk, ChunkState};

/// Feeds the board with all ranges in order.
pub fn run(shared: &Shared) -> Result<(), SendError> {
    for range in shared.plan.ranges() {
        shared.control.lease(range, &shared.owner, shared.epoch)?;
        let chunks = shared.control.range_chunks(range)?;
        let expected = shared.plan.chunks_of(range);
        if chunks.len() as u64 != expected {
            return Err(SendError::Plan(format!("range {range} holds {} chunks; the plan says {expected}", chunks.len())));
        }
        if !feed_range(shared, &chunks)? {
            return Ok(());
        }
    }
    Ok(())
}

fn feed_range(shared: &Shared, chunks: &[Chunk]) -> Result<bool, SendError> {
    // First what is settled: the last phase waits for it, and a full board would wait for the last phase.
    shared.settled_before(chunks.iter().filter(|chunk| chunk.state != ChunkState::Pending));
    for run in adjacent(chunks.iter().filter(|chunk| chunk.state == ChunkState::Pending)) {
        for (chunk, work) in read(shared, &run)? {
            if chunk.failed_attempt == Some(chunk.attempt) {
                shared.board.feed_undecided(work);
            } else if !shared.board.feed(work) {
                return Ok(false);
            }
        }
    }
    Ok(true)
}

/// The work that adjacent chunks are.
pub(super) fn read<'a>(shared: &Shared, run: &[&'a Chunk]) -> Result<Vec<(&'a Chunk, Work)>, SendError> {
    let (Some(first), Some(last)) = (run.first(), run.last()) else { return Ok(Vec::new()) };
    let bytes = shared.control.read_object(&first.manifest_key, Some(first.manifest_start..last.manifest_end))?;
    let at = |offset: u64| usize::try_from(offset - first.manifest_start).unwrap_or(usize::MAX);
    let work = |chunk: &'a Chunk| -> Result<(&'a Chunk, Work), SendError> {
        let lines = bytes.get(at(chunk.manifest_start)..at(chunk.manifest_end));
        let lines = lines.ok_or_else(|| SendError::Plan(format!("chunk {} lies beyond the end of {}", chunk.chunk, chunk.manifest_key)))?;
        let Chunk { attempt, phase, bytes, files, .. } = *chunk;
        Ok((chunk, Work { chunk: chunk.chunk, attempt, phase, bytes, files, manifest: Arc::from(lines), again: false }))
    };
    run.iter().map(|chunk| work(chunk)).collect()
}

/// Runs of chunks whose lines follow each other in one object, as far as one read goes.
pub(super) fn adjacent<'a>(chunks: impl Iterator<Item = &'a Chunk>) -> Vec<Vec<&'a Chunk>> {
    let mut runs: Vec<Vec<&Chunk>> = Vec::new();
    for chunk in chunks {
        let follows = runs.last().and_then(|run| run.first().zip(run.last())).is_some_and(|(first, last)| {
            last.manifest_key == chunk.manifest_key
                && last.manifest_end == chunk.manifest_start
                && chunk.manifest_end - first.manifest_start <= MANIFEST_READ_BYTES
        });
        match runs.last_mut() {
            Some(run) if follows => run.push(chunk),
            _ => runs.push(vec![chunk]),
        }
    }
    runs
}
