//! Several receivers that write one directory of HDFS, and processes of one receiver that follow one another.

use std::collections::BTreeMap;

use cpt_relay::digest::{Digest, Proof, to_hex};
use cpt_relay::documents::entry::Kind;
use cpt_relay::documents::seat::Seat;
use cpt_relay::documents::text::{PlanId, TransferId};
use cpt_relay::ends::{Begun, Destination, Gathered, LargeFile, Left, OpenDestination, Placed};
use cpt_relay::wire::frame::SegmentHeader;

use super::hdfs::Hdfs;

const PART: u64 = 4096;
const SIZE: u64 = 2 * PART + 100;
const TIME: i64 = 1_700_000_000_123_000_000;

fn open(end: &dyn Destination) -> (Box<dyn OpenDestination>, Left) {
    let plan = PlanId::new("1".repeat(32)).unwrap();
    end.open(&TransferId::new("t").unwrap(), &plan, PART, Proof::Blake3).unwrap()
}

fn header(entry: u64, path: &str, size: u64) -> SegmentHeader {
    let (kind, mode, path) = (Kind::File, 0o640, path.as_bytes().to_vec());
    SegmentHeader { entry, kind, mode, mtime_ns: TIME, size, offset: 0, length: size, path, target: Vec::new(), attributes: Vec::new() }
}

fn content() -> Vec<u8> {
    (0..SIZE).map(|at| u8::try_from(at % 251).unwrap()).collect()
}

fn part(file: &dyn LargeFile, number: u64) -> Digest {
    let range = number * PART..SIZE.min((number + 1) * PART);
    let bytes = &content()[usize::try_from(range.start).unwrap()..usize::try_from(range.end).unwrap()];
    file.begin_part(number, "direct").unwrap();
    file.write(bytes, range.start).unwrap();
    file.prepare_sync(range.clone()).unwrap();
    let digest = Proof::Blake3.part(range.start).update(bytes).digest();
    file.keep(number, range, digest).unwrap();
    digest
}

fn digest_of(end: &dyn Destination, path: &str) -> Option<Digest> {
    let mut view = end.view().unwrap();
    let version = view.see(path.as_bytes()).ok()?.version;
    Some(view.digest(path.as_bytes(), &version, &|_| ()).unwrap())
}

fn whole() -> Option<Digest> {
    Some(*blake3::hash(&content()).as_bytes())
}

fn seat(name: &str) -> Seat {
    Seat::new(name).unwrap()
}

#[test]
fn parts_that_came_to_two_receivers_become_one_file_of_the_one_that_gathers() {
    let Some(site) = Hdfs::new() else { return };
    let ends = [site.shared(seat("r0")), site.shared(seat("r1"))];
    let opened = ends.each_ref().map(|end| open(end).0);
    let header = header(3, "large", SIZE);
    let files = opened.each_ref().map(|to| to.large(&header).unwrap().0);
    let expected: BTreeMap<u64, Digest> = [(0, 1), (1, 0), (2, 1)].map(|(number, who)| (number, part(&*files[who], number))).into();
    let mut small = opened[1].small(&self::header(4, "small", 5)).unwrap();
    small.write(b"bytes").unwrap();
    small.finish().unwrap();
    let placed = Placed { digest: *blake3::hash(b"bytes").as_bytes(), version: small.place(b"small").unwrap() };
    opened[1].note(4, &placed).unwrap();
    opened[1].sync_notes().unwrap();

    let mut gathered = opened[0].gather(&[], &|_| true).unwrap();
    assert_eq!(gathered.placed.get(4), Some(placed));
    let begun = only(&mut gathered);
    assert_eq!(begun.parts, expected);
    begun.file.place().unwrap();
    assert_eq!(digest_of(&ends[0], "large"), whole());
    opened[0].finish(&|| ()).unwrap();
    assert_eq!(site.directory.names(""), ["large", "small"]);
}

fn only(gathered: &mut Gathered) -> Begun {
    assert_eq!(gathered.begun.len(), 1);
    gathered.begun.pop().unwrap()
}

#[test]
fn what_a_receiver_does_that_wakes_after_another_has_gathered_comes_to_nothing() {
    let Some(site) = Hdfs::new() else { return };
    let ends = [site.shared(seat("r0")), site.shared(seat("r1"))];
    let opened = ends.each_ref().map(|end| open(end).0);
    let (late, _) = opened[1].large(&header(3, "large", SIZE)).unwrap();
    late.begin_part(0, "direct").unwrap();
    late.write(&content()[..4096], 0).unwrap();
    let mut small = opened[1].small(&header(4, "small", 5)).unwrap();
    small.write(b"older").unwrap();
    small.finish().unwrap();
    opened[0].gather(&[seat("r1")], &|_| true).unwrap();
    site.directory.write("small", b"newer", 9);

    late.prepare_sync(0..PART).unwrap_err();
    late.keep(0, 0..PART, [7; 32]).unwrap_err();
    small.place(b"small").unwrap_err();
    opened[1].note(4, &Placed { digest: [7; 32], version: None }).unwrap();
    opened[1].sync_notes().unwrap_err();
    assert_eq!(digest_of(&ends[0], "small"), Some(*blake3::hash(b"newer").as_bytes()));
    assert!(opened[0].gather(&[], &|_| true).unwrap().begun.is_empty(), "nor does the next one find anything of it");
}

#[test]
fn a_process_takes_from_the_one_before_it_what_that_writes_by() {
    let Some(site) = Hdfs::new() else { return };
    let before = open(&site.end).0;
    let mut late = before.small(&header(4, "small", 5)).unwrap();
    late.write(b"older").unwrap();
    let (after, left) = open(&site.end);
    assert!(left.placed.is_empty());
    late.place(b"small").unwrap_err();
    assert_eq!(digest_of(&site.end, "small"), None);
    after.finish(&|| ()).unwrap();
    assert_eq!(site.directory.names(""), Vec::<String>::new());
}

#[test]
fn a_file_whose_parts_were_being_joined_when_its_receiver_died_is_joined_to_its_end() {
    let Some(site) = Hdfs::new() else { return };
    let (to, header) = (open(&site.end).0, header(3, "large", SIZE));
    let (file, _) = to.large(&header).unwrap();
    let digests: Vec<Digest> = (0..3).map(|number| part(&*file, number)).collect();
    drop((file, to));
    // As far as a name node may have come with it.
    let plan = site.directory.names(".cpt-partial-t").pop().unwrap();
    let folder = format!(".cpt-partial-t/{plan}/parts/3");
    let there = site.directory.names(&folder);
    let name = |number: usize| {
        let begins = format!("{number:08}-{}", to_hex(&digests[number]));
        format!("{folder}/{}", there.iter().find(|name| name.starts_with(&begins)).unwrap())
    };
    let lines: Vec<String> = std::iter::once("7".to_owned()).chain(digests.iter().map(to_hex)).collect();
    site.directory.write(&format!(".cpt-partial-t/{plan}/parts/3/digests"), lines.join("\n").as_bytes(), 9);
    site.directory.join(&name(0), &[&name(1)]);

    let (to, left) = open(&site.end);
    assert_eq!(left.begun, [3].into());
    let (file, kept) = to.large(&header).unwrap();
    assert_eq!(kept.into_values().collect::<Vec<_>>(), digests, "nothing comes again");
    let version = file.place().unwrap();
    let seen = to.view().see(b"large").unwrap();
    assert_eq!((seen.size, seen.mode, seen.mtime_ns, Some(seen.version)), (SIZE, 0o640, Some(TIME), version));
    assert_eq!(digest_of(&site.end, "large"), whole());
}

#[test]
fn a_file_that_was_put_into_its_place_and_not_noted_comes_again_in_no_part() {
    let Some(site) = Hdfs::new() else { return };
    let (to, header) = (open(&site.end).0, header(3, "large", SIZE));
    let (file, _) = to.large(&header).unwrap();
    let digests: Vec<Digest> = (0..3).map(|number| part(&*file, number)).collect();
    let version = file.place().unwrap();
    drop((file, to));

    let (to, left) = open(&site.end);
    assert_eq!(left.begun, [3].into());
    let (file, kept) = to.large(&header).unwrap();
    assert_eq!(kept.into_values().collect::<Vec<_>>(), digests);
    assert_eq!(file.place().unwrap(), version);
    to.note(3, &Placed { digest: whole().unwrap(), version }).unwrap();
    to.sync_notes().unwrap();
    site.directory.write("large", &vec![9; usize::try_from(SIZE).unwrap()], 9);
    assert!(to.large(&header).unwrap().1.is_empty(), "what somebody else has put there is nothing that came");
    to.finish(&|| ()).unwrap();
    assert_eq!(site.directory.names(""), ["large"]);
}

#[test]
fn a_process_that_closes_late_leaves_what_the_next_one_has() {
    let Some(site) = Hdfs::new() else { return };
    let before = open(&site.end).0;
    let after = open(&site.end).0;
    let mut small = after.small(&header(4, "small", 5)).unwrap();
    small.write(b"bytes").unwrap();
    before.close();
    small.finish().unwrap();
    small.place(b"small").unwrap();
    after.finish(&|| ()).unwrap();
    assert_eq!(site.directory.names(""), ["small"]);
}

#[test]
fn parts_that_a_snapshot_has_are_said_to_come_again() {
    let Some(site) = Hdfs::new() else { return };
    let (to, header) = (open(&site.end).0, header(3, "large", SIZE));
    let (file, _) = to.large(&header).unwrap();
    let _ = [0, 1, 2].map(|number| part(&*file, number));
    site.directory.snapshot("s0");
    assert_eq!(file.place().unwrap_err().kind(), std::io::ErrorKind::InvalidData);
    to.abandon(3).unwrap();
    drop(file);
    let (file, kept) = to.large(&header).unwrap();
    assert!(kept.is_empty());
    let _ = [0, 1, 2].map(|number| part(&*file, number));
    file.place().unwrap();
    assert_eq!(digest_of(&site.end, "large"), whole());
}
