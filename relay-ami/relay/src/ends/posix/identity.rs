//! The identity of the file that has a name.

use std::collections::HashMap;
use std::fs::File;
use std::os::fd::AsFd;

use rustix::fs::{AtFlags, Stat, StatxFlags, statx};

use crate::ends::Identity;

/// Returns what tells a file from another one.
pub fn identity_of(stat: &Stat) -> Identity {
    Identity { inode: stat.st_ino, changed_ns: nanoseconds(stat.st_ctime, stat.st_ctime_nsec) }
}

/// Files that got other names here, by inode: a name changes the change time, and is no change of the file.
#[derive(Debug, Default)]
pub struct Linked(HashMap<u64, (i64, i64)>);

impl Linked {
    /// Notes that a link of ours made `before` `after`. Returns what it was before all of our links.
    pub fn note(&mut self, before: &Identity, after: &Identity) -> Identity {
        let first = self.unlinked(*before);
        self.0.insert(after.inode, (first.changed_ns, after.changed_ns));
        first
    }

    /// Returns what a file was before our links, if nothing else has changed it since.
    #[must_use]
    pub fn unlinked(&self, now: Identity) -> Identity {
        match self.0.get(&now.inode) {
            Some((first, last)) if *last == now.changed_ns => Identity { changed_ns: *first, ..now },
            _ => now,
        }
    }
}

/// A modification time, nanoseconds since 1970.
pub fn modified_ns(stat: &Stat) -> i64 {
    nanoseconds(stat.st_mtime, stat.st_mtime_nsec)
}

fn nanoseconds(seconds: i64, nanoseconds: impl TryInto<i64>) -> i64 {
    seconds.saturating_mul(1_000_000_000).saturating_add(nanoseconds.try_into().unwrap_or(0))
}

/// Returns when a file was made, nanoseconds since 1970, which nobody can set; 0 where the file system does not tell.
pub fn birth(directory: &impl AsFd, name: &str) -> i64 {
    let found = statx(directory, name, AtFlags::SYMLINK_NOFOLLOW | AtFlags::EMPTY_PATH, StatxFlags::BTIME);
    let known = found.ok().filter(|found| StatxFlags::from_bits_retain(found.stx_mask).contains(StatxFlags::BTIME));
    known.map_or(0, |found| nanoseconds(found.stx_btime.tv_sec, found.stx_btime.tv_nsec))
}

pub fn birth_of(file: &File) -> i64 {
    birth(file, "")
}
