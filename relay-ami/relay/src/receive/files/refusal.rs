//! Why a chunk does not count.

use std::fmt::Display;
use std::io;

use crate::documents::event::FailureReason;
use crate::ends::problem::{Reach, is_superseded, reach};

/// Why a chunk does not count.
#[derive(Clone)]
pub enum Refusal {
    /// It may be the chunk's own fault.
    Failed { reason: FailureReason, message: String },
    /// Nothing can be written.
    Full(String),
}

impl Refusal {
    pub fn destination(why: impl Display) -> Self {
        Self::Failed { reason: FailureReason::DestinationError, message: why.to_string() }
    }

    /// `what` was done when the error came.
    pub fn of(error: &io::Error, what: &str) -> Self {
        let message = format!("{what}{error}");
        if is_superseded(error) {
            return Self::Failed { reason: FailureReason::StreamLost, message };
        }
        if reach(error) == Reach::Destination { Self::Full(message) } else { Self::destination(message) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_refuses_all_and_another_error_one_chunk() {
        let full = Refusal::of(&io::Error::from_raw_os_error(rustix::io::Errno::NOSPC.raw_os_error()), "sync: ");
        assert!(matches!(full, Refusal::Full(message) if message.starts_with("sync: ")));
        let other = Refusal::of(&io::Error::other("odd"), "");
        assert!(matches!(other, Refusal::Failed { reason: FailureReason::DestinationError, .. }));
    }
}
