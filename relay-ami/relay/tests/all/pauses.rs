//! A sender that is paused, or has no share of a limit over several transfers, begins no chunk, and speaks on.

use cpt_relay::control::{Control as _, Seat};
use cpt_relay::documents::event::Progress;
use cpt_relay::documents::leases::LimitLease;
use cpt_relay::documents::membership::Membership;
use cpt_relay::send;

use crate::harness::{Transfer, noise, path, wait_for};

const CHUNK: u64 = 64 << 10;
const SIZE: u64 = 20 * CHUNK;

fn transfer() -> Transfer {
    Transfer::plan(CHUNK, Some(9), |root| std::fs::write(root.join("large"), noise(5, SIZE as usize)).unwrap())
}

fn change(transfer: &Transfer, edit: impl FnOnce(&mut Membership)) {
    let mut membership = transfer.control.membership().unwrap().unwrap();
    membership.version += 1;
    edit(&mut membership);
    transfer.control.put_membership(&membership).unwrap();
}

fn progress(transfer: &Transfer) -> Option<Progress> {
    transfer.control.progress(Seat::SENDER).unwrap()
}

/// What was sent by the time at which two reports of a sender that advances say the same.
fn sent_when_still(transfer: &Transfer) -> u64 {
    let mut last: Option<Progress> = None;
    wait_for("a sender that sends nothing", || {
        let now = progress(transfer)?;
        let is_still = last.as_ref().is_some_and(|last| now.sequence > last.sequence && now.moved_bytes == last.moved_bytes);
        let is_new = last.as_ref().is_none_or(|last| now.sequence > last.sequence);
        let sent = now.moved_bytes;
        last = if is_new { Some(now) } else { last.take() };
        is_still.then_some(sent)
    })
}

fn assert_delivered(transfer: &Transfer, outcome: &send::Outcome) {
    assert!(matches!(outcome, send::Outcome::Delivered(_)), "{outcome:?}");
    transfer.assert_same_trees();
    assert_eq!(progress(transfer).unwrap().moved_bytes, SIZE, "nothing is sent twice for a pause");
}

#[test]
fn a_pause_before_the_first_byte_and_one_amid_the_data_lose_nothing() {
    let mut transfer = transfer();
    let receiver = transfer.receive();
    transfer.members(vec![path("direct", &[], receiver.address)]);
    // 20 chunks take ten seconds.
    change(&transfer, |membership| (membership.paused, membership.bandwidth_limit_mbps) = (true, Some(1)));
    let config = transfer.sender(Seat::SENDER);
    let sender = transfer.start(config);
    assert_eq!(sent_when_still(&transfer), 0);
    change(&transfer, |membership| membership.paused = false);
    wait_for("some data", || progress(&transfer).filter(|told| told.moved_bytes > 0));
    change(&transfer, |membership| membership.paused = true);
    let sent = sent_when_still(&transfer);
    assert!(sent < SIZE && sent.is_multiple_of(CHUNK), "{sent}: what is under way is sent to its end");
    let version = transfer.control.membership().unwrap().unwrap().version;
    assert_eq!(progress(&transfer).unwrap().membership_version, Some(version), "it says what it follows");
    change(&transfer, |membership| (membership.paused, membership.bandwidth_limit_mbps) = (false, None));
    let outcome = sender.join();
    receiver.join();
    assert_delivered(&transfer, &outcome);
}

#[test]
fn without_a_share_nothing_is_begun_and_a_share_that_ended_leaves_the_smaller_one() {
    let mut transfer = transfer();
    let receiver = transfer.receive();
    transfer.members(vec![path("direct", &[], receiver.address)]);
    let share = |number, mbps, safe_mbps, seconds| Some(LimitLease { number, mbps, safe_mbps, seconds });
    change(&transfer, |membership| membership.limit_lease = share(1, 0.0, 0.0, 150.0));
    let config = transfer.sender(Seat::SENDER);
    let sender = transfer.start(config);
    assert_eq!(sent_when_still(&transfer), 0);
    // At its end nothing is left of this one.
    change(&transfer, |membership| membership.limit_lease = share(2, 1.0, 0.0, 1.0));
    wait_for("some data", || progress(&transfer).filter(|told| told.moved_bytes > 0));
    let sent = sent_when_still(&transfer);
    assert!(sent < SIZE, "{sent}");
    change(&transfer, |membership| membership.limit_lease = share(3, 1000.0, 0.0, 150.0));
    let outcome = sender.join();
    receiver.join();
    assert_delivered(&transfer, &outcome);
}
