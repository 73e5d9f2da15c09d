//! A sender and several receivers: one of them takes over what came to the others.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};

use cpt_relay::control::Control as _;
use cpt_relay::control::leases::Finish;
use cpt_relay::documents::event::Progress;

use super::by_hand::{ByHand, Heard, Words};
use super::*;
use crate::harness::wait_for;

struct Site {
    transfer: Transfer,
    receivers: Vec<ByHand>,
    words: Words,
}

impl Site {
    /// So many receivers, with a path to each.
    fn new(receivers: &[&str]) -> Self {
        let transfer = Transfer::plan(CHUNK, None, |root| {
            std::fs::create_dir_all(root.join("a/b")).unwrap();
            std::fs::write(root.join("a/b/large"), noise(5, 5 << 20)).unwrap();
        });
        let words = Arc::new(Mutex::new(Vec::new()));
        let receivers: Vec<_> = receivers.iter().map(|text| ByHand::listen(&transfer, seat(text), &words)).collect();
        let of = |receiver: &ByHand| {
            let direct = path(&format!("direct-{}", receiver.seat), &[], receiver.address);
            membership::Path { to: receiver.seat, ..direct }
        };
        transfer.members(receivers.iter().map(of).collect());
        // So that each of them gets something.
        change(&transfer, |membership| membership.bandwidth_limit_mbps = Some(40));
        Self { transfer, receivers, words }
    }

    fn start(&mut self) -> Running<send::Outcome> {
        let config = send::Config { many_receivers: true, ..self.transfer.sender(Seat::SENDER) };
        self.transfer.start(config)
    }

    /// A receiver says that it writes nothing any more, since another one is named.
    fn closes(&self, text: &str) {
        let finish = self.transfer.control.finish().unwrap().unwrap();
        self.closes_for(text, finish);
    }

    fn closes_for(&self, text: &str, finish: Finish) {
        let example = include_str!("../../../../../contracts/examples/good/progress/receiver-that-leaves-the-finish-to-another.json");
        let report: Progress = serde_json::from_str(example).unwrap();
        let report = Progress { closed_for: Some(finish.into()), membership_version: None, ..report };
        self.transfer.control.write_progress(seat(text), &report).unwrap();
    }

    fn wait_for_finish_with(&self, text: &str) {
        wait_for("a named receiver", || self.transfer.control.finish().unwrap().filter(|finish| finish.receiver == seat(text)));
    }

    /// What was heard after the first word of this kind that a receiver heard.
    fn after(&self, text: &str, word: Heard) -> Vec<(Seat, Heard)> {
        let words = self.words.lock().unwrap();
        let at = words.iter().position(|heard| *heard == (seat(text), word)).expect("it was never said");
        words[at..].to_vec()
    }
}

fn count(words: &[(Seat, Heard)], receiver: &str, word: Heard) -> usize {
    words.iter().filter(|heard| **heard == (seat(receiver), word)).count()
}

fn assert_delivered_by(sender: Running<send::Outcome>, transfer: &Transfer) {
    let outcome = sender.join();
    let send::Outcome::Delivered(totals) = outcome else { panic!("{outcome:?}") };
    assert_eq!((totals.bytes, totals.chunks), (transfer.plan.bytes, transfer.plan.chunks));
}

const DATA: Heard = Heard::Chunk { phase: 0 };
const DIRECTORIES: Heard = Heard::Chunk { phase: 1 };

#[test]
fn one_receiver_gathers_once_the_others_are_closed_and_gets_all_that_is_left() {
    let mut site = Site::new(&["r0", "r1", "r2"]);
    let sender = site.start();
    site.wait_for_finish_with("r0");
    site.closes("r1");
    let data = site.words.lock().unwrap().clone();
    assert!(["r0", "r1", "r2"].iter().all(|text| count(&data, text, DATA) > 0));
    assert!(data.iter().all(|(_, heard)| *heard == DATA), "r2 is not closed: {data:?}");
    site.closes("r2");
    assert_delivered_by(sender, &site.transfer);
    let after = site.after("r0", Heard::Gather);
    assert!(after.iter().all(|(receiver, _)| *receiver == seat("r0")), "{after:?}");
    assert_eq!((count(&after, "r0", DIRECTORIES), count(&after, "r0", Heard::Finish), count(&after, "r0", DATA)), (1, 1, 0));
}

/// All senders of a start have one epoch, and a report may be older than the lease.
#[test]
fn a_receiver_that_has_closed_for_another_lease_is_waited_for() {
    let mut site = Site::new(&["r0", "r1", "r2"]);
    let sender = site.start();
    site.wait_for_finish_with("r0");
    site.closes("r2");
    let held = site.transfer.control.finish().unwrap().unwrap();
    for other in [Finish { seat: seat("s1"), ..held }, Finish { receiver: seat("r2"), ..held }, Finish { epoch: held.epoch + 1, ..held }] {
        site.closes_for("r1", other);
        let sequence = || site.transfer.control.progress(Seat::SENDER).unwrap().map_or(0, |report| report.sequence);
        let before = sequence();
        wait_for("a report or two: it waits", || (sequence() > before + 1).then_some(()));
        assert!(!site.words.lock().unwrap().iter().any(|(_, heard)| *heard == Heard::Gather), "{other:?}");
    }
    site.closes("r1");
    assert_delivered_by(sender, &site.transfer);
}

#[test]
fn another_receiver_gathers_where_the_named_one_is_given_up() {
    let mut site = Site::new(&["r0", "r1"]);
    site.receivers[0].hangs.store(true, Ordering::SeqCst);
    let sender = site.start();
    site.wait_for_finish_with("r0");
    site.closes("r1");
    wait_for("what r0 does not answer", || site.words.lock().unwrap().contains(&(seat("r0"), Heard::Finish)).then_some(()));
    change(&site.transfer, |membership| {
        membership.paths.retain(|path| path.to != seat("r0"));
        membership.retired.push(Retired { seat_id: seat("r0"), epoch: 1, is_gone: false });
    });
    assert_delivered_by(sender, &site.transfer);
    let after = site.after("r1", Heard::Gather);
    assert_eq!((count(&after, "r1", Heard::Finish), count(&after, "r0", Heard::Finish)), (1, 0));
}

/// Its chunks go to the other one.
#[test]
fn a_receiver_that_is_given_up_holds_nothing_up() {
    let mut site = Site::new(&["r0", "r1"]);
    change(&site.transfer, |membership| membership.retired.push(Retired { seat_id: seat("r0"), epoch: 1, is_gone: false }));
    change(&site.transfer, |membership| membership.paths.retain(|path| path.to != seat("r0")));
    let sender = site.start();
    site.wait_for_finish_with("r1");
    assert_delivered_by(sender, &site.transfer);
    assert_eq!(count(&site.words.lock().unwrap(), "r1", Heard::Gather), 1, "what came to the others may be in its journal");
}
