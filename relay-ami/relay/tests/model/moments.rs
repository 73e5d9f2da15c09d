//! A receiver's control plane that stops it at a counted moment: before the results of so many chunks are in the table.

use std::ops::Range;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use cpt_relay::control::directory::Directory;
use cpt_relay::control::{Control, Delivery, KeyRecord, ProbeResult, Result, Side};
use cpt_relay::documents::chunk::Chunk;
use cpt_relay::documents::event::{Event, FailureReason, Progress};
use cpt_relay::documents::membership::Membership;
use cpt_relay::documents::text::PathId;

/// What a receiver tells at the moment, and waits for.
struct Waiting {
    left: u64,
    reached: SyncSender<()>,
    go_on: Receiver<()>,
}

/// Whoever waits for the moment.
pub struct Moment {
    pub reached: Receiver<()>,
    go_on: SyncSender<()>,
}

impl Moment {
    pub fn go_on(&self) {
        let _ = self.go_on.send(());
    }
}

#[derive(Clone)]
pub struct Counted {
    inner: Arc<Directory>,
    waiting: Arc<Mutex<Option<Waiting>>>,
}

impl Counted {
    /// The receiver stands still once it is about to note the chunk of this number, counted from 1; never without a number.
    pub fn new(inner: Directory, after: Option<u64>) -> (Self, Option<Moment>) {
        let (reached, is_reached) = sync_channel(1);
        let (go_on, goes_on) = sync_channel(1);
        let waiting = after.map(|left| Waiting { left, reached, go_on: goes_on });
        let moment = after.map(|_| Moment { reached: is_reached, go_on });
        (Self { inner: Arc::new(inner), waiting: Arc::new(Mutex::new(waiting)) }, moment)
    }
}

impl Control for Counted {
    fn deliver(&self, deliveries: &[Delivery]) -> Result<()> {
        let mut waiting = self.waiting.lock().unwrap();
        if let Some(waits) = &mut *waiting {
            waits.left = waits.left.saturating_sub(deliveries.len() as u64);
            if waits.left == 0 {
                let _ = waits.reached.send(());
                // What is done meanwhile takes milliseconds.
                let _ = waits.go_on.recv_timeout(Duration::from_secs(10));
                *waiting = None;
            }
        }
        drop(waiting);
        self.inner.deliver(deliveries)
    }

    fn read_object(&self, key: &str, range: Option<Range<u64>>) -> Result<Vec<u8>> {
        self.inner.read_object(key, range)
    }

    fn write_object(&self, key: &str, bytes: Vec<u8>) -> Result<()> {
        self.inner.write_object(key, bytes)
    }

    fn lease(&self, range: u64, owner: &str, epoch: u64) -> Result<()> {
        self.inner.lease(range, owner, epoch)
    }

    fn range_chunks(&self, range: u64) -> Result<Vec<Chunk>> {
        self.inner.range_chunks(range)
    }

    fn chunks(&self, chunks: &[u64]) -> Result<Vec<Chunk>> {
        self.inner.chunks(chunks)
    }

    fn note_failure(&self, chunk: u64, attempt: u32, reason: FailureReason) -> Result<bool> {
        self.inner.note_failure(chunk, attempt, reason)
    }

    fn publish_key(&self, side: Side, key: &KeyRecord) -> Result<()> {
        self.inner.publish_key(side, key)
    }

    fn key(&self, side: Side) -> Result<Option<KeyRecord>> {
        self.inner.key(side)
    }

    fn membership(&self) -> Result<Option<Membership>> {
        self.inner.membership()
    }

    fn write_progress(&self, side: Side, progress: &Progress) -> Result<()> {
        self.inner.write_progress(side, progress)
    }

    fn write_probe(&self, path: &PathId, result: &ProbeResult) -> Result<()> {
        self.inner.write_probe(path, result)
    }

    fn fenced(&self) -> Result<bool> {
        self.inner.fenced()
    }

    fn put_event(&self, event: &Event) -> Result<()> {
        self.inner.put_event(event)
    }
}
