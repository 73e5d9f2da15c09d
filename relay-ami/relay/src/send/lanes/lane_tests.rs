#![allow(clippy::unwrap_used)]

use std::time::Duration;

use super::*;
use crate::control::Seat;
use crate::documents::event::Event;
use crate::documents::membership::Hop;
use crate::documents::text::{Address, PathId};
use crate::send::builders::Idle;
use crate::send::lanes::builders::{common, files};
use crate::send::queue::Next;
use crate::send::settled::Inboxes;

/// A lane through one relay, with a chunk that was not answered.
struct Broken {
    lane: Lane,
    waiting: Unacknowledged,
    inboxes: Inboxes,
    control: Arc<crate::builders::control::InMemory>,
    since: Instant,
}

impl Broken {
    fn new() -> Self {
        let (common, inboxes, control) = common(1);
        let address = Address(std::net::SocketAddrV4::new([10, 0, 0, 1].into(), 1));
        let hops = vec![Hop { node_id: "source-1-0".to_owned(), address }];
        let path = Path {
            path_id: PathId::new("pair-1").unwrap(),
            generation: 1,
            hops,
            receiver: address,
            lanes: 1,
            store: false,
            from: Seat::SENDER,
            to: Seat::RECEIVER,
        };
        let idle = Idle::on("pair-1");
        common.chunks.queue.feed(files(0, &[1]));
        let Some(Next::Send(work)) = common.chunks.queue.try_next(&idle) else { panic!("there is nothing") };
        let waiting = Unacknowledged::default();
        waiting.begin(work);
        let since = Instant::now();
        Self { lane: Lane { common, path: Arc::new(path), number: 0, handle: idle.0 }, waiting, inboxes, control, since }
    }

    /// The receiver has spoken on another path since the lane broke.
    fn is_heard_elsewhere(&self) {
        let other = Idle::on("direct");
        self.lane.common.hearing.heard(&other.0, self.since + Duration::from_secs(1));
    }

    fn gives_up(&self, was_silent: bool) {
        self.lane.give_up(&self.waiting, &LaneError::Stream(StreamError::Ended), self.since, was_silent);
    }

    /// Chunks that the lane still waits for, those that wait for a decision, and those that another lane may take.
    fn chunks(&self) -> (usize, usize, usize) {
        let queue = &self.lane.common.chunks.queue;
        let ready = usize::from(matches!(queue.try_next(&Idle::on("direct")), Some(Next::Send(_))));
        (self.waiting.len(), queue.undecided().len(), ready)
    }
}

#[test]
fn chunks_of_a_broken_lane_wait_where_the_receiver_is_heard_nowhere() {
    let broken = Broken::new();
    broken.gives_up(false);
    assert_eq!(broken.chunks(), (1, 0, 0));
    assert!(broken.control.events.lock().unwrap().is_empty(), "no relay is to blame");
}

#[test]
fn a_chunk_whose_lane_does_not_come_back_while_others_do_has_failed_and_the_relay_is_reported_once() {
    let broken = Broken::new();
    broken.is_heard_elsewhere();
    broken.gives_up(false);
    assert_eq!(broken.chunks(), (0, 1, 0));
    assert_eq!(broken.inboxes.failures.try_recv().unwrap().path, "pair-1");
    broken.gives_up(false);
    let events = broken.control.events.lock().unwrap();
    assert!(matches!(&**events, [Event::RelayLost { path_id, node_id, .. }] if path_id == "pair-1" && node_id == "source-1-0"));
}

#[test]
fn a_chunk_of_a_lane_that_was_silent_goes_out_on_another_lane_in_the_same_attempt() {
    let broken = Broken::new();
    broken.is_heard_elsewhere();
    broken.gives_up(true);
    assert_eq!(broken.chunks(), (0, 0, 1));
    assert!(broken.inboxes.failures.try_recv().is_err(), "no chunk silences a path");
}
