//! Repairs, when all is delivered and files of the two ends differ all the same: which do, and the chunks that bring them again.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use super::work_queue::Work;
use super::{SendError, Shared, chunk_writer, feeder};
use crate::control::Side;
use crate::defaults::{QUEUE_MANIFEST_BYTES, REPAIR_ROUNDS};
use crate::digest::Digest;

/// Repairs so far.
#[derive(Default)]
pub struct Repairs {
    rounds: AtomicU32,
    chunks: AtomicU64,
}

impl Repairs {
    pub fn chunks(&self) -> u64 {
        self.chunks.load(Ordering::Relaxed)
    }
}

/// Chunks and entries that are to come again.
pub struct Repair {
    /// Never empty.
    pub entries: Vec<u64>,
    pub works: Vec<Work>,
}

/// Compares with the digests of `theirs` entries that the receiver has uploaded. None where the rounds are used up, or nothing can
/// be found that differs.
pub fn plan(shared: &Shared, theirs: u64) -> Result<Option<Repair>, SendError> {
    if shared.repairs.rounds.fetch_add(1, Ordering::Relaxed) >= REPAIR_ROUNDS {
        return Ok(None);
    }
    let uploaded = || Ok(shared.digests().uploaded(Side::Receiver, theirs)?);
    let Some(theirs) = shared.until_answered("digests", uploaded)? else { return Ok(None) };
    let (_, ours) = shared.chunks.totals();
    let entries = differing(&ours, &theirs);
    let works = if entries.is_empty() { Vec::new() } else { works_of(shared, &entries)? };
    if works.is_empty() {
        return Ok(None);
    }
    tracing::warn!(entries = entries.len(), chunks = works.len(), "the ends differ: sent again");
    shared.repairs.chunks.fetch_add(works.iter().filter(|work| work.phase == 0).count() as u64, Ordering::Relaxed);
    Ok(Some(Repair { entries: entries.into_iter().collect(), works }))
}

/// Entries that only one end has, or that have another digest there.
fn differing(ours: &BTreeMap<u64, Digest>, theirs: &BTreeMap<u64, Digest>) -> BTreeSet<u64> {
    let missing_or_other = ours.iter().filter(|(entry, digest)| theirs.get(*entry) != Some(*digest)).map(|(entry, _)| *entry);
    missing_or_other.chain(theirs.keys().copied().filter(|entry| !ours.contains_key(entry))).collect()
}

/// The chunks that hold something of these entries, as many as memory bears; and the directories, whose times change with what is
/// put into them.
fn works_of(shared: &Shared, entries: &BTreeSet<u64>) -> Result<Vec<Work>, SendError> {
    let mut works: Vec<Work> = Vec::new();
    let mut bytes = 0;
    for range in shared.whole_plan().ranges() {
        let Some(chunks) = shared.until_answered("chunks", || Ok(shared.control.range_chunks(range)?))? else { return Ok(Vec::new()) };
        for run in feeder::adjacent(chunks.iter()) {
            for (_, work) in shared.until_answered("manifest", || feeder::read(shared, &run))?.unwrap_or_default() {
                let wanted = work.phase > 0 || chunk_writer::entries(&work).any(|entry| entries.contains(&entry));
                if wanted && bytes <= QUEUE_MANIFEST_BYTES {
                    bytes += work.manifest.len();
                    works.push(Work { again: true, flight: Arc::default(), ..work });
                }
            }
        }
    }
    Ok(works)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_one_end_lacks_or_has_otherwise_differs() {
        let ours = BTreeMap::from([(1, [1; 32]), (2, [2; 32]), (3, [3; 32])]);
        let theirs = BTreeMap::from([(1, [1; 32]), (2, [9; 32]), (4, [4; 32])]);
        assert_eq!(differing(&ours, &theirs), BTreeSet::from([2, 3, 4]));
        assert!(differing(&ours, &ours).is_empty());
    }
}
