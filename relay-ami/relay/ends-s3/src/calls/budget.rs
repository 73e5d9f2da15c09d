//! What all calls together may spend on trying again: as much as the SDK's standard retries have, so that a service that is down is asked
//! little more often than one that answers.

use std::sync::atomic::{AtomicU32, Ordering};

/// The SDK's capacity and costs (`aws_smithy_runtime::client::retries::TokenBucket`).
const CAPACITY: u32 = 500;
/// Of an attempt after one that was throttled, or refused otherwise.
pub const REFUSED: u32 = 5;
/// Of an attempt after one that nobody answered, or that failed within the service.
pub const UNANSWERED: u32 = 10;

/// Of one way to a bucket.
pub struct Budget(AtomicU32);

impl Default for Budget {
    fn default() -> Self {
        Self(AtomicU32::new(CAPACITY))
    }
}

impl Budget {
    /// Takes the cost of another attempt, if there is so much.
    pub fn take(&self, cost: u32) -> bool {
        self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(cost)).is_ok()
    }

    /// A call was answered, whose last attempt has cost this.
    pub fn answered(&self, cost: u32) {
        // Nearly always all of it is there, and there is nothing to write that other threads read.
        if self.0.load(Ordering::Relaxed) < CAPACITY {
            let _ = self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| Some(CAPACITY.min(left + cost.max(1))));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_spent_in_vain_is_earned_back_by_answers() {
        let budget = Budget::default();
        assert_eq!((0..100).filter(|_| budget.take(UNANSWERED)).count(), 50);
        assert!(!budget.take(REFUSED));
        (0..REFUSED).for_each(|_| budget.answered(0));
        assert!(budget.take(REFUSED));
        assert!(!budget.take(REFUSED));
        budget.answered(UNANSWERED);
        assert!(budget.take(UNANSWERED), "an attempt that is answered costs nothing");
        (0..2 * CAPACITY).for_each(|_| budget.answered(0));
        assert_eq!((0..200).filter(|_| budget.take(REFUSED)).count(), 100);
    }
}
