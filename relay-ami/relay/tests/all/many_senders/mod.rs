//! Several senders of one transfer: they share the plan, and one of them finishes for all.

mod by_hand;
mod finishing;
mod gathering;
mod losses;
mod unread;

use std::collections::BTreeMap;
use std::path::Path;

use cpt_relay::control::Seat;
use cpt_relay::documents::chunk::ChunkState;
use cpt_relay::documents::membership::{self, Membership, Retired, Share};
use cpt_relay::{receive, send};

use crate::harness::{Running, Transfer, noise, path, seat};

/// Large files are cut into parts of so many bytes; a range holds 128 of them.
const CHUNK: u64 = 16 << 10;

/// Large files that span ranges, small ones, links and directories.
fn tree(root: &Path) {
    std::fs::create_dir_all(root.join("a/b")).unwrap();
    std::fs::create_dir(root.join("empty")).unwrap();
    for number in 0..200u32 {
        std::fs::write(root.join(format!("a/b/small-{number}")), noise(number.into(), number as usize * 7)).unwrap();
    }
    std::os::unix::fs::symlink("b/small-1", root.join("a/link")).unwrap();
    for (number, chunks) in [700, 3, 500].into_iter().enumerate() {
        std::fs::write(root.join(format!("large-{number}")), noise(1000 + number as u64, chunks * CHUNK as usize + 17)).unwrap();
    }
}

/// A sender in a seat, with others beside it.
fn beside_others(transfer: &mut Transfer, seat: Seat) -> send::Config {
    send::Config { many_senders: true, ..transfer.sender(seat) }
}

fn start(transfer: &mut Transfer, text: &str) -> Running<send::Outcome> {
    let config = beside_others(transfer, seat(text));
    transfer.start(config)
}

/// A path from each of these senders to the one receiver.
fn paths(senders: &[&str], receiver: &Running<receive::Outcome>) -> Vec<membership::Path> {
    let of = |text: &&str| membership::Path { from: seat(text), ..path(&format!("direct-{text}"), &[], receiver.address) };
    senders.iter().map(of).collect()
}

/// Changes the membership.
fn change(transfer: &Transfer, change: impl FnOnce(&mut Membership)) {
    use cpt_relay::control::Control as _;
    let mut membership = transfer.control.membership().unwrap().unwrap();
    change(&mut membership);
    transfer.control.put_membership(&membership).unwrap();
}

fn retire(transfer: &Transfer, text: &str) {
    let (seat_id, epoch) = (seat(text), transfer.epoch);
    change(transfer, |membership| {
        membership.paths.retain(|path| path.from != seat_id);
        membership.retired.push(Retired { seat_id, epoch, is_gone: true });
    });
}

/// The rate of each sender, Mbit/s.
fn shares(transfer: &Transfer, of: &[(&str, f64)]) {
    let share = |(text, mbps): &(&str, f64)| Share {
        seat_id: seat(text),
        bandwidth_limit_mbps: Some(*mbps),
        budget_lease: None,
        limit_lease: None,
    };
    change(transfer, |membership| membership.shares = of.iter().map(share).collect());
}

/// The control plane has heard how it ended.
fn fence(transfer: &Transfer) {
    std::fs::write(transfer.directory.path().join("control/records/transfer.json"), br#"{"fenced": true}"#).unwrap();
}

/// One of the senders has delivered all, and the others leave it to that; returns who.
fn assert_delivered(transfer: &Transfer, senders: Vec<(&str, Running<send::Outcome>)>, receiver: Running<receive::Outcome>) -> String {
    assert_eq!(receiver.join(), receive::Outcome::Agreed);
    fence(transfer);
    let outcomes: BTreeMap<_, _> = senders.into_iter().map(|(text, sender)| (text, sender.join())).collect();
    let finished: Vec<_> = outcomes.iter().filter(|(_, outcome)| **outcome != send::Outcome::LeftToAnother).collect();
    let [(finisher, send::Outcome::Delivered(totals))] = &*finished else { panic!("{outcomes:?}") };
    let files = transfer.chunks().iter().map(|chunk| chunk.files).sum::<u64>();
    assert_eq!((totals.bytes, totals.chunks, totals.files), (transfer.plan.bytes, transfer.plan.chunks, files));
    assert_eq!(totals.skipped, 0);
    assert!(transfer.chunks().iter().all(|chunk| chunk.state == ChunkState::Delivered));
    transfer.assert_same_trees();
    let digests = transfer.digests(Seat::RECEIVER);
    assert_eq!(digests, transfer.digests(seat(finisher)));
    finisher.to_string()
}

/// Bytes that each seat's lanes delivered, by the names of their paths.
fn delivered_by(transfer: &Transfer) -> BTreeMap<String, u64> {
    let mut bytes = BTreeMap::new();
    for chunk in transfer.chunks() {
        *bytes.entry(chunk.path_id.unwrap()).or_default() += chunk.bytes;
    }
    bytes
}

/// Each at this rate, so that none has brought all before the last one is there.
fn all_deliver(senders: &[&'static str], mbps: f64) {
    let mut transfer = Transfer::plan(CHUNK, None, tree);
    let receiver = transfer.receive_beside(Seat::RECEIVER, true, false);
    transfer.members(paths(senders, &receiver));
    shares(&transfer, &senders.iter().map(|text| (*text, mbps)).collect::<Vec<_>>());
    let running: Vec<_> = senders.iter().map(|text| (*text, start(&mut transfer, text))).collect();
    assert_delivered(&transfer, running, receiver);
    let by = delivered_by(&transfer);
    assert!(senders.iter().all(|text| by.get(&format!("direct-{text}")).is_some_and(|bytes| *bytes > 0)), "{by:?}");
}

#[test]
fn a_tree_arrives_identical_from_two_senders() {
    all_deliver(&["s0", "s1"], 40.0);
}

#[test]
fn a_tree_arrives_identical_from_four_senders() {
    all_deliver(&["s0", "s1", "s2", "s3"], 12.0);
}

#[test]
fn a_slow_sender_carries_its_share_and_does_not_hold_the_end_up() {
    let mut transfer = Transfer::plan(CHUNK, None, |root| std::fs::write(root.join("large"), noise(5, 48 << 20)).unwrap());
    let receiver = transfer.receive_beside(Seat::RECEIVER, true, false);
    transfer.members(paths(&["s0", "s1"], &receiver));
    // The slow one takes 4 s for a range of 2 MiB, and the fast one 6 s for all of them.
    shares(&transfer, &[("s0", 64.0), ("s1", 4.0)]);
    let (fast, slow) = (start(&mut transfer, "s0"), start(&mut transfer, "s1"));
    assert_delivered(&transfer, vec![("s0", fast), ("s1", slow)], receiver);
    let last = |path: &str| {
        let times = transfer.chunks().into_iter().filter(|chunk| chunk.path_id.as_deref() == Some(path));
        times.filter_map(|chunk| chunk.delivered_at).fold(0.0, f64::max)
    };
    // Without a look at what is left for its lanes it would have leased half of the plan, 48 s at its rate.
    let late = last("direct-s1") - last("direct-s0");
    assert!(last("direct-s1") > 0.0 && late < 2.0 * 4.2, "{late} s after the fast one");
}
