//! Large files, which arrive in parts on many streams.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use super::journal::{Known, Parts};
use super::placed::Placed;
use super::tree::{Tree, finish_file};
use crate::digest::{Digest, merge_parts};
use crate::thread::lock;
use crate::wire::frame::SegmentHeader;

/// A file under way.
pub struct Large {
    header: SegmentHeader,
    part_size: u64,
    file: File,
    state: RwLock<State>,
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
}

impl Large {
    /// Number of the entry in the listing.
    pub const fn entry(&self) -> u64 {
        self.header.entry
    }

    /// Whether the header is of a part of this file.
    fn is_of(&self, header: &SegmentHeader) -> bool {
        SegmentHeader { offset: self.header.offset, length: self.header.length, ..header.clone() } == self.header
    }

    /// Gives the file up, unless a part of it counts already.
    fn forsake(&self) -> bool {
        let mut state = self.state.write().unwrap_or_else(PoisonError::into_inner);
        state.forsaken |= state.missing == state.synced.len();
        state.forsaken
    }

    /// The bytes of a part: offset and length.
    pub fn extent(&self, part: usize) -> (u64, u64) {
        let offset = self.part_size.saturating_mul(part as u64);
        (offset, self.part_size.min(self.header.size.saturating_sub(offset)))
    }

    /// Whether the file is in its place already.
    pub fn is_done(&self) -> bool {
        self.state.read().unwrap_or_else(PoisonError::into_inner).done
    }

    /// Writes into a part, unless another stream has taken it over or the file is complete.
    pub fn write(&self, part: usize, token: u64, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let state = self.state.read().unwrap_or_else(PoisonError::into_inner);
        if state.done || state.forsaken || state.writers.get(&part) != Some(&token) {
            return Ok(());
        }
        self.file.write_all_at(bytes, offset)
    }

    /// Notes a part that has been synced. Once all are there the file goes to its place, which comes back.
    /// Fails for a stream that another has taken the part over from: what came after that was not written.
    pub fn synced(&self, part: usize, token: u64, digest: Digest, tree: &Tree) -> io::Result<Option<Placed>> {
        let mut state = self.state.write().unwrap_or_else(PoisonError::into_inner);
        if state.done {
            return Ok(None);
        }
        if state.forsaken {
            return Err(io::Error::other("the file was begun anew"));
        }
        match state.synced.get(part).copied().flatten() {
            Some(known) if known == digest => {}
            Some(_) if state.kept.remove(&part) => {
                state.synced[part] = None;
                state.missing += 1;
                return Err(io::Error::other("the part differs from the one that an earlier receiver left, which is dropped"));
            }
            Some(_) => return Err(io::Error::other("the part differs from the one that is on the disk")),
            None if state.writers.get(&part) != Some(&token) => return Err(io::Error::other("another stream took the part over")),
            None => {
                tree.journal.part(self.entry(), self.header.size, part as u64, digest)?;
                state.synced[part] = Some(digest);
                state.missing -= 1;
            }
        }
        if state.missing > 0 {
            return Ok(None);
        }
        let parts: Vec<Digest> = state.synced.iter().copied().flatten().collect();
        let merged = merge_parts(&parts, self.header.size, self.part_size);
        let digest = merged.ok_or_else(|| io::Error::other("the parts do not make up the file"))?;
        let inode = finish_file(&self.file, self.header.mode, self.header.mtime_ns)?;
        let identity = tree.place(&self.header.entry.to_string(), &self.header.path, Some(inode))?;
        state.done = true;
        Ok(Some(Placed { digest, identity }))
    }
}

/// A part that a stream is writing.
pub struct Part {
    pub file: Arc<Large>,
    pub index: usize,
    pub token: u64,
}

/// All large files of the transfer, and everything that is in its place.
#[derive(Default)]
pub struct Files {
    large: Mutex<HashMap<u64, Arc<Large>>>,
    /// Parts that earlier receivers left of files of which none has come yet.
    kept: Mutex<HashMap<u64, Parts>>,
    placed: Mutex<BTreeMap<u64, Placed>>,
    tokens: AtomicU64,
}

impl Files {
    /// Goes on from what earlier receivers left.
    pub fn going_on_from(known: Known, tree: &Tree, part_size: u64) -> io::Result<Self> {
        let Known { whole: mut placed, parts } = known;
        let (mut kept, mut gone) = (HashMap::new(), false);
        for (entry, parts) in parts {
            // Parts are noted before their file goes to its place. Without all of them it has been taken away.
            let all: Vec<Digest> = parts.digests.values().copied().collect();
            if tree.has_partial(entry) {
                kept.insert(entry, parts);
            } else if let Some(digest) = merge_parts(&all, parts.size, part_size) {
                placed.insert(entry, Placed { digest, identity: None });
            } else {
                tree.journal.forgotten(entry)?;
                gone = true;
            }
        }
        // Before a new partial file can be there, which would be taken for the one of these parts.
        if gone {
            tree.journal.sync()?;
        }
        Ok(Self { kept: Mutex::new(kept), placed: Mutex::new(placed), ..Self::default() })
    }

    /// Takes a part for writing; none when its file is complete already.
    pub fn part(&self, tree: &Tree, header: &SegmentHeader, part_size: u64) -> io::Result<Option<Part>> {
        let invalid =
            |why: &str| io::Error::new(io::ErrorKind::InvalidInput, format!("part at {} of entry {}: {why}", header.offset, header.entry));
        if part_size == 0 || !header.offset.is_multiple_of(part_size) || header.length != part_size.min(header.size - header.offset) {
            return Err(invalid("does not lie on the plan's chunk size"));
        }
        if lock(&self.placed).contains_key(&header.entry) {
            return Ok(None);
        }
        let mut file = self.open(tree, header, part_size)?;
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
            file = self.open(tree, header, part_size)?;
            if !file.is_of(header) {
                return Err(invalid("says something else of the file than a part beside it"));
            }
        }
        let index = usize::try_from(header.offset / part_size).map_err(|_| invalid("is too far out"))?;
        let token = self.tokens.fetch_add(1, Ordering::Relaxed);
        let mut state = file.state.write().unwrap_or_else(PoisonError::into_inner);
        // A part that is on the disk is not written again: its resend may break off, or bring what the source is now.
        if state.synced.get(index).is_some_and(Option::is_none) {
            state.writers.insert(index, token);
        }
        drop(state);
        Ok(Some(Part { file, index, token }))
    }

    fn open(&self, tree: &Tree, header: &SegmentHeader, part_size: u64) -> io::Result<Arc<Large>> {
        let mut large = lock(&self.large);
        if let Some(file) = large.get(&header.entry) {
            return Ok(Arc::clone(file));
        }
        let parts = usize::try_from(header.size.div_ceil(part_size)).map_err(io::Error::other)?;
        let (mut synced, mut kept) = (vec![None; parts], HashSet::new());
        let left = lock(&self.kept).remove(&header.entry);
        let usable = left.as_ref().is_some_and(|left| left.size == header.size) && tree.is_left(header.entry, header.size);
        match left {
            Some(left) if usable => {
                for (part, digest) in left.digests {
                    let part = usize::try_from(part).unwrap_or(usize::MAX);
                    if let Some(slot) = synced.get_mut(part) {
                        *slot = Some(digest);
                        kept.insert(part);
                    }
                }
            }
            // The file is made anew: the next receiver must not take the old parts for what is in it.
            Some(_) => {
                tree.discard(&header.entry.to_string());
                tree.journal.forgotten(header.entry)?;
                tree.journal.sync()?;
            }
            None => {}
        }
        let missing = parts - kept.len();
        let file = Arc::new(Large {
            header: header.clone(),
            part_size,
            file: tree.open_large(header.entry, header.size)?,
            state: RwLock::new(State { writers: HashMap::new(), synced, kept, missing, done: false, forsaken: false }),
        });
        large.insert(header.entry, Arc::clone(&file));
        Ok(file)
    }

    /// Notes an entry that is in its place.
    pub fn complete(&self, entry: u64, placed: Placed) {
        lock(&self.placed).insert(entry, placed);
        lock(&self.large).remove(&entry);
    }

    /// Whether an entry with this digest is in its place.
    pub fn is_placed(&self, entry: u64, digest: &Digest) -> bool {
        lock(&self.placed).get(&entry).is_some_and(|placed| placed.digest == *digest)
    }

    /// An entry that was in its place comes again: it is not there any more, or not what the sender has.
    pub fn forget(&self, tree: &Tree, entry: u64) -> io::Result<()> {
        if lock(&self.placed).remove(&entry).is_some() { tree.journal.forgotten(entry) } else { Ok(()) }
    }

    /// Large files of which parts count, but not all came.
    pub fn unfinished(&self) -> usize {
        let large = lock(&self.large);
        let begun = |state: &State| state.missing < state.synced.len();
        let open = large.values().filter(|file| begun(&file.state.read().unwrap_or_else(PoisonError::into_inner))).count();
        open + lock(&self.kept).len()
    }

    /// All entries in their places.
    pub fn placed(&self) -> MutexGuard<'_, BTreeMap<u64, Placed>> {
        lock(&self.placed)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::digest::{part_digest, part_hasher};
    use crate::documents::entry::Kind;
    use crate::documents::text::{PlanId, TransferId};

    const PART: u64 = 2048;

    fn header(offset: u64) -> SegmentHeader {
        SegmentHeader {
            entry: 0,
            kind: Kind::File,
            mode: 0o644,
            mtime_ns: 0,
            size: 2 * PART,
            offset,
            length: PART,
            path: b"file".to_vec(),
            target: Vec::new(),
        }
    }

    #[test]
    fn a_part_taken_over_half_way_counts_only_for_the_stream_that_wrote_all_of_it() {
        let folder = tempfile::tempdir().unwrap();
        let tree = Tree::open(folder.path(), &TransferId::new("t").unwrap()).unwrap();
        let content: Vec<u8> = (0..2 * PART).map(|at| u8::try_from(at % 251).unwrap()).collect();
        let (first, second) = content.split_at(usize::try_from(PART).unwrap());
        let digest = |bytes: &[u8], offset: u64| part_digest(part_hasher(offset).update(bytes));
        let (first_digest, second_digest) = (digest(first, 0), digest(second, PART));
        let files = Files::default();
        let broken = files.part(&tree, &header(0), PART).unwrap().unwrap();
        broken.file.write(0, broken.token, 0, &first[..1024]).unwrap();
        let resent = files.part(&tree, &header(0), PART).unwrap().unwrap();
        broken.file.write(0, broken.token, 1024, &first[1024..]).unwrap();
        assert!(broken.file.synced(0, broken.token, first_digest, &tree).is_err());

        resent.file.write(0, resent.token, 0, first).unwrap();
        assert_eq!(resent.file.synced(0, resent.token, first_digest, &tree).unwrap(), None);
        let late = files.part(&tree, &header(0), PART).unwrap().unwrap();
        late.file.write(0, late.token, 0, &[0xff; 16]).unwrap();
        let other = files.part(&tree, &header(PART), PART).unwrap().unwrap();
        other.file.write(1, other.token, PART, second).unwrap();
        assert!(other.file.synced(1, other.token, second_digest, &tree).unwrap().is_some());
        assert_eq!(std::fs::read(folder.path().join("file")).unwrap(), content);
    }

    #[test]
    fn a_part_that_an_earlier_receiver_left_counts_until_another_one_comes() {
        let folder = tempfile::tempdir().unwrap();
        let digest = |bytes: &[u8], offset: u64| part_digest(part_hasher(offset).update(bytes));
        let (old, new) = ([1; PART as usize], [2; PART as usize]);
        let land = |tree: &Tree, files: &Files, bytes: &[u8], offset: u64| {
            let part = files.part(tree, &header(offset), PART).unwrap().unwrap();
            part.file.write(part.index, part.token, offset, bytes).unwrap();
            part.file.synced(part.index, part.token, digest(bytes, offset), tree)
        };
        let open = || {
            let tree = Tree::open(folder.path(), &TransferId::new("t").unwrap()).unwrap();
            let files = Files::going_on_from(tree.journal.recall(&PlanId::new("0".repeat(32)).unwrap()).unwrap(), &tree, PART).unwrap();
            (tree, files)
        };
        let (tree, files) = open();
        land(&tree, &files, &old, 0).unwrap();
        drop((tree, files));
        let (tree, files) = open();
        assert_eq!(files.unfinished(), 1);
        assert_eq!(land(&tree, &files, &old, 0).unwrap(), None);
        assert!(land(&tree, &files, &new, 0).is_err(), "it is not what is on the disk");
        assert_eq!(land(&tree, &files, &new, 0).unwrap(), None);
        assert!(land(&tree, &files, &new, 0).is_ok());
        assert!(land(&tree, &files, &new, PART).unwrap().is_some());
        assert_eq!(std::fs::read(folder.path().join("file")).unwrap(), [2; 2 * PART as usize]);
        drop((tree, files));
        let (_tree, files) = open();
        assert_eq!((files.unfinished(), files.placed().len()), (0, 1), "all parts are noted, and no partial file is left");
    }

    /// A receiver of one part, then what `harm` does to the partial file, then one of the other part that dies, then a third one.
    fn after(harm: impl Fn(&std::path::Path)) -> Option<Vec<u8>> {
        let folder = tempfile::tempdir().unwrap();
        let digest = |offset| part_digest(part_hasher(offset).update(&[7; PART as usize]));
        for (round, offset) in [0, PART, PART].into_iter().enumerate() {
            let tree = Tree::open(folder.path(), &TransferId::new("t").unwrap()).unwrap();
            let files = Files::going_on_from(tree.journal.recall(&PlanId::new("0".repeat(32)).unwrap()).unwrap(), &tree, PART).unwrap();
            if let Some(part) = files.part(&tree, &header(offset), PART).unwrap() {
                part.file.write(part.index, part.token, offset, &[7; PART as usize]).unwrap();
                part.file.synced(part.index, part.token, digest(offset), &tree).unwrap();
            }
            tree.journal.sync().unwrap();
            if round == 0 {
                harm(&folder.path().join(".cpt-partial-t/0"));
            }
        }
        std::fs::read(folder.path().join("file")).ok()
    }

    #[test]
    fn parts_of_a_partial_file_that_was_made_anew_do_not_count() {
        let whole = vec![7; 2 * PART as usize];
        assert_eq!(after(|_| {}), Some(whole));
        assert_eq!(after(|file| std::fs::hard_link(file, file.with_extension("backup")).unwrap()), None, "another name of it");
        assert_eq!(after(|file| std::fs::remove_file(file).unwrap()), None, "taken away");
        assert_eq!(after(|file| std::fs::write(file, "short").unwrap()), None, "of another size");
    }

    #[test]
    fn a_spoiled_header_that_came_first_does_not_stand_in_the_way_of_the_right_one() {
        let folder = tempfile::tempdir().unwrap();
        let tree = Tree::open(folder.path(), &TransferId::new("t").unwrap()).unwrap();
        let files = Files::default();
        let spoiled = files.part(&tree, &SegmentHeader { mode: 0o777, path: b"other".to_vec(), ..header(0) }, PART).unwrap().unwrap();
        let bytes = [1; PART as usize];
        let digest = |offset| part_digest(part_hasher(offset).update(&bytes));
        for (index, offset) in [(0, 0), (1, PART)] {
            let part = files.part(&tree, &header(offset), PART).unwrap().unwrap();
            part.file.write(index, part.token, offset, &bytes).unwrap();
            assert!(spoiled.file.synced(0, spoiled.token, digest(0), &tree).is_err());
            assert_eq!(part.file.synced(index, part.token, digest(offset), &tree).unwrap().is_some(), index == 1);
            if index == 0 {
                assert!(files.part(&tree, &SegmentHeader { mode: 0o777, ..header(PART) }, PART).is_err(), "the right one counts");
            }
        }
        assert!(!folder.path().join("other").exists());
        assert_eq!(std::fs::metadata(folder.path().join("file")).unwrap().len(), 2 * PART);
    }
}
