#![allow(clippy::unwrap_used)]

use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use super::*;

fn seat(text: &str) -> Seat {
    Seat::new(text).unwrap()
}

/// As the control plane writes it.
fn membership(version: u64, retired: &str) -> Membership {
    let text = format!(r#"{{"schemaVersion": 1, "version": {version}, "paths": [], "probes": [], "retired": [{retired}]}}"#);
    Membership::parse(text.as_bytes()).unwrap()
}

fn finish(epoch: u64, receiver: &str) -> Finish {
    Finish { seat: seat("s0"), epoch, receiver: seat(receiver) }
}

fn told(membership_version: Option<u64>, closed_for: Option<Finish>) -> Told {
    Told { membership_version, closed_for: closed_for.map(ClosedFor::from) }
}

/// A lane counts how often it was cut.
fn lane<'a>(beside: &'a Beside, of: &str, epoch: u64, cuts: &Arc<AtomicUsize>) -> Result<Here<'a>, Refused> {
    let cuts = Arc::clone(cuts);
    beside.enter(seat(of), epoch, move || {
        cuts.fetch_add(1, Ordering::SeqCst);
    })
}

#[test]
fn a_sender_that_is_given_up_is_told_of_once_its_last_lane_has_ended() {
    let (beside, cuts) = (Beside::new(seat("r1"), 5), Arc::default());
    let (one, other) = (lane(&beside, "s1", 5, &cuts).unwrap(), lane(&beside, "s0", 5, &cuts).unwrap());
    beside.heed(&membership(3, ""));
    assert_eq!(beside.settle(false, || ()), told(Some(3), None));
    beside.heed(&membership(4, r#"{"seatId": "s1", "epoch": 5, "isGone": true}"#));
    beside.heed(&membership(4, r#"{"seatId": "s1", "epoch": 5, "isGone": true}"#));
    assert_eq!(cuts.load(Ordering::SeqCst), 1, "its own lane, once");
    assert_eq!(beside.settle(true, || ()), told(Some(3), None), "it may still be writing");
    drop(one);
    assert_eq!(beside.settle(false, || ()), told(Some(4), None));
    assert_eq!(lane(&beside, "s1", 5, &cuts).err(), Some(Refused::Retired));
    assert!(lane(&beside, "s1", 6, &cuts).is_ok(), "a later process of it");
    drop(other);
}

#[test]
fn a_receiver_that_another_one_finishes_for_is_closed_once_nothing_is_under_way_and_opens_again_when_it_is_named() {
    let (beside, cuts) = (Beside::new(seat("r1"), 5), Arc::default());
    let open = lane(&beside, "s0", 5, &cuts).unwrap();
    beside.follow(Some(&finish(5, "r1")));
    assert_eq!((beside.settle(true, || ()), cuts.load(Ordering::SeqCst)), (told(None, None), 0), "it is named itself");
    beside.follow(Some(&finish(5, "r0")));
    assert_eq!((beside.settle(true, || ()), cuts.load(Ordering::SeqCst)), (told(None, None), 1), "the lane has not ended");
    assert_eq!(lane(&beside, "s0", 5, &cuts).err(), Some(Refused::Closed));
    drop(open);
    assert_eq!(beside.settle(false, || ()), told(None, None), "a chunk is on its way to the disk");
    let mut files = 0;
    assert_eq!(beside.settle(true, || files += 1), told(None, Some(finish(5, "r0"))));
    assert_eq!(beside.settle(true, || files += 1), told(None, Some(finish(5, "r0"))));
    assert_eq!((files, beside.is_closed()), (1, true));
    beside.follow(Some(&finish(6, "r0")));
    assert_eq!(beside.settle(true, || ()), told(None, Some(finish(6, "r0"))), "another sender finishes");
    beside.follow(Some(&finish(6, "r2")));
    assert_eq!(beside.settle(false, || ()), told(None, None), "it has not closed for this one");
    assert_eq!(beside.settle(true, || ()), told(None, Some(finish(6, "r2"))), "another receiver is named");
    let of_another = Finish { seat: seat("s1"), ..finish(6, "r2") };
    beside.follow(Some(&of_another));
    assert_eq!(beside.settle(true, || ()), told(None, Some(of_another)), "senders of one start have one epoch");
    beside.follow(Some(&finish(6, "r1")));
    assert_eq!((beside.settle(true, || ()), beside.is_closed()), (told(None, None), false));
    assert!(lane(&beside, "s0", 5, &cuts).is_ok());
}

#[test]
fn only_a_receiver_that_is_not_known_to_be_gone_leaves_doubt() {
    let beside = Beside::new(seat("r1"), 5);
    for (retired, in_doubt) in [
        (r#"{"seatId": "s1", "epoch": 5, "isGone": false}"#, vec![]),
        (r#"{"seatId": "r0", "epoch": 5, "isGone": true}"#, vec![]),
        (r#"{"seatId": "r0", "epoch": 5, "isGone": false}"#, vec![seat("r0")]),
        ("", vec![]),
    ] {
        beside.heed(&membership(4, retired));
        assert_eq!(beside.in_doubt(), in_doubt, "{retired}");
    }
}

#[test]
fn a_receiver_does_not_finish_for_a_sender_that_is_given_up() {
    let beside = Beside::new(seat("r1"), 5);
    for (epoch, finishes) in [(4, true), (5, false), (6, false)] {
        let membership = membership(4, &format!(r#"{{"seatId": "s0", "epoch": {epoch}, "isGone": true}}"#));
        assert_eq!(beside.finishes(Some(&membership), Some(&finish(5, "r1"))), finishes, "{epoch}");
    }
}

#[test]
fn a_receiver_that_is_given_up_or_has_another_one_in_its_place_does_not_finish() {
    let beside = Beside::new(seat("r1"), 5);
    let (own, other) = (finish(5, "r1"), finish(5, "r0"));
    assert!(beside.finishes(Some(&membership(3, "")), Some(&own)) && beside.finishes(None, None));
    assert!(!beside.finishes(Some(&membership(3, "")), Some(&other)));
    for (epoch, is_retired) in [(4, false), (5, true)] {
        let membership = membership(4, &format!(r#"{{"seatId": "r1", "epoch": {epoch}, "isGone": false}}"#));
        beside.heed(&membership);
        assert_eq!((beside.finishes(Some(&membership), Some(&own)), beside.is_retired()), (!is_retired, is_retired), "{epoch}");
    }
}
