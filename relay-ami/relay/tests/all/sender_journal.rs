//! A sender that is started again knows what the one before it knew, or looks again: its checks do not end with a process.

use std::fs::{self, File};
use std::os::unix::fs::FileExt as _;
use std::path::Path;

use cpt_relay::control::Seat;
use cpt_relay::documents::chunk::ChunkState;
use cpt_relay::{receive, send};

use crate::harness::{Running, Transfer, noise, path, wait_for};

const CHUNK: u64 = 64 << 10;
const PARTS: u64 = 40;
const JOURNAL: &str = "send.sent";

fn one_large_file_and_some_small_ones(root: &Path) {
    fs::write(root.join("large"), noise(5, (PARTS * CHUNK) as usize)).unwrap();
    for number in 0..20u64 {
        fs::write(root.join(format!("a-{number:02}")), noise(number, 600)).unwrap();
    }
}

/// Stops the sender of a transfer once the first chunks have arrived; the receiver goes on.
fn stopped_half_way(transfer: &mut Transfer) -> Running<receive::Outcome> {
    transfer.notes_sent = true;
    let receiver = transfer.receive();
    transfer.members(vec![path("direct", &[], receiver.address)]);
    let sender = transfer.send(Some(16));
    wait_for("some chunks", || {
        let arrived = transfer.chunks().iter().filter(|chunk| chunk.state == ChunkState::Delivered).count();
        (arrived >= 8).then_some(())
    });
    sender.stop.request();
    assert!(matches!(sender.join(), send::Outcome::Stopped));
    assert!(transfer.chunks().iter().any(|chunk| chunk.state != ChunkState::Delivered), "all has arrived before");
    receiver
}

/// Stops the sender of a transfer once the first chunks have arrived, lets something happen while there is none, and starts the next one.
fn started_again(transfer: &mut Transfer, meanwhile: impl FnOnce(&Transfer)) -> (send::Totals, Running<receive::Outcome>) {
    let receiver = stopped_half_way(transfer);
    meanwhile(transfer);
    transfer.epoch += 1;
    let outcome = transfer.send(None).join();
    let send::Outcome::Delivered(totals) = outcome else { panic!("{outcome:?}") };
    (totals, receiver)
}

/// Writes over all of a file, and puts its modification time back.
fn write_over_quietly(file: &Path) {
    let before = fs::metadata(file).unwrap().modified().unwrap();
    let opened = File::options().write(true).open(file).unwrap();
    opened.write_all_at(&noise(6, (PARTS * CHUNK) as usize), 0).unwrap();
    opened.set_modified(before).unwrap();
}

fn names_at_the_destination(transfer: &Transfer) -> Vec<String> {
    let entries = fs::read_dir(transfer.destination()).unwrap();
    let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn parts_of_two_states_of_a_file_are_never_put_together() {
    let mut transfer = Transfer::plan(CHUNK, Some(9), one_large_file_and_some_small_ones);
    let (totals, receiver) = started_again(&mut transfer, |transfer| write_over_quietly(&transfer.source().join("large")));
    assert_eq!((totals.skipped, totals.files), (1, 20));
    let [skip] = &*transfer.skipped() else { panic!("{:?}", transfer.skipped()) };
    assert_eq!((skip["path"].as_str(), skip["reason"].as_str()), (Some("large"), Some("source-changed")));
    assert_eq!(receiver.join(), receive::Outcome::Agreed);
    assert!(!names_at_the_destination(&transfer).iter().any(|name| name == "large" || name.starts_with(".cpt")));
}

/// Without a record nothing tells what was read: the parts are read again, and what the ends have differs.
#[test]
fn without_its_journal_the_file_arrives_as_it_is_now() {
    let mut transfer = Transfer::plan(CHUNK, Some(9), one_large_file_and_some_small_ones);
    let (totals, receiver) = started_again(&mut transfer, |transfer| {
        write_over_quietly(&transfer.source().join("large"));
        fs::remove_file(transfer.directory.path().join(JOURNAL)).unwrap();
    });
    assert_eq!(totals.skipped, 0);
    assert_eq!(receiver.join(), receive::Outcome::Agreed);
    transfer.assert_same_trees();
}

#[test]
fn what_was_left_out_stays_left_out() {
    for keeps_journal in [true, false] {
        let mut transfer = Transfer::plan(CHUNK, Some(9), one_large_file_and_some_small_ones);
        fs::write(transfer.source().join("a-07"), b"another").unwrap();
        let (totals, receiver) = started_again(&mut transfer, |transfer| {
            if !keeps_journal {
                fs::remove_file(transfer.directory.path().join(JOURNAL)).unwrap();
            }
        });
        assert_eq!((totals.skipped, totals.files), (1, 20), "journal: {keeps_journal}");
        let [skip] = &*transfer.skipped() else { panic!("{:?}", transfer.skipped()) };
        assert_eq!((skip["path"].as_str(), skip["reason"].as_str()), (Some("a-07"), Some("source-changed")));
        assert_eq!(receiver.join(), receive::Outcome::Agreed, "journal: {keeps_journal}");
        assert_eq!(transfer.digests(Seat::SENDER), transfer.digests(Seat::RECEIVER));
    }
}

/// What the destination refused, and takes by now: the receiver has left it out, and the next sender does not know why.
#[test]
fn what_only_the_receiver_has_left_out_is_sent_again() {
    let mut transfer = Transfer::plan(CHUNK, Some(9), one_large_file_and_some_small_ones);
    let in_the_way = transfer.destination().join("a-07");
    fs::create_dir_all(&in_the_way).unwrap();
    let (totals, receiver) = started_again(&mut transfer, |transfer| {
        fs::remove_dir(&in_the_way).unwrap();
        fs::remove_file(transfer.directory.path().join(JOURNAL)).unwrap();
    });
    assert_eq!((totals.skipped, totals.files), (0, 21));
    assert_eq!(receiver.join(), receive::Outcome::Agreed);
    transfer.assert_same_trees();
}

/// Somebody takes away what has arrived of a file, and makes another name of it at the source: the bytes are the same, and come again.
#[test]
fn a_file_whose_parts_come_again_after_its_change_time_has_moved_is_not_left_out() {
    let mut transfer = Transfer::plan(CHUNK, Some(9), one_large_file_and_some_small_ones);
    let receiver = stopped_half_way(&mut transfer);
    receiver.stop.request();
    assert_eq!(receiver.join(), receive::Outcome::Stopped);
    for ours in names_at_the_destination(&transfer).iter().filter(|name| name.starts_with(".cpt-partial")) {
        fs::remove_dir_all(transfer.destination().join(ours)).unwrap();
    }
    fs::hard_link(transfer.source().join("large"), transfer.directory.path().join("elsewhere")).unwrap();
    transfer.epoch += 1;
    let receiver = transfer.receive();
    transfer.members(vec![path("direct", &[], receiver.address)]);
    let outcome = transfer.send(None).join();
    assert!(matches!(&outcome, send::Outcome::Delivered(totals) if totals.skipped == 0), "{outcome:?}: {:?}", transfer.skipped());
    assert_eq!(receiver.join(), receive::Outcome::Agreed);
    transfer.assert_same_trees();
}
