#![allow(clippy::unwrap_used)]

use std::ops::Range;
use std::path::Path;

use super::*;

impl Known {
    fn is_empty(&self) -> bool {
        self.whole.is_empty() && self.parts.is_empty()
    }
}

const BORN: i64 = 1_700_000_000_000_000_001;

fn plan(digit: char) -> PlanId {
    PlanId::new(digit.to_string().repeat(32)).unwrap()
}

fn placed(digit: u8) -> Placed {
    let version = Some(Version::of_numbers((77, -5)));
    Placed { digest: [digit; 32], version: version.filter(|_| digit != 1) }
}

fn journal(folder: &Path) -> Journal {
    Journal::new(fs::open(folder, OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty()).unwrap())
}

/// A file in its place, and two parts of another one.
fn written(folder: &Path) {
    let journal = journal(folder);
    assert!(journal.recall(&plan('9'), Proof::Blake3).unwrap().is_empty());
    journal.whole(3, &placed(3)).unwrap();
    journal.part(7, (5000, BORN), 0, [7; 32], &[]).unwrap();
    journal.part(7, (5000, BORN), 2, [8; 32], &[]).unwrap();
    journal.sync().unwrap();
}

#[test]
fn a_file_that_got_names_is_the_one_that_it_was_for_later_receivers_too_until_something_else_changes_it() {
    let folder = tempfile::tempdir().unwrap();
    let (first, journal) = (Identity { inode: 77, changed_ns: -5 }, journal(folder.path()));
    let at = |changed_ns| Identity { changed_ns, ..first };
    journal.recall(&plan('9'), Proof::Blake3).unwrap();
    journal.linked(&first, &at(6)).unwrap();
    journal.linked(&first, &at(7)).unwrap();
    // Not closed in order: a receiver that is killed does not come to that.
    std::mem::forget(journal);
    let known = self::journal(folder.path()).recall(&plan('9'), Proof::Blake3).unwrap().linked;
    assert_eq!([at(6), at(7), at(8)].map(|now| known.unlinked(now)), [at(6), first, at(8)]);
}

#[test]
fn what_was_noted_is_known_again_and_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    written(folder.path());
    for more in 0..2 {
        let journal = journal(folder.path());
        let known = journal.recall(&plan('9'), Proof::Blake3).unwrap();
        assert_eq!(known.whole.len(), 1 + more);
        assert_eq!(known.whole.get(3), Some(placed(3)));
        assert_eq!((known.parts[&7].size, known.parts[&7].digests.len()), (5000, 2));
        assert_eq!(known.parts[&7].digests[&2], [8; 32]);
        journal.whole(100 + more as u64, &placed(1)).unwrap();
        journal.sync().unwrap();
    }
}

#[test]
fn a_record_that_was_cut_off_or_lost_ends_what_is_known_and_not_what_is_noted() {
    let folder = tempfile::tempdir().unwrap();
    written(folder.path());
    let path = folder.path().join(NAME);
    let whole = std::fs::read(&path).unwrap();
    let mut spoiled = whole.clone();
    spoiled[3 * RECORD_BYTES + 30] ^= 1;
    for text in [&whole[..whole.len() - 1], &whole[..3 * RECORD_BYTES + 1], &spoiled[..]] {
        std::fs::write(&path, text).unwrap();
        let first = journal(folder.path());
        assert_eq!(first.recall(&plan('9'), Proof::Blake3).unwrap().parts[&7].digests.len(), 1);
        first.part(7, (5000, BORN), 1, [6; 32], &[]).unwrap();
        assert_eq!(journal(folder.path()).recall(&plan('9'), Proof::Blake3).unwrap().parts[&7].digests.len(), 2);
    }
}

/// Whatever order its parts come in, and however often: with those of its last record each part has the holes that it has.
#[test]
fn the_holes_of_a_part_are_known_again_until_it_comes_again_or_is_forgotten() {
    let folder = tempfile::tempdir().unwrap();
    let first = journal(folder.path());
    first.recall(&plan('9'), Proof::Blake3).unwrap();
    let part = |part, holes: &[Range<u64>]| first.part(7, (5000, BORN), part, [6; 32], holes).unwrap();
    part(1, &[1000..1100, 1200..1300, 1400..1500]);
    part(0, &[0..100, 300..500]);
    part(2, &[2000..2100, 2500..3000]);
    part(2, &[]);
    first.part(8, (5000, BORN), 0, [6; 32], &[0..10, 20..30]).unwrap();
    first.forgotten(8).unwrap();
    first.part(8, (5000, BORN), 1, [6; 32], &[]).unwrap();
    let known = journal(folder.path()).recall(&plan('9'), Proof::Blake3).unwrap();
    let holes: Vec<_> = known.parts[&7].holes.clone().into_iter().collect();
    assert_eq!(holes, [(0, vec![0..100, 300..500]), (1, vec![1000..1100, 1200..1300, 1400..1500])]);
    assert_eq!((known.parts[&8].holes.len(), known.holes), (0, 5));
}

/// A write that the disk refuses half-way, and then takes.
#[test]
fn what_a_full_disk_refused_is_written_once_there_is_room() {
    let folder = tempfile::tempdir().unwrap();
    let first = journal(folder.path());
    first.recall(&plan('9'), Proof::Blake3).unwrap();
    first.whole(3, &placed(3)).unwrap();
    // Like a disk that is full: `/dev/full` takes nothing, and cannot be cut off either.
    let file = lock(&first.state).file.replace(File::options().write(true).open("/dev/full").unwrap());
    assert!(first.sync().is_err());
    assert!(first.part(7, (5000, BORN), 0, [7; 32], &[]).is_err());
    lock(&first.state).file = file;
    first.part(7, (5000, BORN), 2, [8; 32], &[]).unwrap();
    first.sync().unwrap();
    let known = journal(folder.path()).recall(&plan('9'), Proof::Blake3).unwrap();
    assert_eq!(known.whole.iter().map(|(entry, _)| entry).collect::<Vec<_>>(), [3]);
    assert_eq!(known.parts[&7].digests.keys().collect::<Vec<_>>(), [&2], "its chunk is sent again");
}

#[test]
fn what_was_forgotten_is_not_known_again() {
    let folder = tempfile::tempdir().unwrap();
    written(folder.path());
    let again = journal(folder.path());
    again.recall(&plan('9'), Proof::Blake3).unwrap();
    again.forgotten(3).unwrap();
    again.forgotten(7).unwrap();
    again.part(7, (5000, BORN), 1, [6; 32], &[]).unwrap();
    let known = journal(folder.path()).recall(&plan('9'), Proof::Blake3).unwrap();
    assert!(known.whole.is_empty());
    assert_eq!(known.parts[&7].digests.keys().collect::<Vec<_>>(), [&1]);
}

#[test]
fn what_has_digests_of_another_kind_is_forgotten() {
    for (of, by) in [(Proof::Blake3, Proof::Crc64), (Proof::Crc64, Proof::Blake3)] {
        let folder = tempfile::tempdir().unwrap();
        let first = journal(folder.path());
        first.recall(&plan('9'), of).unwrap();
        first.whole(5, &placed(5)).unwrap();
        first.sync().unwrap();
        assert!(!journal(folder.path()).recall(&plan('9'), of).unwrap().is_empty());
        assert!(journal(folder.path()).recall(&plan('9'), by).unwrap().is_empty());
    }
}

#[test]
fn what_is_of_another_plan_is_forgotten() {
    let folder = tempfile::tempdir().unwrap();
    written(folder.path());
    let other = journal(folder.path());
    assert!(other.recall(&plan('1'), Proof::Blake3).unwrap().is_empty());
    other.whole(5, &placed(5)).unwrap();
    other.sync().unwrap();
    assert!(journal(folder.path()).recall(&plan('9'), Proof::Blake3).unwrap().is_empty());
}

#[test]
fn nothing_noted_is_no_file() {
    let folder = tempfile::tempdir().unwrap();
    let journal = journal(folder.path());
    journal.sync().unwrap();
    assert!(!folder.path().join(NAME).exists());
}
