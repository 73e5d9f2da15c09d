//! Numbers that hold for every control plane, each with its reason.

use std::time::Duration;

/// Concurrent writes to the table: at 150 ms across regions 32 give 210 chunks/s.
pub const TABLE_CONCURRENCY: usize = 32;
/// Pause before a call is repeated that the control plane did not answer; its own retries are used up by then.
pub const CONTROL_PAUSE: Duration = Duration::from_secs(1);
/// An end that starts asks for its plan and makes itself known for so long: longer than a throttled table or a name server's restart
/// takes, and an end that does not start fails the transfer within minutes.
pub const CONTROL_START: Duration = Duration::from_secs(120);
