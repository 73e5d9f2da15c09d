//! The last look at the destination, before a transfer may succeed: whether all that the source has listed is there, now.
//!
//! What this process has written down is evidence and not proof. A file is taken for the one that was placed, or that was found
//! equal, by its version, which nobody can set. One with another version is looked at again, since names that are made
//! or removed elsewhere change that too: a planned file counts if its digest is the right one, one that was found equal if it still is
//! by the rule of that comparison. Whatever does not count is sent again, or named.

use std::collections::{BTreeMap, HashSet};
use std::ops::Range;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, OnceLock};

use super::equal_entry::EqualEntry;
use super::found::{Evidence, Found, Verdict};
use super::judge::{Judge, Judging};
use super::lines::{Lines, lines_of, malformed};
use super::reading::Reading;
use super::stored;
use crate::control::{Control, ControlError};
use crate::defaults::{LOOK_LINES, LOOK_LINES_FAR, LOOK_THREADS, LOOK_THREADS_FAR, STACK_BYTES};
use crate::digest::{Digest, Proof};
use crate::documents::plan::PlanListing;
use crate::documents::survey::{listing_key, part_key};
use crate::ends::{Capabilities, OpenDestination, Placed, Version};
use crate::entry_table::EntryTable;
use crate::thread::lock;

/// The input of a look.
pub struct Look<'a> {
    pub control: &'a dyn Control,
    /// Prefix of objects' keys; it ends with a slash or is empty.
    pub prefix: &'a str,
    pub listing: &'a PlanListing,
    pub destination: &'a dyn OpenDestination,
    pub capabilities: Capabilities,
    /// Entries of the plan that are in their places, as far as is known.
    pub placed: &'a EntryTable<Placed>,
    /// Entries of the plan that are left out: whatever is in their places is not looked at.
    pub skipped: &'a HashSet<u64>,
    /// The sender's digests; asked for where something has to be read that is not known here.
    pub sent: &'a (dyn Fn() -> Result<EntryTable<Digest>, ControlError> + Sync),
    /// What the entries of the plan were digested with.
    pub proof: Proof,
    /// Hears of what is looked at and read.
    pub reading: Reading<'a>,
    /// Somebody waits for what is found.
    pub is_wanted: &'a (dyn Fn() -> bool + Sync),
}

/// Lines of one object that one thread looks at.
struct Batch {
    text: Arc<Vec<u8>>,
    lines: Vec<(Range<usize>, Evidence)>,
}

impl Look<'_> {
    /// Looks at everything that is listed. Fails where the listing cannot be read, or is not the one of the plan.
    pub fn run(&self) -> Result<Found, ControlError> {
        let threads = if self.destination.is_far() { LOOK_THREADS_FAR } else { LOOK_THREADS };
        let (sender, queue) = sync_channel::<Batch>(2 * threads);
        let (queue, found) = (Mutex::new(queue), Mutex::new(Found::default()));
        let Self { capabilities, placed, proof, reading, sent: ask, .. } = *self;
        let judging = Judging { capabilities, placed, proof, reading, ask, sent: OnceLock::new() };
        let read = std::thread::scope(|scope| {
            for _ in 0..threads {
                let work = || work(self.destination, Judge::new(&judging, self.destination.view()), &queue, &found);
                std::thread::Builder::new()
                    .name("look".to_owned())
                    .stack_size(STACK_BYTES)
                    .spawn_scoped(scope, work)
                    .map_err(|error| ControlError::Unavailable { what: "look".to_owned(), why: error.to_string() })?;
            }
            self.read(sender)
        });
        read?;
        match judging.sent.into_inner() {
            Some(Err(error)) => Err(error),
            _ => Ok(found.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner)),
        }
    }

    /// Reads the listing, tells each line's evidence, and hands the lines out.
    fn read(&self, batches: SyncSender<Batch>) -> Result<(), ControlError> {
        let mut digest = blake3::Hasher::new();
        // Those of the listing itself are read anyway.
        let parts = if self.listing.is_planned_whole() { 0 } else { self.listing.planned_parts };
        let most = if self.destination.is_far() { LOOK_LINES_FAR } else { LOOK_LINES };
        let mut planned = Lines::new(self.control, self.prefix, &self.listing.planned_folder, parts)?;
        let (mut number, mut entry) = (0, 0);
        for part in 0..self.listing.parts {
            let text = Arc::new(self.control.read_object(&format!("{}{}", self.prefix, listing_key(part)), None)?);
            digest.update(&text);
            let mut equal = self.equal(part)?;
            let mut lines = Vec::with_capacity(most);
            for line in lines_of(&text) {
                let evidence = if self.listing.is_planned_whole() || planned.is_next(&text[line.clone()])? {
                    entry += 1;
                    Evidence::Planned(entry - 1)
                } else {
                    equal.remove(&number).unwrap_or(Evidence::Neither)
                };
                number += 1;
                if matches!(evidence, Evidence::Planned(entry) if self.skipped.contains(&entry)) {
                    continue;
                }
                lines.push((line, evidence));
                if lines.len() >= most {
                    if !(self.is_wanted)() {
                        return Err(ControlError::Unavailable { what: "look".to_owned(), why: "nobody waits for it any more".to_owned() });
                    }
                    // Without a thread that takes them, one has panicked, which ends the scope.
                    let _ = batches.send(Batch { text: Arc::clone(&text), lines: std::mem::take(&mut lines) });
                }
            }
            let _ = batches.send(Batch { text, lines });
        }
        if digest.finalize().to_hex().as_str() != self.listing.digest.as_str() {
            return Err(malformed("listing", "its objects are not those that were planned".to_owned()));
        }
        planned.end()
    }

    /// Returns what a comparison found equal of an object of the listing, or left alone.
    fn equal(&self, part: u64) -> Result<BTreeMap<u64, Evidence>, ControlError> {
        let Some(folder) = self.listing.equal_folder.as_ref().filter(|_| !self.listing.is_planned_whole()) else {
            return Ok(BTreeMap::new());
        };
        let key = format!("{}{}", self.prefix, part_key(folder, part));
        let text = self.control.read_object(&key, None)?;
        let lines = serde_json::Deserializer::from_slice(&text).into_iter::<EqualEntry>();
        let known = |line: Result<EqualEntry, serde_json::Error>| {
            let EqualEntry { entry, inode, changed_ns, digest, left_alone } = line.map_err(|error| malformed(&key, error.to_string()))?;
            if left_alone {
                return Ok((entry, Evidence::LeftAlone));
            }
            let digest = digest.map(|hex| blake3::Hash::from_hex(hex.as_str()).map(Digest::from)).transpose();
            let digest = digest.map_err(|error| malformed(&key, error.to_string()))?;
            Ok((entry, Evidence::Equal(Version::of_numbers((inode, changed_ns)), digest)))
        };
        lines.map(known).collect()
    }
}

/// Looks at lines until there are no more.
fn work(destination: &dyn OpenDestination, mut judge: Judge<'_>, queue: &Mutex<Receiver<Batch>>, found: &Mutex<Found>) {
    loop {
        // Not in the loop's head, where the lock would be held for as long as the batch is looked at.
        let batch = lock(queue).recv();
        let Ok(batch) = batch else { return };
        let (mut here, mut as_placed) = (Found::default(), Vec::new());
        for (range, evidence) in &batch.lines {
            let line = &batch.text[range.clone()];
            let verdict = judge.judge(line, *evidence).unwrap_or_else(Verdict::Lacking);
            match (&verdict, evidence) {
                (Verdict::AsPlaced, Evidence::Planned(entry)) if destination.tells_stored() => as_placed.push((range.clone(), *entry)),
                _ => here.note(line, *evidence, verdict),
            }
        }
        judge.pause();
        if !as_placed.is_empty() {
            stored::judge(destination, judge.by(), &batch.text, &as_placed, &mut here);
        }
        lock(found).join(here);
    }
}
