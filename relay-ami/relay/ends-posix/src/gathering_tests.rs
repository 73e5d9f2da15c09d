#![allow(clippy::unwrap_used)]

use super::*;

fn parts(born_ns: i64, digests: &[(u64, u8)]) -> Parts {
    let digests = digests.iter().map(|(part, digest)| (*part, [*digest; 32])).collect();
    Parts { size: 10, born_ns, digests, ..Parts::default() }
}

#[test]
fn parts_of_all_receivers_make_up_one_file_but_for_those_that_two_have_differently() {
    let noted = vec![parts(1, &[(0, 1), (1, 2)]), parts(1, &[(1, 3), (2, 4)]), parts(1, &[(1, 2), (0, 1)]), parts(2, &[(3, 5)])];
    let merged = merged(noted, |parts| parts.born_ns == 1);
    assert_eq!(merged.digests.into_iter().collect::<Vec<_>>(), [(0, [1; 32]), (2, [4; 32])]);
}

#[test]
fn an_entry_that_two_receivers_have_placed_is_read_again_at_the_end() {
    let known = EntryTable::default();
    let placed = |number| Placed { digest: [1; 32], version: Some(cpt_ends::Version::of_numbers((number, 7))) };
    note_placed(&known, 4, placed(1));
    note_placed(&known, 4, placed(1));
    assert_eq!(known.get(4), Some(placed(1)));
    note_placed(&known, 4, placed(2));
    assert_eq!(known.get(4), Some(Placed { version: None, ..placed(1) }));
}

/// A file that came to another receiver comes again to the one that has gathered: what it replaces is the transfer's own.
#[test]
fn what_another_receiver_has_placed_is_nothing_to_keep() {
    use cpt_ends::Destination as _;
    use cpt_wire::documents::text::{KeepName, PlanId, TransferId};

    let folder = tempfile::tempdir().unwrap();
    let (transfer, plan) = (TransferId::new("t-1").unwrap(), PlanId::new("0".repeat(32)).unwrap());
    let keep = KeepName::new("kept").unwrap();
    let open = |seat: &str| {
        let seat = Seat::new(seat).unwrap();
        let to = crate::PosixDestination::new(folder.path().to_owned()).beside_others(Some(seat));
        to.keeping(Some(&keep), &transfer).open(&transfer, &plan, 1 << 20, Proof::Blake3).unwrap().0
    };
    let place = |to: &dyn cpt_ends::OpenDestination, bytes: &[u8]| {
        let (kind, size) = (cpt_wire::documents::entry::Kind::File, bytes.len() as u64);
        let (path, target, attributes) = (b"file".to_vec(), Vec::new(), b"{}".to_vec());
        let header =
            SegmentHeader { entry: 1, kind, mode: 0o644, mtime_ns: 1_000_000_000, size, offset: 0, length: size, path, target, attributes };
        let mut file = to.small(&header).unwrap();
        file.write(bytes).unwrap();
        file.finish().unwrap();
        let version = file.place(&header.path).unwrap();
        to.note(1, &Placed { digest: [1; 32], version }).unwrap();
        to.sync_notes().unwrap();
    };
    std::fs::write(folder.path().join("file"), b"what was there").unwrap();
    let (one, other) = (open("r0"), open("r1"));
    place(&*other, b"one state");
    assert_eq!(other.kept().unwrap(), 1);
    one.gather(&[], &|_| true).unwrap();
    place(&*one, b"another state");
    assert_eq!(one.kept().unwrap(), 1);
}

/// As one that was frozen before it put the file into its place: whoever gathers has made it anew meanwhile, and lacks a part.
#[test]
fn a_receiver_that_wakes_puts_no_half_file_of_another_one_into_its_place() {
    use cpt_ends::Destination as _;
    use cpt_wire::documents::entry::Kind;
    use cpt_wire::documents::text::{PlanId, TransferId};

    const PART: u64 = 4096;
    let folder = tempfile::tempdir().unwrap();
    let (transfer, plan) = (TransferId::new("t-1").unwrap(), PlanId::new("0".repeat(32)).unwrap());
    let open = |seat: &str| {
        let seat = Seat::new(seat).unwrap();
        let to = crate::PosixDestination::new(folder.path().to_owned()).beside_others(Some(seat));
        to.open(&transfer, &plan, PART, Proof::Blake3).unwrap().0
    };
    let header = |offset| {
        let (path, target, attributes) = (b"file".to_vec(), Vec::new(), b"{}".to_vec());
        let (kind, size, length) = (Kind::File, 2 * PART, PART);
        SegmentHeader { entry: 1, kind, mode: 0o644, mtime_ns: 1_000_000_000, size, offset, length, path, target, attributes }
    };
    let (gatherer, woken) = (open("r0"), open("r1"));
    let (old, _) = woken.large(&header(0)).unwrap();
    let bytes: Vec<u8> = (0..2 * PART).map(|at| at as u8).collect();
    for part in [0, 1] {
        let range = part * PART..(part + 1) * PART;
        old.write(&bytes[range.start as usize..range.end as usize], range.start).unwrap();
        let mut hasher = Proof::Blake3.part(range.start);
        hasher.update(&bytes[range.start as usize..range.end as usize]);
        // Of the second one it has noted what is not there.
        let digest = if part == 0 { hasher.digest() } else { [9; 32] };
        old.keep(part, range, digest).unwrap();
    }
    woken.sync_notes().unwrap();
    let gathered = gatherer.gather(&[Seat::new("r1").unwrap()], &|_| true).unwrap();
    let [begun] = &gathered.begun[..] else { panic!("{}", gathered.begun.len()) };
    assert_eq!((begun.parts.len(), gathered.copied), (1, PART), "the second part is not what came");
    let error = old.place().unwrap_err();
    assert!(!folder.path().join("file").exists(), "{error}");
    begun.file.write(&bytes[PART as usize..], PART).unwrap();
    begun.file.place().unwrap();
    assert_eq!(std::fs::read(folder.path().join("file")).unwrap(), bytes);
}

#[test]
fn what_nobody_waits_for_is_not_gathered_to_its_end_and_is_when_it_is_asked_for_again() {
    use cpt_ends::Destination as _;
    use cpt_wire::documents::entry::Kind;
    use cpt_wire::documents::text::{PlanId, TransferId};

    let folder = tempfile::tempdir().unwrap();
    let (transfer, plan) = (TransferId::new("t-1").unwrap(), PlanId::new("0".repeat(32)).unwrap());
    let seat = Seat::new("r0").unwrap();
    let to = crate::PosixDestination::new(folder.path().to_owned()).beside_others(Some(seat));
    let to = to.open(&transfer, &plan, 4096, Proof::Blake3).unwrap().0;
    let (path, target, attributes) = (b"file".to_vec(), Vec::new(), b"{}".to_vec());
    let (kind, size, length) = (Kind::File, 8192, 4096);
    let header = SegmentHeader { entry: 1, kind, mode: 0o644, mtime_ns: 1, size, offset: 0, length, path, target, attributes };
    let (file, _) = to.large(&header).unwrap();
    let mut hasher = Proof::Blake3.part(0);
    hasher.update(&[7; 4096]);
    file.write(&[7; 4096], 0).unwrap();
    file.keep(0, 0..4096, hasher.digest()).unwrap();
    to.sync_notes().unwrap();
    let error = to.gather(&[seat], &|bytes| bytes == 0).err().unwrap();
    assert_eq!(error.kind(), std::io::ErrorKind::Interrupted);
    let own = std::fs::read_dir(folder.path().join(".cpt-partial-t-1/r0")).unwrap().map(|entry| entry.unwrap().file_name());
    assert!(own.into_iter().all(|name| !name.to_str().unwrap().starts_with("1-")), "what was copied is left");
    let gathered = to.gather(&[seat], &|_| true).unwrap();
    assert_eq!((gathered.copied, gathered.begun[0].parts.len()), (4096, 1));
}

#[test]
fn only_what_a_receiver_in_doubt_has_begun_is_copied() {
    use cpt_ends::Destination as _;
    use cpt_wire::documents::entry::Kind;
    use cpt_wire::documents::text::{PlanId, TransferId};

    const PART: u64 = 4096;
    let folder = tempfile::tempdir().unwrap();
    let (transfer, plan) = (TransferId::new("t-1").unwrap(), PlanId::new("0".repeat(32)).unwrap());
    let open = |seat: &str| {
        let to = crate::PosixDestination::new(folder.path().to_owned()).beside_others(Some(Seat::new(seat).unwrap()));
        to.open(&transfer, &plan, PART, Proof::Blake3).unwrap().0
    };
    let header = |entry: u64| {
        let (path, target, attributes) = (format!("file-{entry}").into_bytes(), Vec::new(), b"{}".to_vec());
        let (kind, size) = (Kind::File, 2 * PART);
        SegmentHeader { entry, kind, mode: 0o644, mtime_ns: 1_000_000_000, size, offset: 0, length: PART, path, target, attributes }
    };
    let (gatherer, gone, doubtful) = (open("r0"), open("r1"), open("r2"));
    for (receiver, entry) in [(&gatherer, 1), (&gone, 2), (&gatherer, 3)] {
        let (file, _) = receiver.large(&header(entry)).unwrap();
        file.write(&[7; PART as usize], 0).unwrap();
        file.keep(0, 0..PART, Proof::Blake3.part(0).update(&[7; PART as usize]).digest()).unwrap();
    }
    // It has begun one of them, and noted no part of it.
    doubtful.large(&header(3)).unwrap();
    gone.sync_notes().unwrap();
    let gathered = gatherer.gather(&[Seat::new("r2").unwrap()], &|_| true).unwrap();
    assert_eq!((gathered.begun.len(), gathered.copied), (3, PART));
}
