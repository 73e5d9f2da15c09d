//! A view of the tree as it is now.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read as _};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::sync::{Arc, Mutex};

use rustix::fs::{self, AtFlags, FileType, Mode, OFlags, StatxFlags};
use rustix::io::Errno;

use super::identity::{Linked, identity_of, is_shared, modified_ns};
use super::keeping;
use super::roots::{Reached, reach};
use super::tree::{BENEATH, Tree, split};
use cpt_ends::{Heard, Seen, Version, View};
use cpt_process::thread::lock;
use cpt_wire::digest::Digest;
use cpt_wire::documents::attributes::Attributes;
use cpt_wire::documents::entry::Kind;

/// Read at a time: as much as `std::io::copy` and others read, and small enough for a file of a few bytes.
const DIGEST_BYTES: usize = 64 << 10;

/// Looks beneath `root`.
pub struct Sight<Root> {
    root: Root,
    /// Each directory that is looked into must be synced by itself: then the names in it are on the disk.
    syncs_each: bool,
    /// Others change what is there, and this machine's kernel may have it as it was: the server is asked.
    is_shared: bool,
    /// The directory that was opened last: entries come sorted by directory.
    opened: Option<OwnedFd>,
    path: Vec<u8>,
    /// What this process has linked.
    linked: Arc<Mutex<Linked>>,
}

impl Sight<OwnedFd> {
    /// Fails where the directory is not there, or cannot be looked into.
    pub fn of_path(path: &Path) -> io::Result<Self> {
        let found = reach(path.as_os_str().as_bytes()).and_then(Reached::whole)?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(Self::new(fs::openat(found, ".", flags, Mode::empty())?, false, Arc::default()))
    }
}

impl<Root: AsFd> Sight<Root> {
    pub fn new(root: Root, syncs_each: bool, linked: Arc<Mutex<Linked>>) -> Self {
        let is_shared = is_shared(&root);
        Self { root, syncs_each, is_shared, opened: None, path: Vec::new(), linked }
    }

    /// The open directory of a path, and the path's last name.
    fn parent<'a>(&mut self, path: &'a [u8]) -> io::Result<(&OwnedFd, &'a OsStr)> {
        let (parent, base) = split(path)?;
        // Where the directory is known its own names have been checked.
        if self.opened.is_none() || self.path != parent || matches!(base, b"" | b"." | b"..") {
            Tree::check(path)?;
            self.opened = None;
            self.opened = Some(self.open(parent)?);
            parent.clone_into(&mut self.path);
        }
        let directory = self.opened.as_ref().ok_or(io::ErrorKind::NotFound)?;
        Ok((directory, OsStr::from_bytes(base)))
    }

    fn open(&self, path: &[u8]) -> io::Result<OwnedFd> {
        let access = if self.syncs_each { OFlags::RDONLY } else { OFlags::PATH };
        let flags = access | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let directory = if path.is_empty() {
            rustix::io::dup(&self.root)?
        } else {
            fs::openat2(&self.root, OsStr::from_bytes(path), flags, Mode::empty(), BENEATH)?
        };
        match if self.syncs_each { fs::fsync(&directory) } else { Ok(()) } {
            // Not every program can sync a directory.
            Ok(()) | Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => Ok(directory),
            Err(error) => Err(error.into()),
        }
    }
}

impl<Root: AsFd> View for Sight<Root> {
    fn see(&mut self, path: &[u8]) -> io::Result<Seen> {
        let is_shared = self.is_shared;
        let (directory, base) = self.parent(path)?;
        if is_shared {
            // What the kernel knows is new then; an error is the next call's too.
            let _ = fs::statx(directory, base, AtFlags::SYMLINK_NOFOLLOW | AtFlags::STATX_FORCE_SYNC, StatxFlags::BASIC_STATS);
        }
        let stat = fs::statat(directory, base, AtFlags::SYMLINK_NOFOLLOW)?;
        let kind = match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => Some(Kind::File),
            FileType::Directory => Some(Kind::Directory),
            FileType::Symlink => Some(Kind::Symlink),
            _ => keeping::node(&stat).map(|_| Kind::Special),
        };
        let read = || fs::readlinkat(directory, base, Vec::new());
        let target = (kind == Some(Kind::Symlink)).then(read).transpose()?;
        Ok(Seen {
            kind,
            size: u64::try_from(stat.st_size).unwrap_or(u64::MAX),
            mode: stat.st_mode & 0o7777,
            mtime_ns: modified_ns(&stat),
            version: lock(&self.linked).unlinked(identity_of(&stat)).into(),
            target: target.map(std::ffi::CString::into_bytes),
        })
    }

    fn attributes(&mut self, path: &[u8], listed: &Attributes) -> io::Result<Attributes> {
        let (directory, base) = self.parent(path)?;
        let stat = fs::statat(directory, base, AtFlags::SYMLINK_NOFOLLOW)?;
        keeping::like(directory, base, &stat, listed)
    }

    fn digest(&mut self, path: &[u8], of: &Version, heard: Heard<'_>) -> io::Result<Digest> {
        let (directory, base) = self.parent(path)?;
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = File::from(fs::openat(directory, base, flags, Mode::empty())?);
        let digest = digest_of(&file, heard)?;
        let now = lock(&self.linked).unlinked(identity_of(&fs::fstat(&file)?));
        if Version::from(now) == *of { Ok(digest) } else { Err(io::Error::other("changed while it was read")) }
    }
}

fn digest_of(mut file: &File, heard: Heard<'_>) -> io::Result<Digest> {
    let (mut hasher, mut buffer) = (blake3::Hasher::new(), vec![0; DIGEST_BYTES]);
    loop {
        match file.read(&mut buffer) {
            Ok(0) => return Ok(*hasher.finalize().as_bytes()),
            Ok(count) => {
                hasher.update(&buffer[..count]);
                heard(count as u64);
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}
