//! Senders that are lost in the middle.

use cpt_relay::control::Control as _;

use super::*;
use crate::harness::wait_for;

fn large(root: &Path) {
    std::fs::write(root.join("large"), noise(5, 16 << 20)).unwrap();
    std::fs::write(root.join("small"), noise(6, 99)).unwrap();
}

/// A sender has delivered something of a range that it has not settled.
fn wait_for_work(transfer: &Transfer, text: &str) {
    let path = format!("direct-{text}");
    wait_for("a delivered chunk", || transfer.chunks().iter().any(|chunk| chunk.path_id.as_deref() == Some(&path)).then_some(()));
}

#[test]
fn a_sender_that_is_lost_in_the_middle_and_retired_costs_nothing() {
    let mut transfer = Transfer::plan(CHUNK, None, large);
    let receiver = transfer.receive_beside(Seat::RECEIVER, true, false);
    transfer.members(paths(&["s0", "s1", "s2"], &receiver));
    shares(&transfer, &[("s0", 40.0), ("s1", 4.0), ("s2", 40.0)]);
    let (first, lost, third) = (start(&mut transfer, "s0"), start(&mut transfer, "s1"), start(&mut transfer, "s2"));
    wait_for_work(&transfer, "s1");
    lost.stop.request();
    assert_eq!(lost.join(), send::Outcome::Stopped);
    let held = transfer.control.leases(&(0..8).collect::<Vec<_>>()).unwrap();
    assert!(held.iter().flatten().any(|lease| lease.seat == seat("s1") && !lease.is_settled), "{held:?}");
    retire(&transfer, "s1");
    assert_delivered(&transfer, vec![("s0", first), ("s2", third)], receiver);
}

#[test]
fn a_sender_that_is_retired_while_it_runs_ends() {
    let mut transfer = Transfer::plan(CHUNK, None, large);
    let receiver = transfer.receive_beside(Seat::RECEIVER, true, false);
    transfer.members(paths(&["s0", "s1"], &receiver));
    shares(&transfer, &[("s0", 40.0), ("s1", 4.0)]);
    let (first, frozen) = (start(&mut transfer, "s0"), start(&mut transfer, "s1"));
    wait_for_work(&transfer, "s1");
    retire(&transfer, "s1");
    assert_eq!(frozen.join(), send::Outcome::Fenced);
    assert!(transfer.control.progress(seat("s1")).unwrap().unwrap().has_ended);
    assert_delivered(&transfer, vec![("s0", first)], receiver);
}

#[test]
fn a_sender_that_comes_back_goes_on_with_its_ranges_while_the_others_go_on() {
    let mut transfer = Transfer::plan(CHUNK, None, large);
    let receiver = transfer.receive_beside(Seat::RECEIVER, true, false);
    transfer.members(paths(&["s0", "s1"], &receiver));
    shares(&transfer, &[("s0", 4.0), ("s1", 30.0)]);
    let (first, lost) = (start(&mut transfer, "s0"), start(&mut transfer, "s1"));
    wait_for("a settled range", || {
        let held = transfer.control.leases(&(0..8).collect::<Vec<_>>()).unwrap();
        held.iter().flatten().any(|lease| lease.seat == seat("s1") && lease.is_settled).then_some(())
    });
    lost.stop.request();
    assert_eq!(lost.join(), send::Outcome::Stopped);
    transfer.epoch += 1;
    let back = start(&mut transfer, "s1");
    shares(&transfer, &[("s0", 40.0), ("s1", 40.0)]);
    assert_delivered(&transfer, vec![("s0", first), ("s1", back)], receiver);
}
