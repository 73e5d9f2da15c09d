//! Reads chunks ahead of the lanes: leases a range, reads its items and their manifest lines.

use std::sync::Arc;

use super::{SendError, Shared};
use crate::defaults::{MANIFEST_READ_BYTES, WATCH_INTERVAL};
use crate::documents::chunk::{Chunk, ChunkState};
use crate::documents::plan::TransferPlan;
use crate::send::work::Work;

/// Feeds the work queue with all chunks in order, as far as they are planned; follows the plan until it is whole.
pub fn run(shared: &Shared) -> Result<(), SendError> {
    let mut plan = shared.plan.clone();
    let mut fed = 0;
    loop {
        if !feed(shared, &plan, fed)? {
            return Ok(());
        }
        fed = plan.chunks;
        if !plan.open {
            return Ok(());
        }
        plan = match next(shared, fed) {
            Some(plan) => plan,
            None => return Ok(()),
        };
        if !plan.open {
            shared.planned(plan.clone());
        }
    }
}

/// The plan once it has more than `fed` chunks or is whole; none when the process ends.
fn next(shared: &Shared, fed: u64) -> Option<TransferPlan> {
    while !shared.stop.sleep(WATCH_INTERVAL) && !shared.chunks.queue.is_over() {
        let read = shared.control.read_object(&shared.plan_key, None).map_err(|error| error.to_string());
        match read.and_then(|text| TransferPlan::parse(&text)) {
            Ok(plan) if plan.plan_id != shared.plan.plan_id => tracing::warn!(key = shared.plan_key, "another plan"),
            Ok(plan) if plan.chunks > fed || !plan.open => return Some(plan),
            Ok(_) => {}
            // Whoever takes the transfer down removes the plan first and fences this process next.
            Err(why) => tracing::warn!(key = shared.plan_key, why, "plan"),
        }
    }
    None
}

/// Feeds what `plan` has beyond its first `fed` chunks; `false` once the work queue is closed.
fn feed(shared: &Shared, plan: &TransferPlan, fed: u64) -> Result<bool, SendError> {
    let begin = plan.first_range * plan.range_size;
    let (first, end) = (begin + fed, begin + plan.chunks);
    let partly_fed = |range: &u64| fed < plan.chunks && (range + 1) * plan.range_size > first;
    for range in plan.ranges().filter(partly_fed) {
        let lease = || Ok(shared.control.lease(range, &shared.owner, shared.streams.epoch)?);
        let items = || Ok(shared.control.range_chunks(range)?);
        let Some(()) = shared.until_answered("lease", lease)? else { return Ok(false) };
        let Some(items) = shared.until_answered("chunks", items)? else { return Ok(false) };
        // What the planner has written beyond the plan may be written once more.
        let chunks: Vec<Chunk> = items.into_iter().filter(|chunk| (first..end).contains(&chunk.chunk)).collect();
        let expected = end.min((range + 1) * plan.range_size) - first.max(range * plan.range_size);
        if let Some(other) = chunks.iter().find(|chunk| chunk.plan_id != plan.plan_id) {
            return Err(SendError::Plan(format!("chunk {} is of plan {}, not of {}", other.chunk, other.plan_id, plan.plan_id)));
        }
        if chunks.len() as u64 != expected {
            return Err(SendError::Plan(format!("range {range} holds {} of the plan's chunks; the plan says {expected}", chunks.len())));
        }
        if !feed_range(shared, &chunks)? {
            return Ok(false);
        }
    }
    Ok(true)
}

fn feed_range(shared: &Shared, chunks: &[Chunk]) -> Result<bool, SendError> {
    // First what is settled: the last phase waits for it, and a full work queue would wait for the last phase.
    shared.chunks.settled_before(chunks.iter().filter(|chunk| chunk.state != ChunkState::Pending));
    for run in adjacent(chunks.iter().filter(|chunk| chunk.state == ChunkState::Pending)) {
        let Some(works) = shared.until_answered("manifest", || read(shared, &run))? else { return Ok(false) };
        for (chunk, work) in works {
            if chunk.failed_attempt == Some(chunk.attempt) {
                shared.chunks.queue.feed_undecided(work);
            } else if !shared.chunks.queue.feed(work) {
                return Ok(false);
            }
        }
    }
    Ok(true)
}

/// The work that adjacent chunks are.
pub fn read<'a>(shared: &Shared, run: &[&'a Chunk]) -> Result<Vec<(&'a Chunk, Work)>, SendError> {
    let (Some(first), Some(last)) = (run.first(), run.last()) else { return Ok(Vec::new()) };
    let bytes =
        shared.control.read_object(&format!("{}{}", shared.prefix, first.manifest_key), Some(first.manifest_start..last.manifest_end))?;
    let at = |offset: u64| usize::try_from(offset - first.manifest_start).unwrap_or(usize::MAX);
    let work = |chunk: &'a Chunk| -> Result<(&'a Chunk, Work), SendError> {
        let lines = bytes.get(at(chunk.manifest_start)..at(chunk.manifest_end));
        let lines = lines.ok_or_else(|| SendError::Plan(format!("chunk {} lies beyond the end of {}", chunk.chunk, chunk.manifest_key)))?;
        let Chunk { attempt, phase, bytes, files, .. } = *chunk;
        Ok((
            chunk,
            Work { chunk: chunk.chunk, attempt, phase, bytes, files, manifest: Arc::from(lines), again: false, flight: Arc::default() },
        ))
    };
    run.iter().map(|chunk| work(chunk)).collect()
}

/// Runs of chunks whose lines follow each other in one object, as far as one read goes.
pub fn adjacent<'a>(chunks: impl Iterator<Item = &'a Chunk>) -> Vec<Vec<&'a Chunk>> {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn chunk(number: u64, key: &str, start: u64, end: u64) -> Chunk {
        let text = include_str!("../../../../contracts/examples/good/chunk/pending.json");
        let chunk = Chunk::parse(text.as_bytes()).unwrap();
        Chunk { chunk: number, manifest_key: key.to_owned(), manifest_start: start, manifest_end: end, ..chunk }
    }

    #[test]
    fn chunks_are_read_together_where_their_lines_follow_each_other_in_one_object() {
        let full = MANIFEST_READ_BYTES;
        let chunks = [
            chunk(0, "a", 0, 10),
            chunk(1, "a", 10, 20),
            chunk(2, "a", 30, 40),               // one between them is settled
            chunk(3, "b", 40, 50),               // another object
            chunk(4, "b", 50, 40 + full),        // as much as one read takes
            chunk(5, "b", 40 + full, 41 + full), // more than that
        ];
        let runs: Vec<Vec<u64>> = adjacent(chunks.iter()).iter().map(|run| run.iter().map(|chunk| chunk.chunk).collect()).collect();
        assert_eq!(runs, [vec![0, 1], vec![2], vec![3, 4], vec![5]]);
        assert!(adjacent(std::iter::empty()).is_empty());
    }
}
