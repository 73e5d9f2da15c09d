//! What each chunk stood for when it went out, kept beside the command: a sender that is started again on the same machine does not
//! read its source again for what has arrived.
//!
//! Records, appended: chunk and number of entries (8 bytes each, big-endian); for each entry its number, size and offset and its
//! digest (56 bytes); the beginning (8) of the BLAKE3 of all that. A whole entry has `WHOLE` as its offset. The first record names the
//! plan. Nothing is synced: what a power failure takes is read from the source again, and both ends compare all digests in the end.

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::{self, BufReader, Read, Write as _};
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::Path;
use std::sync::Mutex;

use super::chunk_writer::Sent;
use crate::digest::Digest;
use crate::documents::text::PlanId;
use crate::thread::lock;

/// Names the format of these records; a journal of another format is of no use.
const FORMAT: &str = "cpt-relay 2026-11 journal of a sender";
const HEAD_BYTES: usize = 16;
const ENTRY_BYTES: usize = 56;
const CHECK_BYTES: usize = 8;
const WHOLE: u64 = u64::MAX;
/// In place of a chunk: the record names the plan.
const PLAN: u64 = u64::MAX;
/// A chunk holds 2 000 entries; a record that claims more than this many is none.
const MOST_ENTRIES: u64 = 1 << 20;

/// The journal of one sender; without a file it keeps nothing.
#[derive(Default)]
pub struct SentJournal(Mutex<State>);

#[derive(Default)]
struct State {
    file: Option<File>,
    /// Where records of earlier senders begin, by chunk.
    earlier: HashMap<u64, u64>,
}

impl SentJournal {
    /// The journal in a file of [`open`], and in it what an earlier sender of the same plan has noted. One that cannot be used costs
    /// time, and ends no transfer.
    pub fn go_on(file: Option<File>, plan: &PlanId) -> Self {
        let opened = file.map(|file| go_on(file, plan)).transpose().unwrap_or_else(|error| {
            tracing::warn!(%error, "journal of what was sent");
            None
        });
        let (file, earlier) = opened.unzip();
        Self(Mutex::new(State { file, earlier: earlier.unwrap_or_default() }))
    }

    /// Takes what an earlier sender has noted of a chunk.
    pub fn take(&self, chunk: u64) -> Option<Sent> {
        let mut state = lock(&self.0);
        let at = state.earlier.remove(&chunk)?;
        let read = record(&mut At { file: state.file.as_ref()?, at });
        match read {
            Ok(found) => found.filter(|(of, ..)| *of == chunk).map(|(_, sent, _)| sent),
            Err(error) => {
                tracing::warn!(%error, "journal of what was sent");
                None
            }
        }
    }

    /// A chunk has gone out. A disk that does not take the note is asked no more.
    pub fn note(&self, chunk: u64, sent: &Sent) {
        let mut state = lock(&self.0);
        if let Some(Err(error)) = state.file.as_mut().map(|file| file.write_all(&encode(chunk, sent))) {
            tracing::warn!(%error, "journal of what was sent; it ends here");
            *state = State::default();
        }
    }
}

/// The file of a journal; it is made where there is none.
pub fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).append(true).create(true).mode(0o600).open(path)
}

/// A file from a place on.
struct At<'a> {
    file: &'a File,
    at: u64,
}

impl Read for At<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.file.read_at(buffer, self.at)?;
        self.at += count as u64;
        Ok(count)
    }
}

fn go_on(mut file: File, plan: &PlanId) -> io::Result<(File, HashMap<u64, u64>)> {
    let head = encode(PLAN, &Sent::Whole(vec![(0, plan_digest(plan))]));
    let (known, length) = read(&file, &head)?;
    // What a process that died has left of a record would hide all that comes after it.
    file.set_len(length)?;
    if length == 0 {
        file.write_all(&head)?;
    }
    Ok((file, known))
}

/// Returns where each chunk's last record begins, up to the first that is none, and where they end; nothing where the first is of
/// another plan.
fn read(file: &File, head: &[u8]) -> io::Result<(HashMap<u64, u64>, u64)> {
    let (mut reader, mut known) = (BufReader::with_capacity(1 << 20, file), HashMap::new());
    let mut first = vec![0; head.len()];
    if !fill(&mut reader, &mut first)? || first != head {
        return Ok((known, 0));
    }
    let mut length = head.len() as u64;
    while let Some((chunk, _, bytes)) = record(&mut reader)? {
        known.insert(chunk, length);
        length += bytes;
    }
    Ok((known, length))
}

fn record(reader: &mut impl Read) -> io::Result<Option<(u64, Sent, u64)>> {
    let mut bytes = vec![0; HEAD_BYTES];
    if !fill(reader, &mut bytes)? {
        return Ok(None);
    }
    let (chunk, entries) = (number(&bytes, 0), number(&bytes, 8));
    let Some(entries) = usize::try_from(entries).ok().filter(|_| entries <= MOST_ENTRIES) else { return Ok(None) };
    bytes.resize(HEAD_BYTES + entries * ENTRY_BYTES + CHECK_BYTES, 0);
    if !fill(reader, &mut bytes[HEAD_BYTES..])? {
        return Ok(None);
    }
    let (checked, check) = bytes.split_at(bytes.len() - CHECK_BYTES);
    if blake3::hash(checked).as_bytes()[..CHECK_BYTES] != *check {
        return Ok(None);
    }
    Ok(Some((chunk, decode(&checked[HEAD_BYTES..]), bytes.len() as u64)))
}

/// `false` where the file ends before.
fn fill(reader: &mut impl Read, bytes: &mut [u8]) -> io::Result<bool> {
    match reader.read_exact(bytes) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
        other => other.map(|()| true),
    }
}

fn encode(chunk: u64, sent: &Sent) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(HEAD_BYTES + ENTRY_BYTES + CHECK_BYTES);
    let mut entry = |entry: u64, size: u64, offset: u64, digest: &Digest| {
        for number in [entry, size, offset] {
            bytes.extend_from_slice(&number.to_be_bytes());
        }
        bytes.extend_from_slice(digest);
    };
    match sent {
        Sent::Part { entry: number, size, offset, digest } => entry(*number, *size, *offset, digest),
        Sent::Whole(entries) => entries.iter().for_each(|(number, digest)| entry(*number, 0, WHOLE, digest)),
    }
    let count = (bytes.len() / ENTRY_BYTES) as u64;
    bytes.splice(..0, [chunk, count].iter().flat_map(|number| number.to_be_bytes()));
    let check = blake3::hash(&bytes);
    bytes.extend_from_slice(&check.as_bytes()[..CHECK_BYTES]);
    bytes
}

fn decode(entries: &[u8]) -> Sent {
    let mut whole = Vec::with_capacity(entries.len() / ENTRY_BYTES);
    for bytes in entries.chunks_exact(ENTRY_BYTES) {
        let (entry, size, offset) = (number(bytes, 0), number(bytes, 8), number(bytes, 16));
        let mut digest: Digest = [0; 32];
        digest.copy_from_slice(&bytes[24..]);
        if offset != WHOLE {
            return Sent::Part { entry, size, offset, digest };
        }
        whole.push((entry, digest));
    }
    Sent::Whole(whole)
}

fn number(bytes: &[u8], at: usize) -> u64 {
    bytes[at..at + 8].iter().fold(0, |sum, byte| sum << 8 | u64::from(*byte))
}

fn plan_digest(plan: &PlanId) -> Digest {
    blake3::Hasher::new_derive_key(FORMAT).update(plan.as_str().as_bytes()).finalize().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(digit: &str) -> PlanId {
        PlanId::new(digit.repeat(32)).unwrap()
    }

    fn whole(entries: u64) -> Sent {
        Sent::Whole((0..entries).map(|entry| (entry, [entry as u8; 32])).collect())
    }

    fn part(offset: u64) -> Sent {
        Sent::Part { entry: 9, size: 100, offset, digest: [7; 32] }
    }

    fn go_on_in(path: &Path, plan: &PlanId) -> SentJournal {
        SentJournal::go_on(Some(open(path).unwrap()), plan)
    }

    /// Returns what a sender would know, as text.
    fn known(path: &Path, plan: &PlanId) -> Vec<(u64, String)> {
        let journal = go_on_in(path, plan);
        (0..=100).filter_map(|chunk| Some((chunk, format!("{:?}", journal.take(chunk)?)))).collect()
    }

    fn noted(path: &Path) -> Vec<(u64, String)> {
        let journal = go_on_in(path, &plan("a"));
        for (chunk, sent) in [(3, whole(3)), (4, part(0)), (5, whole(0)), (6, part(50))] {
            journal.note(chunk, &sent);
        }
        [(3, whole(3)), (4, part(0)), (5, whole(0)), (6, part(50))].map(|(chunk, sent)| (chunk, format!("{sent:?}"))).to_vec()
    }

    #[test]
    fn what_was_noted_is_known_to_the_next_sender_of_the_same_plan_and_to_no_other() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("send.sent");
        let all = noted(&path);
        assert_eq!(known(&path, &plan("a")), all);
        go_on_in(&path, &plan("a")).note(4, &part(10));
        assert_eq!(known(&path, &plan("a"))[1].1, format!("{:?}", part(10)), "what was sent last counts");
        assert_eq!(known(&path, &plan("b")), []);
        assert_eq!(known(&path, &plan("a")), [], "it began anew");
    }

    #[test]
    fn a_journal_counts_up_to_where_it_is_cut_off_or_spoiled_and_is_continued_from_there() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("send.sent");
        let all = noted(&path);
        let bytes = std::fs::read(&path).unwrap();
        for length in 0..bytes.len() {
            std::fs::write(&path, &bytes[..length]).unwrap();
            let left = known(&path, &plan("a"));
            assert_eq!(left, all[..left.len()], "cut to {length}");
            go_on_in(&path, &plan("a")).note(100, &whole(1));
            assert_eq!(known(&path, &plan("a")).last().unwrap().0, 100);
        }
        for at in (0..bytes.len()).step_by(7) {
            let mut spoiled = bytes.clone();
            spoiled[at] ^= 1;
            std::fs::write(&path, &spoiled).unwrap();
            let left = known(&path, &plan("a"));
            assert!(left.len() < all.len() && left == all[..left.len()], "spoiled at {at}");
        }
    }

    #[test]
    fn without_a_file_or_with_one_that_takes_nothing_no_sender_fails() {
        let folder = tempfile::tempdir().unwrap();
        for file in [None, Some(File::open(folder.path()).unwrap())] {
            let journal = SentJournal::go_on(file, &plan("a"));
            journal.note(1, &whole(1));
            assert!(journal.take(1).is_none());
        }
    }
}
