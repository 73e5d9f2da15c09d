#![allow(clippy::unwrap_used)]

use std::fs::File;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use super::super::Files;
use super::*;
use crate::digest::Proof;
use crate::documents::attributes::Attributes;
use crate::documents::entry::Kind;
use crate::documents::text::{PlanId, TransferId};
use crate::ends::{Destination as _, OpenDestination};
use crate::under_way::UnderWay;
use crate::wire::frame::SegmentHeader;
use cpt_ends_posix::PosixDestination;

/// More than the blocks by which file systems keep holes.
const PART: u64 = 1 << 17;
/// What of a part is a hole where it has one: all but its end.
const HOLE: u64 = 3 * PART / 4;
const PARTIAL_FILE: &str = ".cpt-partial-t/0";

/// A receiver of one file with holes.
struct Receiver {
    destination: Box<dyn OpenDestination>,
    files: Files,
    parts: u64,
    disk: UnderWay,
    reread: AtomicU64,
}

/// What a part brings.
#[derive(Clone, Copy)]
enum Brings {
    Data,
    /// A hole, and then data.
    Hole,
    /// The same bytes, but nobody tells of the hole, as from a file system that keeps zeros as holes.
    Untold,
    Nothing,
}

impl Receiver {
    fn begin(folder: &Path, parts: u64) -> Self {
        let (transfer, plan) = (TransferId::new("t").unwrap(), PlanId::new("0".repeat(32)).unwrap());
        let (destination, left) = PosixDestination::new(folder.to_owned()).open(&transfer, &plan, PART, Proof::Blake3).unwrap();
        Self { destination, files: Files::going_on_from(left, Proof::Blake3), parts, disk: UnderWay::default(), reread: AtomicU64::new(0) }
    }

    /// A part whose header does not say that the file has holes.
    fn land_of_dense(&self, number: u64) -> (Arc<Large>, Synced) {
        let header = SegmentHeader { attributes: Vec::new(), ..self.header(number) };
        let part = self.files.part(&*self.destination, &header, PART, "direct").unwrap().unwrap();
        part.file.hole(part.index, part.token, number * PART, PART).unwrap();
        let digest = Proof::Blake3.part(number * PART).update(&content(Brings::Nothing)).digest();
        let synced = part.file.synced(part.index, part.token, digest, true).unwrap();
        (part.file, synced)
    }

    fn header(&self, part: u64) -> SegmentHeader {
        SegmentHeader {
            entry: 0,
            kind: Kind::File,
            mode: 0o644,
            mtime_ns: 0,
            size: self.parts * PART,
            offset: part * PART,
            length: PART,
            path: b"file".to_vec(),
            target: Vec::new(),
            attributes: Attributes { sparse: true, ..Attributes::default() }.encode(),
        }
    }

    /// A part arrives and is synced.
    fn land(&self, number: u64, brings: Brings) -> Synced {
        self.landed(number, brings).1
    }

    fn landed(&self, number: u64, brings: Brings) -> (Arc<Large>, Synced) {
        let part = self.files.part(&*self.destination, &self.header(number), PART, "direct").unwrap().unwrap();
        let (file, index, token, at) = (&part.file, part.index, part.token, number * PART);
        let bytes = content(brings);
        match brings {
            Brings::Data => file.write(index, token, at, &bytes).unwrap(),
            Brings::Hole => {
                file.hole(index, token, at, HOLE).unwrap();
                file.write(index, token, at + HOLE, &bytes[HOLE as usize..]).unwrap();
            }
            Brings::Untold => file.write(index, token, at + HOLE, &bytes[HOLE as usize..]).unwrap(),
            Brings::Nothing => file.hole(index, token, at, PART).unwrap(),
        }
        self.destination.sync().unwrap();
        let synced = file.synced(index, token, Proof::Blake3.part(at).update(&bytes).digest(), true).unwrap();
        (Arc::clone(file), synced)
    }

    fn check(&self, file: &Large) -> io::Result<Option<Synced>> {
        file.check(&Reading { disk: &self.disk, reread: &self.reread }, &|| true)
    }

    /// Bytes that were read to put the file into its place.
    fn reread(&self) -> u64 {
        self.reread.load(Ordering::Relaxed)
    }
}

fn content(brings: Brings) -> Vec<u8> {
    let mut bytes = vec![if matches!(brings, Brings::Nothing) { 0 } else { 7 }; PART as usize];
    if matches!(brings, Brings::Hole | Brings::Untold) {
        bytes[..HOLE as usize].fill(0);
    }
    bytes
}

fn partial(folder: &Path) -> File {
    File::options().write(true).open(folder.join(PARTIAL_FILE)).unwrap()
}

#[test]
fn a_file_whose_holes_all_are_told_goes_to_its_place_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let receiver = Receiver::begin(folder.path(), 3);
    for (part, brings) in [(1, Brings::Nothing), (0, Brings::Hole)] {
        assert_eq!(receiver.land(part, brings), Synced::Part);
    }
    assert!(matches!(receiver.land(2, Brings::Hole), Synced::File(_)));
    let whole = [Brings::Hole, Brings::Nothing, Brings::Hole].map(content).concat();
    assert_eq!(std::fs::read(folder.path().join("file")).unwrap(), whole);
}

#[test]
fn only_parts_with_a_hole_that_nobody_told_of_are_read_again() {
    let folder = tempfile::tempdir().unwrap();
    let receiver = Receiver::begin(folder.path(), 4);
    for (part, brings) in [(0, Brings::Hole), (1, Brings::Untold), (2, Brings::Data)] {
        receiver.land(part, brings);
    }
    let (file, last) = receiver.landed(3, Brings::Nothing);
    assert_eq!((last, receiver.reread()), (Synced::InDoubt, 0), "nothing is read where other chunks wait");
    assert!(!folder.path().join("file").exists());
    assert!(matches!(receiver.check(&file).unwrap(), Some(Synced::File(_))));
    assert_eq!(receiver.reread(), PART);
    assert!(receiver.disk.steps() > 0, "the check is no single call");
    let whole = [Brings::Hole, Brings::Untold, Brings::Data, Brings::Nothing].map(content).concat();
    assert_eq!(std::fs::read(folder.path().join("file")).unwrap(), whole);
    assert_eq!(receiver.check(&file).unwrap(), Some(Synced::Part), "another copy of the chunk finds it in its place");
}

#[test]
fn a_receiver_that_is_started_again_knows_the_holes_that_an_earlier_one_was_told_of() {
    let folder = tempfile::tempdir().unwrap();
    for (part, brings) in [(0, Brings::Hole), (1, Brings::Nothing), (2, Brings::Untold)] {
        let receiver = Receiver::begin(folder.path(), 4);
        assert_eq!(receiver.land(part, brings), Synced::Part);
        receiver.destination.sync_notes().unwrap();
    }
    let receiver = Receiver::begin(folder.path(), 4);
    let (file, last) = receiver.landed(3, Brings::Hole);
    assert_eq!(last, Synced::InDoubt);
    assert!(matches!(receiver.check(&file).unwrap(), Some(Synced::File(_))));
    assert_eq!(receiver.reread(), PART, "of the third part alone nobody was told");
}

#[test]
fn a_receiver_that_ends_in_the_middle_of_a_check_leaves_it_to_the_next_one() {
    let folder = tempfile::tempdir().unwrap();
    let receiver = Receiver::begin(folder.path(), 2);
    receiver.land(0, Brings::Untold);
    let (file, _) = receiver.landed(1, Brings::Untold);
    let (goes_on, wanted) = (AtomicBool::new(true), Reading { disk: &receiver.disk, reread: &receiver.reread });
    assert_eq!(file.check(&wanted, &|| goes_on.swap(false, Ordering::Relaxed)).unwrap(), None);
    assert!(receiver.reread() <= PART && !folder.path().join("file").exists());
    receiver.destination.sync_notes().unwrap();
    drop((file, receiver));
    let next = Receiver::begin(folder.path(), 2);
    assert_eq!(next.files.unfinished(), 1);
    // The chunk that was not acknowledged comes again.
    let (file, last) = next.landed(1, Brings::Untold);
    assert_eq!(last, Synced::InDoubt);
    assert!(matches!(next.check(&file).unwrap(), Some(Synced::File(_))));
    assert_eq!(std::fs::read(folder.path().join("file")).unwrap(), [Brings::Untold; 2].map(content).concat());
}

#[test]
fn a_part_of_an_earlier_receiver_that_is_dropped_while_the_file_is_checked_is_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    let receiver = Receiver::begin(folder.path(), 2);
    receiver.land(0, Brings::Untold);
    receiver.destination.sync_notes().unwrap();
    drop(receiver);
    let receiver = Receiver::begin(folder.path(), 2);
    let (file, last) = receiver.landed(1, Brings::Untold);
    assert_eq!(last, Synced::InDoubt);
    let part = receiver.files.part(&*receiver.destination, &receiver.header(0), PART, "direct").unwrap().unwrap();
    assert!(part.file.synced(0, part.token, [9; 32], true).is_err(), "it has other bytes now");
    assert_eq!(receiver.check(&file).unwrap(), Some(Synced::Part));
    assert!(matches!(receiver.land(0, Brings::Data), Synced::InDoubt));
    assert!(matches!(receiver.check(&file).unwrap(), Some(Synced::File(_))));
    assert_eq!(std::fs::read(folder.path().join("file")).unwrap(), [Brings::Data, Brings::Untold].map(content).concat());
}

#[test]
fn a_file_that_is_left_out_while_it_is_checked_goes_nowhere() {
    let folder = tempfile::tempdir().unwrap();
    let receiver = Receiver::begin(folder.path(), 1);
    let (file, _) = receiver.landed(0, Brings::Untold);
    receiver.files.skip(&*receiver.destination, 0).unwrap();
    assert_eq!(receiver.check(&file).unwrap(), Some(Synced::Part));
    assert!(!folder.path().join("file").exists());
}

/// What `harm` does to the partial file after its first part has come is found, though the second part makes it as long as it was. The
/// receiver is another one for the second part where it is started again.
fn is_found(brings: Brings, is_started_again: bool, harm: &dyn Fn(&File)) {
    is_given_up_after(brings, is_started_again, &|folder| harm(&partial(folder)));
}

fn is_given_up_after(brings: Brings, is_started_again: bool, harm: &dyn Fn(&Path)) {
    let folder = tempfile::tempdir().unwrap();
    let mut receiver = Receiver::begin(folder.path(), 2);
    assert_eq!(receiver.land(0, brings), Synced::Part);
    receiver.destination.sync_notes().unwrap();
    harm(folder.path());
    if is_started_again {
        drop(receiver);
        receiver = Receiver::begin(folder.path(), 2);
    }
    let (file, last) = receiver.landed(1, Brings::Data);
    let last = if last == Synced::InDoubt { receiver.check(&file).unwrap().unwrap() } else { last };
    assert_eq!(last, Synced::Spoiled);
    receiver.files.give_up(&*receiver.destination, 0).unwrap();
    assert!(!folder.path().join("file").exists());
    assert_eq!((receiver.files.unfinished(), receiver.files.placed().len()), (0, 0));
    assert_eq!(receiver.land(0, brings), Synced::Part);
    assert!(matches!(receiver.land(1, Brings::Data), Synced::File(_)));
    assert_eq!(std::fs::read(folder.path().join("file")).unwrap(), [brings, Brings::Data].map(content).concat());
}

#[test]
fn a_hole_of_a_file_that_should_have_none_is_in_doubt() {
    let folder = tempfile::tempdir().unwrap();
    let receiver = Receiver::begin(folder.path(), 2);
    assert_eq!(receiver.land_of_dense(0).1, Synced::Part);
    let (file, last) = receiver.land_of_dense(1);
    assert_eq!(last, Synced::InDoubt);
    assert!(matches!(receiver.check(&file).unwrap(), Some(Synced::File(_))));
    assert_eq!(receiver.reread(), 2 * PART);
}

#[test]
fn a_file_that_was_cut_short_between_its_parts_is_given_up_and_comes_again_whole() {
    // Of a block that is cut within, the kernel keeps the rest as zeros: no hole tells of it.
    for cut in [1, PART - 1] {
        is_found(Brings::Data, false, &|file| file.set_len(cut).unwrap());
        is_found(Brings::Hole, false, &|file| file.set_len(cut).unwrap());
    }
}

#[test]
fn a_file_that_somebody_removes_between_its_parts_is_given_up_and_comes_again_whole() {
    for brings in [Brings::Data, Brings::Hole] {
        is_given_up_after(brings, false, &|folder| std::fs::remove_file(folder.join(PARTIAL_FILE)).unwrap());
    }
}

#[test]
fn a_file_that_was_cut_short_and_made_long_again_while_no_receiver_ran_is_given_up() {
    let cut = |file: &File| {
        file.set_len(HOLE).unwrap();
        file.set_len(2 * PART).unwrap();
    };
    is_found(Brings::Hole, true, &cut);
    is_found(Brings::Data, true, &cut);
    is_found(Brings::Hole, false, &cut);
}

#[test]
fn a_file_that_is_cut_short_once_all_its_parts_are_there_is_given_up() {
    let folder = tempfile::tempdir().unwrap();
    let receiver = Receiver::begin(folder.path(), 1);
    let (file, last) = receiver.landed(0, Brings::Untold);
    assert_eq!(last, Synced::InDoubt);
    partial(folder.path()).set_len(PART - 1).unwrap();
    assert_eq!(receiver.check(&file).unwrap(), Some(Synced::Spoiled));
}
