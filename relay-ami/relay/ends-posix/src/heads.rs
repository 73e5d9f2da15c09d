//! What large files are to become, noted before the first of their parts: whoever puts files into their places that came to several
//! receivers has never seen the header of those that others began.
//!
//! Records, appended: length (4 bytes, big-endian), the header as its frame has it, and the beginning (8) of the BLAKE3 of both.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::sync::Mutex;

use rustix::fs::{self, Mode, OFlags};
use rustix::io::Errno;

use cpt_process::thread::lock;
use cpt_wire::documents::text::PlanId;
use cpt_wire::frame::{Frame, HEADER_BYTES, SegmentHeader};

const CHECK_BYTES: usize = 8;

/// The heads that one receiver notes.
pub struct Heads {
    directory: OwnedFd,
    file: Mutex<Option<File>>,
}

impl Heads {
    /// In its own directory; the file is made when there is something to note.
    pub fn new(directory: OwnedFd) -> Self {
        Self { directory, file: Mutex::default() }
    }

    /// On the disk when this returns, so before a part is: whoever gives this receiver up sees from it into which files it may write, and
    /// what a machine holds back of its writes is not seen while it is frozen.
    pub fn note(&self, plan: &PlanId, header: &SegmentHeader) -> io::Result<()> {
        let mut file = lock(&self.file);
        let file = match &mut *file {
            Some(file) => file,
            none => {
                let flags = OFlags::WRONLY | OFlags::APPEND | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC;
                none.insert(fs::openat(&self.directory, name(plan), flags, Mode::RUSR | Mode::WUSR)?.into())
            }
        };
        file.write_all(&encode(header))?;
        file.sync_data()
    }
}

/// The heads of a plan that the receiver of a directory has noted, by entry.
pub fn read(directory: &OwnedFd, plan: &PlanId) -> io::Result<HashMap<u64, SegmentHeader>> {
    let mut bytes = Vec::new();
    match fs::openat(directory, name(plan), OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty()) {
        Ok(file) => File::from(file).read_to_end(&mut bytes)?,
        Err(Errno::NOENT) => return Ok(HashMap::new()),
        Err(error) => return Err(error.into()),
    };
    let (mut heads, mut rest) = (HashMap::new(), bytes.as_slice());
    // What a receiver that died has left of a record is the last one.
    while let Some((header, after)) = decode(rest) {
        heads.insert(header.entry, header);
        rest = after;
    }
    Ok(heads)
}

/// No name of a small file, which has a `-`.
fn name(plan: &PlanId) -> String {
    format!("heads.{plan}")
}

fn encode(header: &SegmentHeader) -> Vec<u8> {
    let mut frame = Vec::new();
    Frame::Segment(header.clone()).encode(&mut frame);
    let mut record = u32::try_from(frame.len()).unwrap_or(u32::MAX).to_be_bytes().to_vec();
    record.append(&mut frame);
    let check = blake3::hash(&record);
    record.extend_from_slice(&check.as_bytes()[..CHECK_BYTES]);
    record
}

fn decode(bytes: &[u8]) -> Option<(SegmentHeader, &[u8])> {
    let (length, _) = bytes.split_first_chunk::<4>()?;
    let length = usize::try_from(u32::from_be_bytes(*length)).ok()?.checked_add(4)?;
    let (record, rest) = bytes.split_at_checked(length)?;
    let (check, rest) = rest.split_at_checked(CHECK_BYTES)?;
    if blake3::hash(record).as_bytes()[..CHECK_BYTES] != *check {
        return None;
    }
    let frame = record.get(4..)?;
    match Frame::decode(*frame.first()?, frame.get(HEADER_BYTES..)?) {
        Ok(Frame::Segment(header)) => Some((header, rest)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use cpt_wire::documents::entry::Kind;

    use super::*;

    fn header(entry: u64) -> SegmentHeader {
        let (path, target, attributes) = (format!("a/{entry}\n").into_bytes(), Vec::new(), b"{}".to_vec());
        SegmentHeader { entry, kind: Kind::File, mode: 0o640, mtime_ns: -7, size: 99, offset: 33, length: 33, path, target, attributes }
    }

    #[test]
    fn heads_of_one_plan_are_read_up_to_what_a_receiver_that_died_has_left() {
        let folder = tempfile::tempdir().unwrap();
        let directory: OwnedFd = File::open(folder.path()).unwrap().into();
        let (plan, other) = (PlanId::new("0".repeat(32)).unwrap(), PlanId::new("1".repeat(32)).unwrap());
        assert!(read(&directory, &plan).unwrap().is_empty());
        let heads = Heads::new(directory.try_clone().unwrap());
        heads.note(&plan, &header(1)).unwrap();
        heads.note(&plan, &header(2)).unwrap();
        assert_eq!(read(&directory, &plan).unwrap(), HashMap::from([(1, header(1)), (2, header(2))]));
        assert!(read(&directory, &other).unwrap().is_empty());
        let path = folder.path().join(name(&plan));
        let whole = std::fs::read(&path).unwrap();
        std::fs::write(&path, &whole[..whole.len() - 1]).unwrap();
        assert_eq!(read(&directory, &plan).unwrap(), HashMap::from([(1, header(1))]));
    }
}
