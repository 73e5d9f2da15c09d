//! What is on the disk and verified, kept beside the partial files: a receiver that is started again goes on from it.
//!
//! Records of 72 bytes, appended: entry, number, part, change time (big-endian, 8 bytes each), digest (32), and the beginning (8) of
//! the BLAKE3 of all that. The first names the format and the plan, since entries are numbers of its listing.

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io::{self, BufReader, Read, Write as _};
use std::os::fd::OwnedFd;
use std::sync::Mutex;

use rustix::fs::{self, AtFlags, Mode, OFlags};
use rustix::io::Errno;

use crate::digest::Digest;
use crate::documents::text::PlanId;
use crate::ends::{Identity, Placed};
use crate::thread::lock;

/// No partial file has this name: those are numbers.
const NAME: &str = "journal";
/// What these records are; a journal of another format is of no use.
const FORMAT: &str = "cpt-relay 2026-11 journal of a receiver";
const RECORD_BYTES: usize = 72;
const CHECKED_BYTES: usize = 64;
/// In place of a part: the entry is whole and in its place.
const WHOLE: u64 = u64::MAX;
/// In place of a part: nothing that was noted of the entry counts.
const FORGOTTEN: u64 = u64::MAX - 1;
/// In place of an entry: the record names the plan.
const PLAN: u64 = u64::MAX;

/// What earlier receivers of the transfer have left.
#[derive(Default)]
pub struct Known {
    /// Entries in their places.
    pub whole: BTreeMap<u64, Placed>,
    pub parts: HashMap<u64, Parts>,
}

/// Parts of a large file that are in its partial file.
#[derive(Default)]
pub struct Parts {
    /// Of the file, bytes.
    pub size: u64,
    /// When their partial file was made, nanoseconds since 1970; 0 where the file system does not tell.
    pub born_ns: i64,
    pub digests: BTreeMap<u64, Digest>,
}

impl Known {
    fn note(&mut self, record: Record) {
        match record.part {
            WHOLE => {
                self.whole.insert(record.entry, record.placed());
            }
            FORGOTTEN => {
                self.whole.remove(&record.entry);
                self.parts.remove(&record.entry);
            }
            part => {
                let parts = self.parts.entry(record.entry).or_default();
                (parts.size, parts.born_ns) = (record.number, record.changed_ns);
                parts.digests.insert(part, record.digest);
            }
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
struct Record {
    entry: u64,
    /// Of a part its file's size in bytes; of an entry in its place its inode, 0 where that is not known.
    number: u64,
    part: u64,
    /// Of a part when its partial file was made.
    changed_ns: i64,
    digest: Digest,
}

impl Record {
    fn of_plan(plan: &PlanId) -> Self {
        let digest = blake3::Hasher::new_derive_key(FORMAT).update(plan.as_str().as_bytes()).finalize();
        Self { entry: PLAN, number: 0, part: 0, changed_ns: 0, digest: digest.into() }
    }

    fn of_placed(entry: u64, placed: &Placed) -> Self {
        let Identity { inode, changed_ns } = placed.identity.unwrap_or(Identity { inode: 0, changed_ns: 0 });
        Self { entry, number: inode, part: WHOLE, changed_ns, digest: placed.digest }
    }

    fn placed(&self) -> Placed {
        let identity = (self.number != 0).then_some(Identity { inode: self.number, changed_ns: self.changed_ns });
        Placed { digest: self.digest, identity }
    }

    fn encode(&self) -> [u8; RECORD_BYTES] {
        let mut bytes = [0; RECORD_BYTES];
        bytes[..8].copy_from_slice(&self.entry.to_be_bytes());
        bytes[8..16].copy_from_slice(&self.number.to_be_bytes());
        bytes[16..24].copy_from_slice(&self.part.to_be_bytes());
        bytes[24..32].copy_from_slice(&self.changed_ns.to_be_bytes());
        bytes[32..CHECKED_BYTES].copy_from_slice(&self.digest);
        let check = blake3::hash(&bytes[..CHECKED_BYTES]);
        bytes[CHECKED_BYTES..].copy_from_slice(&check.as_bytes()[..RECORD_BYTES - CHECKED_BYTES]);
        bytes
    }

    /// None where the bytes are no record: it was cut off, or the disk has lost it.
    fn decode(bytes: &[u8; RECORD_BYTES]) -> Option<Self> {
        let number = |at: usize| bytes[at..at + 8].iter().fold(0, |sum: u64, byte| sum << 8 | u64::from(*byte));
        let mut digest = [0; 32];
        digest.copy_from_slice(&bytes[32..CHECKED_BYTES]);
        let record = Self { entry: number(0), number: number(8), part: number(16), changed_ns: number(24).cast_signed(), digest };
        (record.encode() == *bytes).then_some(record)
    }
}

/// The journal of one destination.
pub struct Journal {
    partial: OwnedFd,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Made when there is something to write.
    file: Option<File>,
    length: u64,
    /// The first record; none before `recall`.
    head: Option<Record>,
    /// Records that need not be in the file before the next sync.
    gathered: Vec<u8>,
    /// Whether a write has failed, which may have left half a record.
    torn: bool,
}

impl Journal {
    /// That of the directory of partial files.
    pub fn new(partial: OwnedFd) -> Self {
        Self { partial, state: Mutex::default() }
    }

    /// Reads what earlier receivers left of the same plan; what they left of another one is of no use.
    pub fn recall(&self, plan: &PlanId) -> io::Result<Known> {
        let mut state = lock(&self.state);
        let head = Record::of_plan(plan);
        state.head = Some(head);
        let flags = OFlags::RDWR | OFlags::APPEND | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = match fs::openat(&self.partial, NAME, flags, Mode::empty()) {
            Ok(file) => File::from(file),
            Err(Errno::NOENT) => return Ok(Known::default()),
            Err(error) => return Err(error.into()),
        };
        let (known, length) = read(BufReader::new(&file), &head)?;
        if length == 0 {
            fs::unlinkat(&self.partial, NAME, AtFlags::empty())?;
            return Ok(known);
        }
        // What follows would be cut off from its beginning.
        file.set_len(length)?;
        (state.file, state.length) = (Some(file), length);
        Ok(known)
    }

    /// A part of a large file that is synced. In the file when this returns, so before its file can go to its place.
    pub fn part(&self, entry: u64, size: u64, born_ns: i64, part: u64, digest: Digest) -> io::Result<()> {
        let mut state = self.gather(Record { entry, number: size, part, changed_ns: born_ns, digest })?;
        state.write().inspect_err(|_| {
            // It will be sent again, and written over meanwhile.
            let others = state.gathered.len() - RECORD_BYTES;
            state.gathered.truncate(others);
        })
    }

    /// An entry that is in its place.
    pub fn whole(&self, entry: u64, placed: &Placed) -> io::Result<()> {
        self.gather(Record::of_placed(entry, placed)).map(drop)
    }

    /// An entry that comes again.
    pub fn forgotten(&self, entry: u64) -> io::Result<()> {
        self.gather(Record { entry, number: 0, part: FORGOTTEN, changed_ns: 0, digest: [0; 32] }).map(drop)
    }

    /// All records are on the disk when this returns; and with them, where the file system keeps one log in order, the names
    /// of files that went to their places before. Without a new record there is nothing that would be written.
    pub fn sync(&self) -> io::Result<()> {
        let mut state = lock(&self.state);
        state.write()?;
        state.file.as_ref().map_or(Ok(()), File::sync_data)
    }

    fn gather(&self, record: Record) -> io::Result<std::sync::MutexGuard<'_, State>> {
        let mut state = lock(&self.state);
        if state.file.is_none() {
            let flags = OFlags::WRONLY | OFlags::APPEND | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            state.file = Some(fs::openat(&self.partial, NAME, flags, Mode::RUSR | Mode::WUSR)?.into());
            if let Some(head) = state.head {
                state.gathered.extend(head.encode());
            }
        }
        state.gathered.extend(record.encode());
        Ok(state)
    }
}

impl State {
    /// What cannot be written, on a full disk say, is kept for the next time.
    fn write(&mut self) -> io::Result<()> {
        let Some(file) = &mut self.file else { return Ok(()) };
        if self.torn {
            // Half a record would make what comes after it unreadable.
            file.set_len(self.length)?;
        }
        self.torn = true;
        file.write_all(&self.gathered)?;
        self.torn = false;
        self.length += self.gathered.len() as u64;
        self.gathered.clear();
        Ok(())
    }
}

/// What the records say, and how many bytes of them can be read.
fn read(mut from: impl Read, head: &Record) -> io::Result<(Known, u64)> {
    let mut known = Known::default();
    let mut bytes = [0; RECORD_BYTES];
    let mut length = 0;
    loop {
        match from.read_exact(&mut bytes) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok((known, length)),
            other => other?,
        }
        match Record::decode(&bytes) {
            Some(record) if length > 0 => known.note(record),
            Some(record) if record == *head => {}
            _ => return Ok((known, length)),
        }
        length += RECORD_BYTES as u64;
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::path::Path;

    use super::*;

    impl Known {
        fn is_empty(&self) -> bool {
            self.whole.is_empty() && self.parts.is_empty()
        }
    }

    const BORN: i64 = 1_700_000_000_000_000_001;

    fn plan(digit: char) -> PlanId {
        PlanId::new(digit.to_string().repeat(32)).unwrap()
    }

    fn placed(digit: u8) -> Placed {
        let identity = Some(Identity { inode: 77, changed_ns: -5 });
        Placed { digest: [digit; 32], identity: identity.filter(|_| digit != 1) }
    }

    fn journal(folder: &Path) -> Journal {
        Journal::new(fs::open(folder, OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty()).unwrap())
    }

    /// A file in its place, and two parts of another one.
    fn written(folder: &Path) {
        let journal = journal(folder);
        assert!(journal.recall(&plan('9')).unwrap().is_empty());
        journal.whole(3, &placed(3)).unwrap();
        journal.part(7, 5000, BORN, 0, [7; 32]).unwrap();
        journal.part(7, 5000, BORN, 2, [8; 32]).unwrap();
        journal.sync().unwrap();
    }

    #[test]
    fn what_was_noted_is_known_again_and_goes_on() {
        let folder = tempfile::tempdir().unwrap();
        written(folder.path());
        for more in 0..2 {
            let journal = journal(folder.path());
            let known = journal.recall(&plan('9')).unwrap();
            assert_eq!(known.whole.len(), 1 + more);
            assert_eq!(known.whole[&3], placed(3));
            assert_eq!((known.parts[&7].size, known.parts[&7].digests.len()), (5000, 2));
            assert_eq!(known.parts[&7].digests[&2], [8; 32]);
            journal.whole(100 + more as u64, &placed(1)).unwrap();
            journal.sync().unwrap();
        }
    }

    #[test]
    fn a_record_that_was_cut_off_or_lost_ends_what_is_known_and_not_what_is_noted() {
        let folder = tempfile::tempdir().unwrap();
        written(folder.path());
        let path = folder.path().join(NAME);
        let whole = std::fs::read(&path).unwrap();
        let mut spoiled = whole.clone();
        spoiled[3 * RECORD_BYTES + 30] ^= 1;
        for text in [&whole[..whole.len() - 1], &whole[..3 * RECORD_BYTES + 1], &spoiled[..]] {
            std::fs::write(&path, text).unwrap();
            let first = journal(folder.path());
            assert_eq!(first.recall(&plan('9')).unwrap().parts[&7].digests.len(), 1);
            first.part(7, 5000, BORN, 1, [6; 32]).unwrap();
            assert_eq!(journal(folder.path()).recall(&plan('9')).unwrap().parts[&7].digests.len(), 2);
        }
    }

    /// A write that the disk refuses half-way, and then takes.
    #[test]
    fn what_a_full_disk_refused_is_written_once_there_is_room() {
        let folder = tempfile::tempdir().unwrap();
        let first = journal(folder.path());
        first.recall(&plan('9')).unwrap();
        first.whole(3, &placed(3)).unwrap();
        // Like a disk that is full: `/dev/full` takes nothing, and cannot be cut off either.
        let file = lock(&first.state).file.replace(File::options().write(true).open("/dev/full").unwrap());
        assert!(first.sync().is_err());
        assert!(first.part(7, 5000, BORN, 0, [7; 32]).is_err());
        lock(&first.state).file = file;
        first.part(7, 5000, BORN, 2, [8; 32]).unwrap();
        first.sync().unwrap();
        let known = journal(folder.path()).recall(&plan('9')).unwrap();
        assert_eq!(known.whole.keys().collect::<Vec<_>>(), [&3]);
        assert_eq!(known.parts[&7].digests.keys().collect::<Vec<_>>(), [&2], "its chunk is sent again");
    }

    #[test]
    fn what_was_forgotten_is_not_known_again() {
        let folder = tempfile::tempdir().unwrap();
        written(folder.path());
        let again = journal(folder.path());
        again.recall(&plan('9')).unwrap();
        again.forgotten(3).unwrap();
        again.forgotten(7).unwrap();
        again.part(7, 5000, BORN, 1, [6; 32]).unwrap();
        let known = journal(folder.path()).recall(&plan('9')).unwrap();
        assert!(known.whole.is_empty());
        assert_eq!(known.parts[&7].digests.keys().collect::<Vec<_>>(), [&1]);
    }

    #[test]
    fn what_is_of_another_plan_is_forgotten() {
        let folder = tempfile::tempdir().unwrap();
        written(folder.path());
        let other = journal(folder.path());
        assert!(other.recall(&plan('1')).unwrap().is_empty());
        other.whole(5, &placed(5)).unwrap();
        other.sync().unwrap();
        assert!(journal(folder.path()).recall(&plan('9')).unwrap().is_empty());
    }

    #[test]
    fn nothing_noted_is_no_file() {
        let folder = tempfile::tempdir().unwrap();
        let journal = journal(folder.path());
        journal.sync().unwrap();
        assert!(!folder.path().join(NAME).exists());
    }
}
