#![allow(clippy::unwrap_used)]

use std::collections::HashSet;
use std::fs;
use std::sync::{Arc, Barrier, Mutex};
use std::thread::ThreadId;
use std::time::{Duration, SystemTime};

use rustix::io::Errno;

use super::*;
use crate::defaults::THREADS_AT_ONCE;
use crate::digest::{ContentHasher, Digest, Proof};
use crate::documents::text::{PlanId, TransferId};
use crate::ends::problem::superseded;
use crate::ends::{Destination as _, Heard, SmallFile, Version};
use crate::under_way::UnderWay;
use crate::wire::frame::SegmentHeader;
use cpt_ends_posix::PosixDestination;

fn open(folder: &std::path::Path) -> (Box<dyn OpenDestination>, Files) {
    let (transfer, plan) = (TransferId::new("t").unwrap(), PlanId::new("0".repeat(32)).unwrap());
    let (destination, left) = PosixDestination::new(folder.to_owned()).open(&transfer, &plan, 1024, Proof::Blake3).unwrap();
    (destination, Files::going_on_from(left, Proof::Blake3))
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

/// Entries that are complete by it.
fn complete(destination: &dyn OpenDestination, files: &Files, item: Landed) -> u64 {
    match place(destination, files, item).unwrap() {
        Came::Complete(entries) => entries,
        Came::InDoubt(_) => panic!("there is no doubt about a whole file"),
    }
}

fn directory(entry: u64, path: &[u8], seconds: i64) -> Landed {
    let header = SegmentHeader {
        entry,
        kind: Kind::Directory,
        mode: 0o700,
        mtime_ns: seconds * 1_000_000_000,
        size: 0,
        offset: 0,
        length: 0,
        path: path.to_vec(),
        target: Vec::new(),
        attributes: Vec::new(),
    };
    Landed::Directory { header, digest: [0; 32] }
}

#[test]
fn a_file_that_came_on_two_streams_is_placed_once_so_that_its_directory_keeps_its_time() {
    let folder = tempfile::tempdir().unwrap();
    let (destination, files) = open(folder.path());
    let (first, second) = (whole(&*destination, 1, "d/file", b"same"), whole(&*destination, 1, "d/file", b"same"));
    assert_eq!(complete(&*destination, &files, first), 1);
    let directory = directory(2, b"d", 5);
    assert_eq!(complete(&*destination, &files, directory), 1);
    assert_eq!(complete(&*destination, &files, second), 1);
    let time = fs::metadata(folder.path().join("d")).unwrap().modified().unwrap();
    assert_eq!(time, SystemTime::UNIX_EPOCH + Duration::from_secs(5));
    assert_eq!(fs::read(folder.path().join("d/file")).unwrap(), b"same");
}

#[test]
fn a_file_that_came_again_with_other_bytes_takes_the_place() {
    let folder = tempfile::tempdir().unwrap();
    let (destination, files) = open(folder.path());
    for bytes in [&b"before"[..], b"after"] {
        assert_eq!(complete(&*destination, &files, whole(&*destination, 1, "file", bytes)), 1);
    }
    assert_eq!(fs::read(folder.path().join("file")).unwrap(), b"after");
    assert!(files.is_placed(1, blake3::hash(b"after").as_bytes()));
}

#[test]
fn a_file_where_a_directory_is_cannot_be_placed_and_counts_as_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let (destination, files) = open(folder.path());
    fs::create_dir_all(folder.path().join("taken/by")).unwrap();
    let error = place(&*destination, &files, whole(&*destination, 1, "taken", b"new")).err().unwrap();
    assert!(matches!(reach(&error), Reach::Entry(_)), "{error}");
    assert!(!files.is_placed(1, blake3::hash(b"new").as_bytes()));
}

/// A file that is placed once as many others are being placed, or fails.
struct Slow {
    together: Arc<Barrier>,
    threads: Arc<Mutex<HashSet<ThreadId>>>,
    fails: bool,
}

impl SmallFile for Slow {
    fn write(&mut self, _bytes: &[u8]) -> io::Result<()> {
        Ok(())
    }

    fn finish(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn read_back(&self, _hasher: ContentHasher, _digest: &Digest, _heard: Heard<'_>) -> io::Result<()> {
        Ok(())
    }

    fn place(self: Box<Self>, _path: &[u8]) -> io::Result<Option<Version>> {
        self.together.wait();
        self.threads.lock().unwrap().insert(std::thread::current().id());
        if self.fails { Err(io::Error::other("no")) } else { Ok(None) }
    }
}

fn slow<'a>(tries: &'a Tries, disk: &'a UnderWay) -> Placing<'a> {
    Placing::new(THREADS_AT_ONCE, true, tries, disk)
}

/// Places files of this kind, of which `failing` fails, where as many at once as `together` are needed; with what threads did so.
fn place_slowly(kind: Kind, together: usize, failing: u64) -> (Vec<(u64, bool)>, HashSet<ThreadId>) {
    let folder = tempfile::tempdir().unwrap();
    let (destination, files) = open(folder.path());
    let (together, threads) = (Arc::new(Barrier::new(together)), Arc::<Mutex<HashSet<ThreadId>>>::default());
    let item = |entry| {
        let file = Slow { together: Arc::clone(&together), threads: Arc::clone(&threads), fails: entry == failing };
        Landed::Whole { entry, kind, file: Box::new(file), path: b"file".to_vec(), digest: [1; 32] }
    };
    let (tries, disk) = (Tries::default(), UnderWay::default());
    // Of two chunks.
    let chunks = [0..4, 4..8].map(|entries| (entries.start, entries.map(item).collect()));
    let results = slow(&tries, &disk).place_each(&*destination, &files, chunks.into(), &disk.enter());
    let placed = results.into_iter().flatten().map(|(entry, result)| (entry, result.is_ok())).collect();
    (placed, threads.lock().unwrap().clone())
}

#[test]
fn where_the_file_system_is_far_files_are_placed_at_once_and_each_has_its_own_result() {
    let (placed, threads) = place_slowly(Kind::File, 8, 5);
    assert_eq!(placed, (0..8).map(|entry| (entry, entry != 5)).collect::<Vec<_>>());
    assert_eq!(threads.len(), 8);
}

#[test]
fn other_names_of_files_are_placed_one_after_the_other() {
    let (placed, threads) = place_slowly(Kind::Hardlink, 1, 99);
    assert!(placed.iter().all(|(_, is_placed)| *is_placed));
    assert_eq!(threads, [std::thread::current().id()].into());
}

#[test]
fn an_error_that_may_pass_is_the_chunks_until_it_has_come_three_times_and_a_full_disk_is_nobodys() {
    let tries = Tries::default();
    let leaves_out = |chunk, errno: Errno| tries.leaves_out((Some(chunk), 1), &Unplaced::at(b"d/f", errno.into()), || true);
    assert_eq!([(); 9].map(|()| leaves_out(1, Errno::NOSPC)), [None; 9]);
    assert_eq!([(); 3].map(|()| leaves_out(1, Errno::NOENT)), [None, None, Some(SkipReason::DestinationRefused)], "the disk was nobody's");
    assert_eq!(leaves_out(2, Errno::ISDIR), Some(SkipReason::DestinationConflict));
    assert_eq!(leaves_out(2, Errno::NOSYS), Some(SkipReason::DestinationRefused));
}

#[test]
fn what_has_failed_is_forgotten_once_its_chunk_has_come() {
    let tries = Tries::default();
    let leaves_out = || tries.leaves_out((Some(5), 1), &Unplaced::at(b"f", Errno::NOENT.into()), || true);
    assert_eq!([leaves_out(), leaves_out()], [None, None]);
    tries.came(5);
    assert!(lock(&tries.0).is_empty());
    assert_eq!([leaves_out(), leaves_out()], [None, None]);
}

#[test]
fn no_entry_is_left_out_for_trouble_that_may_pass_where_the_destination_is_gone() {
    let tries = Tries::default();
    let unplaced = |errno: Errno| Unplaced::at(b"file", errno.into());
    let leaves_out = |errno, is_there: bool| tries.leaves_out((Some(1), 7), &unplaced(errno), || is_there);
    assert_eq!([false; 5].map(|is_there| leaves_out(Errno::NOENT, is_there)), [None; 5]);
    assert_eq!(leaves_out(Errno::NOENT, true), Some(SkipReason::DestinationRefused));
    assert_eq!(leaves_out(Errno::ISDIR, false), Some(SkipReason::DestinationConflict), "it is the entry's, whatever became of the rest");
}

#[test]
fn a_large_file_is_not_left_out_because_several_of_its_chunks_failed_once_or_another_stream_brought_them() {
    let tries = Tries::default();
    let leaves_out = |chunk, error: io::Error| tries.leaves_out((Some(chunk), 7), &Unplaced::at(b"file", error), || true);
    for chunk in 0..9 {
        assert_eq!([(); 2].map(|()| leaves_out(chunk, Errno::STALE.into())), [None; 2], "chunk {chunk}");
    }
    assert_eq!([(); 9].map(|()| leaves_out(3, superseded("another stream took the part over"))), [None; 9]);
    assert_eq!(leaves_out(3, Errno::STALE.into()), Some(SkipReason::DestinationRefused));
}

#[test]
fn files_of_several_chunks_are_placed_by_turns_and_what_must_follow_others_follows_them() {
    assert_eq!(by_turns(vec![vec![1, 2, 3], vec![4], vec![5, 6]]), [(0, 1), (1, 4), (2, 5), (0, 2), (2, 6), (0, 3)]);

    let folder = tempfile::tempdir().unwrap();
    let (destination, _) = open(folder.path());
    let of = |kind| {
        let mut item = whole(&*destination, 1, "file", b"");
        if let Landed::Whole { kind: is, .. } = &mut item {
            *is = kind;
        }
        vec![item]
    };
    let chunks = || {
        [(1, Kind::File), (2, Kind::File), (2, Kind::File), (3, Kind::Hardlink), (4, Kind::File)].map(|(number, kind)| (number, of(kind)))
    };
    let sizes =
        |is_far| groups(chunks().into(), is_far).iter().map(|group| (group.order == Order::AtOnce, group.chunks.len())).collect::<Vec<_>>();
    assert_eq!(sizes(true), [(true, 2), (true, 1), (false, 1), (true, 1)], "a chunk's second copy follows the first");
    assert_eq!(sizes(false), [(false, 1); 5]);
}

#[test]
fn directories_of_a_chunk_are_placed_side_by_side_and_each_after_all_that_it_holds() {
    let folder = tempfile::tempdir().unwrap();
    let (destination, files) = open(folder.path());
    // In no order at all: what lies deepest is made first.
    let paths: Vec<String> = (0..40).flat_map(|at| [format!("d{at}"), format!("d{at}/e/f"), format!("d{at}/e")]).collect();
    let directories = paths.iter().zip(0..).map(|(path, entry)| directory(entry, path.as_bytes(), 1 + i64::try_from(entry).unwrap()));
    let (tries, disk) = (Tries::default(), UnderWay::default());
    let mut placing = Placing::new(4, true, &tries, &disk);
    let placed = placing.place_each(&*destination, &files, vec![(1, directories.collect())], &disk.enter());
    assert!(placed[0].iter().all(|(_, result)| matches!(result, Ok(Came::Complete(1)))));
    assert_eq!(placed[0].len(), paths.len());
    for (path, seconds) in paths.iter().zip(1..) {
        let time = fs::metadata(folder.path().join(path)).unwrap().modified().unwrap();
        assert_eq!(time, SystemTime::UNIX_EPOCH + Duration::from_secs(seconds), "{path}");
    }
}
