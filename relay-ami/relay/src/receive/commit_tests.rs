#![allow(clippy::unwrap_used)]

use std::fs;
use std::time::{Duration, SystemTime};

use super::*;
use crate::documents::text::{PlanId, TransferId};
use crate::ends::Destination as _;
use crate::ends::posix::PosixDestination;
use crate::wire::frame::SegmentHeader;

fn open(folder: &std::path::Path) -> (Box<dyn OpenDestination>, Files) {
    let (transfer, plan) = (TransferId::new("t").unwrap(), PlanId::new("0".repeat(32)).unwrap());
    let (destination, left) = PosixDestination(folder.to_owned()).open(&transfer, &plan, 1024).unwrap();
    (destination, Files::going_on_from(left))
}

/// A file of `bytes` that has come whole.
fn whole(destination: &dyn OpenDestination, entry: u64, path: &str, bytes: &[u8]) -> Landed {
    let (length, path) = (bytes.len() as u64, path.as_bytes().to_vec());
    let (mode, mtime_ns, target) = (0o640, 7_000_000_000, Vec::new());
    let header = SegmentHeader {
        entry,
        kind: Kind::File,
        mode,
        mtime_ns,
        size: length,
        offset: 0,
        length,
        path: path.clone(),
        target,
        attributes: Vec::new(),
    };
    let mut file = destination.small(&header).unwrap();
    file.write(bytes).unwrap();
    file.finish().unwrap();
    Landed::Whole { entry, kind: Kind::File, file, path, digest: *blake3::hash(bytes).as_bytes() }
}

#[test]
fn a_file_that_came_on_two_streams_is_placed_once_so_that_its_directory_keeps_its_time() {
    let folder = tempfile::tempdir().unwrap();
    let (destination, files) = open(folder.path());
    let (first, second) = (whole(&*destination, 1, "d/file", b"same"), whole(&*destination, 1, "d/file", b"same"));
    assert_eq!(place(&*destination, &files, first).unwrap(), 1);
    let directory = Landed::Directory {
        header: SegmentHeader {
            entry: 2,
            kind: Kind::Directory,
            mode: 0o700,
            mtime_ns: 5_000_000_000,
            size: 0,
            offset: 0,
            length: 0,
            path: b"d".to_vec(),
            target: Vec::new(),
            attributes: Vec::new(),
        },
        digest: [0; 32],
    };
    assert_eq!(place(&*destination, &files, directory).unwrap(), 1);
    assert_eq!(place(&*destination, &files, second).unwrap(), 1);
    let time = fs::metadata(folder.path().join("d")).unwrap().modified().unwrap();
    assert_eq!(time, SystemTime::UNIX_EPOCH + Duration::from_secs(5));
    assert_eq!(fs::read(folder.path().join("d/file")).unwrap(), b"same");
}

#[test]
fn a_file_that_came_again_with_other_bytes_takes_the_place() {
    let folder = tempfile::tempdir().unwrap();
    let (destination, files) = open(folder.path());
    for bytes in [&b"before"[..], b"after"] {
        place(&*destination, &files, whole(&*destination, 1, "file", bytes)).unwrap();
    }
    assert_eq!(fs::read(folder.path().join("file")).unwrap(), b"after");
    assert!(files.is_placed(1, blake3::hash(b"after").as_bytes()));
}

#[test]
fn a_file_where_a_directory_is_cannot_be_placed_and_counts_as_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let (destination, files) = open(folder.path());
    fs::create_dir_all(folder.path().join("taken/by")).unwrap();
    let error = place(&*destination, &files, whole(&*destination, 1, "taken", b"new")).unwrap_err();
    assert!(matches!(reach(&error), Reach::Entry(_)), "{error}");
    assert!(!files.is_placed(1, blake3::hash(b"new").as_bytes()));
}

#[test]
fn a_full_disk_refuses_all_and_another_error_one_chunk() {
    let full = Refusal::of(&io::Error::from_raw_os_error(rustix::io::Errno::NOSPC.raw_os_error()), "sync: ");
    assert!(matches!(full, Refusal::Full(message) if message.starts_with("sync: ")));
    let other = Refusal::of(&io::Error::other("odd"), "");
    assert!(matches!(other, Refusal::Failed { reason: FailureReason::DestinationError, .. }));
}
