//! Open files: a process raises its soft limit to the hard one, and says with numbers where even that is not enough.
//!
//! The usual soft limit is 1 024, for programs that call `select`; this one does not.

use std::fs;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::defaults::{CHECK_QUEUE, COMMIT_QUEUE, LANES_AT_START, MAX_UNAUTHENTICATED, TABLE_CONCURRENCY};

/// A lane at either end: its socket, the file that it reads or writes, the directory above, and one more while it descends
/// to the next file.
const LANE: u64 = 4;
/// A stream through a relay: two sockets, and a pipe of two ends each way.
const STREAM: u64 = 6;
/// Logs, libraries, events and connections to the control plane: at most `TABLE_CONCURRENCY` at a time to each of four services.
const OWN: u64 = 64 + 4 * TABLE_CONCURRENCY as u64;

/// This machine does not let the process open as many files as it may need.
#[derive(Debug, thiserror::Error)]
#[error(
    "{what} needs {needs} open files, and the hard limit leaves {left}: raise it (`ulimit -Hn`, or LimitNOFILE= of its unit) \
     to {} or more",
    .needs + .open
)]
pub struct DescriptorError {
    what: String,
    needs: u64,
    left: u64,
    open: u64,
}

#[derive(Clone, Copy, Debug)]
pub enum Role {
    Sender,
    Receiver,
    Relay,
}

impl Role {
    /// Open files that it may need for its first lanes or streams.
    #[must_use]
    pub const fn budget(self) -> u64 {
        let lanes = LANES_AT_START as u64;
        match self {
            Self::Sender => OWN + lanes * LANE,
            // A large file is open until its last part is synced, or it is out of doubt; a part waits in the queue or in the batch that is
            // synced.
            Self::Receiver => OWN + lanes * LANE + MAX_UNAUTHENTICATED as u64 + (COMMIT_QUEUE + CHECK_QUEUE) as u64,
            Self::Relay => OWN + lanes * STREAM + MAX_UNAUTHENTICATED as u64,
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Sender => "a sender of 64 lanes",
            Self::Receiver => "a receiver of 64 lanes",
            Self::Relay => "a relay of 64 streams",
        }
    }
}

/// Raises the soft limit to the hard one. A system that refuses leaves it; the checks below then say what is missing.
pub fn raise() {
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    if let Err(error) = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum }) {
        tracing::debug!(%error, "the limit of open files stays");
    }
}

/// Returns whether this process may have `needs` open files in all; `what` is named where it may not.
pub fn check_total(what: &str, needs: u64) -> Result<(), DescriptorError> {
    enough(what.to_owned(), needs, 0, getrlimit(Resource::Nofile).current)
}

/// Returns whether a role may start.
pub fn check(role: Role) -> Result<(), DescriptorError> {
    enough(role.name().to_owned(), role.budget(), open(), getrlimit(Resource::Nofile).current)
}

/// Returns whether one more lane may come to the `lanes` there are.
pub fn check_lane(lanes: usize) -> Result<(), DescriptorError> {
    if lanes < LANES_AT_START {
        return Ok(());
    }
    enough(format!("lane {}", lanes + 1), LANE, open(), getrlimit(Resource::Nofile).current)
}

/// Open files of this process; without /proc none are counted.
fn open() -> u64 {
    fs::read_dir("/proc/self/fd").map_or(0, |entries| entries.count() as u64)
}

fn enough(what: String, needs: u64, open: u64, limit: Option<u64>) -> Result<(), DescriptorError> {
    match limit.map(|limit| limit.saturating_sub(open)) {
        Some(left) if left < needs => Err(DescriptorError { what, needs, left, open }),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_refusal_says_what_is_needed_what_is_left_and_what_the_limit_should_be() {
        let text = enough("a sender of 64 lanes".to_owned(), 448, 10, Some(256)).unwrap_err().to_string();
        assert!(["a sender of 64 lanes needs 448", "leaves 246", "to 458 or more"].iter().all(|part| text.contains(part)), "{text}");
        assert!(enough(String::new(), 246, 10, Some(256)).is_ok());
        assert!(enough(String::new(), u64::MAX, 0, None).is_ok(), "no limit");
    }

    #[test]
    fn every_role_fits_into_the_4_096_that_most_systems_allow_an_ordinary_user() {
        for role in [Role::Sender, Role::Receiver, Role::Relay] {
            assert!(role.budget() <= 4_000, "{role:?}: {}", role.budget());
        }
        assert_eq!(LANES_AT_START, 64, "the roles' names say so");
    }

    #[test]
    fn the_soft_limit_is_raised_to_the_hard_one() {
        raise();
        let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
        assert_eq!(current, maximum);
    }
}
