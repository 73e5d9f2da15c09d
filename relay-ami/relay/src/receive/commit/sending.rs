//! The number of lanes that are about to bring more: while any is, a sync waits for company; else it goes at once.

use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Instant;

use crate::thread::lock;

#[derive(Debug, Default)]
pub struct Sending {
    lanes: Mutex<usize>,
    changed: Condvar,
}

/// One lane; it sends until it says that it pauses, and again from its next chunk on.
pub struct LaneSending<'a> {
    all: &'a Sending,
    sends: bool,
}

impl Sending {
    pub fn lane(&self) -> LaneSending<'_> {
        let mut lane = LaneSending { all: self, sends: false };
        lane.set(true);
        lane
    }

    /// Waits until all lanes pause, at most until `deadline`.
    pub fn wait_for_none(&self, deadline: Instant) {
        let mut lanes = lock(&self.lanes);
        while *lanes > 0 {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            lanes = self.changed.wait_timeout(lanes, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

impl LaneSending<'_> {
    pub fn set(&mut self, sends: bool) {
        if self.sends == sends {
            return;
        }
        self.sends = sends;
        let mut lanes = lock(&self.all.lanes);
        *lanes = if sends { *lanes + 1 } else { *lanes - 1 };
        self.all.changed.notify_all();
    }
}

impl Drop for LaneSending<'_> {
    fn drop(&mut self) {
        self.set(false);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_sync_waits_for_lanes_that_send_and_for_no_other() {
        let sending = Sending::default();
        let (mut first, second) = (sending.lane(), sending.lane());
        first.set(false);
        let deadline = Instant::now() + Duration::from_millis(30);
        sending.wait_for_none(deadline);
        assert!(Instant::now() >= deadline, "the second lane still sends");
        drop(second);
        let started = Instant::now();
        sending.wait_for_none(started + Duration::from_secs(60));
        assert!(started.elapsed() < Duration::from_secs(30), "no lane sends");
    }
}
