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
    callers: Mutex<Vec<Arc<Since>>>,
    steps: Arc<AtomicU64>,
}

/// Who makes one call at a time, again and again. Streams enter and leave four times for each small file: so nothing is locked.
#[derive(Debug)]
pub struct Caller {
    begun: Instant,
    since: Arc<Since>,
    steps: Arc<AtomicU64>,
}

/// Nanoseconds after `begun`; 0 without a call.
#[derive(Debug, Default)]
struct Since {
    /// Time at which the present call began.
    call: AtomicU64,
    /// Time at which the first of the calls began that follow one another.
    work: AtomicU64,
}

/// One call, or several that follow one another; they are over when this is dropped.
#[must_use]
pub struct Call {
    begun: Instant,
    since: Arc<Since>,
    steps: Arc<AtomicU64>,
}

impl UnderWay {
    pub fn caller(&self) -> Caller {
        let since = Arc::<Since>::default();
        let mut callers = lock(&self.callers);
        callers.retain(|caller| Arc::strong_count(caller) > 1);
        callers.push(Arc::clone(&since));
        Caller { begun: self.begun, since, steps: Arc::clone(&self.steps) }
    }

    /// A call of somebody who makes few.
    pub fn enter(&self) -> Call {
        self.caller().enter()
    }

    /// Returns how long the oldest call has not returned; none without any.
    #[must_use]
    pub fn longest(&self) -> Option<Duration> {
        self.since_oldest(|since| &since.call)
    }

    /// Returns how long somebody has made one call after the other; none where nobody is in one.
    #[must_use]
    pub fn longest_work(&self) -> Option<Duration> {
        self.since_oldest(|since| &since.work)
    }

    /// The number of calls that were followed by another one of the same work: it grows while long work goes on.
    #[must_use]
    pub fn steps(&self) -> u64 {
        self.steps.load(Ordering::Relaxed)
    }

    fn since_oldest(&self, of: impl Fn(&Since) -> &AtomicU64) -> Option<Duration> {
        let callers = lock(&self.callers);
        let oldest = callers.iter().map(|since| of(since).load(Ordering::Relaxed)).filter(|since| *since != 0).min()?;
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
        Self { begun: Instant::now(), callers: Mutex::default(), steps: Arc::default() }
    }
}

impl Caller {
    pub fn enter(&self) -> Call {
        let now = nanoseconds(self.begun);
        self.since.work.store(now, Ordering::Relaxed);
        self.since.call.store(now, Ordering::Relaxed);
        Call { begun: self.begun, since: Arc::clone(&self.since), steps: Arc::clone(&self.steps) }
    }
}

impl Call {
    /// The call has returned, and another one of the same work follows: whoever reads a large file or places a thousand entries hangs
    /// only if one of the calls for that does not return.
    pub fn goes_on(&self) {
        self.since.call.store(nanoseconds(self.begun), Ordering::Relaxed);
        self.steps.fetch_add(1, Ordering::Relaxed);
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        self.since.call.store(0, Ordering::Relaxed);
        self.since.work.store(0, Ordering::Relaxed);
    }
}

/// 585 years fit in; 0 means that there is no call.
fn nanoseconds(begun: Instant) -> u64 {
    u64::try_from(begun.elapsed().as_nanos()).unwrap_or(u64::MAX).max(1)
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

    #[test]
    fn work_that_goes_on_hangs_only_where_one_of_its_calls_does_not_return() {
        let calls = UnderWay::default();
        let call = calls.enter();
        std::thread::sleep(Duration::from_millis(20));
        call.goes_on();
        assert!(calls.longest() < Some(Duration::from_millis(20)), "the first call has returned");
        assert!(calls.longest_work() >= Some(Duration::from_millis(20)));
        assert_eq!(calls.steps(), 1);
        std::thread::sleep(Duration::from_millis(20));
        assert!(calls.longest() >= Some(Duration::from_millis(20)), "the second one has not");
        drop(call);
        assert_eq!((calls.longest(), calls.longest_work(), calls.steps()), (None, None, 1));
    }
}
