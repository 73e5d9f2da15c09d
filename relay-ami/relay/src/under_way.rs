//! Calls that may hang, and since when each has been under way, so that a report can say so.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crate::defaults::{CONTROL_SLOW, STANDSTILL};
use crate::thread::lock;

/// Calls of one kind.
#[derive(Debug)]
pub struct UnderWay {
    begun: Instant,
    callers: Mutex<Vec<Arc<AtomicU64>>>,
}

/// Who makes one call at a time, again and again. Streams enter and leave four times for each small file: so nothing is locked.
#[derive(Debug)]
pub struct Caller {
    begun: Instant,
    /// Time at which the present call began, nanoseconds after `begun`; 0 without one.
    since: Arc<AtomicU64>,
}

/// One call, which is over when this is dropped.
#[must_use]
pub struct Call {
    since: Arc<AtomicU64>,
}

impl UnderWay {
    pub fn caller(&self) -> Caller {
        let since = Arc::<AtomicU64>::default();
        let mut callers = lock(&self.callers);
        callers.retain(|caller| Arc::strong_count(caller) > 1);
        callers.push(Arc::clone(&since));
        Caller { begun: self.begun, since }
    }

    /// A call of somebody who makes few.
    pub fn enter(&self) -> Call {
        self.caller().enter()
    }

    /// Returns how long the oldest has been under way; none without any.
    #[must_use]
    pub fn longest(&self) -> Option<Duration> {
        let callers = lock(&self.callers);
        let oldest = callers.iter().map(|since| since.load(Ordering::Relaxed)).filter(|since| *since != 0).min()?;
        Some(self.begun.elapsed().saturating_sub(Duration::from_nanos(oldest)))
    }

    /// Returns whether one of them, to the control plane, takes so long that its answer is what this end waits for; not for ever.
    #[must_use]
    pub fn waits(&self) -> bool {
        self.longest().is_some_and(|time| (CONTROL_SLOW..STANDSTILL).contains(&time))
    }
}

impl Default for UnderWay {
    fn default() -> Self {
        Self { begun: Instant::now(), callers: Mutex::default() }
    }
}

impl Caller {
    pub fn enter(&self) -> Call {
        // 585 years fit in.
        let now = u64::try_from(self.begun.elapsed().as_nanos()).unwrap_or(u64::MAX).max(1);
        self.since.store(now, Ordering::Relaxed);
        Call { since: Arc::clone(&self.since) }
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        self.since.store(0, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_call_that_is_not_over_counts() {
        let calls = UnderWay::default();
        assert_eq!(calls.longest(), None);
        let first = calls.enter();
        std::thread::sleep(Duration::from_millis(20));
        let second = calls.enter();
        assert!(calls.longest() >= Some(Duration::from_millis(20)));
        drop(first);
        assert!(calls.longest() < Some(Duration::from_millis(20)), "the second began later");
        drop(second);
        assert_eq!(calls.longest(), None);
    }

    #[test]
    fn a_caller_counts_while_it_calls_and_is_forgotten_with_its_last_call() {
        let calls = UnderWay::default();
        let caller = calls.caller();
        assert_eq!(calls.longest(), None);
        for _ in 0..2 {
            let call = caller.enter();
            assert!(calls.longest().is_some());
            drop(call);
            assert_eq!(calls.longest(), None);
        }
        let call = caller.enter();
        drop(caller);
        let _other = calls.caller();
        assert!(calls.longest().is_some(), "the call outlives who made it");
        drop(call);
        let _another = calls.caller();
        assert_eq!(lock(&calls.callers).len(), 2);
    }
}
