#![allow(clippy::unwrap_used)]

use std::sync::atomic::AtomicBool;

use super::*;

#[test]
fn a_bound_that_grows_lets_those_in_who_wait() {
    let (queue, _receiver) = CommitQueue::new(10, 1 << 20, Some(10));
    let queue = std::sync::Arc::new(queue);
    queue.push((), 1, 11);
    let waiting = {
        let queue = std::sync::Arc::clone(&queue);
        std::thread::spawn(move || queue.push((), 1, 1))
    };
    queue.allow(None);
    queue.allow(Some(100));
    waiting.join().unwrap();
    assert!(!queue.is_empty());
}

#[test]
fn chunks_come_out_in_their_order_and_count_until_they_are_settled() {
    let (queue, receiver) = CommitQueue::new(8, 100, None);
    assert!(queue.is_empty());
    queue.push("first", 1, 0);
    queue.push("second", 3, 0);
    assert_eq!(receiver.try_iter().collect::<Vec<_>>(), ["first", "second"]);
    assert!(!queue.is_empty(), "they are being synced");
    queue.settle(2, 4);
    assert!(queue.is_empty());
}

#[test]
fn a_lane_waits_while_the_entries_of_others_take_too_much_memory() {
    let (queue, receiver) = CommitQueue::new(8, 100, None);
    queue.push(1, 101, 0);
    let is_in = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            queue.push(2, 1, 0);
            is_in.store(true, Ordering::SeqCst);
        });
        assert_eq!(receiver.recv(), Ok(1));
        assert!(receiver.recv_timeout(Duration::from_millis(50)).is_err() && !is_in.load(Ordering::SeqCst));
        queue.settle(1, 101);
        assert_eq!(receiver.recv(), Ok(2));
    });
}

#[test]
fn what_is_held_in_memory_is_bounded_however_fast_it_goes() {
    let (queue, _receiver) = CommitQueue::new(8, 100, Some(10));
    queue.push(1, 1, 10);
    queue.synced(10, Duration::from_nanos(1));
    assert_eq!(lock(&queue.outstanding).max_unsynced_bytes, 10);
}

#[test]
fn a_slow_disk_has_lanes_wait_for_a_sync_and_a_fast_one_does_not() {
    let (queue, receiver) = CommitQueue::new(8, 100, None);
    queue.push(1, 1, UNSYNCED_BYTES + 1);
    let is_in = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            queue.push(2, 1, UNSYNCED_BYTES);
            is_in.store(true, Ordering::SeqCst);
        });
        assert_eq!(receiver.recv(), Ok(1));
        assert!(receiver.recv_timeout(Duration::from_millis(50)).is_err() && !is_in.load(Ordering::SeqCst));
        // At three times the bytes a second, fifteen times the bytes may wait.
        queue.synced(UNSYNCED_BYTES + 1, Duration::from_millis(333));
        assert_eq!(receiver.recv(), Ok(2));
    });
    queue.push(3, 1, 13 * UNSYNCED_BYTES);
    queue.push(4, 1, 0);
    assert_eq!(receiver.try_iter().collect::<Vec<_>>(), [3, 4]);
}

#[test]
fn after_it_is_closed_what_was_handed_on_comes_out_and_nothing_else() {
    let (queue, receiver) = CommitQueue::new(8, 100, None);
    queue.push(1, 1, 0);
    queue.close();
    queue.push(2, 1, 0);
    assert_eq!(receiver.iter().collect::<Vec<_>>(), [1]);
}

#[test]
fn failed_syncs_are_counted() {
    let (queue, _receiver) = CommitQueue::<()>::new(8, 100, None);
    queue.sync_failed();
    assert_eq!(queue.sync_failures(), 1);
}
