//! The chunks of a transfer as the sender sees them: ready, delayed, under way, waiting for a decision, done.
//! Lanes pull from it, so a slow lane carries less by itself.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::pace::Rest;
use crate::control::unix_now;
use crate::defaults::{MAX_NOT_BEFORE, QUEUE_CHUNKS, QUEUE_MANIFEST_BYTES};
use crate::documents::chunk::{Chunk, ChunkState};
use crate::documents::plan::TransferPlan;
use crate::thread::lock;

/// One attempt at one chunk.
#[derive(Clone, Debug)]
pub struct Work {
    pub chunk: u64,
    pub attempt: u32,
    pub phase: u8,
    pub bytes: u64,
    /// Files and links that it completes.
    pub files: u64,
    /// The chunk's lines of the manifest.
    pub manifest: Arc<[u8]>,
    /// It was delivered before, and the receiver's file differs all the same.
    pub again: bool,
}

/// What a lane does next.
#[derive(Debug)]
pub enum Next {
    Send(Work),
    /// All chunks are settled; this lane closes the transfer.
    Finish,
    /// Nothing more for this lane.
    Leave,
}

/// A chunk that the retry policy gave up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GivenUp {
    pub chunk: u64,
    /// First path of the chunk, percent-encoded.
    pub path: String,
    pub reason: String,
}

/// How the two ends parted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    pub agreed: bool,
    pub message: String,
}

#[derive(Default)]
struct State {
    whole: Option<Whole>,
    ready: VecDeque<Work>,
    delayed: Vec<(Instant, Work)>,
    /// Failed attempts whose chunk only the table brings back.
    undecided: HashMap<u64, Work>,
    manifest_bytes: usize,
    under_way: u64,
    directories_under_way: bool,
    delivered: u64,
    /// Delivered or given up, of phase 0.
    settled_data: u64,
    given_up: Vec<GivenUp>,
    /// Delivered chunks whose digests are not known here yet.
    recalling: u64,
    finishing: bool,
    verdict: Option<Verdict>,
    closed: bool,
}

/// How many chunks there are.
#[derive(Clone, Copy)]
struct Whole {
    chunks: u64,
    data_chunks: u64,
}

impl Whole {
    /// None of a plan to which chunks are still added.
    fn of(plan: &TransferPlan) -> Option<Self> {
        (!plan.open).then(|| Self { chunks: plan.chunks, data_chunks: plan.chunks - plan.last_phase_chunks })
    }
}

pub struct Board {
    state: Mutex<State>,
    changed: Condvar,
}

impl Board {
    #[must_use]
    pub fn new(plan: &TransferPlan) -> Self {
        let state = State { whole: Whole::of(plan), ..State::default() };
        Self { state: Mutex::new(state), changed: Condvar::new() }
    }

    /// The plan is whole: directories may go once the data is settled, and the transfer may end.
    pub fn planned(&self, plan: &TransferPlan) {
        lock(&self.state).whole = Whole::of(plan);
        self.changed.notify_all();
    }

    /// Adds work that was read ahead; waits while enough is there. `false` once the board is closed.
    pub fn feed(&self, work: Work) -> bool {
        let mut state = lock(&self.state);
        while !state.closed && (state.ready.len() >= QUEUE_CHUNKS || state.manifest_bytes >= QUEUE_MANIFEST_BYTES) {
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.manifest_bytes += work.manifest.len();
        state.ready.push_back(work);
        self.changed.notify_all();
        !state.closed
    }

    /// Adds a chunk that failed in an earlier process and is not decided yet.
    pub fn feed_undecided(&self, work: Work) {
        lock(&self.state).undecided.insert(work.chunk, work);
    }

    /// Counts a chunk that was settled before this process began.
    pub fn settle_before(&self, chunk: &Chunk) {
        let mut state = lock(&self.state);
        match chunk.state {
            ChunkState::Delivered => state.delivered += 1,
            _ => state.given_up.push(GivenUp {
                chunk: chunk.chunk,
                path: String::new(),
                reason: chunk.reason.clone().unwrap_or_else(|| "FAILED".to_owned()),
            }),
        }
        state.settled_data += u64::from(chunk.phase == 0);
        self.changed.notify_all();
    }

    /// The transfer is not finished before so many more chunks are recalled.
    pub fn recalls(&self, chunks: usize) {
        lock(&self.state).recalling += chunks as u64;
    }

    /// The digests of a delivered chunk are known.
    pub fn recalled(&self) {
        lock(&self.state).recalling -= 1;
        self.changed.notify_all();
    }

    /// The source of a delivered chunk is not what was sent any more.
    pub fn lost(&self, work: &Work, reason: String) {
        let mut state = lock(&self.state);
        state.recalling -= 1;
        state.delivered -= 1;
        state.given_up.push(GivenUp { chunk: work.chunk, path: first_path(&work.manifest), reason });
        self.changed.notify_all();
    }

    /// Something to do at once. `leave` ends the lane; `full` is whether it wants no more, near the end in view of the rest.
    pub fn try_next(&self, leave: &AtomicBool, full: impl Fn(Option<Rest>) -> bool) -> Option<Next> {
        self.look(&mut lock(&self.state), leave, full)
    }

    fn look(&self, state: &mut State, leave: &AtomicBool, full: impl Fn(Option<Rest>) -> bool) -> Option<Next> {
        if state.closed || state.verdict.is_some() || leave.load(Ordering::SeqCst) {
            return Some(Next::Leave);
        }
        state.wake_delayed();
        if !full(state.rest())
            && let Some(work) = state.pop()
        {
            state.under_way += 1;
            self.changed.notify_all();
            return Some(Next::Send(work));
        }
        let settled = state.delivered + state.given_up.len() as u64;
        if state.whole.is_some_and(|whole| whole.chunks == settled) && state.recalling == 0 && !state.finishing {
            state.finishing = true;
            return Some(Next::Finish);
        }
        None
    }

    /// Waits for something to do.
    pub fn next(&self, leave: &AtomicBool, full: impl Fn(Option<Rest>) -> bool) -> Next {
        let mut state = lock(&self.state);
        loop {
            if let Some(next) = self.look(&mut state, leave, &full) {
                return next;
            }
            let wait = state.next_delayed().unwrap_or(Duration::from_secs(1)).max(Duration::from_millis(1));
            state = self.changed.wait_timeout(state, wait).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    pub fn delivered(&self, work: &Work) {
        let mut state = lock(&self.state);
        state.landed(work);
        state.delivered += 1;
        state.settled_data += u64::from(work.phase == 0);
        self.changed.notify_all();
    }

    /// The attempt failed: the chunk waits for the table.
    pub fn failed(&self, work: Work) {
        let mut state = lock(&self.state);
        state.landed(&work);
        state.undecided.insert(work.chunk, work);
        self.changed.notify_all();
    }

    /// Chunks to look up in the table.
    #[must_use]
    pub fn undecided(&self) -> Vec<u64> {
        lock(&self.state).undecided.keys().copied().collect()
    }

    /// What the table says about chunks that failed. Returns those that turn out to be delivered, and are to be recalled.
    pub fn decide(&self, items: &[Chunk]) -> Vec<Work> {
        let mut state = lock(&self.state);
        let mut delivered = Vec::new();
        for item in items {
            let Some(work) = state.undecided.remove(&item.chunk) else { continue };
            let data = u64::from(work.phase == 0);
            match item.state {
                ChunkState::Delivered => {
                    state.delivered += 1;
                    state.settled_data += data;
                    state.recalling += 1;
                    delivered.push(work);
                }
                ChunkState::Failed => {
                    let reason = item.reason.clone().unwrap_or_else(|| "FAILED".to_owned());
                    let path = first_path(&work.manifest);
                    state.given_up.push(GivenUp { chunk: work.chunk, path, reason });
                    state.settled_data += data;
                }
                ChunkState::Pending if item.attempt > work.attempt => {
                    state.manifest_bytes += work.manifest.len();
                    state.delayed.push((not_before(item), Work { attempt: item.attempt, ..work }));
                }
                ChunkState::Pending => {
                    state.undecided.insert(work.chunk, work);
                }
            }
        }
        self.changed.notify_all();
        delivered
    }

    /// Delivered chunks that are sent once more before the transfer is finished.
    pub fn send_again(&self, works: Vec<Work>) {
        let mut state = lock(&self.state);
        state.delivered -= works.len() as u64;
        state.settled_data -= works.iter().filter(|work| work.phase == 0).count() as u64;
        state.manifest_bytes += works.iter().map(|work| work.manifest.len()).sum::<usize>();
        state.ready.extend(works);
        state.finishing = false;
        self.changed.notify_all();
    }

    /// The lane that was to close the transfer could not.
    pub fn unfinished(&self) {
        lock(&self.state).finishing = false;
        self.changed.notify_all();
    }

    pub fn finish(&self, verdict: Verdict) {
        lock(&self.state).verdict = Some(verdict);
        self.changed.notify_all();
    }

    #[must_use]
    pub fn verdict(&self) -> Option<Verdict> {
        lock(&self.state).verdict.clone()
    }

    #[must_use]
    pub fn given_up(&self) -> Vec<GivenUp> {
        lock(&self.state).given_up.clone()
    }

    /// Whether nothing can be sent before somebody else plans, decides or answers, or a time comes.
    #[must_use]
    pub fn waits_for_others(&self) -> bool {
        let state = lock(&self.state);
        let others = state.whole.is_none() || !(state.undecided.is_empty() && state.delayed.is_empty());
        state.finishing || (state.ready.is_empty() && state.under_way == 0 && others)
    }

    /// Whether nothing is sent any more.
    #[must_use]
    pub fn is_over(&self) -> bool {
        lock(&self.state).closed
    }

    /// Ends all waits; lanes leave.
    pub fn close(&self) {
        lock(&self.state).closed = true;
        self.changed.notify_all();
    }

    /// Wakes lanes so that they look at what has changed.
    pub fn wake(&self) {
        drop(lock(&self.state));
        self.changed.notify_all();
    }

    /// Waits until something changes, at most for `time`.
    pub fn wait(&self, time: Duration) {
        let state = lock(&self.state);
        drop(self.changed.wait_timeout(state, time).unwrap_or_else(PoisonError::into_inner));
    }
}

impl State {
    /// Directories go last, in their order and one chunk at a time, since they come deepest first: what is made in a
    /// directory changes its time. One that failed holds up those that come after it until it is decided.
    fn pop(&mut self) -> Option<Work> {
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
        let work = self.ready.remove(at)?;
        self.manifest_bytes -= work.manifest.len();
        self.directories_under_way |= work.phase > 0;
        Some(work)
    }

    /// What nobody has taken yet; none while more is to be read, or comes back later.
    fn rest(&self) -> Option<Rest> {
        let whole = self.whole?;
        let next = self.ready.iter().find(|work| work.phase == 0)?;
        let known = self.delivered + self.given_up.len() as u64 + self.under_way + self.ready.len() as u64;
        (known == whole.chunks).then(|| Rest { next: next.bytes, all: self.ready.iter().map(|work| work.bytes).sum() })
    }

    fn landed(&mut self, work: &Work) {
        self.under_way -= 1;
        if work.phase > 0 {
            self.directories_under_way = false;
        }
    }

    fn wake_delayed(&mut self) {
        let now = Instant::now();
        let (due, later) = std::mem::take(&mut self.delayed).into_iter().partition(|(at, _)| *at <= now);
        self.delayed = later;
        let due: Vec<(Instant, Work)> = due;
        for (_, work) in due {
            self.ready.push_front(work);
        }
    }

    fn next_delayed(&self) -> Option<Duration> {
        let next = self.delayed.iter().map(|(at, _)| *at).min()?;
        Some(next.saturating_duration_since(Instant::now()).min(Duration::from_secs(1)))
    }
}

fn not_before(item: &Chunk) -> Instant {
    let wait = (item.not_before.unwrap_or(0.0) - unix_now()).clamp(0.0, MAX_NOT_BEFORE.as_secs_f64());
    Instant::now() + Duration::from_secs_f64(wait)
}

fn first_path(manifest: &[u8]) -> String {
    let line = manifest.split(|byte| *byte == b'\n').next().unwrap_or_default();
    crate::documents::entry::Segment::parse(line).map_or_else(|_| "?".to_owned(), |segment| segment.path)
}

#[cfg(test)]
#[path = "board_tests.rs"]
mod tests;
