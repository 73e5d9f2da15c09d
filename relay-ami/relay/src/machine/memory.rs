//! Memory: what a process may come to need is there when it starts, or it does not start.

use std::fs;

use rustix::process::{Resource, getrlimit};

use crate::defaults::{LANE_MEMORY, LANES_AT_START, RECEIVER_MEMORY, SENDER_MEMORY};

/// This machine cannot give what the process may need.
#[derive(Debug, thiserror::Error)]
#[error("{what} needs {} MiB of memory, and {} MiB are available ({limit}): free some, raise the limit, or take a larger machine", .needs >> 20, .available >> 20)]
pub struct MemoryError {
    what: String,
    needs: u64,
    available: u64,
    limit: String,
}

/// The end whose queues and first lanes need memory.
#[derive(Clone, Copy, Debug)]
pub enum Role {
    Sender,
    Receiver,
}

impl Role {
    /// Bytes.
    #[must_use]
    pub const fn budget(self) -> u64 {
        let own = match self {
            Self::Sender => SENDER_MEMORY,
            Self::Receiver => RECEIVER_MEMORY,
        };
        own + LANES_AT_START as u64 * LANE_MEMORY
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Sender => "sender",
            Self::Receiver => "receiver",
        }
    }
}

/// Returns whether an end may start.
pub fn check(role: Role) -> Result<(), MemoryError> {
    enough(format!("a {} of {LANES_AT_START} lanes", role.name()), role.budget(), available())
}

/// Returns whether one more lane may come to the `lanes` there are.
pub fn check_lane(lanes: usize) -> Result<(), MemoryError> {
    if lanes < LANES_AT_START {
        return Ok(());
    }
    enough(format!("lane {}", lanes + 1), LANE_MEMORY, available())
}

fn enough(what: String, needs: u64, available: Option<(u64, String)>) -> Result<(), MemoryError> {
    match available {
        Some((available, limit)) if available < needs => Err(MemoryError { what, needs, available, limit }),
        // Where nothing can be known, nothing is refused.
        _ => Ok(()),
    }
}

/// The least of what the machine, the control group and the process' own limit leave, and which it is.
fn available() -> Option<(u64, String)> {
    let machine = fs::read_to_string("/proc/meminfo").ok().and_then(|text| kibibytes(&text, "MemAvailable:"));
    let limit = getrlimit(Resource::As).current;
    let used = fs::read_to_string("/proc/self/status").ok().and_then(|text| kibibytes(&text, "VmSize:"));
    let process = limit.zip(used).map(|(limit, used)| limit.saturating_sub(used));
    [
        machine.map(|bytes| (bytes, "MemAvailable of the machine".to_owned())),
        process.map(|bytes| (bytes, "the process' limit of address space".to_owned())),
        control_group(),
    ]
    .into_iter()
    .flatten()
    .min_by_key(|(bytes, _)| *bytes)
}

/// `NAME: 123 kB` in a file of /proc, as bytes.
fn kibibytes(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_whitespace().next()?.parse::<u64>().ok()?.checked_mul(1024)
}

/// Returns what this process' control group (version 2) and those above it leave.
fn control_group() -> Option<(u64, String)> {
    let text = fs::read_to_string("/proc/self/cgroup").ok()?;
    let mut path = text.lines().find_map(|line| line.strip_prefix("0::/"))?.to_owned();
    let mut least: Option<(u64, String)> = None;
    while !path.is_empty() {
        let read = |name: &str| fs::read_to_string(format!("/sys/fs/cgroup/{path}/{name}")).ok()?.trim().parse::<u64>().ok();
        if let Some((max, current)) = read("memory.max").zip(read("memory.current")) {
            // Page cache counts as used, and gives way: a receiver fills its group with it in seconds.
            let stat = fs::read_to_string(format!("/sys/fs/cgroup/{path}/memory.stat")).unwrap_or_default();
            let cache = stat.lines().find_map(|line| line.strip_prefix("inactive_file ")?.trim().parse().ok()).unwrap_or(0u64);
            let left = max.saturating_sub(current.saturating_sub(cache));
            if least.as_ref().is_none_or(|(bytes, _)| left < *bytes) {
                least = Some((left, format!("memory.max of control group /{path}")));
            }
        }
        path.truncate(path.rfind('/').unwrap_or(0));
    }
    least
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_refusal_names_what_is_needed_what_is_there_and_the_limit() {
        let error = enough("a sender of 64 lanes".to_owned(), 256 << 20, Some((100 << 20, "MemAvailable".to_owned()))).unwrap_err();
        let text = error.to_string();
        assert!(["sender of 64 lanes", "256 MiB", "100 MiB", "MemAvailable"].iter().all(|part| text.contains(part)), "{text}");
        assert!(enough(String::new(), 1, Some((1, String::new()))).is_ok());
    }

    #[test]
    fn both_ends_stay_within_256_mib() {
        assert!(Role::Sender.budget() <= 256 << 20);
        assert!(Role::Receiver.budget() <= 256 << 20);
    }

    #[test]
    fn figures_of_proc_are_read_in_kibibytes() {
        assert_eq!(kibibytes("MemTotal:  9 kB\nMemAvailable:    2 kB\n", "MemAvailable:"), Some(2048));
        assert_eq!(kibibytes("MemTotal:  9 kB\n", "MemAvailable:"), None);
    }
}
