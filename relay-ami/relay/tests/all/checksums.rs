//! `verify: "crc64"`: whole transfers, restarts, and that no checksum ever decides that bytes need not be sent.

use std::fs::{self, File};
use std::os::unix::fs::FileExt as _;
use std::path::Path;

use cpt_relay::control::Seat;
use cpt_relay::digest::{Digest, Proof, to_hex};
use cpt_relay::documents::chunk::ChunkState;
use cpt_relay::documents::command::{Compare, Verify};
use cpt_relay::documents::membership;
use cpt_relay::epoch::PROCESSES_PER_START;
use cpt_relay::wire::frame::{Frame, SegmentHeader};
use cpt_relay::{receive, send};

use crate::changed_parts;
use crate::harness::{Running, Transfer, noise, path, sent_once, wait_for};
use crate::speaker::{Answer, Entry, Speaker, digest_by, introduce};

const CHUNK: u64 = 64 << 10;
const PARTS: u64 = 40;
/// Slow enough that an end is stopped in the middle, Mbit/s.
const SLOW: Option<u64> = Some(16);

fn fill(root: &Path) {
    fs::write(root.join("large"), noise(5, (PARTS * CHUNK - 77) as usize)).unwrap();
    fs::write(root.join("nothing"), b"").unwrap();
    fs::create_dir(root.join("empty")).unwrap();
    std::os::unix::fs::symlink("large", root.join("link")).unwrap();
    // Eight of them fill a chunk, which so goes out before the parts of the large file.
    for number in 0..20u64 {
        fs::write(root.join(format!("a-{number:02}")), noise(number, 8_000)).unwrap();
    }
}

fn planned() -> Transfer {
    let mut transfer = Transfer::plan(CHUNK, Some(9), fill);
    transfer.verify = Verify::Crc64;
    transfer.notes_sent = true;
    transfer
}

fn delivered(transfer: &Transfer) -> u64 {
    transfer.chunks().iter().filter(|chunk| chunk.state == ChunkState::Delivered).count() as u64
}

fn assert_arrived(transfer: &Transfer, outcome: send::Outcome, received: receive::Outcome) -> send::Totals {
    let send::Outcome::Delivered(totals) = outcome else { panic!("{outcome:?}") };
    assert_eq!((received, totals.skipped), (receive::Outcome::Agreed, 0));
    transfer.assert_same_trees();
    let digests = transfer.digests(Seat::SENDER);
    assert_eq!(digests, transfer.digests(Seat::RECEIVER));
    let whole = |name: &str| Proof::Crc64.whole().update(&fs::read(transfer.source().join(name)).unwrap()).digest();
    for name in ["large", "nothing", "a-00"] {
        assert!(digests.contains(&to_hex(&whole(name))), "{name}: {digests}");
    }
    totals
}

/// A transfer of which some chunks are delivered and some are not.
fn half_way() -> (Transfer, Running<send::Outcome>, Running<receive::Outcome>) {
    let mut transfer = planned();
    let receiver = transfer.receive();
    transfer.members(vec![path("direct", &[], receiver.address)]);
    let sender = transfer.send(SLOW);
    wait_for("some chunks", || (delivered(&transfer) >= 8).then_some(()));
    assert!(delivered(&transfer) < transfer.plan.chunks, "too late");
    (transfer, sender, receiver)
}

/// Stops the sender in the middle and starts the next one.
fn another_sender(meanwhile: impl FnOnce(&Transfer)) -> send::Totals {
    let (transfer, outcome, received) = followed_sender(meanwhile);
    assert_arrived(&transfer, outcome, received)
}

/// A transfer whose sender was stopped in the middle, and how both ends came out of it after the next one.
fn followed_sender(meanwhile: impl FnOnce(&Transfer)) -> (Transfer, send::Outcome, receive::Outcome) {
    let (mut transfer, sender, receiver) = half_way();
    sender.stop.request();
    assert!(matches!(sender.join(), send::Outcome::Stopped));
    meanwhile(&transfer);
    // Of another start, so that its bytes are counted from the beginning.
    transfer.epoch = PROCESSES_PER_START;
    let outcome = transfer.send(None).join();
    (transfer, outcome, receiver.join())
}

#[test]
fn a_tree_with_a_file_in_parts_arrives_and_both_ends_have_the_checksums_of_whole_files() {
    let mut transfer = planned();
    let receiver = transfer.receive();
    transfer.members(vec![path("direct", &[], receiver.address)]);
    let outcome = transfer.send(None).join();
    assert_arrived(&transfer, outcome, receiver.join());
}

#[test]
fn a_sender_that_is_started_again_goes_on_inside_a_large_file() {
    let totals = another_sender(|_| {});
    assert!(sent_once(&totals) < totals.bytes && totals.repaired_chunks == 0, "{totals:?}");
}

#[test]
fn a_receiver_that_is_started_again_goes_on_inside_a_large_file() {
    let (mut transfer, sender, receiver) = half_way();
    receiver.stop.request();
    assert_eq!(receiver.join(), receive::Outcome::Stopped);
    transfer.epoch += 1;
    let receiver = transfer.receive();
    transfer.members(vec![membership::Path { generation: 2, ..path("direct", &[], receiver.address) }]);
    transfer.limit(None);
    let outcome = sender.join();
    let totals = assert_arrived(&transfer, outcome, receiver.join());
    assert!(totals.sent_bytes < 2 * totals.bytes && totals.repaired_chunks == 0, "{totals:?}");
}

/// What was delivered and not noted is not read again, since what the source has by now would only have to fit.
#[test]
fn without_its_journal_a_sender_sends_again_what_was_delivered() {
    let totals = another_sender(|transfer| fs::remove_file(transfer.directory.path().join("send.sent")).unwrap());
    assert!(totals.repaired_chunks > 0, "{totals:?}");
}

/// As where a table is restored once all was over: neither end has noted anything, so they do not differ about it.
#[test]
fn what_neither_end_knows_any_more_comes_again() {
    let mut transfer = planned();
    let receiver = transfer.receive();
    transfer.members(vec![path("direct", &[], receiver.address)]);
    let outcome = transfer.send(None).join();
    assert_arrived(&transfer, outcome, receiver.join());
    fs::remove_file(transfer.directory.path().join("send.sent")).unwrap();
    transfer.epoch = PROCESSES_PER_START;
    let receiver = transfer.receive();
    transfer.members(vec![membership::Path { generation: 2, ..path("direct", &[], receiver.address) }]);
    let outcome = transfer.send(None).join();
    let totals = assert_arrived(&transfer, outcome, receiver.join());
    assert_eq!(totals.sent_bytes, totals.bytes, "{totals:?}");
}

/// The chunk comes again without the file, so it has another digest than the one that the table has of it.
#[test]
fn without_its_journal_a_sender_ends_though_a_file_of_a_delivered_chunk_is_gone() {
    let (transfer, outcome, received) = followed_sender(|transfer| {
        fs::remove_file(transfer.directory.path().join("send.sent")).unwrap();
        fs::remove_file(transfer.source().join("a-01")).unwrap();
    });
    let send::Outcome::Delivered(totals) = outcome else { panic!("{outcome:?}") };
    assert_eq!((received, totals.skipped), (receive::Outcome::Agreed, 1));
    assert!(totals.repaired_chunks > 0, "{totals:?}");
    assert_eq!(transfer.digests(Seat::SENDER), transfer.digests(Seat::RECEIVER));
}

#[test]
fn bytes_that_were_made_to_fit_are_found_where_a_file_was_replaced_at_the_destination() {
    let mut transfer = planned();
    let receiver = transfer.receive();
    transfer.members(vec![path("direct", &[], receiver.address)]);
    let sender = transfer.send(SLOW);
    let small = transfer.destination().join("a-07");
    wait_for("a small file", || small.exists().then_some(()));
    assert!(delivered(&transfer) < transfer.plan.chunks, "too late");
    let (bytes, time) = (fs::read(&small).unwrap(), fs::metadata(&small).unwrap().modified().unwrap());
    let forged = forged(&bytes);
    let crc = |bytes: &[u8]| Proof::Crc64.whole().update(bytes).digest();
    assert!(crc(&forged) == crc(&bytes) && forged != bytes);
    let file = File::options().write(true).open(&small).unwrap();
    file.write_all_at(&forged, 0).unwrap();
    file.set_modified(time).unwrap();
    transfer.limit(None);
    let outcome = sender.join();
    let totals = assert_arrived(&transfer, outcome, receiver.join());
    assert!(totals.repaired_chunks > 0, "{totals:?}");
}

/// Another content with the same checksum: the polynomial itself, at the place of any eight bytes and one bit, changes nothing of it.
fn forged(bytes: &[u8]) -> Vec<u8> {
    // x^64 and the polynomial's other terms, from its lowest bit on, as the bits of nine bytes are taken in.
    let polynomial: u64 = 0xad93_d235_94c9_3659;
    let mut forged = bytes.to_vec();
    let flip = |forged: &mut Vec<u8>, bit: usize| forged[100 + bit / 8] ^= 1 << (bit % 8);
    flip(&mut forged, 0);
    (0..64).filter(|power| polynomial >> power & 1 == 1).for_each(|power| flip(&mut forged, 64 - power));
    forged
}

/// What the destination has already is proved by BLAKE3 beside the checksum.
#[test]
fn what_is_not_sent_needs_more_than_a_checksum() {
    let changed = |root: &Path| fs::write(root.join("log"), noise(1, 20 * CHUNK as usize)).unwrap();
    let mut transfer = Transfer::plan(4 * CHUNK, Some(5), changed);
    let copied = std::process::Command::new("cp").arg("-a").args([transfer.source(), transfer.destination()]).status().unwrap();
    assert!(copied.success());
    let log = File::options().write(true).open(transfer.source().join("log")).unwrap();
    log.write_all_at(b"edited", 9 * CHUNK).unwrap();
    transfer.verify = Verify::Crc64;
    transfer.plan_compared(Compare::Digest, 4 * CHUNK);
    let totals = changed_parts::run(&mut transfer);
    assert_eq!(changed_parts::wire(&totals), CHUNK, "one block, {totals:?}");
}

/// A sender whose chunk has the right checksum alone, although it has the receiver copy: it does not count.
#[test]
fn a_copy_with_no_more_than_a_checksum_is_refused() {
    let mut transfer = Transfer::plan(CHUNK, None, |_| {});
    (transfer.verify, transfer.plan.bytes) = (Verify::Crc64, 1 << 20);
    let bytes = noise(3, 20_000);
    fs::create_dir(transfer.destination()).unwrap();
    fs::write(transfer.destination().join("there"), &bytes).unwrap();
    let receiver = transfer.receive();
    let mut speaker = Speaker::connect(&transfer, &introduce(&transfer), receiver.address);
    let entry = Entry::file(1, b"there", &bytes);
    let mut copied = |attempt, digest: Digest| {
        speaker.begin(1, attempt, 1);
        speaker.say(&Frame::Segment(entry.header.clone()));
        speaker.say(&Frame::Copy(bytes.len() as u64));
        speaker.say(&Frame::Digest(digest));
        matches!(speaker.answer(), Answer::Counted)
    };
    assert!(!copied(1, digest_by(Proof::Crc64, std::slice::from_ref(&entry))));
    assert!(copied(2, with_blake3(&entry.header, &bytes)));
    receiver.stop.request();
    receiver.join();
}

fn with_blake3(header: &SegmentHeader, bytes: &[u8]) -> Digest {
    let (mut all, mut frame) = (blake3::Hasher::new(), Vec::new());
    Frame::Segment(header.clone()).encode(&mut frame);
    all.update(&frame).update(&Proof::Crc64.whole().update(bytes).digest()).update(blake3::hash(bytes).as_bytes());
    *all.finalize().as_bytes()
}

/// Both learn it from their commands; where these differ, each says so.
#[test]
fn ends_with_different_proofs_do_not_move_a_byte() {
    let mut transfer = planned();
    transfer.verify = Verify::Digest;
    let receiver = transfer.receive();
    transfer.members(vec![path("direct", &[], receiver.address)]);
    transfer.verify = Verify::Crc64;
    let why = transfer.send(None).failure();
    assert!(why.contains("crc64") && why.contains("blake3"), "{why}");
    assert_eq!(delivered(&transfer), 0);
    receiver.stop.request();
    receiver.join();
}
