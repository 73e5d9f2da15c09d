//! The control plane as an end that is a thread sees it: it stops a receiver at a counted moment, before the results of so many
//! chunks are in the table, and hears nothing any more of an end that has ended, whose threads a process would have taken along.

use std::ops::Range;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, RwLock};
use std::time::Duration;

use cpt_laboratory::directory::Directory;
use cpt_relay::control::leases::{Finish, Leased, Owner};
use cpt_relay::control::{Control, ControlError, Delivery, KeyRecord, ProbeResult, Result, Seat, Undelivered};
use cpt_relay::documents::chunk::Chunk;
use cpt_relay::documents::event::{Event, FailureReason, Progress};
use cpt_relay::documents::membership::{Membership, Retired};
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
    over: Arc<RwLock<bool>>,
}

impl Counted {
    /// The receiver stands still once it is about to note the chunk of this number, counted from 1; never without a number.
    pub fn new(inner: Directory, after: Option<u64>) -> (Self, Option<Moment>) {
        let (reached, is_reached) = sync_channel(1);
        let (go_on, goes_on) = sync_channel(1);
        let waiting = after.map(|left| Waiting { left, reached, go_on: goes_on });
        let moment = after.map(|_| Moment { reached: is_reached, go_on });
        (Self { inner: Arc::new(inner), waiting: Arc::new(Mutex::new(waiting)), over: Arc::default() }, moment)
    }

    /// The end has ended: nothing is written any more.
    pub fn over(&self) {
        *self.over.write().unwrap() = true;
    }

    fn write<T>(&self, write: impl FnOnce(&Directory) -> Result<T>) -> Result<T> {
        let over = self.over.read().unwrap();
        if *over {
            return Err(ControlError::Unavailable { what: "control".to_owned(), why: "the end has ended".to_owned() });
        }
        write(&self.inner)
    }
}

impl Control for Counted {
    fn deliver(&self, deliveries: &[Delivery]) -> Result<Vec<Undelivered>> {
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
        self.write(|inner| inner.deliver(deliveries))
    }

    fn read_object(&self, key: &str, range: Option<Range<u64>>) -> Result<Vec<u8>> {
        self.inner.read_object(key, range)
    }

    fn write_object(&self, key: &str, bytes: Vec<u8>) -> Result<()> {
        self.write(|inner| inner.write_object(key, bytes))
    }

    fn lease(&self, range: u64, owner: &Owner, retired: Option<&Retired>) -> Result<bool> {
        self.write(|inner| inner.lease(range, owner, retired))
    }

    fn leases(&self, ranges: &[u64]) -> Result<Vec<Option<Leased>>> {
        self.inner.leases(ranges)
    }

    fn settle(&self, range: u64, owner: &Owner) -> Result<bool> {
        self.write(|inner| inner.settle(range, owner))
    }

    fn finish(&self) -> Result<Option<Finish>> {
        self.inner.finish()
    }

    fn take_finish(&self, finish: &Finish, retired: Option<&Retired>) -> Result<bool> {
        self.write(|inner| inner.take_finish(finish, retired))
    }

    fn range_chunks(&self, range: u64) -> Result<Vec<Chunk>> {
        self.inner.range_chunks(range)
    }

    fn chunks(&self, chunks: &[u64]) -> Result<Vec<Chunk>> {
        self.inner.chunks(chunks)
    }

    fn note_failure(&self, chunk: u64, attempt: u32, reason: FailureReason) -> Result<bool> {
        self.write(|inner| inner.note_failure(chunk, attempt, reason))
    }

    fn publish_key(&self, side: Seat, key: &KeyRecord) -> Result<bool> {
        self.write(|inner| inner.publish_key(side, key))
    }

    fn key(&self, side: Seat) -> Result<Option<KeyRecord>> {
        self.inner.key(side)
    }

    fn membership(&self) -> Result<Option<Membership>> {
        self.inner.membership()
    }

    fn progress(&self, side: Seat) -> Result<Option<Progress>> {
        self.inner.progress(side)
    }

    fn write_progress(&self, side: Seat, progress: &Progress) -> Result<()> {
        self.write(|inner| inner.write_progress(side, progress))
    }

    fn write_probe(&self, path: &PathId, result: &ProbeResult) -> Result<()> {
        self.write(|inner| inner.write_probe(path, result))
    }

    fn fenced(&self) -> Result<bool> {
        self.inner.fenced()
    }

    fn note_event(&self, record: &str, event: &Event, epoch: u64) -> Result<()> {
        self.write(|inner| inner.note_event(record, event, epoch))
    }

    fn put_event(&self, event: &Event) -> Result<()> {
        self.write(|inner| inner.put_event(event))
    }
}
