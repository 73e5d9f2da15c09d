//! What the budget still bears. The control plane grants it with each look at the meter; a look that does not come in time leaves the
//! sender with what it has, and the sender pauses once that is used up.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use crate::defaults::LATEST_LOOK;
use crate::documents::membership::BudgetLease;
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
    /// Since when the next chunk waits for money.
    refused_since: Option<Instant>,
}

struct Granted {
    lease: BudgetLease,
    /// When it was granted, as far as this process knows.
    since: Instant,
}

impl Lease {
    /// Bears everything until the membership names a lease.
    pub const fn of_start(start: u64) -> Self {
        Self { start, state: Mutex::new(State { granted: None, aside: 0, refused_since: None }) }
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

    /// Sets money for `bytes` more aside, beside the `sent` ones that the start has on the wire; `false` where there is too little.
    /// Nothing is refused that costs nothing: directories, for example, once all data has arrived.
    pub fn set_aside(&self, bytes: u64, sent: u64, now: Instant) -> bool {
        let mut state = lock(&self.state);
        let is_borne = match &state.granted {
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

    /// The next chunk waits for money.
    pub fn refused(&self, now: Instant) {
        let mut state = lock(&self.state);
        if state.refused_since.is_none() {
            tracing::warn!("the budget bears no other chunk: paused until the meter is looked at");
            state.refused_since = Some(now);
        }
    }

    /// A lane has written what was set aside, or gave up.
    pub fn give_back(&self, bytes: u64) {
        lock(&self.state).aside -= bytes;
    }

    /// Returns whether the next chunk has waited for at least `time`, and nothing is being written.
    pub fn is_used_up(&self, now: Instant, time: Duration) -> bool {
        let state = lock(&self.state);
        state.aside == 0 && state.refused_since.is_some_and(|since| now.saturating_duration_since(since) >= time)
    }
}

#[cfg(test)]
#[path = "lease_tests.rs"]
mod tests;
