use std::sync::LazyLock;
use std::sync::atomic::{AtomicBool, Ordering};

use super::*;
use crate::defaults::HEARD_WITHIN;
use crate::send::builders::{Idle, item, plan, segment, work};
use crate::send::streams::Rest;

fn work_queue() -> WorkQueue {
    WorkQueue::new(&plan(), Patience::default())
}

/// The lane that all chunks of these tests are on.
static LANE: LazyLock<Idle> = LazyLock::new(|| Idle::on("direct"));

fn lane() -> &'static Arc<Handle> {
    &LANE.0
}

fn popped(work_queue: &WorkQueue) -> Option<u64> {
    let mut state = lock(&work_queue.state);
    state.wake_delayed();
    let work = state.pop(|_| true)?;
    state.under_way.take(&work, lane(), Instant::now());
    Some(work.chunk)
}

#[test]
fn a_failed_directory_chunk_holds_up_the_shallower_ones_until_it_is_decided() {
    let work_queue = work_queue();
    for chunk in 0..4 {
        work_queue.feed(work(chunk));
    }
    assert_eq!(popped(&work_queue), Some(0));
    assert_eq!(popped(&work_queue), None, "directories wait for the data");
    work_queue.delivered(&work(0));
    assert_eq!(popped(&work_queue), Some(1));
    assert_eq!(popped(&work_queue), None, "one at a time");
    assert!(work_queue.failed(work(1), lane()));
    assert_eq!(popped(&work_queue), None, "the deepest directories are not decided yet");
    work_queue.decide(&[item(1, ChunkState::Pending, 2, Some(60.0))]);
    assert_eq!(popped(&work_queue), None, "their next attempt has not come yet");
    lock(&work_queue.state).delayed[0].0 = Instant::now();
    assert_eq!(popped(&work_queue), Some(1));
    assert!(work_queue.failed(Work { attempt: 2, ..work(1) }, lane()));
    work_queue.decide(&[item(1, ChunkState::Failed, 2, None)]);
    assert_eq!(popped(&work_queue), Some(2), "given up: the others still get their times");
    work_queue.delivered(&work(2));
    assert_eq!(popped(&work_queue), Some(3));
}

#[test]
fn directories_that_failed_in_an_earlier_process_keep_their_place() {
    let work_queue = work_queue();
    work_queue.feed(work(1));
    work_queue.feed_undecided(work(2));
    work_queue.feed(work(3));
    work_queue.settle_before(&item(0, ChunkState::Delivered, 1, None));
    assert_eq!(popped(&work_queue), Some(1));
    work_queue.delivered(&work(1));
    assert_eq!(popped(&work_queue), None);
    work_queue.decide(&[item(2, ChunkState::Pending, 2, None)]);
    assert_eq!(popped(&work_queue), Some(2));
}

#[test]
fn while_the_plan_is_open_data_goes_directories_wait_and_nothing_ends() {
    let open = TransferPlan { chunks: 1, last_phase_chunks: 0, open: true, ..plan() };
    let work_queue = WorkQueue::new(&open, Patience::default());
    assert!(work_queue.waits_for_others());
    work_queue.feed(work(0));
    assert!(!work_queue.waits_for_others());
    assert!(matches!(work_queue.try_next(&*LANE), Some(Next::Send(_))));
    work_queue.delivered(&work(0));
    assert!(work_queue.try_next(&*LANE).is_none());
    work_queue.feed(work(1));
    assert_eq!(popped(&work_queue), None);
    work_queue.planned(&TransferPlan { chunks: 2, last_phase_chunks: 1, ..plan() });
    assert_eq!(popped(&work_queue), Some(1));
    work_queue.delivered(&work(1));
    assert!(matches!(work_queue.try_next(&*LANE), Some(Next::Finish)));
}

/// Data alone, and a destination that may take nothing for `limit`.
fn data_board(limit: Duration) -> WorkQueue {
    let plan = TransferPlan { chunks: 3, last_phase_chunks: 0, ..plan() };
    let work_queue = WorkQueue::new(&plan, Patience { probe_interval: Duration::from_millis(20), limit });
    for chunk in 0..3 {
        work_queue.feed(data(chunk));
    }
    work_queue
}

fn data(chunk: u64) -> Work {
    Work { phase: 0, manifest: Arc::from(&b"lines"[..]), ..work(chunk) }
}

fn sent(work_queue: &WorkQueue) -> Option<u64> {
    match work_queue.try_next(&*LANE)? {
        Next::Send(work) => Some(work.chunk),
        _ => None,
    }
}

fn probed(work_queue: &WorkQueue) -> u64 {
    match work_queue.next(&*LANE) {
        Next::Send(work) => work.chunk,
        other => panic!("{other:?}"),
    }
}

#[test]
fn while_the_destination_takes_nothing_only_the_chunk_that_it_refused_first_goes_out_and_one_at_a_time() {
    let work_queue = data_board(Duration::from_secs(60));
    assert_eq!((sent(&work_queue), sent(&work_queue)), (Some(0), Some(1)));
    work_queue.full(data(1), lane(), "no room".to_owned());
    work_queue.full(data(0), lane(), "no room".to_owned());
    assert!(work_queue.waits_for_others());
    assert_eq!(sent(&work_queue), None, "before the probe is due");
    assert_eq!(probed(&work_queue), 1);
    assert_eq!(sent(&work_queue), None, "beside the probe");
    work_queue.full(data(1), lane(), "no room".to_owned());
    assert_eq!(probed(&work_queue), 1);
    work_queue.delivered(&data(1));
    assert_eq!((sent(&work_queue), sent(&work_queue), sent(&work_queue)), (Some(0), Some(2), None), "with room all goes on, in order");
    assert_eq!(work_queue.is_full(), None);
}

#[test]
fn a_destination_that_takes_nothing_for_as_long_as_it_may_is_full() {
    let work_queue = data_board(Duration::from_millis(50));
    assert_eq!(sent(&work_queue), Some(0));
    work_queue.full(data(0), lane(), "no room".to_owned());
    while work_queue.is_full().is_none() {
        let chunk = probed(&work_queue);
        work_queue.full(data(chunk), lane(), "no room".to_owned());
    }
    assert!(work_queue.is_full().unwrap().ends_with("no room"));
}

#[test]
fn a_probe_whose_stream_breaks_says_nothing_and_another_one_follows() {
    let work_queue = data_board(Duration::from_secs(60));
    assert_eq!(sent(&work_queue), Some(0));
    work_queue.full(data(0), lane(), "no room".to_owned());
    assert_eq!(probed(&work_queue), 0);
    assert!(work_queue.failed(data(0), lane()));
    assert_eq!(probed(&work_queue), 1);
}

#[test]
fn the_lines_of_chunks_that_wait_for_a_decision_or_for_room_are_counted() {
    let work_queue = data_board(Duration::from_secs(60));
    let bytes = || lock(&work_queue.state).manifest_bytes;
    assert_eq!(bytes(), 15);
    assert_eq!((sent(&work_queue), sent(&work_queue)), (Some(0), Some(1)));
    assert_eq!(bytes(), 5);
    assert!(work_queue.failed(data(0), lane()));
    work_queue.full(data(1), lane(), "no room".to_owned());
    assert_eq!(bytes(), 15);
    work_queue.decide(&[Chunk { phase: 0, ..item(0, ChunkState::Failed, 1, None) }]);
    assert_eq!(bytes(), 10);
    assert_eq!(probed(&work_queue), 1);
    assert_eq!(bytes(), 5);
    work_queue.feed_undecided(data(0));
    work_queue.feed_undecided(data(0));
    assert_eq!(bytes(), 10);
}

/// Attributes make a line of a file as long as tens of thousands of bytes, and a disk that does not answer lets hundreds of chunks wait.
#[test]
fn the_lines_of_chunks_that_wait_for_their_acknowledgement_are_counted_and_no_more_is_read_meanwhile() {
    let work_queue = work_queue();
    let large = |chunk| Work { phase: 0, manifest: vec![b'x'; QUEUE_MANIFEST_BYTES].into(), ..work(chunk) };
    work_queue.feed(large(0));
    let taken = take(&work_queue, &LANE).unwrap();
    let bytes = || lock(&work_queue.state).lines_in_memory();
    assert_eq!(bytes(), QUEUE_MANIFEST_BYTES, "a lane has it");
    let is_fed = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            work_queue.feed(large(1));
            is_fed.store(true, Ordering::SeqCst);
        });
        // Whether the other thread has come to feed by now or not: nothing is taken in before the acknowledgement.
        std::thread::sleep(Duration::from_millis(50));
        assert!(!is_fed.load(Ordering::SeqCst) && popped(&work_queue).is_none());
        work_queue.delivered(&taken);
    });
    assert!(is_fed.load(Ordering::SeqCst));
    assert!(work_queue.failed(take(&work_queue, &LANE).unwrap(), lane()));
    assert_eq!(bytes(), QUEUE_MANIFEST_BYTES, "it waits for a decision");
    work_queue.decide(&[item(1, ChunkState::Failed, 1, None)]);
    assert_eq!(bytes(), 0);
}

#[test]
fn a_chunk_of_a_lane_that_is_cut_off_goes_out_on_an_idle_one_too_and_counts_once() {
    let work_queue = data_board(Duration::from_secs(60));
    let gone = Idle::on("pair-1");
    let taken: Vec<Work> = (0..3).map(|_| take(&work_queue, &gone).unwrap()).collect();
    gone.0.heard(Instant::now().checked_sub(HEARD_WITHIN).unwrap());
    let copies: Vec<Work> = (0..3).map(|_| take(&work_queue, &LANE).unwrap()).collect();
    assert_eq!(copies.iter().map(|work| work.chunk).collect::<Vec<_>>(), [0, 1, 2]);
    assert!(take(&work_queue, &LANE).is_none(), "two copies are enough");
    assert!(copies[0].flight.settle());
    work_queue.delivered(&copies[0]);
    assert!(!work_queue.failed(taken[0].clone(), &gone.0), "it is settled");
    assert!(!work_queue.failed(taken[1].clone(), &gone.0), "its copy may still arrive");
    assert!(work_queue.failed(copies[1].clone(), lane()), "it was the last one");
    work_queue.give_back(copies[2].clone(), lane());
    work_queue.give_back(taken[2].clone(), &gone.0);
    assert_eq!(take(&work_queue, &LANE).unwrap().attempt, 1, "nobody has failed at it");
}

#[test]
fn directories_that_wait_for_the_last_data_keep_no_lane_from_helping() {
    let work_queue = data_board(Duration::from_secs(60));
    let gone = Idle::on("pair-1");
    work_queue.feed(work(3));
    let taken: Vec<u64> = (0..3).map(|_| take(&work_queue, &gone).unwrap().chunk).collect();
    gone.0.heard(Instant::now().checked_sub(HEARD_WITHIN).unwrap());
    let copies: Vec<u64> = (0..3).map(|_| take(&work_queue, &LANE).unwrap().chunk).collect();
    assert_eq!((taken, copies), (vec![0, 1, 2], vec![0, 1, 2]));
}

/// Takes a chunk on a lane.
fn take(work_queue: &WorkQueue, lane: &Idle) -> Option<Work> {
    match work_queue.try_next(lane)? {
        Next::Send(work) => Some(work),
        _ => None,
    }
}

#[test]
fn what_comes_between_the_last_look_and_the_wait_is_not_missed() {
    let queue = Arc::new(work_queue());
    let came = Arc::new(AtomicBool::new(false));
    let began = Instant::now();
    let look = || {
        let (queue, came) = (Arc::clone(&queue), Arc::clone(&came));
        std::thread::spawn(move || {
            came.store(true, Ordering::SeqCst);
            queue.wake();
        });
        false
    };
    queue.wait_unless(Duration::from_secs(60), look);
    assert!(came.load(Ordering::SeqCst) && began.elapsed() < Duration::from_secs(30));
    queue.wait_unless(Duration::from_secs(60), || true);
    assert!(began.elapsed() < Duration::from_secs(30));
}

/// A lane for which the budget bears so many bytes a chunk.
struct Poor(Idle, u64);

impl Taker for Poor {
    fn handle(&self) -> &Arc<Handle> {
        &self.0.0
    }

    fn leaves(&self) -> bool {
        false
    }

    fn is_full(&self, _rest: Option<Rest>) -> bool {
        false
    }

    fn affords(&self, bytes: u64) -> bool {
        bytes <= self.1
    }

    fn affords_copy(&self, bytes: u64) -> bool {
        self.affords(bytes)
    }

    fn time_for(&self, _bytes: u64) -> Option<Duration> {
        None
    }
}

#[test]
fn a_chunk_that_the_budget_does_not_bear_waits_and_those_behind_it_do_too() {
    let work_queue = WorkQueue::new(&TransferPlan { chunks: 2, last_phase_chunks: 0, ..plan() }, Patience::default());
    work_queue.feed(Work { bytes: 10, ..data(0) });
    work_queue.feed(Work { bytes: 1, ..data(1) });
    assert!(work_queue.try_next(&Poor(Idle::on("direct"), 5)).is_none());
    let rich = Poor(Idle::on("direct"), 10);
    let taken = [(); 2].map(|()| work_queue.try_next(&rich));
    assert!(matches!(taken, [Some(Next::Send(first)), Some(Next::Send(second))] if (first.chunk, second.chunk) == (0, 1)));
}

#[test]
fn one_lane_closes_the_transfer_and_another_where_that_one_could_not() {
    let work_queue = WorkQueue::new(&TransferPlan { chunks: 1, last_phase_chunks: 0, ..plan() }, Patience::default());
    work_queue.feed(data(0));
    let work = take(&work_queue, &LANE).unwrap();
    work_queue.delivered(&work);
    assert!(matches!(work_queue.try_next(&*LANE), Some(Next::Finish)));
    assert!(work_queue.try_next(&Idle::on("pair-1")).is_none(), "it is being closed");
    work_queue.unfinished();
    assert!(matches!(work_queue.try_next(&Idle::on("pair-1")), Some(Next::Finish)));
    work_queue.finish(Verdict { agreed: true, message: String::new() });
    assert!(matches!(work_queue.try_next(&*LANE), Some(Next::Leave)));
}

#[test]
fn a_transfer_is_not_closed_before_what_is_recalled_is_known_and_what_comes_again_is_delivered() {
    let work_queue = WorkQueue::new(&TransferPlan { chunks: 2, last_phase_chunks: 0, ..plan() }, Patience::default());
    let items = [0, 1].map(|chunk| Chunk { phase: 0, ..item(chunk, ChunkState::Delivered, 1, None) });
    items.iter().for_each(|item| work_queue.settle_before(item));
    work_queue.recalls(1);
    assert!(work_queue.try_next(&*LANE).is_none());
    work_queue.recalled();
    assert!(matches!(work_queue.try_next(&*LANE), Some(Next::Finish)));
    work_queue.send_again(vec![Work { again: true, ..data(1) }]);
    let again = take(&work_queue, &LANE).unwrap();
    assert!(again.again && work_queue.try_next(&*LANE).is_none());
    work_queue.delivered(&again);
    assert!(matches!(work_queue.try_next(&*LANE), Some(Next::Finish)));
}

#[test]
fn a_source_that_is_not_what_was_delivered_gives_its_chunk_up_by_its_first_path() {
    let work_queue = WorkQueue::new(&TransferPlan { chunks: 1, last_phase_chunks: 0, ..plan() }, Patience::default());
    work_queue.settle_before(&Chunk { phase: 0, ..item(0, ChunkState::Delivered, 1, None) });
    work_queue.recalls(1);
    let manifest = serde_json::to_vec(&segment(1, "first")).unwrap();
    work_queue.lost(&Work { manifest: Arc::from(manifest), ..data(0) }, "it changed".to_owned());
    assert_eq!(work_queue.given_up(), [GivenUp { chunk: 0, path: "first".to_owned(), reason: "it changed".to_owned() }]);
    assert!(matches!(work_queue.try_next(&*LANE), Some(Next::Finish)));
}

#[test]
fn nothing_goes_out_and_nobody_stands_still_before_a_receiver_has_gathered_and_then_only_to_that() {
    let (work_queue, named) = (work_queue(), Seat::new("r1").unwrap());
    let to = |receiver| Idle(Arc::new(Handle::towards(crate::documents::text::PathId::new("direct").unwrap(), receiver)));
    let (other_lane, lane) = (to(Seat::RECEIVER), to(named));
    work_queue.feed(work(0));
    work_queue.shut();
    assert!(work_queue.try_next(&lane).is_none() && work_queue.waits_for_others() && work_queue.is_given_up(named));
    work_queue.gather(named);
    assert!(work_queue.try_next(&other_lane).is_none());
    assert!(matches!(work_queue.try_next(&lane), Some(Next::Gather)));
    assert!(!work_queue.is_given_up(named) && work_queue.is_given_up(Seat::RECEIVER));
    work_queue.has_gathered(named, true);
    work_queue.gather(named);
    assert_eq!(work_queue.gathered(), Some(named), "once is enough");
    assert!(work_queue.try_next(&other_lane).is_none());
    assert!(matches!(work_queue.try_next(&lane), Some(Next::Send(work)) if work.chunk == 0));
}
