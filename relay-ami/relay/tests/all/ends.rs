//! An end that dies and is started again in a later epoch: nothing that was delivered is sent again, and all is compared.

use std::path::Path;
use std::time::{Duration, SystemTime};

use cpt_relay::control::Seat;
use cpt_relay::documents::chunk::ChunkState;
use cpt_relay::documents::membership;
use cpt_relay::epoch::PROCESSES_PER_START;
use cpt_relay::{receive, send};

use crate::harness::{Running, Transfer, noise, path, sent_once, wait_for};

const CHUNK: u64 = 64 << 10;
/// Slow enough that an end is stopped in the middle, Mbit/s.
const SLOW: Option<u64> = Some(16);

fn one_large_file(root: &Path) {
    std::fs::write(root.join("vast"), noise(5, 40 * CHUNK as usize)).unwrap();
}

fn many_small_files(root: &Path) {
    for number in 0..400u64 {
        std::fs::write(root.join(format!("small-{number}")), noise(number, 6000)).unwrap();
    }
}

/// A transfer that is under way: some chunks are delivered, some are not.
struct UnderWay {
    transfer: Transfer,
    receiver: Running<receive::Outcome>,
    sender: Running<send::Outcome>,
}

impl UnderWay {
    fn begin(fill: impl FnOnce(&Path)) -> Self {
        Self::of(Transfer::plan(CHUNK, Some(9), fill))
    }

    fn of(mut transfer: Transfer) -> Self {
        let receiver = transfer.receive();
        transfer.members(vec![path("direct", &[], receiver.address)]);
        let sender = transfer.send(SLOW);
        let under_way = Self { transfer, receiver, sender };
        wait_for("some chunks", || (under_way.delivered() >= 5).then_some(()));
        under_way
    }

    fn delivered(&self) -> usize {
        delivered(&self.transfer)
    }
}

fn delivered(transfer: &Transfer) -> usize {
    transfer.chunks().iter().filter(|chunk| chunk.state == ChunkState::Delivered).count()
}

/// The path to a receiver that was started again.
fn to(receiver: &Running<receive::Outcome>, generation: u64) -> Vec<membership::Path> {
    vec![membership::Path { generation, ..path("direct", &[], receiver.address) }]
}

fn assert_arrived(transfer: &Transfer, outcome: send::Outcome, received: receive::Outcome) -> send::Totals {
    let send::Outcome::Delivered(totals) = outcome else { panic!("{outcome:?}") };
    assert_eq!(received, receive::Outcome::Agreed);
    assert_eq!(delivered(transfer) as u64, transfer.plan.chunks);
    transfer.assert_same_trees();
    assert_eq!(transfer.digests(Seat::SENDER), transfer.digests(Seat::RECEIVER));
    totals
}

/// Stops the sender, and starts one of this epoch. Returns what that one says, and the bytes that were left to send at least.
fn a_sender_follows(fill: impl FnOnce(&Path), epoch: u64) -> (send::Totals, u64) {
    let UnderWay { mut transfer, receiver, sender } = UnderWay::begin(fill);
    sender.stop.request();
    sender.join();
    let before = delivered(&transfer);
    assert!(before < transfer.plan.chunks as usize, "too late");
    transfer.epoch = epoch;
    let totals = {
        let outcome = transfer.send(None).join();
        assert_arrived(&transfer, outcome, receiver.join())
    };
    let rest = totals.bytes - bytes_of_first(&transfer, before);
    (totals, rest)
}

fn a_sender_is_started_again(fill: impl FnOnce(&Path)) {
    let (totals, rest) = a_sender_follows(fill, PROCESSES_PER_START);
    let sent = sent_once(&totals);
    assert!(sent <= rest, "{sent} bytes were sent for {rest}");
}

/// The least that so many delivered chunks may have held.
fn bytes_of_first(transfer: &Transfer, count: usize) -> u64 {
    let mut sizes: Vec<u64> = transfer.chunks().iter().map(|chunk| chunk.bytes).collect();
    sizes.sort_unstable();
    sizes.iter().take(count).sum()
}

#[test]
fn a_sender_is_started_again_in_the_middle_of_a_large_file() {
    a_sender_is_started_again(one_large_file);
}

#[test]
fn a_sender_is_started_again_in_the_middle_of_many_small_files() {
    a_sender_is_started_again(many_small_files);
}

#[test]
fn what_a_sender_sent_that_was_killed_before_it_could_report_counts_on() {
    let (totals, rest) = a_sender_follows(one_large_file, 2);
    assert!(rest < totals.bytes && totals.sent_bytes >= totals.bytes, "{} bytes were sent of {}", totals.sent_bytes, totals.bytes);
}

fn a_receiver_is_started_again(fill: impl FnOnce(&Path)) {
    let UnderWay { mut transfer, receiver, sender } = UnderWay::begin(fill);
    receiver.stop.request();
    receiver.join();
    let before = delivered(&transfer);
    assert!(before < transfer.plan.chunks as usize, "too late");
    transfer.epoch = 2;
    let receiver = transfer.receive();
    transfer.members(to(&receiver, 2));
    let totals = assert_arrived(&transfer, sender.join(), receiver.join());
    let again = sent_once(&totals) - totals.bytes;
    assert!(again <= totals.bytes - bytes_of_first(&transfer, before), "{again} bytes were sent twice");
    assert!(!transfer.destination().join(".cpt-partial-t-1").exists());
}

#[test]
fn a_receiver_is_started_again_in_the_middle_of_a_large_file() {
    a_receiver_is_started_again(one_large_file);
}

#[test]
fn a_receiver_is_started_again_in_the_middle_of_many_small_files() {
    a_receiver_is_started_again(many_small_files);
}

#[test]
fn both_ends_are_started_again_one_after_the_other() {
    let UnderWay { mut transfer, receiver, sender } = UnderWay::begin(one_large_file);
    for stop in [&sender.stop, &receiver.stop] {
        stop.request();
    }
    sender.join();
    receiver.join();
    transfer.epoch = 2;
    let receiver = transfer.receive();
    transfer.members(to(&receiver, 2));
    let outcome = transfer.send(None).join();
    assert_arrived(&transfer, outcome, receiver.join());
}

#[test]
fn ends_that_are_started_again_after_all_was_compared_send_nothing() {
    let mut transfer = Transfer::plan(CHUNK, None, |root| {
        one_large_file(root);
        std::fs::write(root.join("small"), noise(1, 100)).unwrap();
    });
    let receiver = transfer.receive();
    transfer.members(to(&receiver, 1));
    let outcome = transfer.send(None).join();
    assert_arrived(&transfer, outcome, receiver.join());
    transfer.epoch = 2;
    let receiver = transfer.receive();
    transfer.members(to(&receiver, 2));
    let outcome = transfer.send(None).join();
    let totals = assert_arrived(&transfer, outcome, receiver.join());
    assert_eq!((totals.bytes, totals.sent_bytes), (transfer.plan.bytes, 0));
}

/// `rm -rf d/*` leaves the dotfiles, the journal among them.
#[test]
fn a_journal_of_another_plan_of_the_same_name_is_not_believed() {
    let UnderWay { mut transfer, receiver, sender } = UnderWay::begin(many_small_files);
    for stop in [&sender.stop, &receiver.stop] {
        stop.request();
    }
    sender.join();
    receiver.join();
    for entry in std::fs::read_dir(transfer.destination()).unwrap().map(Result::unwrap) {
        if !entry.file_name().as_encoded_bytes().starts_with(b".") {
            std::fs::remove_file(entry.path()).unwrap();
        }
    }
    assert!(transfer.destination().join(".cpt-partial-t-1/journal").exists());
    transfer.plan_again(CHUNK);
    let receiver = transfer.receive();
    transfer.members(to(&receiver, 1));
    let outcome = transfer.send(None).join();
    assert_arrived(&transfer, outcome, receiver.join());
}

#[test]
fn a_receiver_that_is_started_for_nothing_leaves_nothing() {
    let transfer = Transfer::plan(CHUNK, None, one_large_file);
    let receiver = transfer.receive();
    receiver.stop.request();
    assert_eq!(receiver.join(), receive::Outcome::Stopped);
    assert_eq!(std::fs::read_dir(transfer.destination()).unwrap().count(), 0);
}

fn a_first_file_and_many_small_ones(root: &Path) {
    many_small_files(root);
    std::fs::write(root.join("a-first"), noise(1, 2 * CHUNK as usize)).unwrap();
}

/// The transfer before its next sender, with a file changed at the source that has been delivered.
fn with_the_first_file_touched(mut transfer: Transfer, sender: Running<send::Outcome>) -> Transfer {
    wait_for("the first file", || transfer.destination().join("a-first").exists().then_some(()));
    sender.stop.request();
    sender.join();
    let file = std::fs::File::options().write(true).open(transfer.source().join("a-first")).unwrap();
    file.set_modified(SystemTime::now() + Duration::from_secs(5)).unwrap();
    transfer.epoch = 2;
    transfer
}

#[test]
fn a_source_that_changed_after_it_was_delivered_is_named_by_the_next_sender() {
    let UnderWay { transfer, receiver, sender } = UnderWay::begin(a_first_file_and_many_small_ones);
    let mut transfer = with_the_first_file_touched(transfer, sender);
    let outcome = transfer.send(None).join();
    let send::Outcome::Delivered(totals) = outcome else { panic!("{outcome:?}") };
    assert_eq!((totals.skipped, totals.repaired_chunks), (1, 0));
    let skip = &transfer.skipped()[0];
    assert_eq!((skip["path"].as_str(), skip["reason"].as_str()), (Some("a-first"), Some("source-changed")));
    assert!(skip["message"].as_str().unwrap().ends_with("after it was delivered"), "{skip}");
    assert_eq!(receiver.join(), receive::Outcome::Agreed);
}

/// A source that has changed would be named if it were read.
#[test]
fn what_a_sender_has_noted_is_not_read_by_the_next_one() {
    let mut transfer = Transfer::plan(CHUNK, Some(9), a_first_file_and_many_small_ones);
    transfer.notes_sent = true;
    let UnderWay { transfer, receiver, sender } = UnderWay::of(transfer);
    let mut transfer = with_the_first_file_touched(transfer, sender);
    let outcome = transfer.send(None).join();
    let send::Outcome::Delivered(totals) = outcome else { panic!("{outcome:?}") };
    assert_eq!((totals.skipped, totals.repaired_chunks), (0, 0));
    assert_eq!(receiver.join(), receive::Outcome::Agreed);
    assert_eq!(transfer.digests(Seat::SENDER), transfer.digests(Seat::RECEIVER));
}

#[test]
fn of_a_bundle_one_file_that_changed_after_it_was_delivered_is_named_by_the_next_sender_and_its_neighbours_count() {
    let UnderWay { mut transfer, receiver, sender } = UnderWay::begin(many_small_files);
    sender.stop.request();
    sender.join();
    let bundle = transfer.chunks().into_iter().find(|chunk| chunk.state == ChunkState::Delivered && chunk.files > 1).expect("a bundle");
    let lines = transfer.object(&bundle.manifest_key);
    let lines = &lines[bundle.manifest_start as usize..bundle.manifest_end as usize];
    let line: serde_json::Value = serde_json::from_str(lines.lines().nth(1).unwrap()).unwrap();
    std::fs::write(line["source"].as_str().unwrap(), b"another").unwrap();
    transfer.epoch = 2;
    let outcome = transfer.send(None).join();
    let send::Outcome::Delivered(totals) = outcome else { panic!("{outcome:?}") };
    assert_eq!((totals.skipped, totals.files), (1, 399), "{:?}", transfer.skipped());
    assert_eq!(transfer.skipped()[0]["path"], line["path"]);
    assert_eq!(receiver.join(), receive::Outcome::Agreed);
}

/// Stops the receiver in the middle, bends its journal, and starts it again; what the sender says in the end.
fn with_a_bent_journal(bend: impl FnOnce(&Path)) -> send::Totals {
    let UnderWay { mut transfer, receiver, sender } = UnderWay::begin(|root| {
        many_small_files(root);
        one_large_file(root);
    });
    receiver.stop.request();
    receiver.join();
    bend(&transfer.destination().join(".cpt-partial-t-1/journal"));
    transfer.epoch = 2;
    let receiver = transfer.receive();
    transfer.members(to(&receiver, 2));
    assert_arrived(&transfer, sender.join(), receiver.join())
}

#[test]
fn what_the_receiver_has_forgotten_is_read_again_at_the_end_and_not_sent() {
    let totals = with_a_bent_journal(|journal| std::fs::remove_file(journal).unwrap());
    assert_eq!(totals.repaired_chunks, 0, "{totals:?}");
}

#[test]
fn of_a_file_that_differs_at_the_end_only_its_chunk_is_sent_again() {
    let totals = with_a_bent_journal(|journal| {
        let mut records = std::fs::read(journal).unwrap();
        // The first of a whole file: another digest, with a check that agrees.
        let record = records.chunks_exact_mut(72).find(|record| record[16..24] == [0xff; 8]).unwrap();
        record[40] ^= 1;
        let check = blake3::hash(&record[..64]);
        record[64..].copy_from_slice(&check.as_bytes()[..8]);
        std::fs::write(journal, records).unwrap();
    });
    assert_eq!(totals.repaired_chunks, 1, "{totals:?}");
}
