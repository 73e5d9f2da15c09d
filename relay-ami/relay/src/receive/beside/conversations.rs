//! The lanes that senders have at this receiver.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use crate::control::Seat;
use crate::thread::lock;

/// Why a lane does not begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    #[error("the sender of this epoch was given up")]
    Retired,
    #[error("another receiver finishes")]
    Closed,
}

#[derive(Default)]
pub struct Conversations(Mutex<State>);

#[derive(Default)]
struct State {
    next: u64,
    open: BTreeMap<u64, Lane>,
    /// The epochs up to which processes of a seat count no more.
    retired: BTreeMap<Seat, u64>,
    is_closed: bool,
}

struct Lane {
    seat: Seat,
    epoch: u64,
    cut: Box<dyn Fn() + Send>,
    is_cut: Arc<AtomicBool>,
}

impl Lane {
    fn cut(&self) {
        self.is_cut.store(true, Ordering::SeqCst);
        (self.cut)();
    }
}

/// A lane that has begun, and has not ended: it may be writing.
pub struct Here<'a> {
    all: &'a Conversations,
    number: u64,
    is_cut: Arc<AtomicBool>,
}

impl Here<'_> {
    /// Returns whether nobody waits for an answer on it any more.
    pub fn is_cut(&self) -> bool {
        self.is_cut.load(Ordering::SeqCst)
    }
}

impl Drop for Here<'_> {
    fn drop(&mut self) {
        lock(&self.all.0).open.remove(&self.number);
    }
}

impl State {
    fn counts(&self, lane: &Lane) -> bool {
        self.retired.get(&lane.seat).is_none_or(|epoch| lane.epoch > *epoch)
    }
}

impl Conversations {
    pub fn enter(&self, seat: Seat, epoch: u64, cut: Box<dyn Fn() + Send>) -> Result<Here<'_>, Refused> {
        let mut state = lock(&self.0);
        let is_cut = Arc::new(AtomicBool::new(false));
        let lane = Lane { seat, epoch, cut, is_cut: Arc::clone(&is_cut) };
        if !state.counts(&lane) {
            return Err(Refused::Retired);
        }
        if state.is_closed {
            return Err(Refused::Closed);
        }
        // Of an earlier process of it: what that has asked for is asked again.
        state.open.values().filter(|other| other.seat == seat && other.epoch < epoch).for_each(Lane::cut);
        let number = state.next;
        state.next += 1;
        state.open.insert(number, lane);
        Ok(Here { all: self, number, is_cut })
    }

    /// Processes of a seat up to an epoch count no more: their lanes are cut.
    pub fn retire(&self, seat: Seat, epoch: u64) {
        let mut state = lock(&self.0);
        if state.retired.insert(seat, epoch) == Some(epoch) {
            return;
        }
        tracing::info!(%seat, epoch, "a sender is given up");
        state.open.values().filter(|lane| !state.counts(lane)).for_each(Lane::cut);
    }

    /// Returns whether no lane of a retired sender is left.
    pub fn are_cut_off(&self) -> bool {
        let state = lock(&self.0);
        state.open.values().all(|lane| state.counts(lane))
    }

    /// From now on no lane may be, or any may.
    pub fn close(&self, is_closed: bool) {
        let mut state = lock(&self.0);
        state.is_closed = is_closed;
        if is_closed {
            state.open.values().for_each(Lane::cut);
        }
    }

    /// Returns whether there is no lane.
    pub fn is_silent(&self) -> bool {
        lock(&self.0).open.is_empty()
    }
}
