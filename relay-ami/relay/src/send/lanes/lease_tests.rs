#![allow(clippy::unwrap_used)]

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
