use super::*;
use crate::documents::text::{PlanId, SchemaVersion1, TransferId};

/// One chunk of data, then directories in three chunks.
fn plan() -> TransferPlan {
    TransferPlan {
        schema_version: SchemaVersion1,
        transfer_id: TransferId::new("t").unwrap(),
        plan_id: PlanId::new("0".repeat(32)).unwrap(),
        chunk_size_bytes: 1024,
        chunks: 4,
        range_size: 128,
        first_range: 0,
        last_phase_chunks: 3,
        bytes: 0,
        files: 0,
        manifest_parts: Vec::new(),
        lanes_per_path: 1,
        open: false,
        listing: None,
    }
}

fn board() -> Board {
    Board::new(&plan(), Patience::default())
}

fn work(chunk: u64) -> Work {
    Work { chunk, attempt: 1, phase: u8::from(chunk > 0), bytes: 0, files: 0, manifest: Arc::from(&b""[..]), again: false }
}

/// The item as the table holds it; `not_before` seconds from now.
fn item(chunk: u64, state: ChunkState, attempt: u32, not_before: Option<f64>) -> Chunk {
    let mut item: Chunk = serde_json::from_value(serde_json::json!({
        "rangeKey": "t#0000000", "itemKey": format!("{chunk:09}"), "chunk": chunk, "state": "PENDING", "attempt": attempt, "planId": "0".repeat(32),
        "phase": u8::from(chunk > 0), "manifestKey": "m", "manifestStart": 0, "manifestEnd": 1, "bytes": 0, "files": 0,
    }))
    .unwrap();
    item.state = state;
    item.not_before = not_before.map(|seconds| unix_now() + seconds);
    item
}

fn popped(board: &Board) -> Option<u64> {
    let mut state = lock(&board.state);
    state.wake_delayed();
    let work = state.pop()?;
    state.under_way += 1;
    Some(work.chunk)
}

#[test]
fn a_failed_directory_chunk_holds_up_the_shallower_ones_until_it_is_decided() {
    let board = board();
    for chunk in 0..4 {
        board.feed(work(chunk));
    }
    assert_eq!(popped(&board), Some(0));
    assert_eq!(popped(&board), None, "directories wait for the data");
    board.delivered(&work(0));
    assert_eq!(popped(&board), Some(1));
    assert_eq!(popped(&board), None, "one at a time");
    board.failed(work(1));
    assert_eq!(popped(&board), None, "the deepest directories are not decided yet");
    board.decide(&[item(1, ChunkState::Pending, 2, Some(60.0))]);
    assert_eq!(popped(&board), None, "their next attempt has not come yet");
    lock(&board.state).delayed[0].0 = Instant::now();
    assert_eq!(popped(&board), Some(1));
    board.failed(Work { attempt: 2, ..work(1) });
    board.decide(&[item(1, ChunkState::Failed, 2, None)]);
    assert_eq!(popped(&board), Some(2), "given up: the others still get their times");
    board.delivered(&work(2));
    assert_eq!(popped(&board), Some(3));
}

#[test]
fn directories_that_failed_in_an_earlier_process_keep_their_place() {
    let board = board();
    board.feed(work(1));
    board.feed_undecided(work(2));
    board.feed(work(3));
    board.settle_before(&item(0, ChunkState::Delivered, 1, None));
    assert_eq!(popped(&board), Some(1));
    board.delivered(&work(1));
    assert_eq!(popped(&board), None);
    board.decide(&[item(2, ChunkState::Pending, 2, None)]);
    assert_eq!(popped(&board), Some(2));
}

#[test]
fn while_the_plan_is_open_data_goes_directories_wait_and_nothing_ends() {
    let open = TransferPlan { chunks: 1, last_phase_chunks: 0, open: true, ..plan() };
    let board = Board::new(&open, Patience::default());
    let leave = AtomicBool::new(false);
    assert!(board.waits_for_others());
    board.feed(work(0));
    assert!(!board.waits_for_others());
    assert!(matches!(board.try_next(&leave, |_| false), Some(Next::Send(_))));
    board.delivered(&work(0));
    assert!(board.try_next(&leave, |_| false).is_none());
    board.feed(work(1));
    assert_eq!(popped(&board), None);
    board.planned(&TransferPlan { chunks: 2, last_phase_chunks: 1, ..plan() });
    assert_eq!(popped(&board), Some(1));
    board.delivered(&work(1));
    assert!(matches!(board.try_next(&leave, |_| false), Some(Next::Finish)));
}

/// Data alone, and a destination that may take nothing for `limit`.
fn data_board(limit: Duration) -> Board {
    let plan = TransferPlan { chunks: 3, last_phase_chunks: 0, ..plan() };
    let board = Board::new(&plan, Patience { probe_interval: Duration::from_millis(20), limit });
    for chunk in 0..3 {
        board.feed(data(chunk));
    }
    board
}

fn data(chunk: u64) -> Work {
    Work { phase: 0, manifest: Arc::from(&b"lines"[..]), ..work(chunk) }
}

fn sent(board: &Board) -> Option<u64> {
    match board.try_next(&AtomicBool::new(false), |_| false)? {
        Next::Send(work) => Some(work.chunk),
        _ => None,
    }
}

fn probed(board: &Board) -> u64 {
    match board.next(&AtomicBool::new(false), |_| false) {
        Next::Send(work) => work.chunk,
        other => panic!("{other:?}"),
    }
}

#[test]
fn while_the_destination_takes_nothing_only_the_chunk_that_it_refused_first_goes_out_and_one_at_a_time() {
    let board = data_board(Duration::from_secs(60));
    assert_eq!((sent(&board), sent(&board)), (Some(0), Some(1)));
    board.full(data(1), "no room".to_owned());
    board.full(data(0), "no room".to_owned());
    assert!(board.waits_for_others());
    assert_eq!(sent(&board), None, "before the probe is due");
    assert_eq!(probed(&board), 1);
    assert_eq!(sent(&board), None, "beside the probe");
    board.full(data(1), "no room".to_owned());
    assert_eq!(probed(&board), 1);
    board.delivered(&data(1));
    assert_eq!((sent(&board), sent(&board), sent(&board)), (Some(0), Some(2), None), "with room all goes on, in order");
    assert_eq!(board.is_full(), None);
}

#[test]
fn a_destination_that_takes_nothing_for_as_long_as_it_may_is_full() {
    let board = data_board(Duration::from_millis(50));
    assert_eq!(sent(&board), Some(0));
    board.full(data(0), "no room".to_owned());
    while board.is_full().is_none() {
        let chunk = probed(&board);
        board.full(data(chunk), "no room".to_owned());
    }
    assert!(board.is_full().unwrap().ends_with("no room"));
}

#[test]
fn a_probe_whose_stream_breaks_says_nothing_and_another_one_follows() {
    let board = data_board(Duration::from_secs(60));
    assert_eq!(sent(&board), Some(0));
    board.full(data(0), "no room".to_owned());
    assert_eq!(probed(&board), 0);
    board.failed(data(0));
    assert_eq!(probed(&board), 1);
}

#[test]
fn the_lines_of_chunks_that_wait_for_a_decision_or_for_room_are_counted() {
    let board = data_board(Duration::from_secs(60));
    let bytes = || lock(&board.state).manifest_bytes;
    assert_eq!(bytes(), 15);
    assert_eq!((sent(&board), sent(&board)), (Some(0), Some(1)));
    assert_eq!(bytes(), 5);
    board.failed(data(0));
    board.full(data(1), "no room".to_owned());
    assert_eq!(bytes(), 15);
    board.decide(&[Chunk { phase: 0, ..item(0, ChunkState::Failed, 1, None) }]);
    assert_eq!(bytes(), 10);
    assert_eq!(probed(&board), 1);
    assert_eq!(bytes(), 5);
    board.feed_undecided(data(0));
    board.feed_undecided(data(0));
    assert_eq!(bytes(), 10);
}
