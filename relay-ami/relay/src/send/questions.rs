//! Questions that the sender repeats until the control plane answers.

use std::sync::Arc;

use super::error::SendError;
use super::queue::WorkQueue;
use crate::defaults::CONTROL_PAUSE;
use crate::stop::Stop;
use crate::under_way::UnderWay;

/// The calls of the control plane without which this end does not get on.
pub struct Questions {
    asked: UnderWay,
    queue: Arc<WorkQueue>,
    stop: Stop,
}

impl Questions {
    /// They end with the queue, or once the process is told to stop.
    pub fn new(queue: Arc<WorkQueue>, stop: Stop) -> Self {
        Self { asked: UnderWay::default(), queue, stop }
    }

    /// Returns whether an answer is what this end waits for.
    pub fn waits(&self) -> bool {
        self.asked.waits()
    }

    /// Repeats what the control plane did not answer until the process ends, and then gives none: what is unavailable today ends
    /// no transfer. What no repetition mends is an error.
    pub fn until_answered<T>(&self, what: &str, call: impl Fn() -> Result<T, SendError>) -> Result<Option<T>, SendError> {
        let _call = self.asked.enter();
        loop {
            match call() {
                Err(SendError::Control(error)) if error.may_pass() => tracing::warn!(what, %error, "asked for again"),
                other => return other.map(Some),
            }
            if self.stop.sleep(CONTROL_PAUSE) || self.queue.is_over() {
                return Ok(None);
            }
        }
    }
}
