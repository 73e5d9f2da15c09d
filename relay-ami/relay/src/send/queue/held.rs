//! Patience with a destination that takes nothing: only one chunk, every few seconds, goes out then.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use crate::defaults::{FULL_LIMIT, FULL_PROBE_INTERVAL};
use crate::send::work::Work;

/// The time for which a destination may take nothing.
#[derive(Clone, Copy, Debug)]
pub struct Patience {
    /// Between the answer to one probe and the next.
    pub probe_interval: Duration,
    /// From the first refusal; then the transfer ends.
    pub limit: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Self::of(FULL_LIMIT)
    }
}

impl Patience {
    /// Twelve probes in all; five seconds apart at most.
    #[must_use]
    pub fn of(limit: Duration) -> Self {
        Self { probe_interval: FULL_PROBE_INTERVAL.min(limit / 12), limit }
    }
}

/// From the first refusal on.
#[derive(Debug)]
pub struct Held {
    patience: Patience,
    since: Instant,
    next_probe: Instant,
    /// The chunk that is under way as a probe.
    probing: Option<u64>,
    /// Refused chunks. The first one is the probe: that it is taken shows that there is room for what had none.
    chunks: VecDeque<Work>,
}

impl Held {
    pub fn new(work: Work, patience: Patience, now: Instant) -> Self {
        let mut held = Self { patience, since: now, next_probe: now, probing: None, chunks: VecDeque::from([work]) };
        held.schedule(now);
        held
    }

    /// The last probe comes when the patience ends, not after it.
    fn schedule(&mut self, now: Instant) {
        self.probing = None;
        let (next, end) = (now + self.patience.probe_interval, self.since + self.patience.limit);
        self.next_probe = if now < end { next.min(end) } else { next };
    }

    /// Another refusal. `true` where it was the probe's and the patience is at its end.
    pub fn refused(&mut self, work: Work, now: Instant) -> bool {
        if self.probing != Some(work.chunk) {
            self.chunks.push_back(work);
            return false;
        }
        self.chunks.push_front(work);
        self.schedule(now);
        now.duration_since(self.since) >= self.patience.limit
    }

    /// The probe came to an end that says nothing of the destination.
    pub fn probe_lost(&mut self, chunk: u64, now: Instant) {
        if self.probing == Some(chunk) {
            self.schedule(now);
        }
    }

    pub fn is_probe(&self, chunk: u64) -> bool {
        self.probing == Some(chunk)
    }

    /// Returns when the next probe is due; none while one is under way.
    pub fn due(&self) -> Option<Instant> {
        self.probing.is_none().then_some(self.next_probe)
    }

    /// Bytes of the next probe; none where it is not one of the refused chunks.
    pub fn next_bytes(&self) -> Option<u64> {
        self.chunks.front().map(|work| work.bytes)
    }

    /// The next probe: one of the refused chunks, or what `other` gives.
    pub fn probe(&mut self, other: impl FnOnce() -> Option<Work>) -> Option<Work> {
        let work = self.chunks.pop_front().or_else(other)?;
        self.probing = Some(work.chunk);
        Some(work)
    }

    pub fn since(&self) -> Instant {
        self.since
    }

    pub fn into_chunks(self) -> VecDeque<Work> {
        self.chunks
    }
}
