//! Other senders and other receivers of the transfer: whose lanes count, and who finishes.

mod conversations;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard};

use crate::control::Seat;
use crate::control::leases::Finish;
use crate::documents::membership::{Membership, Retired};
use crate::documents::seat::{ClosedFor, Role};
use crate::progress::Told;
use crate::thread::lock;

use conversations::Conversations;
pub use conversations::{Here, Refused};

/// What this receiver knows of the others.
pub struct Beside {
    seat: Seat,
    epoch: u64,
    conversations: Conversations,
    is_retired: AtomicBool,
    /// Whoever gathers or finishes has it.
    turn: Mutex<()>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// The version of the membership that was looked at last, and of the one whose retired senders are cut off.
    looked_at: Option<u64>,
    cut_off: Option<u64>,
    /// The lease of a sender that finishes with another receiver.
    closes_for: Option<ClosedFor>,
    closed_for: Option<ClosedFor>,
    /// Receivers that were given up and are not known to be gone: they may still write into files that are not in their places.
    in_doubt: Vec<Seat>,
}

impl Beside {
    pub fn new(seat: Seat, epoch: u64) -> Self {
        let (conversations, is_retired, turn, state) = Default::default();
        Self { seat, epoch, conversations, is_retired, turn, state }
    }

    /// A lane of a sender begins, of which `cut` ends the stream; it counts until the guard is dropped.
    pub fn enter(&self, seat: Seat, epoch: u64, cut: impl Fn() + Send + 'static) -> Result<Here<'_>, Refused> {
        self.conversations.enter(seat, epoch, Box::new(cut))
    }

    /// What one lane has asked for ends before another one's begins: both read and replace the same files.
    pub fn turn(&self) -> MutexGuard<'_, ()> {
        lock(&self.turn)
    }

    /// Cuts off senders that were given up; sees whether this receiver was.
    pub fn heed(&self, membership: &Membership) {
        self.is_retired.fetch_or(self.is_given_up(membership), Ordering::SeqCst);
        let may_write = |retired: &Retired| retired.seat_id.role == Role::Receiver && !retired.is_gone;
        for retired in membership.retired.iter().filter(|retired| retired.seat_id.role == Role::Sender) {
            self.conversations.retire(retired.seat_id, retired.epoch);
        }
        let mut state = lock(&self.state);
        state.looked_at = Some(membership.version);
        state.in_doubt = membership.retired.iter().filter(|retired| may_write(retired)).map(|retired| retired.seat_id).collect();
    }

    /// Takes no chunk any more where another receiver finishes; does again where this one is named.
    pub fn follow(&self, finish: Option<&Finish>) {
        let closes_for = finish.filter(|finish| finish.receiver != self.seat).map(|finish| ClosedFor::from(*finish));
        let mut state = lock(&self.state);
        if state.closes_for == closes_for {
            return;
        }
        tracing::info!(?closes_for, "who finishes");
        (state.closes_for, state.closed_for) = (closes_for, None);
        self.conversations.close(closes_for.is_some());
    }

    /// What holds by now. `is_quiet`: no chunk is on its way to the disk or the table; `let_go`: of the files, before that is told.
    pub fn settle(&self, is_quiet: bool, let_go: impl FnOnce()) -> Told {
        let (are_cut_off, is_silent) = (self.conversations.are_cut_off(), self.conversations.is_silent());
        let mut state = lock(&self.state);
        if are_cut_off {
            state.cut_off = state.looked_at;
        }
        if state.closed_for != state.closes_for && is_silent && is_quiet {
            let_go();
            state.closed_for = state.closes_for;
        }
        Told { membership_version: state.cut_off, closed_for: state.closed_for }
    }

    /// Returns whether another receiver finishes, and this one has closed for it.
    pub fn is_closed(&self) -> bool {
        lock(&self.state).closed_for.is_some()
    }

    /// Returns whether the membership counts this process no more.
    pub fn is_retired(&self) -> bool {
        self.is_retired.load(Ordering::SeqCst)
    }

    /// Takes nothing any more: what its lanes have under way comes to others.
    pub fn leave(&self) {
        self.conversations.close(true);
    }

    /// Returns whether no lane of it is left, which might write.
    pub fn is_silent(&self) -> bool {
        self.conversations.is_silent()
    }

    /// Returns whether it is this receiver that finishes, and not another one in its place, for a sender that still counts: once it has
    /// finished the other receivers end, and whoever finishes in that sender's place would wait for them.
    pub fn finishes(&self, membership: Option<&Membership>, finish: Option<&Finish>) -> bool {
        let gives_up = |seat, epoch| membership.and_then(|all| all.retired(seat)).is_some_and(|retired| epoch <= retired.epoch);
        !gives_up(self.seat, self.epoch) && finish.is_none_or(|finish| finish.receiver == self.seat && !gives_up(finish.seat, finish.epoch))
    }

    fn is_given_up(&self, membership: &Membership) -> bool {
        membership.retired(self.seat).is_some_and(|retired| self.epoch <= retired.epoch)
    }

    /// Receivers that were given up and may still write.
    pub fn in_doubt(&self) -> Vec<Seat> {
        lock(&self.state).in_doubt.clone()
    }
}

#[cfg(test)]
#[path = "beside_tests.rs"]
mod tests;
