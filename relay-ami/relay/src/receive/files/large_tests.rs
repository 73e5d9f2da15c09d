#![allow(clippy::unwrap_used)]

use super::*;
use crate::digest::Proof;
use crate::documents::entry::Kind;
use crate::documents::seat::Seat;
use crate::documents::text::{PlanId, TransferId};
use crate::ends::Destination as _;
use crate::look::Reading;
use crate::under_way::UnderWay;
use cpt_ends_posix::PosixDestination;

const PART: u64 = 2048;

/// A receiver's destination, and what it goes on from.
fn open(folder: &std::path::Path) -> (Box<dyn OpenDestination>, Files) {
    let (transfer, plan) = (TransferId::new("t").unwrap(), PlanId::new("0".repeat(32)).unwrap());
    let (destination, left) = PosixDestination::new(folder.to_owned()).open(&transfer, &plan, PART, Proof::Blake3).unwrap();
    (destination, Files::going_on_from(left, Proof::Blake3))
}

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
        attributes: Vec::new(),
    }
}

#[test]
fn a_part_taken_over_half_way_counts_only_for_the_stream_that_wrote_all_of_it() {
    let folder = tempfile::tempdir().unwrap();
    let (destination, files) = open(folder.path());
    let content: Vec<u8> = (0..2 * PART).map(|at| u8::try_from(at % 251).unwrap()).collect();
    let (first, second) = content.split_at(usize::try_from(PART).unwrap());
    let digest = |bytes: &[u8], offset: u64| Proof::Blake3.part(offset).update(bytes).digest();
    let (first_digest, second_digest) = (digest(first, 0), digest(second, PART));
    let broken = files.part(&*destination, &header(0), PART, "direct").unwrap().unwrap();
    broken.file.write(0, broken.token, 0, &first[..1024]).unwrap();
    let resent = files.part(&*destination, &header(0), PART, "direct").unwrap().unwrap();
    broken.file.write(0, broken.token, 1024, &first[1024..]).unwrap();
    assert!(broken.file.synced(0, broken.token, first_digest, true).is_err());

    resent.file.write(0, resent.token, 0, first).unwrap();
    assert_eq!(resent.file.synced(0, resent.token, first_digest, true).unwrap(), Synced::Part);
    let late = files.part(&*destination, &header(0), PART, "direct").unwrap().unwrap();
    late.file.write(0, late.token, 0, &[0xff; 16]).unwrap();
    let other = files.part(&*destination, &header(PART), PART, "direct").unwrap().unwrap();
    other.file.write(1, other.token, PART, second).unwrap();
    assert!(matches!(other.file.synced(1, other.token, second_digest, true).unwrap(), Synced::File(_)));
    assert_eq!(std::fs::read(folder.path().join("file")).unwrap(), content);
}

/// The source may have been written to since, with its time put back: one file of both would never have been there.
#[test]
fn a_file_that_comes_again_has_nothing_of_the_parts_that_came_before() {
    for is_left_by_an_earlier_receiver in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        let (mut destination, mut files) = open(folder.path());
        let half = usize::try_from(PART).unwrap();
        let bring = |destination: &dyn OpenDestination, files: &Files, offset: u64, byte: u8| {
            let part = files.part(destination, &header(offset), PART, "direct").unwrap().unwrap();
            let bytes = vec![byte; half];
            part.file.write(part.index, part.token, offset, &bytes).unwrap();
            part.file.synced(part.index, part.token, Proof::Blake3.part(offset).update(&bytes).digest(), true)
        };
        let old = files.part(&*destination, &header(PART), PART, "direct").unwrap().unwrap();
        assert_eq!(bring(&*destination, &files, 0, 1).unwrap(), Synced::Part);
        if is_left_by_an_earlier_receiver {
            destination.sync_notes().unwrap();
            drop((old, destination, files));
            (destination, files) = open(folder.path());
            files.forget(&*destination, 0).unwrap();
        } else {
            files.forget(&*destination, 0).unwrap();
            old.file.write(1, old.token, PART, &vec![1; half]).unwrap();
            assert!(old.file.synced(1, old.token, Proof::Blake3.part(PART).update(&vec![1; half]).digest(), true).is_err());
        }
        assert_eq!(files.unfinished(), 0);
        assert_eq!(bring(&*destination, &files, PART, 2).unwrap(), Synced::Part);
        assert!(matches!(bring(&*destination, &files, 0, 2).unwrap(), Synced::File(_)));
        assert!(std::fs::read(folder.path().join("file")).unwrap() == vec![2; 2 * half]);
    }
}

#[test]
fn a_part_that_an_earlier_receiver_left_counts_until_another_one_comes() {
    let folder = tempfile::tempdir().unwrap();
    let digest = |bytes: &[u8], offset: u64| Proof::Blake3.part(offset).update(bytes).digest();
    let (old, new) = ([1; PART as usize], [2; PART as usize]);
    let land = |destination: &dyn OpenDestination, files: &Files, bytes: &[u8], offset: u64| {
        let part = files.part(destination, &header(offset), PART, "direct").unwrap().unwrap();
        part.file.write(part.index, part.token, offset, bytes).unwrap();
        part.file.synced(part.index, part.token, digest(bytes, offset), true)
    };
    let (destination, files) = open(folder.path());
    land(&*destination, &files, &old, 0).unwrap();
    drop((destination, files));
    let (destination, files) = open(folder.path());
    assert_eq!(files.unfinished(), 1);
    assert_eq!(land(&*destination, &files, &old, 0).unwrap(), Synced::Part);
    assert!(land(&*destination, &files, &new, 0).is_err(), "it is not what is on the disk");
    assert_eq!(land(&*destination, &files, &new, 0).unwrap(), Synced::Part);
    assert!(land(&*destination, &files, &new, 0).is_ok());
    assert!(matches!(land(&*destination, &files, &new, PART).unwrap(), Synced::File(_)));
    assert_eq!(std::fs::read(folder.path().join("file")).unwrap(), [2; 2 * PART as usize]);
    drop((destination, files));
    let (_destination, files) = open(folder.path());
    assert_eq!((files.unfinished(), files.placed().len()), (0, 1), "all parts are noted, and no partial file is left");
}

/// The source may go back to what it was, with its time put back: half of the one and half of the other would be taken for that.
#[test]
fn a_part_that_was_half_written_over_is_none_for_the_next_receiver_and_the_others_are() {
    let folder = tempfile::tempdir().unwrap();
    let digest = |bytes: &[u8]| Proof::Blake3.part(PART).update(bytes).digest();
    let (old, new) = ([1; PART as usize], [2; PART as usize]);
    let size = 3 * PART;
    let header = |offset| SegmentHeader { size, ..header(offset) };
    let (destination, files) = open(folder.path());
    for (offset, expected) in [(0, Proof::Blake3.part(0).update(&old).digest()), (PART, digest(&old))] {
        let part = files.part(&*destination, &header(offset), PART, "direct").unwrap().unwrap();
        part.file.write(part.index, part.token, offset, &old).unwrap();
        part.file.synced(part.index, part.token, expected, true).unwrap();
    }
    drop((destination, files));
    let (destination, files) = open(folder.path());
    let other = files.part(&*destination, &header(PART), PART, "direct").unwrap().unwrap();
    assert!(other.file.synced(1, other.token, digest(&new), true).is_err(), "it is dropped");
    let again = files.part(&*destination, &header(PART), PART, "direct").unwrap().unwrap();
    again.file.write(1, again.token, PART, &new[..PART as usize / 2]).unwrap();
    // Killed: nothing is synced or noted.
    drop((other, again, destination, files));
    let (destination, _) = open(folder.path());
    let (_, kept) = destination.large(&header(0)).unwrap();
    assert_eq!(kept.keys().copied().collect::<Vec<_>>(), [0]);
}

/// A receiver of one part, then what `harm` does to the partial file, then one of the other part that dies, then a third one.
fn after(harm: impl Fn(&std::path::Path)) -> Option<Vec<u8>> {
    let folder = tempfile::tempdir().unwrap();
    let digest = |offset| Proof::Blake3.part(offset).update(&[7; PART as usize]).digest();
    for (round, offset) in [0, PART, PART].into_iter().enumerate() {
        let (destination, files) = open(folder.path());
        if let Some(part) = files.part(&*destination, &header(offset), PART, "direct").unwrap() {
            part.file.write(part.index, part.token, offset, &[7; PART as usize]).unwrap();
            part.file.synced(part.index, part.token, digest(offset), true).unwrap();
        }
        destination.sync_notes().unwrap();
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
    let replace = |file: &std::path::Path| {
        let size = std::fs::metadata(file).unwrap().len();
        std::fs::remove_file(file).unwrap();
        std::fs::write(file, vec![9; usize::try_from(size).unwrap()]).unwrap();
    };
    assert_eq!(after(replace), None, "by another one of its size");
}

#[test]
fn a_spoiled_header_that_came_first_does_not_stand_in_the_way_of_the_right_one() {
    let folder = tempfile::tempdir().unwrap();
    let (destination, files) = open(folder.path());
    let spoiled =
        files.part(&*destination, &SegmentHeader { mode: 0o777, path: b"other".to_vec(), ..header(0) }, PART, "direct").unwrap().unwrap();
    let bytes = [1; PART as usize];
    let digest = |offset| Proof::Blake3.part(offset).update(&bytes).digest();
    for (index, offset) in [(0, 0), (1, PART)] {
        let part = files.part(&*destination, &header(offset), PART, "direct").unwrap().unwrap();
        part.file.write(index, part.token, offset, &bytes).unwrap();
        assert!(spoiled.file.synced(0, spoiled.token, digest(0), true).is_err());
        assert_eq!(part.file.synced(index, part.token, digest(offset), true).unwrap() != Synced::Part, index == 1);
        if index == 0 {
            assert!(
                files.part(&*destination, &SegmentHeader { mode: 0o777, ..header(PART) }, PART, "direct").is_err(),
                "the right one counts"
            );
        }
    }
    assert!(!folder.path().join("other").exists());
    assert_eq!(std::fs::metadata(folder.path().join("file")).unwrap().len(), 2 * PART);
}

/// One that is frozen may hold the file open, with an earlier copy of a chunk: it would write into what is in its place.
#[test]
fn a_file_whose_parts_all_came_to_one_receiver_waits_while_others_may_write_into_it() {
    let folder = tempfile::tempdir().unwrap();
    let (transfer, plan) = (TransferId::new("t").unwrap(), PlanId::new("0".repeat(32)).unwrap());
    let open = |seat: &str| {
        let to = PosixDestination::new(folder.path().to_owned()).beside_others(Some(Seat::new(seat).unwrap()));
        let (destination, left) = to.open(&transfer, &plan, PART, Proof::Blake3).unwrap();
        (destination, Files::going_on_from(left, Proof::Blake3).beside_others())
    };
    let ((destination, files), (frozen, its_files)) = (open("r1"), open("r0"));
    let early = its_files.part(&*frozen, &header(0), PART, "direct").unwrap().unwrap();
    let come = |files: &Files, destination: &dyn OpenDestination, offset: u64| {
        let part = files.part(destination, &header(offset), PART, "direct").unwrap().unwrap();
        let bytes = vec![u8::from(offset > 0); usize::try_from(PART).unwrap()];
        part.file.write(part.index, part.token, offset, &bytes).unwrap();
        let digest = Proof::Blake3.part(offset).update(&bytes).digest();
        part.file.synced(part.index, part.token, digest, !files.has_others()).unwrap()
    };
    assert_eq!([0, PART].map(|offset| come(&files, &*destination, offset)), [Synced::Part, Synced::Part]);
    assert!(!folder.path().join("file").exists());

    let gathered = destination.gather(&[Seat::new("r0").unwrap()], &|_| true).unwrap();
    assert_eq!(gathered.copied, 2 * PART);
    let [file] = &files.take_over(gathered, PART)[..] else { panic!("all of its parts are there") };
    let (disk, reread) = (UnderWay::default(), AtomicU64::new(0));
    let placed = file.check(&Reading { disk: &disk, reread: &reread }, &|| true).unwrap();
    assert!(matches!(placed, Some(Synced::File(_))), "{placed:?}");
    early.file.write(early.index, early.token, 0, &[9; 16]).unwrap();
    assert_eq!(std::fs::read(folder.path().join("file")).unwrap()[..16], [0; 16], "what wakes has the file that was copied");
    assert!(!files.has_others(), "what is sent again goes to its place at once");
}
