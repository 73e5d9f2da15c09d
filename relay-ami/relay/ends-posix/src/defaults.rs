//! Numbers of directory trees, each with its reason.

use std::time::Duration;

pub use cpt_ends::defaults::{AHEAD_NAMES, HOLES_OF_ALL, READBACK_BYTES, READBACK_THREADS, THREADS_AT_ONCE};

/// A scan tries the disks for so long: at 125 MB/s, EBS' least, 40 MB show the rate, and the first byte is not delayed noticeably.
pub const DISK_TIME: Duration = Duration::from_millis(300);
/// The trial moves at most so much for each of its threads; a smaller file cannot tell.
pub const DISK_BYTES: u64 = 64 << 20;
/// Written between two syncs: 16 MiB hide what a sync itself costs (about 1 ms) up to several GB/s.
pub const DISK_SYNC_BYTES: usize = 16 << 20;
/// A disk with less room is not written to for a trial.
pub const DISK_LEAST_FREE: u64 = 1 << 30;
/// Whoever may read a destination may lock it; an attempt that removes things there is waited for so long.
pub const REMOVAL_LOCK_TIMEOUT: Duration = Duration::from_secs(300);
/// Entries of a listing beneath directories that links lead to. Twenty directories of two links each to the next make as many; listing them
/// takes some ten seconds and 300 MB in the control bucket.
pub const MOST_FOLLOWED: u64 = 1_000_000;
