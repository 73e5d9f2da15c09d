//! The process of a daemon: its threads, and the wish to stop it.

#![deny(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used))]

use std::time::Duration;

pub mod held;
pub mod stop;
pub mod thread;

/// Buffers are on the heap. A call of the SDK, which is not optimized, needs more than 256 KiB; what is not touched takes no memory.
pub const STACK_BYTES: usize = 1 << 20;
/// After SIGTERM an end lets go of its work for so long: acknowledgements that are due, a last sync. A second is left to tidy up.
pub const STOP_TIMEOUT: Duration = Duration::from_secs(8);
/// Between SIGTERM and exit, whatever hangs; the units are killed after 15 s.
pub const EXIT_TIMEOUT: Duration = Duration::from_secs(10);
