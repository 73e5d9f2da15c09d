//! The state that a [`WorkQueue`](super::work_queue::WorkQueue) keeps under its lock.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::gate::Gate;
use super::hedge::{Hedge, InFlight};
use super::held::Held;
use super::taker::Taker;
use crate::defaults::HEDGED_SHARE;
use crate::documents::plan::TransferPlan;
use crate::send::streams::{Handle, Rest};
use crate::send::work::{GivenUp, Verdict, Work};

#[derive(Default)]
pub struct State {
    pub whole: Option<Whole>,
    pub gate: Gate,
    /// Bytes of this sender's part of the plan, once it has all of that and other senders have the rest.
    pub part_bytes: Option<u64>,
    pub ready: VecDeque<Work>,
    pub delayed: Vec<(Instant, Work)>,
    /// Failed attempts whose chunk only the table brings back.
    pub undecided: HashMap<u64, Work>,
    /// While the destination takes nothing.
    pub held: Option<Held>,
    /// The destination's last word, once it has taken nothing for as long as it may.
    pub full: Option<String>,
    /// Bytes of the manifest lines of all chunks that are not under way.
    pub manifest_bytes: usize,
    pub under_way: InFlight,
    /// Bytes of chunks that went out on a second lane; and of those, where the first was merely late.
    pub hedged_bytes: u64,
    pub late_bytes: u64,
    pub directories_under_way: bool,
    pub delivered: u64,
    /// Delivered or given up, of phase 0.
    pub settled_data: u64,
    pub given_up: Vec<GivenUp>,
    /// Delivered chunks whose digests are not known here yet.
    pub recalling: u64,
    pub finishing: bool,
    pub verdict: Option<Verdict>,
    pub closed: bool,
}

/// The number of chunks.
#[derive(Clone, Copy)]
pub struct Whole {
    pub chunks: u64,
    pub data_chunks: u64,
    pub bytes: u64,
}

impl Whole {
    /// None of a plan to which chunks are still added.
    pub fn of(plan: &TransferPlan) -> Option<Self> {
        (!plan.open).then(|| Self { chunks: plan.chunks, data_chunks: plan.chunks - plan.last_phase_chunks, bytes: plan.bytes })
    }
}

impl State {
    /// Bytes of all manifest lines that are held: a chunk's are until it is settled, since it may have to be sent again.
    pub const fn lines_in_memory(&self) -> usize {
        self.manifest_bytes + self.under_way.manifest_bytes()
    }

    /// The next chunk for a lane; while the destination takes nothing a probe, if one is due.
    pub fn take(&mut self, now: Instant, affords: impl Fn(u64) -> bool) -> Option<Work> {
        let Some(mut held) = self.held.take() else { return self.pop(affords) };
        let is_due = held.due().is_some_and(|due| due <= now);
        let work = if is_due && held.next_bytes().is_none_or(&affords) {
            let mut popped = false;
            let work = held.probe(|| {
                popped = true;
                self.pop(affords)
            });
            if let Some(work) = work.as_ref().filter(|_| !popped) {
                self.manifest_bytes -= work.manifest.len();
                self.directories_under_way |= work.phase > 0;
            }
            work
        } else {
            None
        };
        self.held = Some(held);
        work
    }

    /// There is room again.
    pub fn release(&mut self) {
        let Some(held) = self.held.take() else { return };
        tracing::info!(seconds = held.since().elapsed().as_secs_f64(), "the destination takes chunks again");
        for work in held.into_chunks().into_iter().rev() {
            self.ready.push_front(work);
        }
    }

    pub fn decide_later(&mut self, work: Work) {
        self.manifest_bytes += work.manifest.len();
        if let Some(twice) = self.undecided.insert(work.chunk, work) {
            self.manifest_bytes -= twice.manifest.len();
        }
    }

    /// Directories go last, in their order and one chunk at a time, since they come deepest first: what is made in a
    /// directory changes its time. One that failed holds up those that come after it until it is decided.
    /// A chunk that nobody affords waits, and all others behind it.
    pub fn pop(&mut self, affords: impl Fn(u64) -> bool) -> Option<Work> {
        let at = match self.ready.iter().position(|work| work.phase == 0) {
            Some(at) => at,
            None if self.whole.is_none_or(|whole| self.settled_data < whole.data_chunks) || self.directories_under_way => return None,
            None => {
                let (at, next) = self.ready.iter().enumerate().min_by_key(|(_, work)| work.chunk)?;
                let waiting = self.undecided.values().chain(self.delayed.iter().map(|(_, work)| work));
                if waiting.into_iter().any(|work| work.chunk < next.chunk) {
                    return None;
                }
                at
            }
        };
        if !affords(self.ready.get(at)?.bytes) {
            return None;
        }
        let work = self.ready.remove(at)?;
        self.manifest_bytes -= work.manifest.len();
        self.directories_under_way |= work.phase > 0;
        Some(work)
    }

    /// Returns what nobody has taken yet; none while more is to be read, or comes back later.
    pub fn rest(&self) -> Option<Rest> {
        let whole = self.whole?;
        let next = self.ready.iter().find(|work| work.phase == 0)?;
        let known = self.delivered + self.given_up.len() as u64 + self.under_way.len() + self.ready.len() as u64;
        (known == whole.chunks).then(|| Rest { next: next.bytes, all: self.ready.iter().map(|work| work.bytes).sum() })
    }

    /// Returns what a lane with nothing else to do sends as well; near its end a transfer waits for no lane that is cut off or late.
    /// Directories may wait meanwhile: they go out once all data has arrived.
    pub fn hedge(&mut self, lane: &impl Taker, now: Instant) -> Option<Work> {
        if self.held.is_some() || self.ready.iter().any(|work| work.phase == 0) {
            return None;
        }
        let all = self.whole.map(|whole| whole.bytes).or(self.part_bytes);
        let allowed = all.map_or(0.0, |bytes| bytes as f64 * HEDGED_SHARE);
        let left = allowed - self.late_bytes as f64;
        let time_for = |bytes: u64| lane.time_for(bytes).filter(|_| bytes as f64 <= left);
        let Hedge { work, is_late } = self.under_way.hedge(lane.handle(), now, time_for)?;
        if !lane.affords_copy(work.bytes) {
            return None;
        }
        self.hedged_bytes += work.bytes;
        self.late_bytes += if is_late { work.bytes } else { 0 };
        tracing::info!(chunk = work.chunk, is_late, "sent on another lane as well");
        Some(work)
    }

    /// A lane has the chunk no longer. Whether that ends the attempt: it is neither settled nor with another lane.
    pub fn leaves(&mut self, lane: &Arc<Handle>, work: &Work) -> bool {
        let ends = !work.flight.is_settled() && self.under_way.leave(work.chunk, lane);
        if ends {
            self.landed(work);
        }
        ends
    }

    pub fn landed(&mut self, work: &Work) {
        self.under_way.remove(work.chunk);
        if work.phase > 0 {
            self.directories_under_way = false;
        }
    }

    pub fn wake_delayed(&mut self) {
        let now = Instant::now();
        let (due, later) = std::mem::take(&mut self.delayed).into_iter().partition(|(at, _)| *at <= now);
        self.delayed = later;
        let due: Vec<(Instant, Work)> = due;
        for (_, work) in due {
            self.ready.push_front(work);
        }
    }

    /// Returns when a chunk comes back, or a probe is due.
    pub fn next_time(&self) -> Option<Duration> {
        let next = self.delayed.iter().map(|(at, _)| *at).chain(self.held.as_ref().and_then(Held::due)).min()?;
        Some(next.saturating_duration_since(Instant::now()).min(Duration::from_secs(1)))
    }
}
