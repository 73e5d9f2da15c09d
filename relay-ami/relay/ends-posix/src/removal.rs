//! Removing what a destination holds, entry by entry.

use std::ffi::OsStr;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::Duration;

use rustix::fs::{self, AtFlags, FlockOperation, Mode, OFlags, Stat, Timespec, Timestamps, UTIME_OMIT};
use rustix::io::Errno;

use super::identity::Linked;
use super::keep::{Keep, Kept};
use super::parent::in_own;
use super::roots::{Reached, reach};
use super::tour::{WITHIN, found, id_of};
use super::tree::{PARTIAL, Tree, split};
use crate::defaults::REMOVAL_LOCK_TIMEOUT;
use cpt_ends::{Found, Removal, Remover};
use cpt_wire::documents::entry::Kind;
use cpt_wire::documents::extras::Stayed;
use cpt_wire::documents::text::DirectoryId;

const DIRECTORY: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

/// A destination from which this process alone removes things: it is locked while this is open.
pub struct PosixRemover {
    path: PathBuf,
    directory: DirectoryId,
    root: OwnedFd,
    device: u64,
    /// What is removed is kept there.
    keep: Option<Keep>,
}

impl PosixRemover {
    /// Opens `path`, an absolute path. A process that removes things there is waited for: it may be an earlier attempt.
    pub fn open(path: &Path, directory: &DirectoryId) -> io::Result<Self> {
        Self::open_within(path, directory, REMOVAL_LOCK_TIMEOUT)
    }

    fn open_within(path: &Path, directory: &DirectoryId, patience: Duration) -> io::Result<Self> {
        let root = root(path)?;
        check(&root, directory)?;
        lock(&root, patience)?;
        let device = fs::fstat(&root)?.st_dev;
        Ok(Self { path: path.to_owned(), directory: directory.clone(), root, device, keep: None })
    }

    /// The same, which keeps what it removes.
    pub fn keeping(mut self, kept: Option<Kept>) -> io::Result<Self> {
        let Some(kept) = kept else { return Ok(self) };
        let root = rustix::io::fcntl_dupfd_cloexec(&self.root, 0)?;
        self.keep = Some(Keep::new(root, kept, Linked::default(), Arc::default()));
        Ok(self)
    }
}

/// Locks a directory for removals. Whoever may read it can lock it too, so this waits for as long as an earlier attempt may need, no longer.
fn lock(root: &OwnedFd, patience: Duration) -> io::Result<()> {
    match fs::flock(root, FlockOperation::NonBlockingLockExclusive) {
        // The file system has no locks.
        Ok(()) | Err(Errno::OPNOTSUPP | Errno::NOLCK | Errno::NOSYS | Errno::BADF) => return Ok(()),
        Err(Errno::WOULDBLOCK) => {}
        Err(error) => return Err(error.into()),
    }
    // The kernel has no wait with a limit. What the thread gets is the lock of `root` too, and is let go with it.
    let (same, (tell, told)) = (rustix::io::dup(root)?, channel());
    cpt_process::thread::spawn("lock", move || {
        let _ = tell.send(fs::flock(&same, FlockOperation::LockExclusive));
    })?;
    let held = || io::Error::other("another process holds a lock on the destination's directory; end it (lsof, /proc/locks)");
    told.recv_timeout(patience).map_or_else(|_| Err(held()), |locked| Ok(locked?))
}

impl Remover for PosixRemover {
    fn check_there(&self) -> io::Result<()> {
        check(&root(&self.path)?, &self.directory)
    }

    fn remove(&mut self, path: &[u8], is: &dyn Fn(&Found) -> bool) -> io::Result<Removal> {
        Tree::check(path)?;
        if self.keep.as_ref().is_some_and(|keep| keep.check(path).is_err()) {
            return Ok(Removal::Stays(Stayed::Changed, None));
        }
        let (parent, base) = split(path)?;
        let (parent, name) = (if parent.is_empty() { b"." } else { parent }, OsStr::from_bytes(base));
        // Anew for each entry: from a directory that somebody has moved away meanwhile nothing more is removed.
        let parent = match fs::openat2(&self.root, OsStr::from_bytes(parent), DIRECTORY, Mode::empty(), WITHIN) {
            Ok(parent) => parent,
            Err(Errno::NOENT) => return Ok(Removal::Gone),
            // A file, a link or a mount is in its place.
            Err(Errno::NOTDIR | Errno::LOOP | Errno::XDEV) => return Ok(Removal::Stays(Stayed::Changed, None)),
            Err(error) => return Ok(refused(error)),
        };
        let (above, stat) = match (fs::fstat(&parent), fs::statat(&parent, name, AtFlags::SYMLINK_NOFOLLOW)) {
            (Ok(above), Ok(stat)) => (above, stat),
            (_, Err(Errno::NOENT)) => return Ok(Removal::Gone),
            (Err(error), _) | (_, Err(error)) => return Ok(refused(error)),
        };
        let seen = found(&stat);
        let is_directory = seen.kind == Kind::Directory;
        // Other devices are subvolumes, whose contents are none of the list's.
        let is_within = above.st_dev == self.device && (!is_directory || stat.st_dev == self.device);
        if !is(&seen) || !is_within || base.starts_with(PARTIAL) {
            return Ok(Removal::Stays(Stayed::Changed, None));
        }
        let flags = if is_directory { AtFlags::REMOVEDIR } else { AtFlags::empty() };
        let removed = match &self.keep {
            Some(keep) if !is_directory => match keep.take(&parent, name, path) {
                // Only what the system says has a number; all else is said in words.
                Err(error) => Errno::from_io_error(&error).map_or_else(|| Err(error.to_string()), |errno| Ok(Err(errno))),
                Ok(()) => Ok(Ok(())),
            },
            _ => Ok(in_own(&parent, || fs::unlinkat(&parent, name, flags))),
        };
        let removed = match removed {
            Ok(removed) => removed,
            Err(why) => return Ok(Removal::Stays(Stayed::Refused, Some(why))),
        };
        match removed {
            Ok(()) => {
                // It is the source's, and a removal changes it. Only the directory's owner may put it back.
                let times = Timestamps { last_access: Timespec { tv_sec: 0, tv_nsec: UTIME_OMIT }, last_modification: modified(&above) };
                let _ = fs::futimens(&parent, &times);
                Ok(Removal::Removed)
            }
            Err(Errno::NOENT) => Ok(Removal::Gone),
            // Since the look, a directory has taken the place of a file, or the other way round.
            Err(Errno::ISDIR | Errno::NOTDIR) => Ok(Removal::Stays(Stayed::Changed, None)),
            Err(Errno::NOTEMPTY | Errno::EXIST) => Ok(Removal::Stays(Stayed::NotEmpty, None)),
            Err(error) => Ok(refused(error)),
        }
    }

    fn kept(&self) -> io::Result<u64> {
        self.keep.as_ref().map_or(Ok(0), Keep::count)
    }

    fn sync(&self) -> io::Result<()> {
        Ok(fs::syncfs(&self.root)?)
    }
}

fn root(path: &Path) -> io::Result<OwnedFd> {
    let reached = reach(path.as_os_str().as_bytes()).and_then(Reached::whole)?;
    Ok(fs::openat(reached, ".", DIRECTORY, Mode::empty())?)
}

fn check(root: &OwnedFd, directory: &DirectoryId) -> io::Result<()> {
    let is = id_of(root)?;
    let other = || io::Error::other(format!("is another directory ({is}) than the one whose extras were listed ({directory})"));
    if is == *directory { Ok(()) } else { Err(other()) }
}

fn modified(directory: &Stat) -> Timespec {
    Timespec { tv_sec: directory.st_mtime, tv_nsec: directory.st_mtime_nsec.try_into().unwrap_or_default() }
}

fn refused(error: Errno) -> Removal {
    Removal::Stays(Stayed::Refused, Some(io::Error::from(error).to_string()))
}

#[cfg(test)]
#[path = "removal_tests.rs"]
mod tests;
