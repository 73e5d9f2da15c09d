//! The loop that follows the membership, the fence and the progress of a sender until its end.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::JoinHandle;
use std::time::Instant;

use super::error::{SendError, Trouble};
use super::lanes::Lanes;
use super::questions::Questions;
use super::settled::outcome::outcome;
use super::settled::{Chunks, Ending, Outcome};
use super::sharing::Sharing;
use super::streams::{Keepalives, Streams};
use crate::control::Control;
use crate::defaults;
use crate::progress::Reporter;
use crate::stop::Stop;

/// The loop's state, and what it asks.
pub struct Watch {
    pub control: Arc<dyn Control>,
    pub streams: Arc<Streams>,
    pub chunks: Arc<Chunks>,
    pub ending: Arc<Ending>,
    pub questions: Arc<Questions>,
    pub trouble: Arc<Trouble>,
    pub stop: Stop,
    pub lanes: Lanes,
    pub reporter: Reporter,
    pub keepalives: Keepalives,
    /// None where there is one sender and one receiver.
    pub sharing: Option<Arc<Sharing>>,
    /// None once it has ended.
    pub feeder: Option<JoinHandle<Result<(), SendError>>>,
}

impl Watch {
    /// Runs until both ends have finished, or told to stop; then lanes have ended.
    pub fn run(mut self) -> Result<Outcome, SendError> {
        let result = self.watch();
        if !matches!(result, Ok(Outcome::Stopped)) {
            self.chunks.queue.close();
        }
        let is_agreed = self.chunks.queue.verdict().is_some();
        self.lanes.end(if is_agreed { defaults::PARTING_TIMEOUT } else { self.stop.left(defaults::STOP_TIMEOUT) });
        self.chunks.close();
        if self.sharing.as_ref().is_some_and(|sharing| sharing.is_retired()) {
            self.reporter.has_ended = true;
            self.reporter.report(&*self.control, &self.chunks.counters, false, Vec::new());
        }
        result
    }

    fn watch(&mut self) -> Result<Outcome, SendError> {
        let mut next_watch = Instant::now();
        loop {
            if self.stop.is_requested() {
                return Ok(Outcome::Stopped);
            }
            if let Some(verdict) = self.chunks.queue.verdict() {
                self.report(true);
                return Ok(outcome(&self.chunks, self.ending.repaired_chunks(), verdict));
            }
            if let Some(why) = self.chunks.queue.is_full() {
                return Err(SendError::DestinationFull(why));
            }
            if let Some(error) = self.trouble.take() {
                return Err(error);
            }
            if let Some(ended) = self.feeder.take_if(|feeder| feeder.is_finished()) {
                ended.join().unwrap_or_else(|_| Err(SendError::Plan("the feeder panicked".to_owned())))?;
            }
            if Instant::now() >= next_watch {
                next_watch = Instant::now() + defaults::WATCH_INTERVAL;
                self.follow()?;
            }
            if self.reporter.age() >= defaults::PROGRESS_INTERVAL.as_secs_f64() {
                // Without a path, with nothing but chunks that others decide about, without an answer of the control plane, or while the
                // receiver works on what it has, this end is not the one that stands still.
                let others = self.lanes.wait_for_others(Instant::now());
                self.report(others || self.chunks.queue.waits_for_others() || self.questions.waits());
                match self.control.fenced() {
                    Ok(true) => return Ok(self.ended()),
                    Ok(false) => {}
                    Err(error) => tracing::warn!(%error, "fence"),
                }
            }
            self.lanes.grow()?;
            if let Some(sharing) = &self.sharing {
                let moved = self.chunks.counters.moved.load(Ordering::Relaxed);
                sharing.look(Instant::now(), self.lanes.reached(), moved);
                if sharing.is_retired() {
                    return Ok(Outcome::Fenced);
                }
                if self.chunks.skipped.unread_in_a_row() >= defaults::MOST_UNREAD && sharing.has_others() {
                    return Err(SendError::Unread);
                }
            }
            let now = Instant::now();
            self.chunks.queue.wait(next_watch.saturating_duration_since(now).min(self.lanes.rests_for(now)));
        }
    }

    /// The control plane wants no end to go on: by now another sender may have told how the transfer has ended.
    fn ended(&self) -> Outcome {
        let is_left = self.sharing.as_ref().is_some_and(|sharing| sharing.is_left_to_another(&*self.control));
        if is_left { Outcome::LeftToAnother } else { Outcome::Fenced }
    }

    fn report(&mut self, waits: bool) {
        let seconds = self.reporter.age();
        self.reporter.report(&*self.control, &self.chunks.counters, waits, self.lanes.progress(seconds));
    }

    fn follow(&mut self) -> Result<(), SendError> {
        match self.control.membership() {
            Ok(Some(membership)) => {
                if let Some(sharing) = &self.sharing {
                    sharing.follow(&membership);
                }
                self.lanes.follow(&membership)?;
                // Whoever shares a limit out goes by it.
                self.reporter.told.membership_version = Some(membership.version);
                if self.lanes.need_no_relays(Instant::now(), defaults::DRAIN_TIMEOUT) {
                    self.keepalives.end(&self.streams, &membership, Instant::now());
                } else {
                    let delivered = self.chunks.counters.chunks.load(Ordering::Relaxed);
                    self.keepalives.follow(&self.streams, delivered, &membership);
                }
            }
            Ok(None) => {}
            // The paths of a second ago still serve; bounds may have ended since.
            Err(error) => {
                tracing::warn!(%error, "membership");
                self.lanes.hold_bounds(Instant::now());
            }
        }
        self.chunks.queue.wake();
        self.lanes.reap();
        Ok(())
    }
}
