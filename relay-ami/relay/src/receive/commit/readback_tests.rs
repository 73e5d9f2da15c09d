#![allow(clippy::unwrap_used)]

use std::sync::atomic::AtomicU64;

use super::*;
use crate::defaults::READBACK_BYTES;
use crate::digest::Proof;
use crate::documents::text::{PlanId, TransferId};
use crate::ends::{Destination as _, OpenDestination};
use crate::receive::files::Files;
use crate::under_way::UnderWay;
use crate::wire::frame::SegmentHeader;
use cpt_ends_posix::PosixDestination;

/// A part is not a multiple of what is read at a time, its second one ends with the file.
const PART: u64 = 2 * READBACK_BYTES as u64;
const SIZE: u64 = PART + 12_345;

fn quietly(chunks: &[&[Landed]]) -> HashMap<usize, Refusal> {
    check(Reading { disk: &UnderWay::default(), reread: &AtomicU64::default() }, chunks)
}

fn content() -> Vec<u8> {
    (0..SIZE).map(|at| u8::try_from(at % 251).unwrap()).collect()
}

fn open(folder: &std::path::Path) -> Box<dyn OpenDestination> {
    let (transfer, plan) = (TransferId::new("t").unwrap(), PlanId::new("0".repeat(32)).unwrap());
    PosixDestination::new(folder.to_owned()).open(&transfer, &plan, PART, Proof::Blake3).unwrap().0
}

fn header(entry: u64, offset: u64, length: u64) -> SegmentHeader {
    let (path, target) = (b"x".to_vec(), Vec::new());
    SegmentHeader { entry, kind: Kind::File, mode: 0o644, mtime_ns: 0, size: SIZE, offset, length, path, target, attributes: Vec::new() }
}

fn whole(to: &dyn OpenDestination, entry: u64, written: &[u8], came: &[u8]) -> Vec<Landed> {
    let mut file = to.small(&header(entry, 0, SIZE)).unwrap();
    file.write(written).unwrap();
    file.finish().unwrap();
    vec![Landed::Whole { entry, kind: Kind::File, file, path: b"x".to_vec(), digest: *blake3::hash(came).as_bytes() }]
}

fn part(to: &dyn OpenDestination, files: &Files, offset: u64, written: &[u8], came: &[u8]) -> Vec<Landed> {
    let length = PART.min(SIZE - offset);
    let part = files.part(to, &header(9, offset, length), PART, "direct").unwrap().unwrap();
    let at = usize::try_from(offset).unwrap();
    let bytes = at..at + usize::try_from(length).unwrap();
    part.file.write(part.index, part.token, offset, &written[bytes.clone()]).unwrap();
    vec![Landed::Part(part, Proof::Blake3.part(offset).update(&came[bytes]).digest())]
}

#[test]
fn what_the_disk_gives_back_is_compared_with_what_came() {
    let folder = tempfile::tempdir().unwrap();
    let destination = open(folder.path());
    let to = &*destination;
    let (came, files) = (content(), Files::default());
    let mut spoiled = came.clone();
    for at in [0, PART as usize - 1, PART as usize, SIZE as usize - 1] {
        spoiled[at] ^= 1;
    }
    let chunks = [
        whole(to, 0, &came, &came),
        whole(to, 1, &spoiled, &came),
        whole(to, 2, &came[..came.len() - 1], &came),
        whole(to, 3, b"", b""),
        part(to, &files, 0, &came, &came),
        part(to, &files, PART, &came, &came),
        part(to, &files, 0, &spoiled, &came),
        part(to, &files, PART, &spoiled, &came),
    ];
    let check = |chunks: &[Vec<Landed>]| {
        to.sync().unwrap();
        quietly(&chunks.iter().map(|chunk| &**chunk).collect::<Vec<_>>())
    };
    let refused = check(&chunks);
    let mut indices: Vec<usize> = refused.keys().copied().collect();
    indices.sort_unstable();
    // The parts were written over by the spoiled ones, which came last.
    assert_eq!(indices, [1, 2, 4, 5, 6, 7]);
    let spoiled = |refusal: &Refusal| {
        matches!(refusal, Refusal::Failed { reason: FailureReason::ChecksumMismatch, message }
            if message.contains("the disk gave back other bytes"))
    };
    assert!(refused.values().all(spoiled));
    let again = [part(to, &files, 0, &came, &came), part(to, &files, PART, &came, &came)];
    assert!(check(&again).is_empty());
}

#[test]
fn a_part_whose_file_was_cut_short_is_sent_again() {
    for left in [0, 1, PART, PART + 1] {
        let folder = tempfile::tempdir().unwrap();
        let destination = open(folder.path());
        let to = &*destination;
        let files = Files::default();
        let chunk = part(to, &files, PART, &content(), &content());
        let partial = std::fs::read_dir(folder.path().join(".cpt-partial-t")).unwrap().find_map(|entry| {
            let path = entry.unwrap().path();
            (path.metadata().unwrap().len() == SIZE).then_some(path)
        });
        std::fs::File::options().write(true).open(partial.unwrap()).unwrap().set_len(left).unwrap();
        let refused = quietly(&[&chunk]);
        assert!(matches!(refused[&0], Refusal::Failed { reason: FailureReason::ChecksumMismatch, .. }), "{left} bytes are left");
    }
}

#[test]
fn a_file_that_is_gone_is_no_file_that_was_read() {
    let folder = tempfile::tempdir().unwrap();
    let destination = open(folder.path());
    let to = &*destination;
    let chunk = whole(to, 0, b"bytes", b"bytes");
    for partial in std::fs::read_dir(folder.path().join(".cpt-partial-t")).unwrap() {
        std::fs::remove_file(partial.unwrap().path()).unwrap();
    }
    assert!(matches!(quietly(&[&chunk])[&0], Refusal::Failed { reason: FailureReason::DestinationError, .. }));
}
