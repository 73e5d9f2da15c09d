//! Large files, which arrive in parts on many streams.

mod doubt;
mod gathering;

use std::collections::{HashMap, HashSet};
use std::io;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock};

use crate::digest::{Digest, Proof};
use crate::ends::problem::superseded;
use crate::ends::{Basis, Heard, LargeFile, Left, OpenDestination, Placed, read};
use crate::entry_table::EntryTable;
use crate::thread::lock;
use crate::wire::frame::SegmentHeader;

/// A file under way.
pub struct Large {
    header: SegmentHeader,
    part_size: u64,
    proof: Proof,
    file: Box<dyn LargeFile>,
    state: RwLock<State>,
    /// An earlier version of the file, once one was found.
    basis: OnceLock<Arc<dyn Basis>>,
}

struct State {
    /// The stream that may write a part: the one that came last.
    writers: HashMap<usize, u64>,
    /// Digests of the parts that are on the disk.
    synced: Vec<Option<Digest>>,
    /// Those that an earlier receiver left.
    kept: HashSet<usize>,
    missing: usize,
    done: bool,
    /// Its header was another than that of the parts that came later, before any part counted.
    forsaken: bool,
    /// The file is left out: what comes of it goes nowhere, and nothing is wrong with that.
    skipped: bool,
}

impl Large {
    /// Number of the entry in the listing.
    pub const fn entry(&self) -> u64 {
        self.header.entry
    }

    /// Where it lands.
    pub fn path(&self) -> &[u8] {
        &self.header.path
    }

    /// Returns whether the header is of a part of this file.
    fn is_of(&self, header: &SegmentHeader) -> bool {
        SegmentHeader { offset: self.header.offset, length: self.header.length, ..header.clone() } == self.header
    }

    /// Gives the file up, unless a part of it counts already.
    fn forsake(&self) -> bool {
        let mut state = self.state.write().unwrap_or_else(PoisonError::into_inner);
        state.forsaken |= state.missing == state.synced.len();
        state.forsaken
    }

    /// The earlier version of the file; `find` looks for one where none is known.
    pub fn basis(&self, find: impl FnOnce() -> io::Result<Option<Box<dyn Basis>>>) -> io::Result<Option<Arc<dyn Basis>>> {
        match self.known_basis() {
            Some(known) => Ok(Some(known)),
            None => Ok(find()?.map(|found| Arc::clone(self.basis.get_or_init(|| found.into())))),
        }
    }

    pub fn known_basis(&self) -> Option<Arc<dyn Basis>> {
        self.basis.get().map(Arc::clone)
    }

    /// See [`LargeFile::read_back`].
    pub fn read_back(&self, part: usize, digest: &Digest, heard: Heard<'_>) -> io::Result<()> {
        let range = self.range(part);
        self.file.read_back(range.clone(), self.proof.part(range.start), digest, heard)
    }

    fn range(&self, part: usize) -> Range<u64> {
        let offset = self.part_size.saturating_mul(part as u64);
        offset..self.header.size.min(offset.saturating_add(self.part_size))
    }

    /// See [`LargeFile::is_placed_slowly`].
    pub fn is_placed_slowly(&self) -> bool {
        self.file.is_placed_slowly()
    }

    /// Returns whether the file is in its place already.
    pub fn is_done(&self) -> bool {
        self.state.read().unwrap_or_else(PoisonError::into_inner).done
    }

    /// Writes into a part, unless another stream has taken it over or the file is complete.
    pub fn write(&self, part: usize, token: u64, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.if_writer(part, token, |file| file.write(bytes, offset))
    }

    /// Takes bytes of an earlier version, likewise; see [`LargeFile::take`].
    pub fn take(&self, part: usize, token: u64, basis: &dyn Basis, range: (u64, u64), digest: &mut dyn FnMut(&[u8])) -> io::Result<()> {
        let ((offset, length), mut is_taken) = (range, false);
        self.if_writer(part, token, |file| {
            is_taken = true;
            file.take(basis, offset, length, digest)
        })?;
        if is_taken {
            return Ok(());
        }
        read(basis, offset, length, |bytes, _| {
            digest(bytes);
            Ok(())
        })
    }

    /// Makes bytes of a part a hole, likewise.
    pub fn hole(&self, part: usize, token: u64, offset: u64, length: u64) -> io::Result<()> {
        self.if_writer(part, token, |file| file.hole(offset, length))
    }

    fn if_writer(&self, part: usize, token: u64, change: impl FnOnce(&dyn LargeFile) -> io::Result<()>) -> io::Result<()> {
        let state = self.state.read().unwrap_or_else(PoisonError::into_inner);
        if state.done || state.forsaken || state.skipped || state.writers.get(&part) != Some(&token) {
            return Ok(());
        }
        change(&*self.file)
    }

    /// See [`LargeFile::prepare_sync`]; of a part that another stream has taken over there is nothing to prepare.
    pub fn prepare_sync(&self, part: usize, token: u64) -> io::Result<()> {
        self.if_writer(part, token, |file| file.prepare_sync(self.range(part)))
    }

    /// See [`LargeFile::arrive`].
    pub fn arrive(&self, part: usize) {
        self.file.arrive(part as u64);
    }

    /// Notes a part that has been synced. Once all are there the file goes to its place, unless there is doubt about it.
    /// Fails for a stream that another has taken the part over from: what came after that was not written. `is_last`: nobody else may
    /// write into it any more; otherwise it waits for its place until that is so.
    pub fn synced(&self, part: usize, token: u64, digest: Digest, is_last: bool) -> io::Result<Synced> {
        let mut state = self.state.write().unwrap_or_else(PoisonError::into_inner);
        if state.done || state.skipped {
            return Ok(Synced::Part);
        }
        if state.forsaken {
            return Err(superseded("the file was begun anew"));
        }
        match state.synced.get(part).copied().flatten() {
            Some(known) if known == digest => {}
            Some(_) if state.kept.remove(&part) => {
                state.synced[part] = None;
                state.missing += 1;
                // Before its bytes are written over: the next receiver would take what is half one, half the other for it.
                self.file.forget_kept()?;
                for (other, digest) in state.synced.iter().enumerate().filter_map(|(other, digest)| Some((other, (*digest)?))) {
                    self.file.keep(other as u64, self.range(other), digest)?;
                }
                return Err(io::Error::other("the part differs from the one that an earlier receiver left, which is dropped"));
            }
            Some(_) => return Err(io::Error::other("the part differs from the one that is on the disk")),
            None if state.writers.get(&part) != Some(&token) => return Err(superseded("another stream took the part over")),
            None => {
                self.file.keep(part as u64, self.range(part), digest)?;
                state.synced[part] = Some(digest);
                state.missing -= 1;
            }
        }
        if state.missing > 0 || !is_last {
            return Ok(Synced::Part);
        }
        match self.is_plain() {
            Ok(true) if !self.file.is_placed_slowly() => self.place(&mut state),
            Ok(_) => Ok(Synced::InDoubt),
            Err(error) => doubt::spoiled(&mut state, error),
        }
    }

    /// Puts the file into its place.
    fn place(&self, state: &mut State) -> io::Result<Synced> {
        let parts: Vec<Digest> = state.synced.iter().copied().flatten().collect();
        let merged = self.proof.merge(&parts, self.header.size, self.part_size);
        let digest = merged.ok_or_else(|| io::Error::other("the parts do not make up the file"))?;
        match self.file.place() {
            Ok(version) => {
                state.done = true;
                Ok(Synced::File(Placed { digest, version }))
            }
            Err(error) => doubt::spoiled(state, error),
        }
    }
}

/// The state of a file after one of its parts was synced.
#[derive(Debug, PartialEq, Eq)]
pub enum Synced {
    Part,
    File(Placed),
    /// All parts are there. Whether all of them are what came is still to be seen, or the file takes its time to get to its place, with [`Large::check`].
    InDoubt,
    /// Somebody has changed the file while it was received.
    Spoiled,
}

/// A part that a stream is writing.
pub struct Part {
    pub file: Arc<Large>,
    pub index: usize,
    pub token: u64,
}

/// The large files of the transfer, and everything that is in its place.
#[derive(Default)]
pub struct Files {
    large: Mutex<HashMap<u64, Arc<Large>>>,
    /// Files of which earlier receivers left parts, and of which none has come yet.
    kept: Mutex<HashSet<u64>>,
    placed: EntryTable<Placed>,
    /// Entries that are left out.
    skipped: Mutex<HashSet<u64>>,
    tokens: AtomicU64,
    proof: Proof,
    /// Other receivers may write into large files until this one has gathered.
    has_others: AtomicBool,
}

impl Files {
    /// Goes on from what earlier receivers left.
    pub fn going_on_from(left: Left, proof: Proof) -> Self {
        Self { kept: Mutex::new(left.begun), placed: left.placed, proof, ..Self::default() }
    }

    /// Other receivers write into the large files too: none of them goes to its place before [`Files::take_over`].
    pub fn beside_others(self) -> Self {
        Self { has_others: AtomicBool::new(true), ..self }
    }

    /// Returns whether other receivers may write into large files: this one has not gathered.
    pub fn has_others(&self) -> bool {
        self.has_others.load(Ordering::SeqCst)
    }

    /// Takes a part for writing; none when its file is complete already, or left out.
    pub fn part(&self, destination: &dyn OpenDestination, header: &SegmentHeader, part_size: u64, path: &str) -> io::Result<Option<Part>> {
        let invalid = |why: &str| io::Error::other(format!("part at {} of entry {}: {why}", header.offset, header.entry));
        if part_size == 0 || !header.offset.is_multiple_of(part_size) || header.length != part_size.min(header.size - header.offset) {
            return Err(invalid("does not lie on the plan's chunk size"));
        }
        if self.placed.contains(header.entry) {
            return Ok(None);
        }
        let Some(mut file) = self.open(destination, header, part_size)? else { return Ok(None) };
        if !file.is_of(header) {
            // A header counts only with its chunk's digest. One that nothing stands for yet may have been spoiled.
            if !file.forsake() {
                return Err(invalid("says something else of the file than the parts before it"));
            }
            let mut large = lock(&self.large);
            // Another stream may have begun it anew already.
            if large.get(&header.entry).is_some_and(|known| Arc::ptr_eq(known, &file)) {
                large.remove(&header.entry);
            }
            drop(large);
            let Some(anew) = self.open(destination, header, part_size)? else { return Ok(None) };
            file = anew;
            if !file.is_of(header) {
                return Err(invalid("says something else of the file than a part beside it"));
            }
        }
        let index = usize::try_from(header.offset / part_size).map_err(|_| invalid("is too far out"))?;
        let token = self.tokens.fetch_add(1, Ordering::Relaxed);
        let mut state = file.state.write().unwrap_or_else(PoisonError::into_inner);
        // A part that is on the disk is not written again: its resend may break off, or bring what the source is now.
        if state.synced.get(index).is_some_and(Option::is_none) {
            file.file.begin_part(index as u64, path)?;
            state.writers.insert(index, token);
        }
        drop(state);
        Ok(Some(Part { file, index, token }))
    }

    fn open(&self, destination: &dyn OpenDestination, header: &SegmentHeader, part_size: u64) -> io::Result<Option<Arc<Large>>> {
        let mut large = lock(&self.large);
        if lock(&self.skipped).contains(&header.entry) {
            return Ok(None);
        }
        if let Some(file) = large.get(&header.entry) {
            return Ok(Some(Arc::clone(file)));
        }
        let (file, left) = destination.large(header)?;
        lock(&self.kept).remove(&header.entry);
        let state = gathering::state(header.size, part_size, left);
        let file = Arc::new(Large {
            header: header.clone(),
            part_size,
            proof: self.proof,
            file,
            state: RwLock::new(state),
            basis: OnceLock::new(),
        });
        large.insert(header.entry, Arc::clone(&file));
        Ok(Some(file))
    }

    /// Notes an entry that is in its place.
    pub fn complete(&self, entry: u64, placed: Placed) {
        self.placed.insert(entry, &placed);
        lock(&self.large).remove(&entry);
    }

    /// Returns whether an entry with this digest is in its place.
    pub fn is_placed(&self, entry: u64, digest: &Digest) -> bool {
        self.placed.get(entry).is_some_and(|placed| placed.digest == *digest)
    }

    /// An entry comes again, as a whole: it is not there any more, or not what the sender has. Parts of a file that did not get to its place
    /// do not count any more either: what comes may be of another state of the source than they are.
    pub fn forget(&self, destination: &dyn OpenDestination, entry: u64) -> io::Result<()> {
        lock(&self.skipped).remove(&entry);
        let begun = lock(&self.large).remove(&entry);
        let kept = lock(&self.kept).remove(&entry);
        if let Some(file) = &begun {
            file.state.write().unwrap_or_else(PoisonError::into_inner).forsaken = true;
        }
        if begun.is_some() || kept {
            destination.abandon(entry)?;
        }
        self.forget_digest(destination, entry)
    }

    /// An entry is left out: what has come of it goes, and what still comes of it on other streams goes nowhere. A file that is in
    /// its place stays there, and is not vouched for any more.
    pub fn skip(&self, destination: &dyn OpenDestination, entry: u64) -> io::Result<()> {
        let mut large = lock(&self.large);
        lock(&self.skipped).insert(entry);
        let begun = large.remove(&entry);
        drop(large);
        let kept = lock(&self.kept).remove(&entry);
        if let Some(file) = &begun {
            file.state.write().unwrap_or_else(PoisonError::into_inner).skipped = true;
        }
        if begun.is_some() || kept {
            destination.abandon(entry)?;
        }
        self.forget_digest(destination, entry)
    }

    /// Gives a file up that somebody has changed. It is missing in the last look, and comes again whole.
    pub fn give_up(&self, destination: &dyn OpenDestination, entry: u64) -> io::Result<()> {
        lock(&self.large).remove(&entry);
        destination.abandon(entry)
    }

    /// Entries that are left out.
    pub fn skipped(&self) -> HashSet<u64> {
        lock(&self.skipped).clone()
    }

    fn forget_digest(&self, destination: &dyn OpenDestination, entry: u64) -> io::Result<()> {
        if self.placed.remove(entry) { destination.forget(entry) } else { Ok(()) }
    }

    /// Large files of which parts count, but not all came.
    pub fn unfinished(&self) -> usize {
        let large = lock(&self.large);
        let begun = |state: &State| state.missing < state.synced.len();
        let open = large.values().filter(|file| begun(&file.state.read().unwrap_or_else(PoisonError::into_inner))).count();
        open + lock(&self.kept).len()
    }

    /// Returns the entries that are in their places.
    pub const fn placed(&self) -> &EntryTable<Placed> {
        &self.placed
    }
}

#[cfg(test)]
#[path = "large_tests.rs"]
mod tests;
