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
mod tests {
    use super::*;

    const GB: u64 = 1_000_000_000;
    const AT: f64 = 1_700_000_000.0;

    /// Ten gigabytes at two cents each.
    fn granted(usd_per_hour: f64) -> BudgetLease {
        BudgetLease { start: 1, at: AT, sent_bytes: 5 * GB, usd: 0.2, usd_per_gb: 0.02, usd_per_hour }
    }

    fn lease(granted: Option<&BudgetLease>, now: Instant) -> Lease {
        let lease = Lease::of_start(1);
        lease.renew(granted, now, AT);
        lease
    }

    #[test]
    fn a_transfer_without_a_budget_is_never_refused() {
        let now = Instant::now();
        assert!(lease(None, now).set_aside(u64::MAX / 2, 0, now));
    }

    #[test]
    fn what_lanes_are_writing_counts_as_sent() {
        let now = Instant::now();
        let lease = lease(Some(&granted(0.0)), now);
        assert!(lease.set_aside(6 * GB, 5 * GB, now) && lease.set_aside(4 * GB, 5 * GB, now));
        assert!(!lease.set_aside(1, 5 * GB, now) && lease.set_aside(0, 5 * GB, now), "what costs nothing goes");
        lease.give_back(4 * GB);
        assert!(lease.set_aside(GB, 8 * GB, now), "3 GB went out of 4, and 6 are still aside");
        assert!(!lease.set_aside(GB, 8 * GB, now));
    }

    #[test]
    fn time_uses_it_up() {
        let (now, granted) = (Instant::now(), granted(0.4));
        let after = |seconds| lease(Some(&granted), now).set_aside(1, 5 * GB, now + Duration::from_secs(seconds));
        assert!(after(1799) && !after(1800));
    }

    #[test]
    fn a_clock_that_is_wrong_costs_no_more_than_a_late_look_and_that_once() {
        let (now, granted) = (Instant::now(), granted(0.4));
        let (late, hour) = (LATEST_LOOK, Duration::from_secs(1800));
        for (unix, age) in [(AT - 86_400.0, Duration::ZERO), (AT + 60.0, Duration::from_secs(60)), (AT + 86_400.0, late)] {
            let lease = Lease::of_start(1);
            lease.renew(Some(&granted), now, unix);
            assert!(lease.set_aside(1, 5 * GB, now + hour - age - Duration::from_secs(1)), "{unix}");
            assert!(!lease.set_aside(1, 5 * GB, now + hour - age), "{unix}");
            // The next one is as young as it is.
            lease.renew(Some(&BudgetLease { at: AT + 60.0, ..granted.clone() }), now, unix);
            assert!(lease.set_aside(1, 5 * GB, now + hour - Duration::from_secs(1)), "{unix}");
        }
    }

    #[test]
    fn a_lease_of_another_start_is_none() {
        let now = Instant::now();
        for start in [0, 2] {
            assert!(!lease(Some(&BudgetLease { start, ..granted(0.0) }), now).set_aside(1, 0, now));
        }
    }

    #[test]
    fn it_is_used_up_while_everything_is_refused_and_nothing_is_being_written() {
        let (now, second) = (Instant::now(), Duration::from_secs(1));
        let lease = lease(Some(&granted(0.0)), now);
        assert!(!lease.is_used_up(now, Duration::ZERO));
        assert!(lease.set_aside(10 * GB, 5 * GB, now) && !lease.set_aside(GB, 5 * GB, now));
        assert!(!lease.is_used_up(now + second, Duration::ZERO), "a second copy of a chunk need not go");
        lease.refused(now);
        assert!(!lease.is_used_up(now + second, Duration::ZERO), "a chunk is being written");
        lease.give_back(10 * GB);
        lease.refused(now + second);
        assert!(lease.is_used_up(now, Duration::ZERO) && !lease.is_used_up(now, second) && lease.is_used_up(now + second, second));
        lease.renew(Some(&BudgetLease { usd: 1.0, ..granted(0.0) }), now, AT);
        assert!(lease.set_aside(GB, 15 * GB, now) && !lease.is_used_up(now + second, Duration::ZERO));
    }
}
