//! What the budget still bears. The control plane grants it with each look at the meter; a look that does not come in time leaves the
//! sender with what it has, and the sender pauses once that is used up.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use crate::defaults::LATEST_LOOK;
use crate::documents::leases::BudgetLease;
use crate::thread::lock;

/// The lease of a sender, and what of it is set aside.
pub struct Lease {
    /// The start of this process.
    start: u64,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// None without a budget.
    granted: Option<Granted>,
    /// Bytes of chunks that lanes are writing.
    aside: u64,
    /// No chunk is begun, whatever money there is.
    held: Option<Hold>,
    /// Since when the next chunk waits.
    refused_since: Option<Instant>,
}

/// Why no chunk is begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hold {
    /// A person has paused the transfer.
    Paused,
    /// It has no share of a limit over several transfers yet.
    NoShare,
}

struct Granted {
    lease: BudgetLease,
    /// When it was granted, as far as this process knows.
    since: Instant,
}

impl Lease {
    /// Bears everything until the membership names a lease.
    pub const fn of_start(start: u64) -> Self {
        Self { start, state: Mutex::new(State { granted: None, aside: 0, held: None, refused_since: None }) }
    }

    /// Takes the membership's word. `unix`: the same time as `now`.
    ///
    /// A lease that comes while this process runs was granted a moment ago. How old the first one is only the machine's clock can tell:
    /// it may be wrong, so it is believed up to the time by which a look at the meter may be late.
    pub fn renew(&self, lease: Option<&BudgetLease>, now: Instant, unix: f64) {
        let mut state = lock(&self.state);
        if state.granted.as_ref().map(|known| &known.lease) == lease {
            return;
        }
        let is_first = state.granted.is_none();
        state.granted = lease.map(|lease| {
            let age = if is_first { (unix - lease.at).clamp(0.0, LATEST_LOOK.as_secs_f64()) } else { 0.0 };
            Granted { lease: lease.clone(), since: now.checked_sub(Duration::from_secs_f64(age)).unwrap_or(now) }
        });
    }

    /// Lets chunks wait, or go on.
    pub fn hold(&self, why: Option<Hold>) {
        let mut state = lock(&self.state);
        if state.held != why {
            state.held = why;
            state.refused_since = None;
            match why {
                Some(Hold::Paused) => tracing::info!("paused by a person: no chunk is begun"),
                Some(Hold::NoShare) => tracing::info!("there is no share of the common limit yet: no chunk is begun"),
                None => tracing::info!("chunks go on"),
            }
        }
    }

    /// Sets money for `bytes` more aside, beside the `sent` ones that the start has on the wire; `false` where there is too little.
    /// Nothing is refused that costs nothing: directories, for example, once all data has arrived.
    pub fn set_aside(&self, bytes: u64, sent: u64, now: Instant) -> bool {
        let mut state = lock(&self.state);
        let is_borne = match &state.granted {
            _ if bytes > 0 && state.held.is_some() => false,
            Some(Granted { lease, since }) if bytes > 0 => {
                let seconds = now.saturating_duration_since(*since).as_secs_f64();
                lease.start == self.start && lease.bears(sent + state.aside + bytes, seconds)
            }
            _ => true,
        };
        if is_borne {
            state.aside += bytes;
            state.refused_since = None;
        }
        is_borne
    }

    /// The next chunk waits.
    pub fn refused(&self, now: Instant) {
        let mut state = lock(&self.state);
        if state.refused_since.is_none() {
            if state.held.is_none() {
                tracing::warn!("the budget bears no other chunk: paused until the meter is looked at");
            }
            state.refused_since = Some(now);
        }
    }

    /// A lane has written what was set aside, or gave up.
    pub fn give_back(&self, bytes: u64) {
        lock(&self.state).aside -= bytes;
    }

    /// Returns whether the next chunk waits, and nothing is being written.
    pub fn is_waited_for(&self) -> bool {
        let state = lock(&self.state);
        state.aside == 0 && state.refused_since.is_some()
    }

    /// Returns whether the next chunk has waited for at least `time`, and nothing is being written: relays are of no use. A share of a
    /// limit comes within seconds, so nothing is given up for want of one.
    pub fn is_used_up(&self, now: Instant, time: Duration) -> bool {
        let state = lock(&self.state);
        let waits = state.refused_since.is_some_and(|since| now.saturating_duration_since(since) >= time);
        state.aside == 0 && state.held != Some(Hold::NoShare) && waits
    }
}

#[cfg(test)]
#[path = "lease_tests.rs"]
mod tests;
