#![allow(clippy::unwrap_used)]

use super::*;
use crate::builders::stream::{Speaker, pair};
use crate::defaults::LANE_WINDOW;
use crate::documents::event::SkipReason;
use crate::documents::leases::BudgetLease;
use crate::documents::text::PathId;
use crate::send::lanes::builders::{CONTENT, common, files};
use crate::send::queue::Taker as _;

/// One lane with what it keeps over its streams.
struct Site {
    common: Arc<Common>,
    handle: Arc<Handle>,
    waiting: Unacknowledged,
}

impl Site {
    fn new(common: Arc<Common>) -> Self {
        Self { common, handle: Arc::new(Handle::new(PathId::new("pair-1").unwrap())), waiting: Unacknowledged::default() }
    }

    fn link(&self) -> Link<'_> {
        let now = Instant::now();
        Link::new(&self.common, &self.handle, &self.waiting, self.common.pace.begins(now), now)
    }

    /// The lane has taken what is next in the queue.
    fn takes(&self, link: &Link<'_>) -> Work {
        let Some(Next::Send(work)) = self.common.chunks.queue.try_next(link) else { panic!("there is nothing") };
        link.speed.takes(work.bytes);
        self.waiting.begin(work.clone());
        work
    }

    /// What a stream comes to whose receiver answers like this, and then goes.
    fn conversation(&self, receiver: impl FnOnce(&mut Speaker)) -> Result<(), StreamError> {
        let ((sealer, opener), (replies, heard), _) = pair();
        let mut writer = ChunkWriter::new(sealer, None, self.common.reading.clone());
        let link = self.link();
        std::thread::scope(|scope| {
            scope.spawn(|| link.listen(FrameReader::new(opener)));
            let speaking = scope.spawn(|| link.speak(&mut writer));
            let mut speaker = Speaker { sealer: replies, reader: FrameReader::new(heard) };
            receiver(&mut speaker);
            drop(speaker);
            speaking.join().unwrap()
        })
    }

    fn delivered(&self) -> u64 {
        self.common.chunks.counters.chunks.load(Ordering::Relaxed)
    }

    /// Told to leave once all is answered.
    fn leaves(&self) {
        self.handle.leave.store(true, Ordering::SeqCst);
    }
}

/// Reads a chunk to its end; its number and attempt, and the entries that it brings.
fn chunk(receiver: &mut Speaker) -> (u64, u32, Vec<u64>) {
    let Frame::Chunk { chunk, attempt, segments, .. } = receiver.hears() else { panic!("a chunk is due") };
    let mut entries = Vec::new();
    for _ in 0..segments {
        let Frame::Segment(header) = receiver.hears() else { panic!("a segment is due") };
        assert_eq!(receiver.hears(), Frame::Data(CONTENT.len()));
        assert_eq!(receiver.reader.data(CONTENT.len()).unwrap(), CONTENT);
        entries.push(header.entry);
    }
    assert!(matches!(receiver.hears(), Frame::Digest(_)));
    (chunk, attempt, entries)
}

fn agreed() -> Frame {
    Frame::Finished { agreed: true, entries: 1, received: 21, kept: 3, message: String::new() }
}

#[test]
fn a_lane_sends_what_there_is_and_closes_the_transfer_once_all_is_acknowledged() {
    let (common, _inboxes, _) = common(1);
    let site = Site::new(common);
    site.common.chunks.queue.feed(files(0, &[1, 2]));
    let result = site.conversation(|receiver| {
        assert_eq!(chunk(receiver), (0, 1, vec![1, 2]));
        assert_eq!(receiver.hears(), Frame::Pause, "there is nothing more for now");
        receiver.say(&[Frame::Ack { chunk: 0, attempt: 1 }]);
        assert!(matches!(receiver.hears(), Frame::Finish { complete: true, skipped: 0, entries: 2, .. }));
        receiver.say(&[agreed()]);
        assert_eq!(receiver.hears(), Frame::Drain);
    });
    assert!(result.is_ok(), "{result:?}");
    assert_eq!(site.common.chunks.queue.verdict(), Some(Verdict { agreed: true, message: String::new() }));
    let counters = &site.common.chunks.counters;
    assert_eq!((site.delivered(), counters.moved.load(Ordering::Relaxed), counters.kept.load(Ordering::Relaxed)), (1, 21, 3));
}

#[test]
fn what_a_stream_was_not_answered_for_goes_out_first_on_the_next_one() {
    let (common, _inboxes, _) = common(2);
    let site = Site::new(common);
    site.common.chunks.queue.feed(files(0, &[1]));
    let broken = site.conversation(|receiver| {
        assert_eq!(chunk(receiver), (0, 1, vec![1]));
        assert_eq!(receiver.hears(), Frame::Pause);
    });
    assert!(broken.is_err() && site.waiting.len() == 1);
    site.common.chunks.queue.feed(files(1, &[2]));
    site.leaves();
    let left = site.conversation(|receiver| {
        assert_eq!(chunk(receiver), (0, 1, vec![1]));
        assert_eq!(receiver.hears(), Frame::Drain, "it takes nothing more, and waits for its answers");
        receiver.say(&[Frame::Ack { chunk: 0, attempt: 1 }]);
    });
    assert!(left.is_ok(), "{left:?}");
    assert_eq!((site.delivered(), site.waiting.len()), (1, 0));
}

#[test]
fn a_lane_that_waits_for_something_to_do_goes_when_it_is_told_to() {
    let (common, _inboxes, _) = common(2);
    let site = Site::new(common);
    site.common.chunks.queue.feed(files(0, &[1]));
    let left = site.conversation(|receiver| {
        assert_eq!(chunk(receiver), (0, 1, vec![1]));
        receiver.say(&[Frame::Ack { chunk: 0, attempt: 1 }]);
        assert_eq!(receiver.hears(), Frame::Pause, "the next chunk is not listed yet");
        site.leaves();
        assert_eq!(receiver.hears(), Frame::Drain);
    });
    assert!(left.is_ok(), "{left:?}");
}

#[test]
fn an_entry_that_the_receiver_refuses_is_left_out_and_named_before_the_end() {
    let (common, _inboxes, _) = common(1);
    let site = Site::new(common);
    site.common.chunks.queue.feed(files(0, &[1, 2]));
    let result = site.conversation(|receiver| {
        chunk(receiver);
        assert_eq!(receiver.hears(), Frame::Pause);
        let (reason, message) = (SkipReason::DestinationRefused, "too long".to_owned());
        receiver.say(&[Frame::Refused { chunk: 0, attempt: 1, entry: 2, reason, message }, Frame::Ack { chunk: 0, attempt: 1 }]);
        assert!(matches!(receiver.hears(), Frame::Skip { entry: 2, .. }));
        assert!(matches!(receiver.hears(), Frame::Finish { complete: true, skipped: 1, entries: 1, .. }));
        receiver.say(&[agreed()]);
        assert_eq!(receiver.hears(), Frame::Drain);
    });
    assert!(result.is_ok(), "{result:?}");
}

#[test]
fn an_answer_counts_for_the_attempt_that_is_under_way_and_for_no_other() {
    let (common, inboxes, _) = common(2);
    let site = Site::new(common);
    let link = site.link();
    site.common.chunks.queue.feed(files(0, &[1]));
    let work = site.takes(&link);
    link.answer(Frame::Ack { chunk: 0, attempt: 2 }).unwrap();
    link.answer(Frame::Nack { chunk: 1, attempt: 1, reason: FailureReason::ChecksumMismatch, message: String::new() }).unwrap();
    assert_eq!((site.delivered(), site.waiting.len(), link.worked.load(Ordering::SeqCst)), (0, 1, false));
    link.answer(Frame::Nack { chunk: 0, attempt: 1, reason: FailureReason::ChecksumMismatch, message: "other".to_owned() }).unwrap();
    let failure = inboxes.failures.try_recv().unwrap();
    assert_eq!((failure.chunk, failure.path.as_str(), failure.message.as_str()), (0, "pair-1", "other"));
    assert_eq!((site.common.chunks.queue.undecided(), site.waiting.len()), (vec![0], 0));
    link.answer(Frame::Ack { chunk: work.chunk, attempt: work.attempt }).unwrap();
    assert_eq!(site.delivered(), 0, "it was refused");
}

#[test]
fn what_was_acknowledged_is_what_a_lanes_speed_is_known_by() {
    let (common, _inboxes, _) = common(2);
    let site = Site::new(common);
    let link = site.link();
    site.common.chunks.queue.feed(files(0, &[1]));
    site.takes(&link);
    assert_eq!(link.time_for(7), None, "nothing has come, and its answer is due");
    link.answer(Frame::Ack { chunk: 0, attempt: 1 }).unwrap();
    assert!(link.time_for(7).is_some_and(|time| time < Duration::from_secs(60)));
    assert_eq!(link.speed.time_for(0, Instant::now()), Some(Duration::ZERO), "it owes nothing");
    link.answer(Frame::Alive { is_busy: true }).unwrap();
    assert_eq!(link.time_for(7), None, "a second copy would wait for the receiver's disk too");
}

#[test]
fn a_destination_that_takes_nothing_has_its_chunk_held_rather_than_failed() {
    let (common, inboxes, _) = common(1);
    let site = Site::new(common);
    let link = site.link();
    site.common.chunks.queue.feed(files(0, &[1]));
    site.takes(&link);
    link.answer(Frame::Full { chunk: 0, attempt: 1, message: "no room".to_owned() }).unwrap();
    assert!(inboxes.failures.try_recv().is_err() && site.common.chunks.queue.undecided().is_empty());
    assert!(site.common.chunks.queue.waits_for_others());
}

#[test]
fn a_frame_that_no_receiver_says_ends_the_stream() {
    let (common, _inboxes, _) = common(1);
    let site = Site::new(common);
    assert!(matches!(site.link().answer(Frame::Pause), Err(StreamError::Protocol(_))));
}

#[test]
fn a_lane_takes_no_more_than_its_window_and_nothing_once_it_is_to_leave() {
    let (common, _inboxes, _) = common(1_000);
    let site = Site::new(common);
    let link = site.link();
    for chunk in 0..LANE_WINDOW as u64 {
        assert!(!link.is_full(None));
        site.waiting.begin(files(chunk, &[chunk]));
    }
    assert!(link.is_full(None));
    let other = Site { waiting: Unacknowledged::default(), ..site };
    other.leaves();
    assert!(other.link().is_full(None));
}

#[test]
fn a_chunk_that_the_budget_does_not_bear_waits_and_a_second_copy_is_not_missed() {
    let (common, _inboxes, _) = common(1);
    let site = Site::new(common);
    let link = site.link();
    let nothing = BudgetLease { start: 0, at: 0.0, sent_bytes: 0, usd: 0.0, usd_per_gb: 1.0, usd_per_hour: 0.0 };
    let now = Instant::now();
    site.common.lease.renew(Some(&nothing), now, 0.0);
    assert!(!link.affords_copy(1) && !site.common.lease.is_used_up(Instant::now(), Duration::ZERO));
    assert!(!link.affords(1) && site.common.lease.is_used_up(Instant::now(), Duration::ZERO));
    site.common.lease.renew(None, now, 0.0);
    assert!(link.affords(1) && !site.common.lease.is_used_up(Instant::now(), Duration::ZERO));
}
