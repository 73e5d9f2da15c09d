//! Questions that the sender repeats until the control plane answers.

use super::{SendError, Shared};
use crate::defaults::{CONTROL_PAUSE, WATCH_INTERVAL};

impl Shared {
    /// Repeats what the control plane did not answer until the process ends, and then gives none: what is unavailable today ends
    /// no transfer. What no repetition mends is an error.
    pub fn until_answered<T>(&self, what: &str, call: impl Fn() -> Result<T, SendError>) -> Result<Option<T>, SendError> {
        let _call = self.asked.enter();
        loop {
            match call() {
                Err(SendError::Control(error)) if error.may_pass() => tracing::warn!(what, %error, "asked for again"),
                other => return other.map(Some),
            }
            if self.stop.sleep(CONTROL_PAUSE) || self.chunks.queue.is_over() {
                return Ok(None);
            }
        }
    }
}

/// Follows what the table says about chunks that failed. A thread of its own: a table that does not answer must not keep this end
/// from its reports.
pub fn decisions(shared: &Shared) {
    while !shared.stop.sleep(WATCH_INTERVAL) && !shared.chunks.queue.is_over() {
        let undecided = shared.chunks.queue.undecided();
        if !undecided.is_empty() {
            match shared.control.chunks(&undecided) {
                Ok(items) => shared.chunks.queue.decide(&items).iter().for_each(|work| shared.chunks.delivered_after_all(work)),
                Err(error) => tracing::warn!(%error, "failed chunks"),
            }
        }
    }
}
