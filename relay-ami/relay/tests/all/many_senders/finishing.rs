//! Who finishes, who takes it over, and what the sender that finishes makes of what others have sent.

use std::fs::OpenOptions;
use std::os::unix::fs::FileExt as _;

use cpt_relay::control::Control as _;
use cpt_relay::control::leases::Finish;
use serde_json::json;

use super::*;
use crate::harness::wait_for;

/// Four ranges, most of them of one file.
fn four_ranges(root: &Path) {
    std::fs::create_dir(root.join("below")).unwrap();
    std::fs::write(root.join("below/large"), noise(5, 7 << 20)).unwrap();
    std::fs::write(root.join("small"), noise(6, 99)).unwrap();
}

fn settled(transfer: &Transfer) -> usize {
    let leases = transfer.control.leases(&(0..4).collect::<Vec<_>>()).unwrap();
    leases.iter().flatten().filter(|lease| lease.is_settled).count()
}

/// One sender settles all ranges while another one, which has died, has the finish.
fn all_but_finished(transfer: &mut Transfer, receiver: &Running<receive::Outcome>) -> Running<send::Outcome> {
    let dead = Finish { seat: seat("s9"), epoch: transfer.epoch, receiver: Seat::RECEIVER };
    assert!(transfer.control.take_finish(&dead, None).unwrap());
    transfer.members(paths(&["s0", "s1"], receiver));
    let sender = start(transfer, "s0");
    wait_for("four settled ranges", || (settled(transfer) == 4).then_some(()));
    sender
}

/// The finish goes to whoever is there.
fn retire_finisher(transfer: &Transfer) {
    change(transfer, |membership| membership.retired.push(Retired { seat_id: seat("s9"), epoch: 1, is_gone: true }));
}

/// The sender that has settled all is gone; another one finishes what that sent.
fn finished_by_another(transfer: &mut Transfer, meanwhile: impl FnOnce(&Transfer)) -> (send::Outcome, receive::Outcome) {
    let receiver = transfer.receive_beside(Seat::RECEIVER, true, false);
    let first = all_but_finished(transfer, &receiver);
    first.stop.request();
    first.join();
    meanwhile(transfer);
    retire_finisher(transfer);
    let second = start(transfer, "s1");
    (second.join(), receiver.join())
}

fn totals(outcome: send::Outcome) -> send::Totals {
    let send::Outcome::Delivered(totals) = outcome else { panic!("{outcome:?}") };
    totals
}

#[test]
fn a_lost_senders_finish_is_taken_over_by_one_that_waits() {
    let mut transfer = Transfer::plan(CHUNK, None, four_ranges);
    let receiver = transfer.receive_beside(Seat::RECEIVER, true, false);
    let first = all_but_finished(&mut transfer, &receiver);
    let second = start(&mut transfer, "s1");
    wait_for("a report of one that waits", || {
        transfer.control.progress(seat("s0")).unwrap().filter(|report| report.lanes.is_empty() && report.chunks > 0)
    });
    let sequence = || transfer.control.progress(seat("s0")).unwrap().unwrap().sequence;
    let before = sequence();
    wait_for("another report: it waits for others", || (sequence() > before).then_some(()));
    assert!(!first.is_finished() && !second.is_finished());
    retire_finisher(&transfer);
    assert_delivered(&transfer, vec![("s0", first), ("s1", second)], receiver);
}

#[test]
fn what_another_sender_has_written_down_is_not_read_again() {
    let mut transfer = Transfer::plan(CHUNK, None, four_ranges);
    // Who reads it again would find out.
    let (outcome, received) = finished_by_another(&mut transfer, |transfer| {
        std::fs::rename(transfer.source().join("below/large"), transfer.directory.path().join("away")).unwrap();
    });
    assert_eq!(received, receive::Outcome::Agreed);
    let totals = totals(outcome);
    assert_eq!((totals.skipped, totals.bytes), (0, transfer.plan.bytes));
    assert_eq!(std::fs::read(transfer.destination().join("below/large")).unwrap(), noise(5, 7 << 20));
}

#[test]
fn what_nobody_has_written_down_is_read_from_the_source_again() {
    let mut transfer = Transfer::plan(CHUNK, None, four_ranges);
    let (outcome, received) = finished_by_another(&mut transfer, |transfer| {
        let object = format!("control/digests/{}/sent/0000001", transfer.plan.plan_id);
        std::fs::remove_file(transfer.directory.path().join(object)).unwrap();
    });
    assert_eq!((received, totals(outcome).repaired_chunks), (receive::Outcome::Agreed, 0));
    transfer.assert_same_trees();
}

/// The first sender has settled two ranges of four, and is gone; the second one sends the rest.
fn sent_by_halves(transfer: &mut Transfer, meanwhile: impl FnOnce(&Transfer)) -> (send::Outcome, receive::Outcome) {
    let receiver = transfer.receive_beside(Seat::RECEIVER, true, false);
    for (range, other) in [(2, "s8"), (3, "s8")] {
        let owner = cpt_relay::control::leases::Owner { seat: seat(other), epoch: 1, process: other.to_owned() };
        assert!(transfer.control.lease(range, &owner, None).unwrap());
    }
    transfer.members(paths(&["s0", "s1"], &receiver));
    let first = start(transfer, "s0");
    wait_for("two settled ranges", || (settled(transfer) == 2).then_some(()));
    first.stop.request();
    first.join();
    meanwhile(transfer);
    change(transfer, |membership| membership.retired.push(Retired { seat_id: seat("s8"), epoch: 1, is_gone: true }));
    let second = start(transfer, "s1");
    (second.join(), receiver.join())
}

/// Somebody writes into the large file.
fn write_into(transfer: &Transfer, modified: Option<std::time::SystemTime>) {
    let file = OpenOptions::new().write(true).open(transfer.source().join("below/large")).unwrap();
    file.write_all_at(b"another", 0).unwrap();
    modified.into_iter().for_each(|time| file.set_modified(time).unwrap());
}

#[test]
fn a_file_that_changes_between_two_senders_parts_is_named_and_the_others_arrive() {
    let mut transfer = Transfer::plan(CHUNK, None, four_ranges);
    let (outcome, received) = sent_by_halves(&mut transfer, |transfer| write_into(transfer, None));
    assert_eq!((received, totals(outcome).skipped), (receive::Outcome::Agreed, 1));
    let [named] = &*transfer.skipped() else { panic!("{:?}", transfer.skipped()) };
    assert_eq!((&named["path"], &named["reason"]), (&json!("below/large"), &json!("source-changed")));
    assert!(!transfer.destination().join("below/large").exists());
    assert_eq!(std::fs::read(transfer.destination().join("small")).unwrap(), noise(6, 99));
}

/// All its parts have come, so that it is in its place by then.
#[test]
fn a_file_that_changes_between_two_senders_parts_and_does_not_show_it_comes_again_whole() {
    let mut transfer = Transfer::plan(CHUNK, None, four_ranges);
    let (outcome, received) = sent_by_halves(&mut transfer, |transfer| {
        let modified = std::fs::metadata(transfer.source().join("below/large")).unwrap().modified().unwrap();
        write_into(transfer, Some(modified));
    });
    let totals = totals(outcome);
    assert_eq!((received, totals.skipped), (receive::Outcome::Agreed, 0));
    assert!(totals.repaired_chunks > 0);
    transfer.assert_same_trees();
}

#[test]
fn a_file_that_gets_another_name_between_two_senders_parts_arrives() {
    let mut transfer = Transfer::plan(CHUNK, None, four_ranges);
    let (outcome, received) = sent_by_halves(&mut transfer, |transfer| {
        std::fs::hard_link(transfer.source().join("below/large"), transfer.directory.path().join("further")).unwrap();
    });
    let totals = totals(outcome);
    assert_eq!((received, totals.skipped, totals.repaired_chunks), (receive::Outcome::Agreed, 0, 0));
    transfer.assert_same_trees();
}
