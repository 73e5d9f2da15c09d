//! Where small files wait for their places on a file system that is far.
//!
//! The kernel lets one call at a time change a directory, and there each call takes a round trip: at 20 ms, one that is made and taken away
//! with three calls leaves room for 16 files a second. So they are spread over several directories, of which each is made when it is used.

use std::ffi::OsStr;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::sync::OnceLock;

use rustix::fs::{self, AtFlags, FsWord, Mode, OFlags};
use rustix::io::Errno;

use super::staging::FUSE_SUPER_MAGIC;
use super::tree::{BENEATH, NEW_DIRECTORY, make_directory};

/// 267 files a second at 20 ms a call.
const COUNT: usize = 16;
/// No partial file has such a name.
const PREFIX: &str = "small.";
/// What `statfs` calls file systems of which another machine, or a program, answers each call (linux/magic.h, and Lustre's own header).
const FAR: [FsWord; 7] = [NFS, FUSE_SUPER_MAGIC, LUSTRE, CIFS, SMB2, CEPH, V9FS];
const NFS: FsWord = 0x6969;
const LUSTRE: FsWord = 0x0bd0_0bd0;
const CIFS: FsWord = 0xff53_4d42;
const SMB2: FsWord = 0xfe53_4d42;
const CEPH: FsWord = 0x00c3_6400;
const V9FS: FsWord = 0x0102_1997;

/// The directories of one receiver; none on a file system that is near.
pub struct Shards(Option<[OnceLock<OwnedFd>; COUNT]>);

impl Shards {
    /// For a file system of this kind.
    pub fn on(kind: FsWord) -> Self {
        Self(FAR.contains(&kind).then(Default::default))
    }

    /// Returns whether the file system is far.
    pub const fn are_used(&self) -> bool {
        self.0.is_some()
    }

    /// Where a partial file of this name waits, unless that is the directory `above` of all itself.
    pub fn of(&self, name: &str, above: &OwnedFd) -> io::Result<Option<&OwnedFd>> {
        let (Some(shards), Some((_, attempt))) = (&self.0, name.split_once('-')) else { return Ok(None) };
        let number = attempt.bytes().fold(0, |sum, digit| sum * 10 + usize::from(digit)) % COUNT;
        let Some(shard) = shards.get(number) else { return Ok(None) };
        if let Some(open) = shard.get() {
            return Ok(Some(open));
        }
        let own = format!("{PREFIX}{number}");
        make_directory(above, own.as_bytes(), NEW_DIRECTORY)?;
        let open = fs::openat2(above, own, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty(), BENEATH)?;
        Ok(Some(shard.get_or_init(|| open)))
    }
}

/// Returns whether a name in a staging directory is that of a directory of small files.
pub fn is_shard(name: &[u8]) -> bool {
    name.starts_with(PREFIX.as_bytes())
}

/// A directory of small files that this process or an earlier one has made; none where it is gone.
pub fn open(above: &OwnedFd, name: &[u8]) -> io::Result<Option<OwnedFd>> {
    match fs::openat2(above, OsStr::from_bytes(name), OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty(), BENEATH) {
        Ok(shard) => Ok(Some(shard)),
        Err(Errno::NOENT) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Removes those that are empty.
pub fn remove_empty(above: &OwnedFd) {
    for number in 0..COUNT {
        let _ = fs::unlinkat(above, format!("{PREFIX}{number}"), AtFlags::REMOVEDIR);
    }
}
