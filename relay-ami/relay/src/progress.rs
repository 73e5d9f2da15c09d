//! The counters of an end, and the report that it makes of them every two seconds.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::control::{Control, Seat, unix_now};
use crate::documents::event::{LaneProgress, Progress, round};
use crate::documents::seat::ClosedFor;
use crate::documents::text::SchemaVersion1;
use crate::epoch::same_start;
use crate::thread::lock;

/// Counters of one end.
#[derive(Debug, Default)]
pub struct Counters {
    /// Payload bytes that went out or came in, resent ones included.
    pub moved: AtomicU64,
    /// Bytes of those for which nothing went out: of holes, by packing, and of what the destination has.
    pub saved: AtomicU64,
    pub bytes: AtomicU64,
    pub chunks: AtomicU64,
    pub files: AtomicU64,
    /// What other senders have delivered, and report: bytes, chunks and files.
    pub elsewhere: [AtomicU64; 3],
    pub failed: AtomicU64,
    /// Bytes that were read again, and not sent.
    pub reread: AtomicU64,
    /// Entries that the receiver says are kept of what was replaced or removed.
    pub kept: AtomicU64,
    /// Bytes that the receiver has copied while it gathered, and for how long it gathered where it copied any.
    pub copied: AtomicU64,
    pub gathering_ms: AtomicU64,
    first_byte_at: Mutex<Option<f64>>,
}

impl Counters {
    pub fn moved(&self, bytes: u64) {
        if self.moved.fetch_add(bytes, Ordering::Relaxed) == 0 {
            lock(&self.first_byte_at).get_or_insert_with(unix_now);
        }
    }

    /// The receiver has copied so many bytes while it gathered.
    pub fn copied_anew(&self, bytes: u64, gathering: Duration) {
        self.copied.fetch_add(bytes, Ordering::Relaxed);
        self.gathering_ms.fetch_add(u64::try_from(gathering.as_millis()).unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    pub fn saved(&self, bytes: u64) {
        self.saved.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Bytes that went out on the wire.
    pub fn sent(&self) -> u64 {
        // In this order: what is saved has moved.
        let saved = self.saved.load(Ordering::Relaxed);
        self.moved.load(Ordering::Relaxed).saturating_sub(saved)
    }

    pub fn delivered(&self, bytes: u64, files: u64) {
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
        self.files.fetch_add(files, Ordering::Relaxed);
        self.chunks.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts what another sender has delivered.
    pub fn delivered_elsewhere(&self, bytes: u64, files: u64) {
        for (counter, more) in self.elsewhere.iter().zip([bytes, 1, files]) {
            counter.fetch_add(more, Ordering::Relaxed);
        }
    }

    /// Everything that shows an advance, in one number.
    fn advance(&self) -> u64 {
        [&self.moved, &self.chunks, &self.failed, &self.reread, &self.elsewhere[1]]
            .map(|counter| counter.load(Ordering::Relaxed))
            .iter()
            .sum()
    }
}

/// What an end tells of what it follows: a sender always, a receiver beside others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Told {
    pub membership_version: Option<u64>,
    pub closed_for: Option<ClosedFor>,
}

/// Makes one end's reports.
pub struct Reporter {
    seat: Seat,
    epoch: u64,
    sequence: u64,
    advance: u64,
    moved: u64,
    at: Instant,
    /// Time for which a call of the file system has kept a thread of this end; none below `FILE_SYSTEM_SLOW`.
    pub in_file_system: Option<Duration>,
    /// Calls of the file system that have returned within work that goes on.
    pub steps: u64,
    /// What a receiver tells the others.
    pub told: Told,
    /// This process was given up, and writes nothing any more.
    pub has_ended: bool,
}

impl Reporter {
    /// Goes on from the last report of an earlier process of the same start: what it moved counts on, as does its sequence.
    #[must_use]
    pub fn new(seat: Seat, epoch: u64, before: Option<Progress>, counters: &Counters) -> Self {
        let (mut sequence, mut moved) = (0, 0);
        if let Some(before) = before.filter(|before| same_start(before.epoch, epoch)) {
            (sequence, moved) = (before.sequence, before.moved_bytes);
            counters.moved.store(moved, Ordering::Relaxed);
            counters.saved.store(before.saved_bytes, Ordering::Relaxed);
            *lock(&counters.first_byte_at) = before.first_byte_at;
        }
        let (at, told) = (Instant::now(), Told::default());
        Self { seat, epoch, sequence, advance: u64::MAX, moved, at, in_file_system: None, steps: 0, told, has_ended: false }
    }

    /// Seconds since the last report.
    #[must_use]
    pub fn age(&self) -> f64 {
        self.at.elapsed().as_secs_f64()
    }

    /// Reports. The sequence grows when a counter did, when a call of long work has returned, or when this end `waits` for somebody else, which is no fault of its own.
    /// The rate is that of moved bytes: deliveries come in chunks and would make it jump.
    pub fn report(&mut self, control: &dyn Control, counters: &Counters, waits: bool, lanes: Vec<LaneProgress>) {
        // In this order: what is saved has moved.
        let saved = counters.saved.load(Ordering::Relaxed);
        let (advance, moved) = (counters.advance() + self.steps, counters.moved.load(Ordering::Relaxed));
        if waits || advance != self.advance {
            self.sequence += 1;
        }
        let rate = (moved - self.moved) as f64 / 1e6 / self.age().max(1e-3);
        (self.advance, self.moved, self.at) = (advance, moved, Instant::now());
        let load = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let progress = Progress {
            schema_version: SchemaVersion1,
            epoch: self.epoch,
            sequence: self.sequence,
            bytes: load(&counters.bytes),
            moved_bytes: moved,
            saved_bytes: saved.min(moved),
            chunks: load(&counters.chunks),
            files: load(&counters.files),
            failed_chunks: load(&counters.failed),
            rate_mb_s: round(rate),
            at: unix_now(),
            first_byte_at: *lock(&counters.first_byte_at),
            in_file_system_seconds: self.in_file_system.map(|time| round(time.as_secs_f64())),
            membership_version: self.told.membership_version,
            closed_for: self.told.closed_for,
            has_ended: self.has_ended,
            lanes,
        };
        tracing::info!(
            bytes = progress.bytes,
            chunks = progress.chunks,
            rate = progress.rate_mb_s,
            lanes = progress.lanes.len(),
            "progress"
        );
        if let Err(error) = control.write_progress(self.seat, &progress) {
            tracing::warn!(%error, "progress");
        }
    }
}
