//! The chunks of a transfer as the sender sees them: ready, delayed, under way, waiting for a decision, done.
//! Lanes pull from it, so a slow lane carries less by itself.

use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::gate::Gate;
use super::held::{Held, Patience};
use super::state::{State, Whole};
use super::taker::{Next, Taker};
use crate::control::{Seat, unix_now};
use crate::defaults::{MAX_NOT_BEFORE, QUEUE_CHUNKS, QUEUE_MANIFEST_BYTES};
use crate::documents::chunk::{Chunk, ChunkState};
use crate::documents::plan::TransferPlan;
use crate::send::streams::Handle;
use crate::send::work::{GivenUp, Verdict, Work};
use crate::thread::lock;

pub struct WorkQueue {
    state: Mutex<State>,
    changed: Condvar,
    patience: Patience,
}

impl WorkQueue {
    #[must_use]
    pub fn new(plan: &TransferPlan, patience: Patience) -> Self {
        let state = State { whole: Whole::of(plan), ..State::default() };
        Self { state: Mutex::new(state), changed: Condvar::new(), patience }
    }

    /// The plan is whole: directories may go once the data is settled, and the transfer may end.
    pub fn planned(&self, plan: &TransferPlan) {
        lock(&self.state).whole = Whole::of(plan);
        self.changed.notify_all();
    }

    /// Returns whether the plan is whole here.
    #[must_use]
    pub fn is_planned(&self) -> bool {
        lock(&self.state).whole.is_some()
    }

    /// All that this sender will get of the plan is here, so many bytes: from now on it need not wait for lanes that are late.
    pub fn has_its_part(&self, bytes: u64) {
        lock(&self.state).part_bytes = Some(bytes);
    }

    /// Chunks of data that a lane could take, and their bytes.
    #[must_use]
    pub fn ready(&self) -> (usize, u64) {
        let state = lock(&self.state);
        let data = state.ready.iter().filter(|work| work.phase == 0);
        data.fold((0, 0), |(chunks, bytes), work| (chunks + 1, bytes + work.bytes))
    }

    /// No chunk goes out before a receiver has gathered.
    pub fn shut(&self) {
        lock(&self.state).gate = Gate::Shut;
        self.changed.notify_all();
    }

    /// Returns whether another receiver is to finish: what this one does not answer, it need not answer any more.
    #[must_use]
    pub fn is_given_up(&self, receiver: Seat) -> bool {
        !lock(&self.state).gate.knows(receiver)
    }

    /// A lane is to let this receiver gather; what one before it has gathered does not count.
    pub fn gather(&self, receiver: Seat) {
        let mut state = lock(&self.state);
        if !matches!(state.gate, Gate::Gather(seat, _) | Gate::Gathered(seat) if seat == receiver) {
            state.gate = Gate::Gather(receiver, false);
            self.changed.notify_all();
        }
    }

    /// What came of asking a receiver to gather.
    pub fn has_gathered(&self, receiver: Seat, has_gathered: bool) {
        lock(&self.state).gate.answered(receiver, has_gathered);
        self.changed.notify_all();
    }

    /// The receiver that has gathered; none while one is still to do so, or where there is no other.
    #[must_use]
    pub fn gathered(&self) -> Option<Seat> {
        match lock(&self.state).gate {
            Gate::Gathered(receiver) => Some(receiver),
            _ => None,
        }
    }

    /// Adds work that was read ahead; waits while enough is there. `false` once the work queue is closed.
    pub fn feed(&self, work: Work) -> bool {
        let mut state = lock(&self.state);
        while !state.closed && (state.ready.len() >= QUEUE_CHUNKS || state.lines_in_memory() >= QUEUE_MANIFEST_BYTES) {
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.manifest_bytes += work.manifest.len();
        state.ready.push_back(work);
        self.changed.notify_all();
        !state.closed
    }

    /// Adds a chunk that failed in an earlier process and is not decided yet.
    pub fn feed_undecided(&self, work: Work) {
        lock(&self.state).decide_later(work);
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

    /// Chunks that lanes have, or could have by now.
    pub fn waiting_or_under_way(&self) -> usize {
        let state = lock(&self.state);
        state.ready.len() + usize::try_from(state.under_way.len()).unwrap_or(usize::MAX)
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

    /// Something to do at once.
    pub fn try_next(&self, lane: &impl Taker) -> Option<Next> {
        self.look(&mut lock(&self.state), lane)
    }

    fn look(&self, state: &mut State, lane: &impl Taker) -> Option<Next> {
        if state.closed || state.verdict.is_some() || lane.leaves() {
            return Some(Next::Leave);
        }
        if state.gate.gathers(lane.handle().to) {
            return Some(Next::Gather);
        }
        if !state.gate.admits(lane.handle().to) {
            return None;
        }
        state.wake_delayed();
        let now = Instant::now();
        let taken = if lane.is_full(state.rest()) { None } else { state.take(now, |bytes| lane.affords(bytes)) };
        if let Some(work) = taken.or_else(|| if lane.is_full(None) { None } else { state.hedge(lane, now) }) {
            state.under_way.take(&work, lane.handle(), now);
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
    pub fn next(&self, lane: &impl Taker) -> Next {
        let mut state = lock(&self.state);
        loop {
            if let Some(next) = self.look(&mut state, lane) {
                return next;
            }
            let wait = state.next_time().unwrap_or(Duration::from_secs(1)).max(Duration::from_millis(1));
            state = self.changed.wait_timeout(state, wait).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// The receiver has acknowledged a copy of the chunk, which is settled.
    pub fn delivered(&self, work: &Work) {
        let mut state = lock(&self.state);
        state.landed(work);
        state.delivered += 1;
        state.settled_data += u64::from(work.phase == 0);
        if state.held.as_ref().is_some_and(|held| held.is_probe(work.chunk)) {
            state.release();
        }
        self.changed.notify_all();
    }

    /// The destination as a whole refused the chunk. Nothing but a probe goes out until one is taken.
    pub fn full(&self, work: Work, lane: &Arc<Handle>, message: String) {
        let mut state = lock(&self.state);
        if !state.leaves(lane, &work) {
            return;
        }
        state.manifest_bytes += work.manifest.len();
        let now = Instant::now();
        if let Some(held) = &mut state.held {
            if held.refused(work, now) {
                let seconds = now.duration_since(held.since()).as_secs();
                state.full = Some(format!("the destination took nothing for {seconds} s: {message}"));
            }
        } else {
            tracing::warn!(chunk = work.chunk, message, "the destination takes nothing: held");
            state.held = Some(Held::new(work, self.patience, now));
        }
        self.changed.notify_all();
    }

    /// That the destination took nothing for as long as it may, in words.
    #[must_use]
    pub fn is_full(&self) -> Option<String> {
        lock(&self.state).full.clone()
    }

    /// A lane that leaves has not sent the chunk, or not heard of it: another one sends it in the same attempt.
    pub fn give_back(&self, work: Work, lane: &Arc<Handle>) {
        let mut state = lock(&self.state);
        if state.leaves(lane, &work) {
            if let Some(held) = &mut state.held {
                held.probe_lost(work.chunk, Instant::now());
            }
            state.manifest_bytes += work.manifest.len();
            state.ready.push_front(work);
        }
        self.changed.notify_all();
    }

    /// The attempt failed: the chunk waits for the table. `false` where another lane's copy is settled, or may still be.
    pub fn failed(&self, work: Work, lane: &Arc<Handle>) -> bool {
        let mut state = lock(&self.state);
        if !state.leaves(lane, &work) {
            return false;
        }
        if let Some(held) = &mut state.held {
            held.probe_lost(work.chunk, Instant::now());
        }
        state.decide_later(work);
        self.changed.notify_all();
        true
    }

    /// Chunks to look up in the table.
    #[must_use]
    pub fn undecided(&self) -> Vec<u64> {
        lock(&self.state).undecided.keys().copied().collect()
    }

    /// Takes the table's word on chunks that failed. Returns those that turn out to be delivered, and are to be recalled.
    pub fn decide(&self, items: &[Chunk]) -> Vec<Work> {
        let mut state = lock(&self.state);
        let mut delivered = Vec::new();
        for item in items {
            let Some(work) = state.undecided.remove(&item.chunk) else { continue };
            let data = u64::from(work.phase == 0);
            state.manifest_bytes -= work.manifest.len();
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
                ChunkState::Pending => state.decide_later(work),
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

    /// Bytes of chunks that went out on a second lane as well.
    #[must_use]
    pub fn hedged_bytes(&self) -> u64 {
        lock(&self.state).hedged_bytes
    }

    /// Returns whether nothing can be sent before somebody else plans, decides or answers, or a time comes.
    #[must_use]
    pub fn waits_for_others(&self) -> bool {
        let state = lock(&self.state);
        let held = state.held.is_some();
        let others = state.whole.is_none() || !(state.undecided.is_empty() && state.delayed.is_empty());
        let is_shut = matches!(state.gate, Gate::Shut | Gate::Gather(..));
        state.finishing || is_shut || (state.under_way.is_empty() && (held || (state.ready.is_empty() && others)))
    }

    /// Returns whether nothing is sent any more.
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
        self.wait_unless(time, || false);
    }

    /// The same, unless what is waited for `is_there`. Whoever brings it calls [`Self::wake`] afterwards, which cannot be missed: it
    /// comes before `is_there` is asked, or while this waits.
    pub fn wait_unless(&self, time: Duration, is_there: impl FnOnce() -> bool) {
        let state = lock(&self.state);
        if !is_there() {
            drop(self.changed.wait_timeout(state, time).unwrap_or_else(PoisonError::into_inner));
        }
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
#[path = "work_queue_tests.rs"]
mod tests;
