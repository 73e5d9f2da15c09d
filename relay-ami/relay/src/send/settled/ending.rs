//! The end of a transfer: what this end has sent, for the receiver to compare; and where files of the two ends differ though all is
//! delivered, the chunks that bring them again.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use super::chunks::Chunks;
use crate::control::{Control, ControlError, Seat};
use crate::defaults::{QUEUE_MANIFEST_BYTES, REPAIR_ROUNDS};
use crate::digest::Digest;
use crate::objects::digests::Digests;
use crate::send::error::SendError;
use crate::send::manifests::{Manifests, adjacent};
use crate::send::questions::Questions;
use crate::send::reading::segments;
use crate::send::work::Work;
use crate::thread::lock;

/// What the lane that closes the transfer asks.
pub struct Ending {
    pub seat: Seat,
    pub control: Arc<dyn Control>,
    pub digests: Digests,
    pub manifests: Manifests,
    pub questions: Arc<Questions>,
    pub chunks: Arc<Chunks>,
    pub repairs: Repairs,
}

/// Repairs so far.
#[derive(Default)]
pub struct Repairs {
    rounds: AtomicU32,
    /// Chunks that they have sent again.
    chunks: AtomicU64,
    /// What the last round was to mend, and what the receiver said of it.
    last: Mutex<Option<(BTreeSet<u64>, String)>>,
}

/// Chunks and entries that are to come again.
pub struct Repair {
    /// Never empty.
    pub entries: Vec<u64>,
    pub works: Vec<Work>,
}

impl Ending {
    /// Chunks that were sent again since the files at the end differed.
    pub fn repaired_chunks(&self) -> u64 {
        self.repairs.chunks.load(Ordering::Relaxed)
    }

    /// Uploads the digests of all entries for the receiver's look and for Verify Transfer, and what was left out. Returns how many
    /// digests they are, and the digest of them all; none where the process ends first.
    pub fn upload(&self) -> Result<Option<(u64, Digest)>, SendError> {
        let skipped = format!("{}/skipped/", self.digests.folder());
        self.questions.until_answered("digests", || {
            let uploaded = self.digests.upload(self.seat, self.chunks.digests())?;
            self.chunks.skipped.upload(&*self.control, &skipped)?;
            Ok(uploaded)
        })
    }

    /// Compares with the digests of `theirs` entries that the `receiver` has uploaded; `said` is why it does not agree. None where the rounds are
    /// used up, nothing can be found that differs, or the last round has changed nothing: bytes that were sent again do not mend what is wrong.
    pub fn repair(&self, receiver: Seat, theirs: u64, said: &str) -> Result<Option<Repair>, SendError> {
        if self.repairs.rounds.fetch_add(1, Ordering::Relaxed) >= REPAIR_ROUNDS {
            return Ok(None);
        }
        let compared = || Ok(differing(self.chunks.digests(), self.digests.uploaded(receiver, theirs))?);
        let Some(mut entries) = self.questions.until_answered("digests", compared)? else { return Ok(None) };
        let untried = self.chunks.skipped.untried();
        entries.extend(&untried);
        entries.extend(self.entries_of_unknown_content()?);
        let now = Some((entries, said.to_owned()));
        if *lock(&self.repairs.last) == now {
            tracing::warn!(said, "what was sent again has changed nothing");
            return Ok(None);
        }
        lock(&self.repairs.last).clone_from(&now);
        let entries = now.map(|(entries, _)| entries).unwrap_or_default();
        let works = if entries.is_empty() { Vec::new() } else { self.works_of(&entries)? };
        let entries = self.without_room(entries, &untried, &works);
        if works.is_empty() {
            return Ok(None);
        }
        tracing::warn!(entries = entries.len(), chunks = works.len(), "the ends differ: sent again");
        self.repairs.chunks.fetch_add(works.iter().filter(|work| work.phase == 0).count() as u64, Ordering::Relaxed);
        Ok(Some(Repair { entries: entries.into_iter().collect(), works }))
    }

    /// What chunks hold of which this end cannot tell what they stood for. The ends do not differ about it where the receiver cannot either.
    fn entries_of_unknown_content(&self) -> Result<BTreeSet<u64>, SendError> {
        let unknown = self.chunks.of_unknown_content();
        let works = if unknown.is_empty() { Vec::new() } else { self.works(|work| unknown.contains(&work.chunk))? };
        Ok(works.iter().flat_map(segments::entries).filter(|entry| !self.chunks.skipped.holds(*entry)).collect())
    }

    /// Without those of the untried that come no more, as no chunk does that holds them: they are left out.
    fn without_room(&self, mut entries: BTreeSet<u64>, untried: &[u64], works: &[Work]) -> BTreeSet<u64> {
        let come: BTreeSet<u64> = works.iter().flat_map(segments::entries).collect();
        entries.retain(|entry| come.contains(entry) || !untried.contains(entry));
        self.chunks.skipped.tried(&come);
        entries
    }

    /// The chunks that hold something of these entries, as many as memory bears; and the directories, whose times change with what is
    /// put into them.
    fn works_of(&self, entries: &BTreeSet<u64>) -> Result<Vec<Work>, SendError> {
        self.works(|work| work.phase > 0 || segments::entries(work).any(|entry| entries.contains(&entry)))
    }

    /// Those of the plan that are wanted, as many as memory bears.
    fn works(&self, is_wanted: impl Fn(&Work) -> bool) -> Result<Vec<Work>, SendError> {
        let mut works: Vec<Work> = Vec::new();
        let mut bytes = 0;
        for range in self.chunks.ranges() {
            let Some(chunks) = self.questions.until_answered("chunks", || Ok(self.control.range_chunks(range)?))? else {
                return Ok(Vec::new());
            };
            for run in adjacent(chunks.iter()) {
                for (_, work) in self.questions.until_answered("manifest", || self.manifests.read(&run))?.unwrap_or_default() {
                    if is_wanted(&work) && bytes <= QUEUE_MANIFEST_BYTES {
                        bytes += work.manifest.len();
                        works.push(Work { again: true, flight: Arc::default(), ..work });
                    }
                }
            }
        }
        Ok(works)
    }
}

/// Entries that only one end has, or that have another digest there; both ascend.
fn differing(
    ours: impl Iterator<Item = (u64, Digest)>,
    theirs: impl Iterator<Item = Result<(u64, Digest), ControlError>>,
) -> Result<BTreeSet<u64>, ControlError> {
    let (mut ours, mut found) = (ours.peekable(), BTreeSet::new());
    for one in theirs {
        let (entry, digest) = one?;
        while let Some((missing, _)) = ours.next_if(|(own, _)| *own < entry) {
            found.insert(missing);
        }
        if ours.next_if(|(own, _)| *own == entry).is_none_or(|(_, own)| own != digest) {
            found.insert(entry);
        }
    }
    found.extend(ours.map(|(entry, _)| entry));
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_one_end_lacks_or_has_otherwise_differs() {
        let (ours, theirs) = ([(1, 1), (2, 2), (3, 3)], [(1, 1), (2, 9), (4, 4)]);
        let found = |ours: &[(u64, u8)], theirs: &[(u64, u8)]| -> Vec<u64> {
            let digests = |of: &[(u64, u8)]| of.iter().map(|(entry, digit)| (*entry, [*digit; 32])).collect::<Vec<_>>();
            differing(digests(ours).into_iter(), digests(theirs).into_iter().map(Ok)).unwrap().into_iter().collect()
        };
        assert_eq!(found(&ours, &theirs), [2, 3, 4]);
        assert_eq!(found(&theirs, &ours), [2, 3, 4]);
        assert_eq!((found(&ours, &ours), found(&ours, &[]), found(&[], &theirs)), (vec![], vec![1, 2, 3], vec![1, 2, 4]));
        let broken = ControlError::Malformed { what: String::new(), why: String::new() };
        assert!(differing(std::iter::empty(), std::iter::once(Err(broken))).is_err());
    }
}
