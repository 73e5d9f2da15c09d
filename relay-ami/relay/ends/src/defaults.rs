//! Numbers that hold for every kind of end, each with its reason.

use std::time::Duration;

/// Holes that a receiver remembers of all files together, 16 MiB. Of the others the bytes decide.
pub const HOLES_OF_ALL: usize = 1 << 19;
/// Threads that read back: one digests 2 GB/s and more, four keep a disk's queue filled.
pub const READBACK_THREADS: usize = 4;
/// Reads so much at a time: a multiple of any disk's sector, large enough for a disk's own rate.
pub const READBACK_BYTES: usize = 1 << 20;
/// Whether files come from far: from the page cache one takes 20 µs, from a disk behind a network a millisecond and more.
pub const SLOW_FILE: Duration = Duration::from_micros(300);
/// Threads that ask such a disk at once, for one lane or one directory: its rate comes with 16 to 32 requests under way.
pub const THREADS_AT_ONCE: usize = 16;
/// Names that are looked at ahead, or files that are placed, before it is seen what came of it.
pub const AHEAD_NAMES: usize = 256;
/// Of a table of entries, what stays in memory: with digests, those of a million. The rest goes into a file.
pub const ENTRY_TABLE_MEMORY: usize = 32 << 20;
