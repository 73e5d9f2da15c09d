//! Verified chunks on their way from the lanes to the thread that commits them.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Condvar, Mutex, PoisonError};

use crate::thread::lock;

/// What waits for its sync is bounded twice: by chunks, and by the entries in them, since a bundle of small files holds thousands.
pub struct CommitQueue<T> {
    sender: Mutex<Option<SyncSender<T>>>,
    max_entries: usize,
    outstanding: Mutex<Outstanding>,
    settled: Condvar,
    sync_failures: AtomicU64,
}

/// Handed on, and neither acknowledged nor refused.
#[derive(Default)]
struct Outstanding {
    chunks: u64,
    entries: usize,
}

impl<T> CommitQueue<T> {
    /// At most `max_chunks` wait; no further one is taken while more than `max_entries` entries do.
    pub fn new(max_chunks: usize, max_entries: usize) -> (Self, Receiver<T>) {
        let (sender, receiver) = sync_channel(max_chunks);
        let (outstanding, settled, sync_failures) = (Mutex::default(), Condvar::new(), AtomicU64::new(0));
        (Self { sender: Mutex::new(Some(sender)), max_entries, outstanding, settled, sync_failures }, receiver)
    }

    /// Hands a chunk on, once there is room for it.
    pub fn push(&self, chunk: T, entries: usize) {
        let mut outstanding = lock(&self.outstanding);
        while outstanding.entries > self.max_entries {
            outstanding = self.settled.wait(outstanding).unwrap_or_else(PoisonError::into_inner);
        }
        outstanding.chunks += 1;
        outstanding.entries += entries;
        drop(outstanding);
        let sender = lock(&self.sender).clone();
        // Once the queue is closed the process is ending; the sender hears nothing and sends the chunk again.
        if let Some(sender) = sender {
            let _ = sender.send(chunk);
        }
    }

    /// So many chunks with so many entries are acknowledged or refused.
    pub fn settle(&self, chunks: u64, entries: usize) {
        let mut outstanding = lock(&self.outstanding);
        outstanding.chunks -= chunks;
        outstanding.entries -= entries;
        self.settled.notify_all();
    }

    /// Whether no chunk waits for its sync.
    pub fn is_empty(&self) -> bool {
        lock(&self.outstanding).chunks == 0
    }

    /// Takes no more; what was handed on is still committed.
    pub fn close(&self) {
        lock(&self.sender).take();
    }

    /// The kernel tells of a failed write-back once, to whichever sync comes first: chunks under way then may have lost bytes.
    pub fn sync_failed(&self) {
        self.sync_failures.fetch_add(1, Ordering::SeqCst);
    }

    /// How many syncs have failed so far.
    pub fn sync_failures(&self) -> u64 {
        self.sync_failures.load(Ordering::SeqCst)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;
    use std::time::Duration;

    use super::*;

    #[test]
    fn chunks_come_out_in_their_order_and_count_until_they_are_settled() {
        let (queue, receiver) = CommitQueue::new(8, 100);
        assert!(queue.is_empty());
        queue.push("first", 1);
        queue.push("second", 3);
        assert_eq!(receiver.try_iter().collect::<Vec<_>>(), ["first", "second"]);
        assert!(!queue.is_empty(), "they are being synced");
        queue.settle(2, 4);
        assert!(queue.is_empty());
    }

    #[test]
    fn a_lane_waits_while_too_many_entries_do() {
        let (queue, receiver) = CommitQueue::new(8, 100);
        queue.push(1, 101);
        let is_in = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                queue.push(2, 1);
                is_in.store(true, Ordering::SeqCst);
            });
            assert_eq!(receiver.recv(), Ok(1));
            assert!(receiver.recv_timeout(Duration::from_millis(50)).is_err() && !is_in.load(Ordering::SeqCst));
            queue.settle(1, 101);
            assert_eq!(receiver.recv(), Ok(2));
        });
    }

    #[test]
    fn after_it_is_closed_what_was_handed_on_comes_out_and_nothing_else() {
        let (queue, receiver) = CommitQueue::new(8, 100);
        queue.push(1, 1);
        queue.close();
        queue.push(2, 1);
        assert_eq!(receiver.iter().collect::<Vec<_>>(), [1]);
    }

    #[test]
    fn failed_syncs_are_counted() {
        let (queue, _receiver) = CommitQueue::<()>::new(8, 100);
        queue.sync_failed();
        assert_eq!(queue.sync_failures(), 1);
    }
}
