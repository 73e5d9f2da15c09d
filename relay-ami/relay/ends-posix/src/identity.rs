//! The identity of the file that has a name.

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::os::fd::AsFd;

use rustix::fs::{AtFlags, Stat, StatxFlags, statx};

use super::file_map::{FileMap, Value};
use cpt_ends::Version;

/// A file and its state: inode and change time, which the kernel alone sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identity {
    pub inode: u64,
    /// Nanoseconds since 1970.
    pub changed_ns: i64,
}

impl From<Identity> for Version {
    fn from(Identity { inode, changed_ns }: Identity) -> Self {
        Self::of_numbers((inode, changed_ns))
    }
}

impl From<Version> for Identity {
    fn from(version: Version) -> Self {
        let (inode, changed_ns) = version.numbers();
        Self { inode, changed_ns }
    }
}

/// Returns what tells a file from another one.
pub fn identity_of(stat: &Stat) -> Identity {
    Identity { inode: stat.st_ino, changed_ns: nanoseconds(stat.st_ctime, stat.st_ctime_nsec) }
}

/// Files that are remembered in memory, 10 MiB; of more, all go into the file.
const MOST_LINKED: usize = 1 << 17;

/// Files that got other names here, by inode: a name changes the change time, and is no change of the file.
#[derive(Default)]
pub struct Linked {
    memory: HashMap<u64, (i64, i64)>,
    spare: Option<File>,
    spilled: Option<FileMap>,
}

impl Linked {
    /// None yet. Without a file all of them stay in memory.
    pub fn within(file: Option<File>) -> Self {
        Self { spare: file, ..Self::default() }
    }

    /// Notes that a link of ours made `before` `after`. Returns what it was before all of our links.
    pub fn note(&mut self, before: &Identity, after: &Identity) -> Identity {
        let first = self.unlinked(*before);
        self.memory.insert(after.inode, (first.changed_ns, after.changed_ns));
        if self.memory.len() > MOST_LINKED
            && (self.spare.is_some() || self.spilled.is_some())
            && let Err(error) = self.spill()
        {
            tracing::warn!(%error, "files that got other names stay in memory");
            (self.spare, self.spilled) = (None, None);
        }
        first
    }

    /// What is in memory goes into the file.
    fn spill(&mut self) -> io::Result<()> {
        if let Some(file) = self.spare.take() {
            self.spilled = Some(FileMap::new(file)?);
        }
        if let Some(map) = &mut self.spilled {
            for (inode, times) in &self.memory {
                map.insert(&u128::from(*inode).to_be_bytes(), &encode(*times))?;
            }
            self.memory = HashMap::new();
        }
        Ok(())
    }

    /// The change times before and after our links. Where they cannot be read any more the file is read again at the end.
    fn times(&self, inode: u64) -> Option<(i64, i64)> {
        let spilled = || self.spilled.as_ref()?.get(&u128::from(inode).to_be_bytes()).ok().flatten().map(decode);
        self.memory.get(&inode).copied().or_else(spilled)
    }

    /// Returns whether this is what was noted last.
    #[must_use]
    pub fn is_last(&self, now: &Identity) -> bool {
        self.times(now.inode).is_some_and(|(_, last)| last == now.changed_ns)
    }

    /// Returns what a file was before our links, if nothing else has changed it since.
    #[must_use]
    pub fn unlinked(&self, now: Identity) -> Identity {
        match self.times(now.inode) {
            Some((first, last)) if last == now.changed_ns => Identity { changed_ns: first, ..now },
            _ => now,
        }
    }
}

fn encode((first, last): (i64, i64)) -> Value {
    (u128::from(first.cast_unsigned()) << 64 | u128::from(last.cast_unsigned())).to_be_bytes()
}

fn decode(value: Value) -> (i64, i64) {
    let both = u128::from_be_bytes(value);
    (((both >> 64) as u64).cast_signed(), (both as u64).cast_signed())
}

/// A modification time, nanoseconds since 1970; none where 64 bits do not hold it: before 1677-09-21 and after 2262-04-11.
pub fn modified_ns(stat: &Stat) -> Option<i64> {
    #[allow(clippy::useless_conversion, reason = "on arm64 it has other types")]
    let nanoseconds = i128::from(stat.st_mtime) * 1_000_000_000 + i128::from(stat.st_mtime_nsec);
    i64::try_from(nanoseconds).ok()
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

/// Magic numbers of `statfs` (linux/magic.h, and Lustre's own).
const FUSE: i64 = 0x6573_5546;
const CIFS: i64 = 0xff53_4d42;
const SMB2: i64 = 0xfe53_4d42;
const NFS: i64 = 0x6969;
const LUSTRE: i64 = 0x0bd0_0bd0;
const CEPH: i64 = 0x00c3_6400;

/// Returns whether a file has the same inode each time that it is opened. FUSE and shares of Windows make them up as they go.
pub fn keeps_inodes(file: &impl AsFd) -> bool {
    kind(file).is_some_and(|kind| ![FUSE, CIFS, SMB2].contains(&kind))
}

/// Returns whether other machines may change what is there, so that this one's kernel may know less than their server.
pub fn is_shared(file: &impl AsFd) -> bool {
    kind(file).is_some_and(|kind| [FUSE, CIFS, SMB2, NFS, LUSTRE, CEPH].contains(&kind))
}

fn kind(file: &impl AsFd) -> Option<i64> {
    #[allow(clippy::useless_conversion, reason = "it has another type on other machines")]
    rustix::fs::fstatfs(file).ok().map(|found| i64::from(found.f_type))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_got_names_are_known_however_many_there_are_and_take_no_more_memory_than_they_may() {
        let mut linked = Linked::within(tempfile::tempfile().ok());
        let at = |inode: u64, changed_ns: i64| Identity { inode, changed_ns };
        let files = MOST_LINKED as u64 + 10_000;
        for inode in 1..=files {
            assert_eq!(linked.note(&at(inode, -5), &at(inode, 6)), at(inode, -5));
            assert!(linked.memory.len() <= MOST_LINKED);
        }
        assert!(linked.spilled.is_some());
        for inode in [1, 77, MOST_LINKED as u64, files] {
            assert_eq!(linked.note(&at(inode, 6), &at(inode, 7)), at(inode, -5), "another name of it");
            assert_eq!([6, 7, 8].map(|now| linked.unlinked(at(inode, now)).changed_ns), [6, -5, 8]);
        }
        assert_eq!(linked.unlinked(at(files + 1, 6)), at(files + 1, 6));
    }
}
