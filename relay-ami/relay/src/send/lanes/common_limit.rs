//! The sender's part of a limit over several transfers. Whoever shares the limit out renews it; a renewal that does not come in time leaves
//! the sender with less, which is safe whatever the others send.

use std::time::{Duration, Instant};

use crate::documents::leases::LimitLease;

/// What a chunk that is being written may go on with, Mbit/s, where the sender has no share: a stream that stood still would time out.
const LEAST_MBPS: f64 = 1.0;

/// The part that was granted last.
#[derive(Default)]
pub struct CommonLimit {
    /// Since when it is known.
    granted: Option<(LimitLease, Instant)>,
}

impl CommonLimit {
    /// Takes the membership's word. Its time begins when its number is first seen.
    pub fn renew(&mut self, lease: Option<&LimitLease>, now: Instant) {
        if self.granted.as_ref().map(|(known, _)| known) != lease {
            self.granted = lease.map(|lease| (lease.clone(), now));
        }
    }

    /// Mbit/s of the share; none where nothing is shared.
    fn share(&self, now: Instant) -> Option<f64> {
        let (lease, since) = self.granted.as_ref()?;
        let ends_after = Duration::try_from_secs_f64(lease.seconds).unwrap_or(Duration::MAX);
        let holds = now.saturating_duration_since(*since) < ends_after;
        Some(if holds { lease.mbps } else { lease.mbps.min(lease.safe_mbps) })
    }

    /// Returns whether no chunk may be begun.
    pub fn is_without_share(&self, now: Instant) -> bool {
        self.share(now).is_some_and(|mbps| mbps <= 0.0)
    }

    /// Mbit/s that may be sent beside the transfer's `own` limit; none: no bound.
    pub fn bound(&self, own: Option<f64>, now: Instant) -> Option<f64> {
        match (own, self.share(now)) {
            (Some(own), Some(share)) => Some(own.min(share.max(LEAST_MBPS))),
            (None, Some(share)) => Some(share.max(LEAST_MBPS)),
            (own, None) => own,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn granted(number: u64, mbps: f64) -> LimitLease {
        LimitLease { number, mbps, safe_mbps: 20.0, seconds: 150.0 }
    }

    #[test]
    fn a_share_holds_until_it_ends_and_leaves_the_smaller_one() {
        let (now, mut limit) = (Instant::now(), CommonLimit::default());
        let after = |seconds| now + Duration::from_secs(seconds);
        assert_eq!(limit.bound(Some(5.0), now), Some(5.0));
        limit.renew(Some(&granted(1, 80.0)), now);
        assert_eq!((limit.bound(None, after(149)), limit.bound(None, after(150))), (Some(80.0), Some(20.0)));
        assert_eq!(limit.bound(Some(30.0), after(1)), Some(30.0), "the transfer's own limit holds beside it");
        limit.renew(Some(&granted(1, 80.0)), after(100));
        assert_eq!(limit.bound(None, after(150)), Some(20.0), "the same number is no renewal");
        limit.renew(Some(&granted(2, 80.0)), after(160));
        assert_eq!(limit.bound(None, after(161)), Some(80.0));
        limit.renew(Some(&granted(3, 10.0)), after(170));
        assert_eq!(limit.bound(None, after(1000)), Some(10.0), "what has ended is never more than what was granted");
        limit.renew(None, after(1000));
        assert_eq!(limit.bound(None, after(1000)), None);
    }

    #[test]
    fn without_a_share_nothing_is_begun_and_what_is_under_way_does_not_stand_still() {
        let (now, mut limit) = (Instant::now(), CommonLimit::default());
        assert!(!limit.is_without_share(now));
        limit.renew(Some(&granted(1, 0.0)), now);
        assert!(limit.is_without_share(now));
        assert_eq!(limit.bound(None, now), Some(LEAST_MBPS));
    }
}
