//! What is in its place at the destination: each entry's digest, and which file it was when it came there.

use std::fs::File;
use std::os::fd::AsFd;

use rustix::fs::{AtFlags, Stat, StatxFlags, statx};

use crate::digest::Digest;

/// Tells a file from another one of the same name, size and time, which anybody can set: the kernel alone sets a change time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identity {
    pub inode: u64,
    /// Nanoseconds since 1970.
    pub changed_ns: i64,
}

impl Identity {
    #[must_use]
    pub fn of(stat: &Stat) -> Self {
        Self { inode: stat.st_ino, changed_ns: nanoseconds(stat.st_ctime, stat.st_ctime_nsec) }
    }
}

/// An entry that is in its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Placed {
    /// BLAKE3 of a file's bytes or of a link's target; of a directory that of nothing.
    pub digest: Digest,
    /// None where it is not known which file was placed: its bytes are read again before the transfer succeeds.
    pub identity: Option<Identity>,
}

/// A modification time, nanoseconds since 1970.
#[must_use]
pub fn modified_ns(stat: &Stat) -> i64 {
    nanoseconds(stat.st_mtime, stat.st_mtime_nsec)
}

fn nanoseconds(seconds: i64, nanoseconds: impl TryInto<i64>) -> i64 {
    seconds.saturating_mul(1_000_000_000).saturating_add(nanoseconds.try_into().unwrap_or(0))
}

/// When a file was made, nanoseconds since 1970, which nobody can set; 0 where the file system does not tell.
pub fn birth(directory: &impl AsFd, name: &str) -> i64 {
    let found = statx(directory, name, AtFlags::SYMLINK_NOFOLLOW | AtFlags::EMPTY_PATH, StatxFlags::BTIME);
    let known = found.ok().filter(|found| StatxFlags::from_bits_retain(found.stx_mask).contains(StatxFlags::BTIME));
    known.map_or(0, |found| nanoseconds(found.stx_btime.tv_sec, found.stx_btime.tv_nsec))
}

#[must_use]
pub fn birth_of(file: &File) -> i64 {
    birth(file, "")
}
