//! Several receivers that write into one bucket: each is a destination of its own, and all see the same objects.

use std::collections::BTreeMap;
use std::sync::Arc;

use cpt_relay::digest::Proof;
use cpt_relay::documents::seat::Seat;
use cpt_relay::documents::text::{PlanId, TransferId};
use cpt_relay::ends::{Destination, Gathered, LargeFile, OpenDestination, Placed, Version};
use cpt_relay::wire::frame::SegmentHeader;

use super::s3::{PREFIX, S3};
use super::site::Site;
use crate::harness::{noise, seat, wait_for};

const PART: u64 = 64 << 10;
const SIZE: u64 = 2 * PART + 100;

/// As a receiver of this seat opens it.
fn opened(site: &S3, text: &str) -> Box<dyn OpenDestination> {
    let (transfer, plan) = (TransferId::new("t").unwrap(), PlanId::new("1".repeat(32)).unwrap());
    site.shared(seat(text)).open(&transfer, &plan, PART, Proof::Blake3).unwrap().0
}

fn header(path: &str, size: u64) -> SegmentHeader {
    SegmentHeader {
        entry: 7,
        kind: cpt_relay::documents::entry::Kind::File,
        mode: 0o600,
        mtime_ns: 5,
        size,
        offset: 0,
        length: size,
        path: path.as_bytes().to_vec(),
        target: Vec::new(),
        attributes: Vec::new(),
    }
}

fn content(seed: u64) -> Vec<u8> {
    noise(seed, SIZE as usize)
}

/// The bytes of one part come to a receiver, and count there.
fn bring(to: &dyn OpenDestination, file: &dyn LargeFile, part: u64, whole: &[u8]) {
    let (at, end) = (part * PART, SIZE.min((part + 1) * PART));
    let bytes = &whole[at as usize..end as usize];
    file.write(bytes, at).unwrap();
    file.prepare_sync(at..end).unwrap();
    to.sync().unwrap();
    file.keep(part, at..end, *blake3::hash(bytes).as_bytes()).unwrap();
    to.sync_notes().unwrap();
}

/// A file of which these parts come to a receiver. Its header is that of a part.
fn begun(to: &dyn OpenDestination, parts: &[u64], whole: &[u8]) -> Box<dyn LargeFile> {
    let first = SegmentHeader { offset: parts[0] * PART, length: PART, ..header("large", SIZE) };
    let file = to.large(&first).unwrap().0;
    parts.iter().for_each(|part| bring(to, &*file, *part, whole));
    file
}

fn gathered(to: &dyn OpenDestination, in_doubt: &[Seat]) -> Gathered {
    to.gather(in_doubt, &|_| true).unwrap()
}

fn put(site: &S3, path: &str) -> Option<Vec<u8>> {
    site.service.state().objects.get(&format!("{PREFIX}{path}")).map(|object| object.bytes.clone())
}

/// A small file on its way; it is put by `place`.
fn small(to: &dyn OpenDestination, bytes: &[u8]) -> Box<dyn cpt_relay::ends::SmallFile> {
    let mut file = to.small(&header("small", bytes.len() as u64)).unwrap();
    file.write(bytes).unwrap();
    file.finish().unwrap();
    file
}

fn place(to: &dyn OpenDestination, bytes: &[u8]) -> Option<Version> {
    small(to, bytes).place(b"small").unwrap()
}

#[test]
fn parts_that_came_to_two_receivers_become_one_object_by_one_upload() {
    let (site, whole) = (S3::new(), content(1));
    let (one, other) = (opened(&site, "r0"), opened(&site, "r1"));
    let _files = (begun(&*one, &[0, 2], &whole), begun(&*other, &[1], &whole));
    assert_eq!((site.called("CreateMultipartUpload"), put(&site, "large")), (1, None));
    let mut gathered = gathered(&*other, &[]);
    let [found] = &gathered.begun[..] else { panic!("{} files", gathered.begun.len()) };
    assert_eq!(found.parts.keys().copied().collect::<Vec<_>>(), [0, 1, 2]);
    assert_eq!(found.header, header("large", SIZE), "where a part lies says nothing of the file");
    let version = gathered.begun.remove(0).file.place().unwrap();
    assert_eq!(put(&site, "large"), Some(whole));
    assert_eq!(other.view().see(b"large").ok().map(|seen| seen.version), version);
    assert_eq!((site.called("UploadPart"), site.called("ListParts")), (3, 0), "what all have noted is not asked for");
    other.finish(&|| ()).unwrap();
    one.close();
    other.close();
    assert!(site.is_tidy(), "{:?}", site.keys());
}

#[test]
fn of_two_uploads_that_two_receivers_begin_at_once_one_is_aborted() {
    let (site, whole) = (Arc::new(S3::new()), content(1));
    let late = site.service.hold("PUT", "/uploads/");
    let beside = {
        let (site, whole) = (Arc::clone(&site), whole.clone());
        std::thread::spawn(move || {
            let to = opened(&site, "r1");
            let file = begun(&*to, &[1], &whole);
            (to, file)
        })
    };
    wait_for("the note of the first one", || site.service.has_held().then_some(()));
    let one = opened(&site, "r0");
    let _file = begun(&*one, &[0, 2], &whole);
    drop(late);
    let _other = beside.join().unwrap();
    assert_eq!((site.called("CreateMultipartUpload"), site.service.state().uploads()), (2, 1));
    let gathered = gathered(&*one, &[]);
    assert_eq!(gathered.begun[0].parts.len(), 3);
    gathered.begun[0].file.place().unwrap();
    assert_eq!(put(&site, "large"), Some(whole));
}

/// It knows neither whose upload counts, nor does anybody know of its own but by its notes.
#[test]
fn an_upload_of_a_receiver_that_dies_before_it_has_told_the_others_is_aborted_by_the_one_that_gathers() {
    let (site, whole) = (Arc::new(S3::new()), content(1));
    let late = site.service.hold("PUT", "/uploads/");
    let beside = {
        let (site, whole) = (Arc::clone(&site), whole.clone());
        std::thread::spawn(move || {
            let to = opened(&site, "r1");
            let file = to.large(&header("large", SIZE)).unwrap().0;
            file.write(&whole[..PART as usize], 0).unwrap();
            file.prepare_sync(0..PART).unwrap();
            std::mem::forget((to, file));
        })
    };
    wait_for("the note of the first one", || site.service.has_held().then_some(()));
    beside.join().unwrap();
    let one = opened(&site, "r0");
    let _file = begun(&*one, &[0, 1, 2], &whole);
    let gathered = gathered(&*one, &[seat("r1")]);
    assert_eq!((gathered.begun[0].parts.len(), site.service.state().uploads()), (3, 1));
    drop(late);
}

/// Sends part 1 of a file until the bucket has been asked to take it: a receiver waits for that no earlier than it keeps the part.
fn sends(site: &S3, file: &dyn LargeFile, content: &[u8]) {
    let before = site.called("UploadPart");
    file.write(&content[PART as usize..2 * PART as usize], PART).unwrap();
    file.prepare_sync(PART..2 * PART).unwrap();
    wait_for("the part", || (site.called("UploadPart") > before).then_some(()));
}

#[test]
fn a_part_that_two_receivers_have_differently_counts_as_not_there_and_the_others_stay() {
    let (site, whole) = (S3::new(), content(1));
    let (one, other) = (opened(&site, "r0"), opened(&site, "r1"));
    let _files = (begun(&*one, &[0, 1, 2], &whole), begun(&*other, &[1], &content(2)));
    let gathered = gathered(&*one, &[]);
    assert_eq!(gathered.begun[0].parts.keys().copied().collect::<Vec<_>>(), [0, 2]);
    let file = &gathered.begun[0].file;
    bring(&*one, &**file, 1, &whole);
    file.place().unwrap();
    assert_eq!(put(&site, "large"), Some(whole));
}

#[test]
fn a_part_that_a_frozen_receiver_sends_again_before_all_is_gathered_comes_again() {
    let (site, whole) = (S3::new(), content(1));
    let (one, frozen) = (opened(&site, "r0"), opened(&site, "r1"));
    let _file = begun(&*one, &[0, 2], &whole);
    let late = begun(&*frozen, &[1], &whole);
    // Another state of the source, which it does not live to note.
    sends(&site, &*late, &content(2));
    let gathered = gathered(&*one, &[seat("r1")]);
    assert_eq!(gathered.begun[0].parts.keys().copied().collect::<Vec<_>>(), [0, 2]);
}

#[test]
fn a_part_that_a_frozen_receiver_sends_after_all_was_gathered_is_no_part_of_the_object() {
    let (site, whole) = (S3::new(), content(1));
    let (one, frozen) = (opened(&site, "r0"), opened(&site, "r1"));
    let _file = begun(&*one, &[0, 2], &whole);
    let late = begun(&*frozen, &[1], &whole);
    let gathered = gathered(&*one, &[seat("r1")]);
    assert_eq!(gathered.begun[0].parts.len(), 3);
    sends(&site, &*late, &content(2));
    let refused = gathered.begun[0].file.place().unwrap_err();
    assert_eq!(refused.kind(), std::io::ErrorKind::InvalidData, "{refused}");
    assert_eq!(put(&site, "large"), None);
    one.abandon(7).unwrap();
    let again = begun(&*one, &[0, 1, 2], &whole);
    // It still means the upload that was given up.
    sends(&site, &*late, &content(3));
    again.place().unwrap();
    assert_eq!(put(&site, "large"), Some(whole));
}

#[test]
fn what_the_one_that_finished_did_not_live_to_note_is_found_by_the_next() {
    let (site, whole) = (S3::new(), content(1));
    let (one, other) = (opened(&site, "r0"), opened(&site, "r1"));
    let _files = (begun(&*one, &[0, 2], &whole), begun(&*other, &[1], &whole));
    gathered(&*one, &[]).begun[0].file.place().unwrap();
    std::mem::forget(one);
    let again = gathered(&*other, &[seat("r0")]);
    assert_eq!(again.begun[0].parts.len(), 3);
    again.begun[0].file.place().unwrap();
    assert_eq!(put(&site, "large"), Some(whole));
    assert_eq!((site.called("UploadPart"), site.service.state().uploads()), (3, 0));
}

/// It was given up after the first one had gathered, and begun anew: others' notes are of the upload before.
#[test]
fn parts_of_the_upload_that_counts_are_gathered_and_no_others() {
    let (site, whole) = (S3::new(), content(1));
    let (one, other) = (opened(&site, "r0"), opened(&site, "r1"));
    let _files = (begun(&*one, &[0, 2], &content(2)), begun(&*other, &[1], &content(2)));
    drop(gathered(&*one, &[]));
    one.abandon(7).unwrap();
    let _anew = begun(&*one, &[0, 1], &whole);
    std::mem::forget(one);
    let again = gathered(&*other, &[]);
    assert_eq!(again.begun[0].parts.keys().copied().collect::<Vec<_>>(), [0, 1]);
    bring(&*other, &*again.begun[0].file, 2, &whole);
    again.begun[0].file.place().unwrap();
    assert_eq!(put(&site, "large"), Some(whole));
}

#[test]
fn a_receiver_that_starts_again_goes_on_with_the_upload_that_all_share() {
    let (site, whole) = (S3::new(), content(1));
    let (one, other) = (opened(&site, "r0"), opened(&site, "r1"));
    let file = begun(&*one, &[0], &whole);
    let _beside = begun(&*other, &[1], &whole);
    std::mem::forget((one, file));
    let one = opened(&site, "r0");
    let (file, kept) = one.large(&header("large", SIZE)).unwrap();
    assert_eq!(kept.keys().copied().collect::<Vec<_>>(), [0]);
    bring(&*one, &*file, 2, &whole);
    assert_eq!(gathered(&*one, &[]).begun[0].parts.len(), 3);
    assert_eq!(site.called("CreateMultipartUpload"), 1);
}

#[test]
fn what_was_there_before_is_replaced_and_what_another_receiver_has_put_is_not() {
    let site = S3::new();
    site.put("small", b"from before");
    let (one, frozen) = (opened(&site, "r0"), opened(&site, "r1"));
    let late = small(&*frozen, b"an old state");
    assert!(place(&*one, b"the new state").is_some());
    assert_eq!(late.place(b"small").unwrap(), None, "it is read at the end");
    assert_eq!(put(&site, "small").as_deref(), Some(&b"the new state"[..]));
}

/// It has looked at what is there, and is frozen before it puts its own there.
#[test]
fn an_object_that_was_replaced_meanwhile_is_not_replaced_again() {
    let site = Arc::new(S3::new());
    site.put("small", b"from before");
    let late = site.service.hold("HEAD", "small");
    let beside = {
        let site = Arc::clone(&site);
        std::thread::spawn(move || place(&*opened(&site, "r1"), b"an old state"))
    };
    wait_for("its look", || site.service.has_held().then_some(()));
    let then = site.service.hold("PUT", "small");
    drop(late);
    wait_for("its second attempt", || site.service.has_held().then_some(()));
    assert!(place(&*opened(&site, "r0"), b"the new state").is_some());
    drop(then);
    assert_eq!(beside.join().unwrap(), None);
    assert_eq!(put(&site, "small").as_deref(), Some(&b"the new state"[..]));
}

#[test]
fn what_another_receiver_has_put_counts_where_it_is_what_was_meant() {
    let site = S3::new();
    let (one, other) = (opened(&site, "r0"), opened(&site, "r1"));
    let placed = place(&*one, b"the same");
    assert!(placed.is_some());
    assert_eq!(place(&*other, b"the same"), placed);
    let with_other_mode = SegmentHeader { mode: 0o644, ..header("small", 8) };
    let mut file = other.small(&with_other_mode).unwrap();
    file.write(b"the same").unwrap();
    assert_eq!(file.place(b"small").unwrap(), None, "metadata count too");
}

#[test]
fn the_one_that_has_gathered_puts_right_what_a_frozen_one_has_put_first() {
    let site = S3::new();
    let (one, frozen) = (opened(&site, "r0"), opened(&site, "r1"));
    assert!(place(&*frozen, b"an old state").is_some());
    assert_eq!(place(&*one, b"the new state"), None);
    gathered(&*one, &[seat("r1")]);
    assert!(place(&*one, b"the new state").is_some());
    assert_eq!(place(&*frozen, b"an old state"), None);
    assert_eq!(put(&site, "small").as_deref(), Some(&b"the new state"[..]));
}

#[test]
fn an_entry_that_two_receivers_have_placed_differently_is_read_again() {
    let site = S3::new();
    let (one, other) = (opened(&site, "r0"), opened(&site, "r1"));
    let placed = |of: u8, version: u8| Placed { digest: [of; 32], version: Some(Version::new([version; 16])) };
    for (to, entry, placed) in [(&one, 1, placed(1, 1)), (&one, 2, placed(2, 2)), (&other, 2, placed(2, 3)), (&other, 3, placed(3, 3))] {
        to.note(entry, &placed).unwrap();
    }
    [&one, &other].iter().for_each(|to| to.sync_notes().unwrap());
    let found: BTreeMap<u64, bool> = gathered(&*one, &[]).placed.iter().map(|(entry, placed)| (entry, placed.version.is_some())).collect();
    assert_eq!(found, BTreeMap::from([(1, true), (2, false), (3, true)]));
}

#[test]
fn a_receiver_that_has_closed_sees_that_all_is_over_and_leaves_nothing() {
    let site = S3::new();
    let (one, other) = (opened(&site, "r0"), opened(&site, "r1"));
    other.note(1, &Placed { digest: [1; 32], version: None }).unwrap();
    other.sync_notes().unwrap();
    other.check_there().unwrap();
    drop(gathered(&*one, &[]));
    one.finish(&|| ()).unwrap();
    wait_for("an answer about the notes", || other.check_there().err());
    one.check_there().unwrap();
    // It has something to say, which nobody will read.
    other.note(2, &Placed { digest: [1; 32], version: None }).unwrap();
    other.close();
    one.close();
    assert_eq!(site.keys(), [""; 0]);
}

#[test]
fn a_receiver_that_starts_after_the_end_leaves_nothing() {
    let site = S3::new();
    let late = opened(&site, "r1");
    assert!(!site.keys().is_empty());
    late.close();
    assert_eq!(site.keys(), [""; 0]);
    let (one, other) = (opened(&site, "r0"), opened(&site, "r1"));
    other.close();
    assert!(!site.keys().is_empty(), "another one is there");
    one.close();
    assert_eq!(site.keys(), [""; 0]);
}

#[test]
fn a_note_that_somebody_has_changed_counts_for_nobody() {
    let (site, whole) = (S3::new(), content(1));
    let (one, other) = (opened(&site, "r0"), opened(&site, "r1"));
    let _file = begun(&*one, &[0], &whole);
    let note = site.keys().into_iter().find(|key| key.contains("/uploads/")).unwrap();
    for text in [&b"{}"[..], b"\xff", b""] {
        site.put(&note, text);
        let _beside = begun(&*other, &[1], &whole);
        let found = site.keys().into_iter().filter(|key| key.contains("/uploads/")).count();
        assert_eq!(found, 1);
        other.abandon(7).unwrap();
    }
}

#[test]
fn one_receiver_alone_asks_for_nothing_more() {
    let site = S3::new();
    let (transfer, plan) = (TransferId::new("t").unwrap(), PlanId::new("1".repeat(32)).unwrap());
    let (to, _) = site.end.open(&transfer, &plan, PART, Proof::Blake3).unwrap();
    site.put("small", b"from before");
    place(&*to, b"bytes");
    begun(&*to, &[0, 1, 2], &content(1)).place().unwrap();
    assert_eq!((site.called("HeadObject"), site.called("GetObject"), site.called("CreateMultipartUpload")), (0, 0, 1));
    let texts: Vec<_> = site.service.state().objects.values().map(|object| String::from_utf8_lossy(&object.bytes).into_owned()).collect();
    assert!(!texts.iter().any(|text| text.contains("header")));
}
