//! What every kind of destination must do.

use std::cell::Cell;
use std::collections::BTreeMap;

use cpt_relay::digest::{Digest, Proof};
use cpt_relay::documents::attributes::{Attributes, Node};
use cpt_relay::documents::entry::Kind;
use cpt_relay::documents::event::SkipReason;
use cpt_relay::documents::text::{PlanId, TransferId};
use cpt_relay::ends::problem::{Reach, is_first_missing, reach};
use cpt_relay::ends::{LargeFile, Left, OpenDestination, Placed};
use cpt_relay::wire::frame::SegmentHeader;

use super::kinds;
use super::site::Site;

const PART: u64 = 2048;
const SIZE: u64 = 2 * PART + 100;
const TIME: i64 = 1_700_000_000_000_000_001;

macro_rules! behaviours {
    ($($kind:ident: [$($make:tt)+]),+ $(,)?) => {
        $(
            kinds! { $kind: $($make)+ =>
                parts_in_any_order_are_seen_whole_and_only_once_the_file_is_placed,
                what_is_placed_has_what_it_was_sent_with_as_far_as_this_kind_keeps_it,
                a_further_name_a_hole_and_a_special_file_are_kept_where_this_kind_can,
                what_is_dropped_before_its_place_leaves_nothing,
                the_next_receiver_of_the_plan_finds_what_was_noted_and_only_that,
                what_is_forgotten_or_given_up_does_not_count_for_the_next_receiver,
                parts_do_not_count_in_a_file_that_somebody_else_put_there,
                names_that_leave_the_destination_are_refused,
                a_look_finds_what_was_removed_or_replaced,
                a_file_takes_the_place_of_a_file_and_of_nothing_else,
                what_is_read_back_is_what_is_stored,
                without_room_the_destination_is_to_blame_and_not_the_entry,
                the_survey_tells_whether_anything_is_there,
            }
        )+
    };
}

behaviours! {
    posix: [crate::port::site::Posix::new()],
    memory_with_everything: [crate::port::site::memory(true)],
    memory_without_modes_times_and_links: [crate::port::site::memory(false)],
    blobs_by_key: [crate::port::site::Blobs::new()],
    bucket_of_s3: [crate::port::s3::S3::new()],
    hdfs: [if crate::port::hdfs::Hdfs::new()],
}

fn header(entry: u64, path: &str, size: u64) -> SegmentHeader {
    let (kind, target) = (Kind::File, Vec::new());
    SegmentHeader {
        entry,
        kind,
        mode: 0o640,
        mtime_ns: TIME,
        size,
        offset: 0,
        length: size,
        path: path.as_bytes().to_vec(),
        target,
        attributes: Vec::new(),
    }
}

fn directory(path: &str, mode: u16, mtime_ns: i64) -> SegmentHeader {
    SegmentHeader { kind: Kind::Directory, mode, mtime_ns, ..header(0, path, 0) }
}

fn open_as(site: &dyn Site, plan: char) -> (Box<dyn OpenDestination>, Left) {
    let plan = PlanId::new(plan.to_string().repeat(32)).unwrap();
    site.destination().open(&TransferId::new("t").unwrap(), &plan, PART, Proof::Blake3).unwrap()
}

fn open(site: &dyn Site) -> Box<dyn OpenDestination> {
    open_as(site, '1').0
}

/// A small file that is synced, in its place and noted.
fn arrive(to: &dyn OpenDestination, entry: u64, path: &str, bytes: &[u8]) -> Placed {
    let mut file = to.small(&header(entry, path, bytes.len() as u64)).unwrap();
    file.write(bytes).unwrap();
    file.finish().unwrap();
    to.sync().unwrap();
    let placed = Placed { digest: *blake3::hash(bytes).as_bytes(), version: file.place(path.as_bytes()).unwrap() };
    to.note(entry, &placed).unwrap();
    placed
}

fn content() -> Vec<u8> {
    (0..SIZE).map(|at| u8::try_from(at % 251).unwrap()).collect()
}

/// Writes, syncs and keeps one part of `content`.
fn part(to: &dyn OpenDestination, file: &dyn LargeFile, number: u64) -> Digest {
    let (at, end) = (number * PART, SIZE.min((number + 1) * PART));
    let bytes = &content()[usize::try_from(at).unwrap()..usize::try_from(end).unwrap()];
    // In two pieces, the second one first.
    let (first, second) = bytes.split_at(50);
    file.write(second, at + 50).unwrap();
    file.write(first, at).unwrap();
    file.prepare_sync(at..end).unwrap();
    to.sync().unwrap();
    let digest = Proof::Blake3.part(at).update(bytes).digest();
    file.keep(number, number * PART..SIZE.min((number + 1) * PART), digest).unwrap();
    digest
}

fn digest_of(site: &dyn Site, path: &str) -> Option<Digest> {
    let mut view = site.destination().view().unwrap();
    let version = view.see(path.as_bytes()).ok()?.version;
    Some(view.digest(path.as_bytes(), &version, &|_| ()).unwrap())
}

fn parts_in_any_order_are_seen_whole_and_only_once_the_file_is_placed(site: &dyn Site) {
    let to = open(site);
    let (file, kept) = to.large(&header(7, "d/large", SIZE)).unwrap();
    assert!(kept.is_empty());
    for number in [2, 0, 1] {
        part(&*to, &*file, number);
        assert_eq!(digest_of(site, "d/large"), None, "after part {number}");
    }
    let version = file.place().unwrap();
    let seen = to.view().see(b"d/large").unwrap();
    assert_eq!((seen.size, Some(seen.version)), (SIZE, version));
    assert_eq!(digest_of(site, "d/large"), Some(*blake3::hash(&content()).as_bytes()));
}

fn what_is_placed_has_what_it_was_sent_with_as_far_as_this_kind_keeps_it(site: &dyn Site) {
    let (to, can) = (open(site), site.destination().capabilities());
    let placed = arrive(&*to, 0, "d/small", b"bytes");
    let (file, _) = to.large(&header(1, "d/large", SIZE)).unwrap();
    let _ = [0, 1, 2].map(|number| part(&*to, &*file, number));
    file.place().unwrap();
    to.directory(&directory("d", 0o750, TIME)).unwrap();
    if can.links {
        let link = SegmentHeader { kind: Kind::Symlink, target: b"to/where".to_vec(), ..header(2, "link", 0) };
        let mut link = to.small(&link).unwrap();
        link.finish().unwrap();
        let version = link.place(b"link").unwrap();
        let seen = to.view().see(b"link").unwrap();
        assert_eq!(Some(seen.version), version, "whoever exchanges it is noticed");
        assert_eq!((seen.kind, seen.target.as_deref()), (Some(Kind::Symlink), Some(&b"to/where"[..])));
        assert!(can.time_step_ns.is_none() || can.same_time(seen.mtime_ns, TIME));
    }
    let mut view = to.view();
    for (path, kind, mode) in [("d/small", Kind::File, 0o640), ("d/large", Kind::File, 0o640), ("d", Kind::Directory, 0o750)] {
        if kind == Kind::Directory && !can.directories {
            continue;
        }
        let seen = view.see(path.as_bytes()).unwrap();
        assert_eq!(seen.kind, Some(kind), "{path}");
        assert!(!can.modes || seen.mode == mode, "{path}: {seen:?}");
        assert!(can.time_step_ns.is_none() || can.same_time(seen.mtime_ns, TIME), "{path}: {seen:?}");
    }
    assert_eq!(view.see(b"d/small").ok().map(|seen| seen.version), placed.version);
}

fn a_further_name_a_hole_and_a_special_file_are_kept_where_this_kind_can(site: &dyn Site) {
    let (mut to, can) = (open(site), site.destination().capabilities());
    let sparse = Attributes { sparse: true, ..Attributes::default() }.encode();
    let mut small = to.small(&SegmentHeader { attributes: sparse.clone(), ..header(0, "d/small", 9000) }).unwrap();
    small.write(b"head").unwrap();
    small.hole(8992).unwrap();
    small.write(b"tail").unwrap();
    small.finish().unwrap();
    let placed = small.place(b"d/small").unwrap();
    let small = [&b"head"[..], &[0; 8992], b"tail"].concat();
    assert_eq!(digest_of(site, "d/small"), Some(*blake3::hash(&small).as_bytes()), "a hole is zeros, kept or not");
    let (large, _) = to.large(&SegmentHeader { attributes: sparse, ..header(1, "large", SIZE) }).unwrap();
    large.write(&[1; 100], 0).unwrap();
    large.hole(0, SIZE).unwrap();
    large.place().unwrap();
    let zeros = vec![0; usize::try_from(SIZE).unwrap()];
    assert_eq!(digest_of(site, "large"), Some(*blake3::hash(&zeros).as_bytes()), "what a broken attempt left there is gone");
    drop(large);
    if can.hard_links {
        let link = SegmentHeader { kind: Kind::Hardlink, target: b"d/small".to_vec(), ..header(2, "e/again", 0) };
        for _ in 0..2 {
            let mut link = to.small(&link).unwrap();
            link.finish().unwrap();
            assert_eq!(link.place(b"e/again").unwrap(), None);
        }
        let (first, again) = (to.view().see(b"d/small").unwrap(), to.view().see(b"e/again").unwrap());
        assert_eq!((first.version, Some(again.version)), (again.version, placed), "a further name is no change of the file");
        // A receiver that is killed notes no more than it has.
        drop(to);
        to = open(site);
        let first = to.view().see(b"d/small").unwrap();
        assert_eq!(Some(first.version), placed, "nor is it one for the next receiver");
        let lost = SegmentHeader { target: b"d/nothing".to_vec(), ..link.clone() };
        let nowhere = SegmentHeader { target: b"nowhere/nothing".to_vec(), ..link.clone() };
        let older = SegmentHeader { mtime_ns: TIME + 1, ..link };
        for (header, first) in [(lost, "d/nothing"), (nowhere, "nowhere/nothing"), (older, "d/small")] {
            let error = to.small(&header).unwrap().place(b"e/lost").unwrap_err();
            assert!(is_first_missing(&error) && error.to_string().contains(first), "{error}");
            assert_eq!(reach(&error), Reach::Entry(SkipReason::DestinationRefused));
        }
    }
    if can.special_files {
        let attributes = Attributes { node: Some(Node::Fifo), ..Attributes::default() };
        let mut pipe = to.small(&SegmentHeader { kind: Kind::Special, attributes: attributes.encode(), ..header(3, "pipe", 0) }).unwrap();
        pipe.finish().unwrap();
        let version = pipe.place(b"pipe").unwrap();
        let seen = to.view().see(b"pipe").unwrap();
        assert_eq!(Some(seen.version), version, "whoever exchanges it is noticed");
        assert_eq!((seen.kind, seen.mode, seen.mtime_ns), (Some(Kind::Special), 0o640, Some(TIME)));
        assert_eq!(to.view().attributes(b"pipe", &attributes).unwrap(), attributes);
    }
    if can.attributes {
        let names = BTreeMap::from([("user.colour".to_owned(), "dark%20red".to_owned())]);
        let attributes = Attributes { xattrs: Some(names), ..Attributes::default() };
        let mut file = to.small(&SegmentHeader { attributes: attributes.encode(), ..header(4, "file", 0) }).unwrap();
        file.finish().unwrap();
        file.place(b"file").unwrap();
        assert_eq!(to.view().attributes(b"file", &attributes).unwrap(), attributes);
        let none = Attributes { xattrs: Some(BTreeMap::new()), ..Attributes::default() };
        assert_eq!(to.view().attributes(b"file", &none).unwrap(), attributes, "what is there counts, not what was asked for");
    }
}

fn what_is_dropped_before_its_place_leaves_nothing(site: &dyn Site) {
    let to = open(site);
    let mut half = to.small(&header(0, "half", 10)).unwrap();
    half.write(b"half").unwrap();
    drop(half);
    let mut whole = to.small(&header(1, "whole", 5)).unwrap();
    whole.write(b"whole").unwrap();
    whole.finish().unwrap();
    drop(whole);
    assert!(to.view().see(b"half").is_err() && to.view().see(b"whole").is_err());
    to.close();
    assert!(site.is_tidy());
}

fn the_next_receiver_of_the_plan_finds_what_was_noted_and_only_that(site: &dyn Site) {
    let to = open(site);
    let placed = arrive(&*to, 3, "noted", b"noted");
    let mut file = to.small(&header(4, "not noted", 0)).unwrap();
    file.finish().unwrap();
    file.place(b"not noted").unwrap();
    let (file, _) = to.large(&header(7, "large", SIZE)).unwrap();
    let digests = BTreeMap::from([(2, part(&*to, &*file, 2)), (0, part(&*to, &*file, 0))]);
    file.write(b"not kept", PART).unwrap();
    to.sync_notes().unwrap();
    to.close();
    drop((to, file));

    let (to, left) = open_as(site, '1');
    assert_eq!(left.placed.iter().collect::<Vec<_>>(), [(3, placed)]);
    assert_eq!(left.begun.into_iter().collect::<Vec<_>>(), [7]);
    let (file, kept) = to.large(&header(7, "large", SIZE)).unwrap();
    assert_eq!(kept, digests);
    part(&*to, &*file, 1);
    file.place().unwrap();
    assert_eq!(digest_of(site, "large"), Some(*blake3::hash(&content()).as_bytes()));
    to.sync_notes().unwrap();
    drop((to, file));
    let left = open_as(site, '2').1;
    assert!(left.placed.is_empty() && left.begun.is_empty(), "{left:?}: of another plan");
}

fn what_is_forgotten_or_given_up_does_not_count_for_the_next_receiver(site: &dyn Site) {
    let to = open(site);
    arrive(&*to, 3, "forgotten", b"forgotten");
    let (file, _) = to.large(&header(7, "given up", SIZE)).unwrap();
    part(&*to, &*file, 0);
    drop(file);
    to.forget(3).unwrap();
    to.abandon(7).unwrap();
    to.sync_notes().unwrap();
    drop(to);
    let (to, left) = open_as(site, '1');
    assert!(left.placed.is_empty() && left.begun.is_empty(), "{left:?}");
    assert!(to.large(&header(7, "given up", SIZE)).unwrap().1.is_empty());
    arrive(&*to, 3, "forgotten", b"forgotten");
    to.finish(&|| ()).unwrap();
    assert!(site.is_tidy());
    drop(to);
    let left = open_as(site, '1').1;
    assert!(left.placed.is_empty() && left.begun.is_empty(), "{left:?}: the transfer was finished");
}

fn parts_do_not_count_in_a_file_that_somebody_else_put_there(site: &dyn Site) {
    let to = open(site);
    let (file, _) = to.large(&header(7, "large", SIZE)).unwrap();
    part(&*to, &*file, 0);
    to.sync_notes().unwrap();
    drop((to, file));
    site.replace_unfinished(7);
    let to = open(site);
    let (file, kept) = to.large(&header(7, "large", SIZE)).unwrap();
    assert!(kept.is_empty());
    let _ = [0, 1, 2].map(|number| part(&*to, &*file, number));
    file.place().unwrap();
    assert_eq!(digest_of(site, "large"), Some(*blake3::hash(&content()).as_bytes()));
}

fn names_that_leave_the_destination_are_refused(site: &dyn Site) {
    let to = open(site);
    for path in ["/etc/x", "../x", "a/../../x", "a//x", ".", "", "a/.", "a\0b/x"] {
        let refusals = [
            to.small(&header(0, path, 1)).err().unwrap(),
            to.large(&header(1, path, SIZE)).err().unwrap(),
            to.directory(&directory(path, 0o755, 0)).unwrap_err(),
        ];
        for refusal in refusals {
            assert_eq!(reach(&refusal), Reach::Entry(SkipReason::DestinationRefused), "{path:?}: {refusal}");
        }
        assert!(to.view().see(path.as_bytes()).is_err(), "{path:?}");
    }
    to.close();
    assert!(site.is_tidy());
}

fn a_look_finds_what_was_removed_or_replaced(site: &dyn Site) {
    let to = open(site);
    let [stays, gone, replaced] = [(0, "stays"), (1, "gone"), (2, "replaced")].map(|(entry, path)| arrive(&*to, entry, path, b"12345"));
    site.remove("gone");
    site.put("replaced", b"54321");
    let mut view = to.view();
    assert_eq!(view.see(b"stays").ok().map(|seen| seen.version), stays.version);
    assert!(view.see(b"gone").is_err() && gone.version.is_some());
    let seen = view.see(b"replaced").unwrap();
    assert_ne!(Some(seen.version), replaced.version, "size and time are the same");
    assert_eq!(view.digest(b"replaced", &seen.version, &|_| ()).unwrap(), *blake3::hash(b"54321").as_bytes());
    assert!(view.digest(b"replaced", &replaced.version.unwrap(), &|_| ()).is_err(), "it is another file");
}

fn a_file_takes_the_place_of_a_file_and_of_nothing_else(site: &dyn Site) {
    let to = open(site);
    arrive(&*to, 0, "file", b"old");
    arrive(&*to, 1, "file", b"new");
    assert_eq!(digest_of(site, "file"), Some(*blake3::hash(b"new").as_bytes()));
    if !site.destination().capabilities().directories {
        return;
    }
    to.directory(&directory("directory", 0o700, 0)).unwrap();
    to.directory(&directory("directory", 0o750, 0)).unwrap();
    for path in ["directory", "file/below"] {
        let placed = to.small(&header(2, path, 0)).and_then(|mut file| file.finish().and_then(|()| file.place(path.as_bytes())));
        let conflict = placed.unwrap_err();
        assert_eq!(reach(&conflict), Reach::Entry(SkipReason::DestinationConflict), "{path}: {conflict}");
    }
    assert!(to.large(&header(3, "directory", SIZE)).is_err(), "said before the first byte");
    assert!(to.directory(&directory("file", 0o700, 0)).is_err());
    assert_eq!(digest_of(site, "file"), Some(*blake3::hash(b"new").as_bytes()), "what was there stays");
}

fn what_is_read_back_is_what_is_stored(site: &dyn Site) {
    let to = open(site);
    let mut small = to.small(&header(0, "small", SIZE)).unwrap();
    small.write(&content()).unwrap();
    small.finish().unwrap();
    let (large, _) = to.large(&header(1, "large", SIZE)).unwrap();
    let digests = [0, 1, 2].map(|number| part(&*to, &*large, number));
    let read = Cell::new(0);
    let heard = |bytes| read.set(read.get() + bytes);
    small.read_back(Proof::Blake3.whole(), blake3::hash(&content()).as_bytes(), &heard).unwrap();
    large.read_back(0..PART, Proof::Blake3.part(0), &digests[0], &heard).unwrap();
    large.read_back(2 * PART..SIZE, Proof::Blake3.part(2 * PART), &digests[2], &heard).unwrap();
    assert_eq!(read.get(), SIZE + PART + (SIZE - 2 * PART), "whoever reads says so");
    large.write(b"\xff", PART).unwrap();
    large.prepare_sync(PART..2 * PART).unwrap();
    to.sync().unwrap();
    let spoiled = large.read_back(PART..2 * PART, Proof::Blake3.part(PART), &digests[1], &|_| ());
    for wrong in [small.read_back(Proof::Blake3.whole(), &digests[0], &|_| ()), spoiled] {
        assert_eq!(wrong.unwrap_err().kind(), std::io::ErrorKind::InvalidData);
    }
}

fn without_room_the_destination_is_to_blame_and_not_the_entry(site: &dyn Site) {
    let to = open(site);
    if !site.fill_up() {
        cpt_skipped::skipped("the fault suite has file systems without room");
        return;
    }
    let small =
        to.small(&header(0, "small", 4)).and_then(|mut file| file.write(b"more").and_then(|()| file.finish()).and_then(|()| to.sync()));
    let large = to.large(&header(1, "large", SIZE)).and_then(|(file, _)| file.write(&content(), 0).and_then(|()| to.sync()));
    for refusal in [small.unwrap_err(), large.unwrap_err()] {
        assert_eq!(reach(&refusal), Reach::Destination, "{refusal}");
    }
}

fn the_survey_tells_whether_anything_is_there(site: &dyn Site) {
    let occupied = || site.destination().room().occupied;
    let to = open(site);
    to.large(&header(0, "unfinished", SIZE)).unwrap();
    assert!(!occupied());
    arrive(&*to, 1, "file", b"");
    assert!(occupied());
}
