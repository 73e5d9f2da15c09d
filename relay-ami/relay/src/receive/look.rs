//! The last look at the destination, before a transfer may succeed: whether all that the source has listed is there, now.
//!
//! What this process has written down is evidence and not proof. A file is taken for the one that was placed, or that was found
//! equal, by its version, which nobody can set. One with another version is looked at again, since names that are made
//! or removed elsewhere change that too: a planned file counts if its digest is the right one, one that was found equal if it still is
//! by the rule of that comparison. Whatever does not count is sent again, or named.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::io::{self, BufRead as _};
use std::ops::Range;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, OnceLock};

pub use super::equal_entry::EqualEntry;
pub use super::reading::Reading;
use super::same::{differs, has_lost_its_time};
use crate::control::{Control, ControlError};
use crate::defaults::{LOOK_AGAIN, LOOK_LINES, LOOK_NAMED, LOOK_THREADS, STACK_BYTES};
use crate::digest::{Digest, Proof};
use crate::documents::entry::{Kind, ListedLine, with_basis, with_same};
use crate::documents::percent;
use crate::documents::plan::PlanListing;
use crate::documents::survey::{listing_key, part_key};
use crate::ends::problem::may_pass;
use crate::ends::{Capabilities, OpenDestination, Placed, Seen, Version, View};
use crate::entry_table::EntryTable;
use crate::thread::lock;
use crate::under_way::{Call, Caller};

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
}

/// The result of a look.
#[derive(Debug, Default)]
pub struct Found {
    /// Entries of the plan that are not in their places.
    pub lacking: BTreeSet<u64>,
    /// Entries of the plan that are there, and were not known to be, or to be what they are.
    pub renewed: Vec<(u64, Placed)>,
    /// The number of vanished entries that a comparison had found equal, and the first of them in words.
    pub lost: u64,
    pub named: Vec<String>,
}

/// The evidence that an entry needs.
#[derive(Clone, Copy)]
enum Evidence {
    /// It is this entry of the plan.
    Planned(u64),
    /// The comparison found it equal, by this content where it compared that.
    Equal(Version, Option<Digest>),
    /// Something that the request does not let be replaced was in its place.
    LeftAlone,
    /// None of these: it came into the listing after the plan.
    Neither,
}

/// Lines of one object that one thread looks at.
struct Batch {
    text: Arc<Vec<u8>>,
    lines: Vec<(Range<usize>, Evidence)>,
}

/// The state of one entry.
enum Verdict {
    AsPlaced,
    Renewed(Placed),
    Lacking(String),
}

impl Look<'_> {
    /// Looks at everything that is listed. Fails where the listing cannot be read, or is not the one of the plan.
    pub fn run(&self) -> Result<Found, ControlError> {
        let (sender, queue) = sync_channel::<Batch>(2 * LOOK_THREADS);
        let (queue, found, sent) = (Mutex::new(queue), Mutex::new(Found::default()), OnceLock::new());
        let read = std::thread::scope(|scope| {
            for _ in 0..LOOK_THREADS {
                let work = || self.work(&queue, &found, &sent);
                std::thread::Builder::new()
                    .name("look".to_owned())
                    .stack_size(STACK_BYTES)
                    .spawn_scoped(scope, work)
                    .map_err(|error| ControlError::Unavailable { what: "look".to_owned(), why: error.to_string() })?;
            }
            self.read(sender)
        });
        read?;
        match sent.into_inner() {
            Some(Err(error)) => Err(error),
            _ => Ok(found.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner)),
        }
    }

    /// Reads the listing, tells each line's evidence, and hands the lines out.
    fn read(&self, batches: SyncSender<Batch>) -> Result<(), ControlError> {
        let mut digest = blake3::Hasher::new();
        let mut planned = Lines::new(self, &self.listing.planned_folder, self.listing.planned_parts)?;
        let (mut number, mut entry) = (0, 0);
        for part in 0..self.listing.parts {
            let text = Arc::new(self.control.read_object(&format!("{}{}", self.prefix, listing_key(part)), None)?);
            digest.update(&text);
            let mut equal = self.equal(part)?;
            let mut lines = Vec::with_capacity(LOOK_LINES);
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
                if lines.len() >= LOOK_LINES {
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

    fn work(&self, queue: &Mutex<Receiver<Batch>>, found: &Mutex<Found>, sent: &OnceLock<Result<EntryTable<Digest>, ControlError>>) {
        let (mut view, disk) = (self.destination.view(), self.reading.disk.caller());
        loop {
            // Not in the loop's head, where the lock would be held for as long as the batch is looked at.
            let batch = lock(queue).recv();
            let Ok(batch) = batch else { return };
            let mut here = Found::default();
            let mut call = None;
            for (line, evidence) in &batch.lines {
                let line = &batch.text[line.clone()];
                let verdict = self.judge(line, *evidence, &mut *view, sent, &disk, &mut call).unwrap_or_else(Verdict::Lacking);
                here.note(line, *evidence, verdict);
            }
            drop(call);
            lock(found).join(here);
        }
    }

    fn judge(
        &self,
        line: &[u8],
        evidence: Evidence,
        view: &mut dyn View,
        sent: &OnceLock<Result<EntryTable<Digest>, ControlError>>,
        disk: &Caller,
        call: &mut Option<Call>,
    ) -> Result<Verdict, String> {
        let listed = ListedLine::parse(line)?;
        if listed.kind == Kind::Directory && !self.capabilities.directories {
            return Ok(Verdict::AsPlaced);
        }
        let path = percent::decode(&listed.path)?;
        let looks = call.get_or_insert_with(|| disk.enter());
        looks.goes_on();
        let seen = see(view, &path, looks).map_err(|error| error.to_string())?;
        // Whatever it is by now, it is not the source's.
        if matches!(evidence, Evidence::LeftAlone) {
            return Ok(Verdict::AsPlaced);
        }
        let by_content = matches!(evidence, Evidence::Equal(_, Some(_)));
        differs(&listed, &path, &seen, by_content, view, self.capabilities)?;
        let version = seen.version;
        match evidence {
            Evidence::Neither if listed.kind == Kind::Directory => Ok(Verdict::AsPlaced),
            Evidence::Neither | Evidence::LeftAlone => Err("was neither planned nor found equal".to_owned()),
            // By kind, size, mode and time it was found equal, and by these it is.
            Evidence::Equal(_, None) => Ok(Verdict::AsPlaced),
            Evidence::Equal(known, Some(_)) if known == version => Ok(Verdict::AsPlaced),
            Evidence::Equal(_, Some(digest)) => {
                *call = None;
                if self.reading.during(|heard| view.digest(&path, &version, heard)).map_err(|error| error.to_string())? != digest {
                    return Err("has other bytes than those that were found equal".to_owned());
                }
                Ok(Verdict::AsPlaced)
            }
            Evidence::Planned(entry) => {
                let known = self.placed.get(entry);
                if known.is_some_and(|placed| matches!(listed.kind, Kind::Directory | Kind::Hardlink) || placed.version == Some(version)) {
                    return Ok(Verdict::AsPlaced);
                }
                if known.is_some_and(|placed| has_lost_its_time(&listed, &placed, &seen, self.capabilities)) {
                    return Err("was exchanged, and has another modification time".to_owned());
                }
                // What somebody may have put there would only have to fit.
                if listed.kind == Kind::File && !self.proof.tells_content() {
                    return Err(format!("is not known to be the file that was placed, and {} does not tell content", self.proof.as_str()));
                }
                // The sender's digests take as long as they take.
                *call = None;
                let sent = || sent.get_or_init(self.sent).as_ref().map_err(ToString::to_string);
                let digest = match known {
                    Some(placed) => placed.digest,
                    None => sent()?.get(entry).ok_or("did not come")?,
                };
                let read = |view: &mut dyn View| self.reading.during(|heard| view.digest(&path, &version, heard));
                if listed.kind == Kind::File && read(view).map_err(|error| error.to_string())? != digest {
                    return Err("has other bytes than those that were sent".to_owned());
                }
                Ok(Verdict::Renewed(Placed { digest, version: Some(version) }))
            }
        }
    }
}

/// Looks at an entry, again where the trouble may be a server's, of a moment: one such answer must not cost a transfer.
fn see(view: &mut dyn View, path: &[u8], call: &Call) -> io::Result<Seen> {
    for pause in LOOK_AGAIN {
        match view.see(path) {
            Err(error) if may_pass(&error) => tracing::warn!(%error, "looked at again"),
            other => return other,
        }
        std::thread::sleep(pause);
        call.goes_on();
    }
    view.see(path)
}

impl Found {
    fn note(&mut self, line: &[u8], evidence: Evidence, verdict: Verdict) {
        match (verdict, evidence) {
            (Verdict::AsPlaced, _) => {}
            (Verdict::Renewed(placed), Evidence::Planned(entry)) => self.renewed.push((entry, placed)),
            (Verdict::Renewed(_), _) => {}
            (Verdict::Lacking(why), evidence) => {
                if let Evidence::Planned(entry) = evidence {
                    self.lacking.insert(entry);
                } else {
                    self.lost += 1;
                }
                if self.named.len() < LOOK_NAMED {
                    let path = ListedLine::parse(line).map_or_else(|_| "?".to_owned(), |listed| listed.path.into_owned());
                    self.named.push(format!("{path}: {why}"));
                }
            }
        }
    }

    fn join(&mut self, mut other: Self) {
        self.lacking.append(&mut other.lacking);
        self.renewed.append(&mut other.renewed);
        self.lost += other.lost;
        other.named.truncate(LOOK_NAMED.saturating_sub(self.named.len()));
        self.named.append(&mut other.named);
    }
}

/// The lines of a folder's objects, one after the other.
struct Lines<'a> {
    look: &'a Look<'a>,
    folder: &'a str,
    parts: Range<u64>,
    text: Vec<u8>,
    at: usize,
}

impl<'a> Lines<'a> {
    fn new(look: &'a Look<'a>, folder: &'a str, parts: u64) -> Result<Self, ControlError> {
        // Those of the listing itself are read anyway.
        let parts = if look.listing.is_planned_whole() { 0 } else { parts };
        let mut lines = Self { look, folder, parts: 0..parts, text: Vec::new(), at: 0 };
        lines.fill()?;
        Ok(lines)
    }

    fn fill(&mut self) -> Result<(), ControlError> {
        while self.at >= self.text.len() {
            let Some(part) = self.parts.next() else { return Ok(()) };
            self.text = self.look.control.read_object(&format!("{}{}", self.look.prefix, part_key(self.folder, part)), None)?;
            self.at = 0;
        }
        Ok(())
    }

    /// Returns whether `line` is the next one, which is taken then.
    fn is_next(&mut self, line: &[u8]) -> Result<bool, ControlError> {
        let rest = &self.text[self.at.min(self.text.len())..];
        let next = rest.split(|byte| *byte == b'\n').next().unwrap_or_default();
        let is_next = !next.is_empty() && (next == line || next == with_basis(line) || next == with_same(line));
        if is_next {
            self.at += next.len() + 1;
            self.fill()?;
        }
        Ok(is_next)
    }

    fn end(self) -> Result<(), ControlError> {
        if self.at >= self.text.len() {
            Ok(())
        } else {
            Err(malformed(self.folder, "holds lines that the listing does not have".to_owned()))
        }
    }
}

fn lines_of(text: &[u8]) -> impl Iterator<Item = Range<usize>> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let at = text.len() - rest.len();
        // A slice is read without errors; the newline is part of what is skipped.
        let skipped = rest.skip_until(b'\n').ok().filter(|count| *count > 0)?;
        let length = skipped - usize::from(text[at + skipped - 1] == b'\n');
        Some(at..at + length)
    })
    .filter(|line| !line.is_empty())
}

fn malformed(what: &str, why: String) -> ControlError {
    ControlError::Malformed { what: what.to_owned(), why }
}

#[cfg(test)]
#[path = "look_tests.rs"]
mod tests;
