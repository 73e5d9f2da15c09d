//! Verified chunks on their way from the lanes to the thread that commits them.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

use crate::defaults::{UNSYNCED_BYTES, UNSYNCED_TIME};
use crate::thread::lock;

/// What waits is bounded three times: by chunks; by the memory of the entries in them, since a bundle of small files holds thousands, and
/// each may have attributes of some KiB; and by bytes that are not synced, so that the acknowledgement of none is minutes away where the
/// disk is slow.
pub struct CommitQueue<T> {
    sender: Mutex<Option<SyncSender<T>>>,
    max_memory: usize,
    outstanding: Mutex<Outstanding>,
    settled: Condvar,
    sync_failures: AtomicU64,
}

/// Handed on, and neither acknowledged nor refused; of that, the bytes without a sync, and how many may be.
struct Outstanding {
    chunks: u64,
    memory: usize,
    unsynced_bytes: u64,
    max_unsynced_bytes: u64,
    /// It does not grow with the rate.
    is_fixed: bool,
}

impl<T> CommitQueue<T> {
    /// At most `max_chunks` wait; no further one is taken while those have more than so many bytes of memory, or of their own without
    /// a sync.
    pub fn new(max_chunks: usize, max_memory: usize, max_unsynced: Option<u64>) -> (Self, Receiver<T>) {
        let (sender, receiver) = sync_channel(max_chunks);
        let (max_unsynced_bytes, is_fixed) = (max_unsynced.unwrap_or(UNSYNCED_BYTES), max_unsynced.is_some());
        let outstanding = Mutex::new(Outstanding { chunks: 0, memory: 0, unsynced_bytes: 0, max_unsynced_bytes, is_fixed });
        let (settled, sync_failures) = (Condvar::new(), AtomicU64::new(0));
        (Self { sender: Mutex::new(Some(sender)), max_memory, outstanding, settled, sync_failures }, receiver)
    }

    /// From now on so many bytes may wait for a sync, where that does not grow with the rate.
    pub fn allow(&self, max_unsynced: Option<u64>) {
        let mut outstanding = lock(&self.outstanding);
        if let Some(bytes) = max_unsynced.filter(|_| outstanding.is_fixed) {
            outstanding.max_unsynced_bytes = bytes;
            self.settled.notify_all();
        }
    }

    /// Hands a chunk on, once there is room for it.
    pub fn push(&self, chunk: T, memory: usize, bytes: u64) {
        let mut outstanding = lock(&self.outstanding);
        while outstanding.memory > self.max_memory || outstanding.unsynced_bytes > outstanding.max_unsynced_bytes {
            outstanding = self.settled.wait(outstanding).unwrap_or_else(PoisonError::into_inner);
        }
        outstanding.chunks += 1;
        outstanding.memory += memory;
        outstanding.unsynced_bytes += bytes;
        drop(outstanding);
        let sender = lock(&self.sender).clone();
        // Once the queue is closed the process is ending; the sender hears nothing and sends the chunk again.
        if let Some(sender) = sender {
            let _ = sender.send(chunk);
        }
    }

    /// A sync of so many bytes has ended: they are on the disk, or refused. What may wait follows from the disk's rate.
    pub fn synced(&self, bytes: u64, time: Duration) {
        let mut outstanding = lock(&self.outstanding);
        outstanding.unsynced_bytes -= bytes;
        let in_time = bytes as f64 / time.as_secs_f64().max(1e-6) * UNSYNCED_TIME.as_secs_f64();
        if !outstanding.is_fixed {
            outstanding.max_unsynced_bytes = UNSYNCED_BYTES.max(in_time as u64);
        }
        self.settled.notify_all();
    }

    /// So many chunks with so much memory are acknowledged or refused.
    pub fn settle(&self, chunks: u64, memory: usize) {
        let mut outstanding = lock(&self.outstanding);
        outstanding.chunks -= chunks;
        outstanding.memory -= memory;
        self.settled.notify_all();
    }

    /// Returns whether no chunk waits for its sync.
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

    /// Returns how many syncs have failed so far.
    pub fn sync_failures(&self) -> u64 {
        self.sync_failures.load(Ordering::SeqCst)
    }
}

#[cfg(test)]
#[path = "queue_tests.rs"]
mod tests;
