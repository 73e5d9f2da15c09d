//! The journal of what is on the disk and verified, kept beside the partial files: a restarted receiver reads it.
//!
//! Records of 72 bytes, appended: entry, number, part, change time (big-endian, 8 bytes each), digest (32), and the beginning (8) of
//! the BLAKE3 of all that. The first names the format and the plan, since entries are numbers of its listing. After that of a part come
//! those of its holes: a receiver that was not told of them would have to read the part again.

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io::{self, BufReader, Read, Write as _};
use std::ops::Range;
use std::os::fd::OwnedFd;
use std::sync::Mutex;

use rustix::fs::{self, AtFlags, Mode, OFlags};
use rustix::io::Errno;

use super::answers;
use super::identity::{Identity, Linked};
use super::nameless::nameless;
use crate::defaults::HOLES_OF_ALL;
use cpt_ends::entry_table::EntryTable;
use cpt_ends::{Placed, Version};
use cpt_process::thread::lock;
use cpt_wire::digest::{Digest, Proof};
use cpt_wire::documents::text::PlanId;

/// No partial file has this name: those are numbers.
const NAME: &str = "journal";
/// Names the format of these records; a journal of another format is of no use.
const FORMAT: &str = "cpt-relay 2026-11 journal of a receiver, with holes";
const RECORD_BYTES: usize = 72;
const CHECKED_BYTES: usize = 64;
/// In place of a part: the entry is whole and in its place.
const WHOLE: u64 = u64::MAX;
/// In place of a part: nothing that was noted of the entry counts.
const FORGOTTEN: u64 = u64::MAX - 1;
/// In place of a part: a file got another name. In place of an entry the change time that it had before all of these names.
const LINKED: u64 = u64::MAX - 2;
/// In place of a part: two holes of one; in place of its number that of the part, in place of a digest where they begin and end.
const HOLES: u64 = u64::MAX - 3;
/// In place of an entry: the record names the plan.
const PLAN: u64 = u64::MAX;

/// Parts and entries that earlier receivers of the transfer have left.
#[derive(Default)]
pub struct Known {
    /// Entries in their places.
    pub whole: EntryTable<Placed>,
    pub parts: HashMap<u64, Parts>,
    /// Files that got other names.
    pub linked: Linked,
    /// Number of all the parts' holes.
    holes: usize,
}

/// Parts of a large file that are in its partial file.
#[derive(Default)]
pub struct Parts {
    /// Size of the file, bytes.
    pub size: u64,
    /// Birth time of the partial file, nanoseconds since 1970; 0 where the file system does not tell.
    pub born_ns: i64,
    pub digests: BTreeMap<u64, Digest>,
    /// Their holes, as far as they are known.
    pub holes: BTreeMap<u64, Vec<Range<u64>>>,
}

impl Parts {
    fn count_holes(&self) -> usize {
        self.holes.values().map(Vec::len).sum()
    }
}

impl Known {
    /// Nothing yet; what is not in memory goes into these files.
    pub fn within(whole: Option<File>, linked: Option<File>) -> Self {
        Self { whole: EntryTable::new(whole), linked: Linked::within(linked), ..Self::default() }
    }

    fn note(&mut self, record: Record) {
        match record.part {
            WHOLE => {
                self.whole.insert(record.entry, &record.placed());
            }
            LINKED => {
                let first = Identity { inode: record.number, changed_ns: record.entry.cast_signed() };
                self.linked.note(&first, &Identity { changed_ns: record.changed_ns, ..first });
            }
            FORGOTTEN => {
                self.whole.remove(record.entry);
                self.holes -= self.parts.remove(&record.entry).map_or(0, |parts| parts.count_holes());
            }
            HOLES => {
                let Some(parts) = self.parts.get_mut(&record.entry).filter(|parts| parts.digests.contains_key(&record.number)) else {
                    return;
                };
                let holes = record.holes();
                if self.holes + holes.len() <= HOLES_OF_ALL {
                    self.holes += holes.len();
                    parts.holes.entry(record.number).or_default().extend(holes);
                }
            }
            part => {
                let parts = self.parts.entry(record.entry).or_default();
                (parts.size, parts.born_ns) = (record.number, record.changed_ns);
                parts.digests.insert(part, record.digest);
                // It was received again.
                self.holes -= parts.holes.remove(&part).map_or(0, |holes| holes.len());
            }
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
struct Record {
    entry: u64,
    /// Of a part the size of its file, bytes; of an entry in its place and of a link the inode, 0 where that is not known.
    number: u64,
    part: u64,
    /// Of a part the birth time of its partial file.
    changed_ns: i64,
    digest: Digest,
}

impl Record {
    fn of_plan(plan: &PlanId, proof: Proof) -> Self {
        Self { entry: PLAN, number: 0, part: 0, changed_ns: 0, digest: proof.of_journal(FORMAT, plan.as_str()) }
    }

    fn of_placed(entry: u64, placed: &Placed) -> Self {
        let Identity { inode, changed_ns } = placed.version.unwrap_or(Version::NONE).into();
        Self { entry, number: inode, part: WHOLE, changed_ns, digest: placed.digest }
    }

    fn placed(&self) -> Placed {
        let version = (self.number != 0).then_some(Version::of_numbers((self.number, self.changed_ns)));
        Placed { digest: self.digest, version }
    }

    /// At most two.
    fn of_holes(entry: u64, part: u64, holes: &[Range<u64>]) -> Self {
        let mut digest = [0; 32];
        let bounds = holes.iter().flat_map(|hole| [hole.start, hole.end]);
        digest.chunks_exact_mut(8).zip(bounds).for_each(|(bytes, bound)| bytes.copy_from_slice(&bound.to_be_bytes()));
        Self { entry, number: part, part: HOLES, changed_ns: 0, digest }
    }

    fn holes(&self) -> Vec<Range<u64>> {
        let bounds: Vec<u64> = self.digest.chunks_exact(8).map(number).collect();
        bounds.chunks_exact(2).map(|bounds| bounds[0]..bounds[1]).filter(|hole| !hole.is_empty()).collect()
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
        let number = |at: usize| number(&bytes[at..at + 8]);
        let mut digest = [0; 32];
        digest.copy_from_slice(&bytes[32..CHECKED_BYTES]);
        let record = Self { entry: number(0), number: number(8), part: number(16), changed_ns: number(24).cast_signed(), digest };
        (record.encode() == *bytes).then_some(record)
    }
}

fn number(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0, |sum, byte| sum << 8 | u64::from(*byte))
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
    /// A write has failed and may have left half a record.
    torn: bool,
}

impl Journal {
    /// That of the directory of partial files.
    pub fn new(partial: OwnedFd) -> Self {
        Self { partial, state: Mutex::default() }
    }

    /// A new file without a name; none where the file system does not make one.
    pub fn nameless(&self) -> Option<File> {
        nameless(&self.partial).inspect_err(|error| tracing::warn!(%error, "file without a name")).ok()
    }

    /// Reads what earlier receivers left of the same plan; what they left of another one, or with digests of another kind, is of no use.
    pub fn recall(&self, plan: &PlanId, proof: Proof) -> io::Result<Known> {
        let mut state = lock(&self.state);
        let head = Record::of_plan(plan, proof);
        state.head = Some(head);
        let flags = OFlags::RDWR | OFlags::APPEND | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = match fs::openat(&self.partial, NAME, flags, Mode::empty()) {
            Ok(file) => File::from(file),
            Err(Errno::NOENT) => return Ok(Known::within(self.nameless(), self.nameless())),
            Err(error) => return Err(error.into()),
        };
        let (known, length) = read(Known::within(self.nameless(), self.nameless()), BufReader::new(&file), &head)?;
        if length == 0 {
            answers::removed(fs::unlinkat(&self.partial, NAME, AtFlags::empty()))?;
            return Ok(known);
        }
        // What follows would be cut off from its beginning.
        file.set_len(length)?;
        (state.file, state.length) = (Some(file), length);
        Ok(known)
    }

    /// A part of a large file that is synced, of this birth time, with its holes. In the file when this returns, so before its file can
    /// go to its place.
    pub fn part(&self, entry: u64, file: (u64, i64), part: u64, digest: Digest, holes: &[Range<u64>]) -> io::Result<()> {
        let (size, born_ns) = file;
        let of_part = Record { entry, number: size, part, changed_ns: born_ns, digest };
        let of_holes = holes.chunks(2).map(|holes| Record::of_holes(entry, part, holes));
        // It will be sent again, and written over meanwhile.
        self.at_once(&std::iter::once(of_part).chain(of_holes).collect::<Vec<_>>())
    }

    /// A file that was `first` before it got other names, and is `last` with the newest one. In the file when this returns: a receiver
    /// that comes later must not take the names for a change of the file.
    pub fn linked(&self, first: &Identity, last: &Identity) -> io::Result<()> {
        let (entry, number, changed_ns) = (first.changed_ns.cast_unsigned(), last.inode, last.changed_ns);
        self.at_once(&[Record { entry, number, part: LINKED, changed_ns, digest: [0; 32] }])
    }

    /// Writes records, which do not count if that fails.
    fn at_once(&self, records: &[Record]) -> io::Result<()> {
        let mut state = self.gather(records)?;
        state.write().inspect_err(|_| {
            let others = state.gathered.len() - records.len() * RECORD_BYTES;
            state.gathered.truncate(others);
        })
    }

    /// An entry that is in its place.
    pub fn whole(&self, entry: u64, placed: &Placed) -> io::Result<()> {
        self.gather(&[Record::of_placed(entry, placed)]).map(drop)
    }

    /// An entry that comes again.
    pub fn forgotten(&self, entry: u64) -> io::Result<()> {
        self.gather(&[Record { entry, number: 0, part: FORGOTTEN, changed_ns: 0, digest: [0; 32] }]).map(drop)
    }

    /// All records are on the disk when this returns; and with them, where the file system keeps one log in order, the names
    /// of files that went to their places before. Without a new record there is nothing that would be written.
    pub fn sync(&self) -> io::Result<()> {
        let mut state = lock(&self.state);
        state.write()?;
        state.file.as_ref().map_or(Ok(()), File::sync_data)
    }

    fn gather(&self, records: &[Record]) -> io::Result<std::sync::MutexGuard<'_, State>> {
        let mut state = lock(&self.state);
        if state.file.is_none() {
            let flags = OFlags::WRONLY | OFlags::APPEND | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            state.file = Some(fs::openat(&self.partial, NAME, flags, Mode::RUSR | Mode::WUSR)?.into());
            if let Some(head) = state.head {
                state.gathered.extend(head.encode());
            }
        }
        state.gathered.extend(records.iter().flat_map(Record::encode));
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

/// Reads what the receiver of a directory has noted of a plan, whether it runs or not; nothing is changed.
pub fn read_of(directory: &OwnedFd, plan: &PlanId, proof: Proof, known: Known) -> io::Result<Known> {
    match fs::openat(directory, NAME, OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty()) {
        Ok(file) => Ok(read(known, BufReader::new(File::from(file)), &Record::of_plan(plan, proof))?.0),
        Err(Errno::NOENT) => Ok(known),
        Err(error) => Err(error.into()),
    }
}

/// Returns what the records say, and how many bytes of them can be read.
fn read(mut known: Known, mut from: impl Read, head: &Record) -> io::Result<(Known, u64)> {
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
#[path = "journal_tests.rs"]
mod tests;
