//! A sender sends what its budget bears and not a byte more; then it pauses until the meter was looked at.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use cpt_relay::control::{Control as _, Seat, unix_now};
use cpt_relay::documents::event::Progress;
use cpt_relay::documents::leases::BudgetLease;
use cpt_relay::send;

use crate::faults::bending_hop;
use crate::harness::{Transfer, noise, path, wait_for};

const CHUNK: u64 = 64 << 10;
const SIZE: u64 = 20 * CHUNK;

fn transfer() -> Transfer {
    Transfer::plan(CHUNK, Some(9), |root| std::fs::write(root.join("large"), noise(5, SIZE as usize)).unwrap())
}

/// For so many bytes, at a dollar per gigabyte.
fn lease(bytes: u64) -> BudgetLease {
    BudgetLease { start: 0, at: unix_now(), sent_bytes: 0, usd: bytes as f64 / 1e9, usd_per_gb: 1.0, usd_per_hour: 0.0 }
}

fn progress(transfer: &Transfer) -> Option<Progress> {
    transfer.control.progress(Seat::SENDER).unwrap()
}

/// What was sent by the time at which nothing more is: the sender speaks on, so nobody takes it for one that stands still.
fn sent_when_paused(transfer: &Transfer) -> u64 {
    let mut last: Option<Progress> = None;
    wait_for("a sender that pauses", || {
        let now = progress(transfer)?;
        let is_paused =
            last.as_ref().is_some_and(|last| now.sequence > last.sequence && now.moved_bytes == last.moved_bytes && now.moved_bytes > 0);
        let is_new = last.as_ref().is_none_or(|last| now.sequence > last.sequence);
        let sent = now.moved_bytes - now.saved_bytes;
        last = if is_new { Some(now) } else { last.take() };
        is_paused.then_some(sent)
    })
}

#[test]
fn a_sender_pauses_at_the_end_of_its_lease_and_goes_on_with_the_next() {
    let mut transfer = transfer();
    let receiver = transfer.receive();
    transfer.members(vec![path("direct", &[], receiver.address)]);
    transfer.grant(lease(SIZE / 2));
    let sender = transfer.send(None);
    assert_eq!(sent_when_paused(&transfer), SIZE / 2, "each chunk that it bears, and none that it does not");
    // A lease of another start is none of this one.
    transfer.grant(BudgetLease { start: 1, ..lease(2 * SIZE) });
    assert_eq!(sent_when_paused(&transfer), SIZE / 2);
    // The bytes that are paid for are told, and half is left.
    transfer.grant(BudgetLease { sent_bytes: SIZE / 2, ..lease(SIZE / 2) });
    assert!(matches!(sender.join(), send::Outcome::Delivered(_)));
    receiver.join();
    transfer.assert_same_trees();
    assert_eq!(progress(&transfer).unwrap().moved_bytes, SIZE);
}

#[test]
fn what_is_sent_again_and_again_is_paid_from_the_lease_too() {
    let mut transfer = transfer();
    let receiver = transfer.receive();
    let bends = Arc::new(AtomicBool::new(true));
    transfer.members(vec![path("direct", &[], bending_hop(receiver.address, &bends))]);
    transfer.grant(lease(SIZE / 2));
    let sender = transfer.send(None);
    // Each stream breaks, and whoever opens the next one sends what the last one had.
    let sent = sent_when_paused(&transfer);
    assert!(sent <= SIZE / 2, "{sent} of {} bytes", SIZE / 2);
    bends.store(false, Ordering::SeqCst);
    transfer.grant(lease(4 * SIZE));
    assert!(matches!(sender.join(), send::Outcome::Delivered(_)));
    receiver.join();
    transfer.assert_same_trees();
}

#[test]
fn time_that_costs_uses_a_lease_up_as_well() {
    let mut transfer = transfer();
    let receiver = transfer.receive();
    transfer.members(vec![path("direct", &[], receiver.address)]);
    // Two seconds at a thousand dollars an hour.
    transfer.grant(BudgetLease { usd: 0.55, usd_per_hour: 1000.0, ..lease(0) });
    let sender = transfer.send(Some(1));
    let sent = sent_when_paused(&transfer);
    assert!(sent > 0 && sent < SIZE, "{sent}");
    transfer.grant(lease(2 * SIZE));
    transfer.limit(None);
    assert!(matches!(sender.join(), send::Outcome::Delivered(_)));
    receiver.join();
}
