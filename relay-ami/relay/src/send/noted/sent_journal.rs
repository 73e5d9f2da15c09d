//! What a sender must know of what it has sent, kept beside the command for the one that is started again on the same machine: what
//! each chunk stood for, so that the source is not read again for what has arrived; the state of a large file of which its parts were
//! read, so that parts of two states do not make up one file; and what was left out.
//!
//! Records, appended: what it is about and the length of its content (8 bytes each, big-endian), the content, and the beginning (8) of
//! the BLAKE3 of all that. Of a chunk the content is for each entry its number, size, offset, inode, change time and digest (72 bytes); a
//! whole entry has `WHOLE` as its offset. Of an entry that was left out it is JSON. The first record names the plan. Nothing is synced: what a
//! power failure takes is read from the source again, and both ends compare all digests in the end.

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::{self, BufReader, Read, Write as _};
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::Path;
use std::sync::Mutex;

use super::records::{LeftOut, Sent};
use super::states::Begun;
use crate::digest::{Digest, Proof};
use crate::documents::text::PlanId;
use crate::ends::Version;
use crate::thread::lock;

/// Names the format of these records; a journal of another format is of no use.
pub(super) const FORMAT: &str = "cpt-relay 2026-12 journal of a sender";
const HEAD_BYTES: usize = 16;
const ENTRY_BYTES: usize = 72;
const CHECK_BYTES: usize = 8;
const WHOLE: u64 = u64::MAX;
/// In place of a chunk: the record names the plan.
pub(super) const PLAN: u64 = u64::MAX;
/// In place of a chunk: the record is of an entry that was left out.
const LEFT_OUT: u64 = u64::MAX - 1;
/// A chunk holds 2 000 entries, 128 KB; a record that claims more than this is none.
const MOST_BYTES: u64 = 16 << 20;

/// The journal of one sender; without a file it keeps nothing.
#[derive(Default)]
pub struct SentJournal(Mutex<State>);

#[derive(Default)]
struct State {
    file: Option<File>,
    /// Where records of earlier senders begin, by chunk.
    earlier: HashMap<u64, u64>,
}

/// What earlier senders have noted beside chunks.
#[derive(Debug, Default)]
pub struct Earlier {
    /// The files that they have sent parts of, by entry.
    pub begun: HashMap<u64, Begun>,
    pub left_out: Vec<LeftOut>,
}

/// One record.
pub(super) enum Record {
    Chunk(u64, Sent),
    LeftOut(LeftOut),
}

impl SentJournal {
    /// The journal in a file of [`open`], and what an earlier sender of the same plan, with digests of the same kind, has noted in it. One that cannot be used costs
    /// time, and ends no transfer.
    pub fn go_on(file: Option<File>, plan: &PlanId, proof: Proof) -> (Self, Earlier) {
        let opened = file.map(|file| go_on(file, plan, proof)).transpose().unwrap_or_else(|error| {
            tracing::warn!(%error, "journal of what was sent");
            None
        });
        let (state, earlier) = opened.unwrap_or_default();
        (Self(Mutex::new(state)), earlier)
    }

    /// Takes what an earlier sender has noted of a chunk.
    pub fn take(&self, chunk: u64) -> Option<Sent> {
        let mut state = lock(&self.0);
        let at = state.earlier.remove(&chunk)?;
        match record(&mut At { file: state.file.as_ref()?, at }) {
            Ok(Some((Record::Chunk(of, sent), _))) if of == chunk => Some(sent),
            Ok(_) => None,
            Err(error) => {
                tracing::warn!(%error, "journal of what was sent");
                None
            }
        }
    }

    /// A chunk has gone out.
    pub fn note(&self, chunk: u64, sent: &Sent) {
        self.append(|| Ok(chunk_record(chunk, sent)));
    }

    /// An entry is left out. Noted before the chunk of which it is left out.
    pub fn note_left_out(&self, left_out: &LeftOut) {
        self.append(|| left_out_record(left_out));
    }

    /// A disk that does not take a note is asked no more.
    fn append(&self, record: impl FnOnce() -> io::Result<Vec<u8>>) {
        let mut state = lock(&self.0);
        let Some(file) = state.file.as_mut() else { return };
        if let Err(error) = record().and_then(|bytes| file.write_all(&bytes)) {
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

fn go_on(mut file: File, plan: &PlanId, proof: Proof) -> io::Result<(State, Earlier)> {
    let head = encode(PLAN, &proof.of_journal(FORMAT, plan.as_str()));
    let (chunks, earlier, length) = read(&file, &head)?;
    // What a process that died has left of a record would hide all that comes after it.
    file.set_len(length)?;
    if length == 0 {
        file.write_all(&head)?;
    }
    Ok((State { file: Some(file), earlier: chunks }, earlier))
}

/// Returns where each chunk's last record begins, up to the first that is none, what else is known, and where the records end; nothing
/// where the first is of another plan.
fn read(file: &File, head: &[u8]) -> io::Result<(HashMap<u64, u64>, Earlier, u64)> {
    let (mut reader, mut chunks, mut earlier) = (BufReader::with_capacity(1 << 20, file), HashMap::new(), Earlier::default());
    let mut first = vec![0; head.len()];
    if !fill(&mut reader, &mut first)? || first != head {
        return Ok((chunks, earlier, 0));
    }
    let mut length = head.len() as u64;
    while let Some((record, bytes)) = record(&mut reader)? {
        match record {
            Record::Chunk(chunk, sent) => {
                if let Sent::Part { entry, offset, state, digest, .. } = sent {
                    earlier.begun.entry(entry).or_insert_with(|| Begun::of(state)).note(offset, digest, state);
                }
                chunks.insert(chunk, length);
            }
            Record::LeftOut(left_out) => earlier.left_out.push(left_out),
        }
        length += bytes;
    }
    Ok((chunks, earlier, length))
}

pub(super) fn record(reader: &mut impl Read) -> io::Result<Option<(Record, u64)>> {
    let mut bytes = vec![0; HEAD_BYTES];
    if !fill(reader, &mut bytes)? {
        return Ok(None);
    }
    let (about, length) = (number(&bytes, 0), number(&bytes, 8));
    let Some(length) = usize::try_from(length).ok().filter(|_| length <= MOST_BYTES) else { return Ok(None) };
    bytes.resize(HEAD_BYTES + length + CHECK_BYTES, 0);
    if !fill(reader, &mut bytes[HEAD_BYTES..])? {
        return Ok(None);
    }
    let (checked, check) = bytes.split_at(bytes.len() - CHECK_BYTES);
    if blake3::hash(checked).as_bytes()[..CHECK_BYTES] != *check {
        return Ok(None);
    }
    let content = &checked[HEAD_BYTES..];
    let record = match about {
        LEFT_OUT => Record::LeftOut(serde_json::from_slice(content)?),
        chunk => Record::Chunk(chunk, sent(content)),
    };
    Ok(Some((record, bytes.len() as u64)))
}

/// `false` where the file ends before.
pub(super) fn fill(reader: &mut impl Read, bytes: &mut [u8]) -> io::Result<bool> {
    match reader.read_exact(bytes) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
        other => other.map(|()| true),
    }
}

pub(super) fn encode(about: u64, content: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(HEAD_BYTES + content.len() + CHECK_BYTES);
    bytes.extend([about, content.len() as u64].iter().flat_map(|number| number.to_be_bytes()));
    bytes.extend_from_slice(content);
    let check = blake3::hash(&bytes);
    bytes.extend_from_slice(&check.as_bytes()[..CHECK_BYTES]);
    bytes
}

/// The record of a chunk that has gone out.
pub(super) fn chunk_record(chunk: u64, sent: &Sent) -> Vec<u8> {
    encode(chunk, &content(sent))
}

/// The record of an entry that is left out.
pub(super) fn left_out_record(left_out: &LeftOut) -> io::Result<Vec<u8>> {
    Ok(encode(LEFT_OUT, &serde_json::to_vec(left_out)?))
}

fn content(sent: &Sent) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(ENTRY_BYTES);
    let mut entry = |numbers: [u64; 5], digest: &Digest| {
        bytes.extend(numbers.iter().flat_map(|number| number.to_be_bytes()));
        bytes.extend_from_slice(digest);
    };
    match sent {
        Sent::Part { entry: number, size, offset, state, digest } => {
            let (first, second) = state.numbers();
            entry([*number, *size, *offset, first, second.cast_unsigned()], digest);
        }
        Sent::Whole(entries) => entries.iter().for_each(|(number, digest)| entry([*number, 0, WHOLE, 0, 0], digest)),
    }
    bytes
}

fn sent(content: &[u8]) -> Sent {
    let mut whole = Vec::with_capacity(content.len() / ENTRY_BYTES);
    for bytes in content.chunks_exact(ENTRY_BYTES) {
        let [entry, size, offset, first, second] = [0, 8, 16, 24, 32].map(|at| number(bytes, at));
        let mut digest: Digest = [0; 32];
        digest.copy_from_slice(&bytes[40..]);
        if offset != WHOLE {
            let state = Version::of_numbers((first, second.cast_signed()));
            return Sent::Part { entry, size, offset, state, digest };
        }
        whole.push((entry, digest));
    }
    Sent::Whole(whole)
}

fn number(bytes: &[u8], at: usize) -> u64 {
    bytes[at..at + 8].iter().fold(0, |sum, byte| sum << 8 | u64::from(*byte))
}

#[cfg(test)]
#[path = "sent_journal_tests.rs"]
mod tests;
