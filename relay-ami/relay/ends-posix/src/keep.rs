//! What is replaced or removed at a destination, kept below it.
//!
//! Nothing that is kept is ever replaced: what comes to a path where something is kept already goes to the next of the transfer's
//! directories. So a file that was put into its place twice, or a daemon that was killed and begun anew, takes nothing away.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::sync::{Arc, Mutex};

use rustix::fs::{self, AtFlags, FileType, Mode, OFlags, RenameFlags, Stat};
use rustix::io::Errno;

use super::answers;
use super::identity::{Identity, Linked, identity_of};
use super::parent::in_own;
use super::tour::WITHIN;
use super::tree::{NEW_DIRECTORY, make_directory, split};
use cpt_ends::above::is_kept_under;
use cpt_process::thread::lock;
use cpt_wire::documents::text::{KeepName, TransferId};

const DIRECTORY: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);
/// Open directories that are remembered: files come sorted by directory.
const REMEMBERED: usize = 16;
/// Directories of one transfer: each holds one more version of what was changed again and again while it ran.
const MOST_VERSIONS: u32 = 1_000;
/// What is in an entry's place is looked at so often, where somebody else changes it each time.
const TRIES: u32 = 16;

/// The directory in which one transfer keeps what it replaces and removes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kept {
    /// At the top of the destination, for all transfers.
    pub name: KeepName,
    pub transfer: TransferId,
}

impl Kept {
    /// The directory of the so-many-th version of what is at a path.
    fn directory(&self, version: u32) -> String {
        if version == 1 { self.transfer.to_string() } else { format!("{}.{version}", self.transfer) }
    }
}

/// A version, and the path of what a directory holds of it.
type Key = (u32, Vec<u8>);

/// That directory, while this process puts into it.
pub struct Keep {
    root: OwnedFd,
    of: Kept,
    directories: Mutex<HashMap<Key, Arc<OwnedFd>>>,
    /// What this transfer has placed itself, by inode: replacing it loses nothing.
    own: Mutex<Linked>,
    linked: Arc<Mutex<Linked>>,
}

impl Keep {
    /// `own`: room for what this transfer has placed; `linked`: files whose change times are those of other names that it made.
    pub fn new(root: OwnedFd, of: Kept, own: Linked, linked: Arc<Mutex<Linked>>) -> Self {
        Self { root, of, directories: Mutex::default(), own: Mutex::new(own), linked }
    }

    /// Refuses the path of an entry of the source that would land here.
    pub fn check(&self, path: &[u8]) -> io::Result<()> {
        let why = || format!("lands in {}, where what is replaced is kept", self.of.name);
        if is_kept_under(&self.of.name, path) { Err(io::Error::new(io::ErrorKind::InvalidInput, why())) } else { Ok(()) }
    }

    /// Notes what this transfer has placed.
    pub fn placed(&self, placed: &Identity) {
        lock(&self.own).note(placed, placed);
    }

    /// Directories are looked for anew: somebody may have moved one away.
    pub fn forget(&self) {
        lock(&self.directories).clear();
    }

    /// Moves a finished entry to its place; what is there is kept. At each moment the place holds the one or the other. `not_moved` words the
    /// error of an entry that the place does not take.
    pub fn place(
        &self,
        staging: &OwnedFd,
        name: &str,
        parent: &OwnedFd,
        path: &[u8],
        not_moved: &dyn Fn(Errno) -> io::Error,
    ) -> io::Result<()> {
        let move_ = Move { keep: self, staging, name, parent, path, base: OsStr::from_bytes(split(path)?.1), not_moved };
        for _ in 0..TRIES {
            if move_.once()? {
                return Ok(());
            }
            // The entry itself may be what is gone.
            fs::statat(staging, name, AtFlags::SYMLINK_NOFOLLOW)?;
        }
        Err(io::Error::other("somebody changes what is in its place again and again"))
    }

    /// Moves what is called `name` here, to its path. A directory stays, and is an error.
    pub fn take(&self, from: &OwnedFd, name: &OsStr, path: &[u8]) -> io::Result<()> {
        self.put(path, |to, base| {
            in_own(from, || rename_new(from, name, to, base))?;
            if is_directory(&look(to, base)?) {
                in_own(from, || rename_new(to, base, from, name))?;
                return Err(Errno::NOTDIR);
            }
            Ok(())
        })
    }

    /// How many entries are kept.
    pub fn count(&self) -> io::Result<u64> {
        let mut count = 0;
        for version in 1..=MOST_VERSIONS {
            let top = format!("{}/{}", self.of.name, self.of.directory(version));
            match fs::openat2(&self.root, &*top, DIRECTORY, Mode::empty(), WITHIN) {
                Ok(directory) => count += count_below(&directory)?,
                Err(Errno::NOENT) => break,
                Err(error) => return Err(error.into()),
            }
        }
        Ok(count)
    }

    fn is_own(&self, there: &Stat) -> bool {
        let is = lock(&self.linked).unlinked(identity_of(there));
        lock(&self.own).is_last(&is)
    }

    /// Calls `put` with the directory and the name at which something is kept, until nothing is there yet.
    fn put<T>(&self, path: &[u8], put: impl Fn(&OwnedFd, &OsStr) -> rustix::io::Result<T>) -> io::Result<T> {
        let (above, base) = split(path)?;
        for version in 1..=MOST_VERSIONS {
            let put = self.directory(version, above).map(|directory| put(&directory, OsStr::from_bytes(base)));
            match put {
                Ok(Err(Errno::EXIST | Errno::ISDIR)) => {}
                // A file is kept where a directory would have to be.
                Err(error) if error.kind() == io::ErrorKind::NotADirectory || error.raw_os_error() == Some(Errno::LOOP.raw_os_error()) => {}
                Ok(Err(Errno::XDEV)) => return Err(self.refused("is on another file system, or counts for another quota")),
                Ok(Err(error)) => {
                    self.forget();
                    return Err(error.into());
                }
                Ok(Ok(done)) => return Ok(done),
                Err(error) => return Err(error),
            }
        }
        Err(self.refused("was kept too often"))
    }

    fn refused(&self, why: &str) -> io::Error {
        let why = format!("what is in its place cannot be kept in {}: it {why}", self.of.name);
        io::Error::new(io::ErrorKind::InvalidInput, why)
    }

    fn directory(&self, version: u32, above: &[u8]) -> io::Result<Arc<OwnedFd>> {
        let key = (version, above.to_vec());
        if let Some(known) = lock(&self.directories).get(&key) {
            return Ok(Arc::clone(known));
        }
        let mut directory = own_directory(&self.root, self.of.name.as_str())?;
        directory = own_directory(&directory, &self.of.directory(version))?;
        for name in above.split(|byte| *byte == b'/').filter(|name| !name.is_empty()) {
            make_directory(&directory, name, NEW_DIRECTORY)?;
            directory = fs::openat2(&directory, OsStr::from_bytes(name), DIRECTORY, Mode::empty(), WITHIN)?;
        }
        let directory = Arc::new(directory);
        let mut directories = lock(&self.directories);
        if directories.len() >= REMEMBERED {
            directories.clear();
        }
        directories.insert(key, Arc::clone(&directory));
        Ok(directory)
    }
}

/// Fails, in words, where the directory that everything is kept in cannot be used: a mount, a link, or another user's.
pub fn check(root: &OwnedFd, name: &KeepName) -> io::Result<()> {
    match fs::statat(root, name.as_str(), AtFlags::SYMLINK_NOFOLLOW) {
        Ok(_) => open_own(root, name.as_str()).map(drop),
        Err(Errno::NOENT) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// One entry on its way to its place.
struct Move<'a> {
    keep: &'a Keep,
    staging: &'a OwnedFd,
    name: &'a str,
    parent: &'a OwnedFd,
    path: &'a [u8],
    base: &'a OsStr,
    not_moved: &'a dyn Fn(Errno) -> io::Error,
}

/// How what is in the place was kept before the entry takes it.
enum Before {
    /// It is this, and needs none other, or has another name already.
    Safe(u64),
    /// It is another one by now.
    Changed,
    /// It cannot have another name.
    OneName,
}

impl Move<'_> {
    /// False where somebody has changed what is in the place meanwhile.
    fn once(&self) -> io::Result<bool> {
        let there = match look(self.parent, self.base) {
            Ok(there) if is_directory(&there) => return Err((self.not_moved)(Errno::ISDIR)),
            Ok(there) => there,
            Err(Errno::NOENT) => {
                return match in_own(self.parent, || rename_new(self.staging, self.name, self.parent, self.base)) {
                    Err(Errno::EXIST) => Ok(false),
                    other => other.map(|()| true).map_err(self.not_moved),
                };
            }
            Err(error) => return Err((self.not_moved)(error)),
        };
        match self.before(&there)? {
            Before::Safe(inode) => self.exchange(inode),
            Before::Changed => Ok(false),
            Before::OneName => self.exchange_there(),
        }
    }

    fn before(&self, there: &Stat) -> io::Result<Before> {
        if self.keep.is_own(there) {
            return Ok(Before::Safe(there.st_ino));
        }
        // Another name of it: killed now, this process leaves it in its place as well.
        let linked = self.keep.put(self.path, |to, base| match fs::linkat(self.parent, self.base, to, base, AtFlags::empty()) {
            // An earlier process was killed between this and the next step.
            Err(Errno::EXIST) if look(to, base).is_ok_and(|kept| is_same(&kept, there)) => Ok(Before::Safe(there.st_ino)),
            Ok(()) => Ok(Before::Safe(look(to, base)?.st_ino)),
            Err(Errno::NOENT) => Ok(Before::Changed),
            Err(Errno::PERM | Errno::MLINK | Errno::OPNOTSUPP | Errno::NOSYS | Errno::INVAL) => Ok(Before::OneName),
            Err(error) => Err(error),
        })?;
        if matches!(linked, Before::Changed) {
            self.keep.forget();
        }
        Ok(linked)
    }

    /// Exchanges the entry for what is in the place, which must be what was kept.
    fn exchange(&self, inode: u64) -> io::Result<bool> {
        let exchange = || fs::renameat_with(self.staging, self.name, self.parent, self.base, RenameFlags::EXCHANGE);
        match in_own(self.parent, exchange) {
            Ok(()) => {}
            Err(Errno::NOENT) => return Ok(false),
            // The file system has no exchange: what came there since the look is lost.
            Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => {
                let rename = || fs::renameat(self.staging, self.name, self.parent, self.base);
                let renamed = answers::renamed(in_own(self.parent, rename), self.staging, self.name, self.parent, self.base);
                return renamed.map(|()| true).map_err(self.not_moved);
            }
            Err(error) => return Err((self.not_moved)(error)),
        }
        let out = look(self.staging, OsStr::new(self.name))?;
        let kept = if is_directory(&out) {
            Err((self.not_moved)(Errno::ISDIR))
        } else if out.st_ino == inode {
            Ok(answers::removed(fs::unlinkat(self.staging, self.name, AtFlags::empty()))?)
        } else {
            self.keep.take(self.staging, OsStr::new(self.name), self.path)
        };
        if kept.is_err() {
            in_own(self.parent, exchange).map_err(self.not_moved)?;
        }
        kept.map(|()| true)
    }

    /// Moves the entry to where what is in its place will be kept, and exchanges them there: killed in between, this process leaves it there,
    /// as a version of its own.
    fn exchange_there(&self) -> io::Result<bool> {
        let done = self.keep.put(self.path, |to, base| {
            rename_new(self.staging, self.name, to, base)?;
            let exchange = || fs::renameat_with(to, base, self.parent, self.base, RenameFlags::EXCHANGE);
            let mut done = in_own(self.parent, exchange);
            if done.is_ok() && is_directory(&look(to, base)?) {
                in_own(self.parent, exchange)?;
                done = Err(Errno::ISDIR);
            }
            if done.is_err() {
                rename_new(to, base, self.staging, OsStr::new(self.name))?;
            }
            Ok(done)
        })?;
        match done {
            Ok(()) => Ok(true),
            Err(Errno::NOENT) => Ok(false),
            Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => {
                Err(self.keep.refused("can get no further name, and its file system exchanges no files"))
            }
            Err(error) => Err((self.not_moved)(error)),
        }
    }
}

/// The directory of a name that this user alone puts something into, made where it is absent.
fn own_directory(parent: &OwnedFd, name: &str) -> io::Result<OwnedFd> {
    make_directory(parent, name.as_bytes(), NEW_DIRECTORY)?;
    open_own(parent, name)
}

fn open_own(parent: &OwnedFd, name: &str) -> io::Result<OwnedFd> {
    let wrong =
        |why: &str| io::Error::new(io::ErrorKind::InvalidInput, format!("{name} {why}: move it away, or give $.keepReplaced another name"));
    let directory = match fs::openat2(parent, name, DIRECTORY, Mode::empty(), WITHIN) {
        Err(Errno::XDEV) => return Err(wrong("is on another file system than what it is to keep, or mounted")),
        Err(Errno::NOTDIR | Errno::LOOP) => return Err(wrong("is no directory")),
        found => found?,
    };
    // Another user would get what this one may not show.
    let (own, above) = (fs::fstat(&directory)?, fs::fstat(parent)?);
    if own.st_uid != rustix::process::geteuid().as_raw() {
        return Err(wrong("belongs to another user"));
    }
    // A subvolume is a file system of its own without being mounted.
    if own.st_dev == above.st_dev { Ok(directory) } else { Err(wrong("is on another file system than what it is to keep")) }
}

/// Renames where nothing has the new name.
fn rename_new(from: &OwnedFd, name: impl rustix::path::Arg + Copy, to: &OwnedFd, base: &OsStr) -> rustix::io::Result<()> {
    match fs::renameat_with(from, name, to, base, RenameFlags::NOREPLACE) {
        // The file system has no such call.
        Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => match look(to, base) {
            Err(Errno::NOENT) => fs::renameat(from, name, to, base),
            other => other.and(Err(Errno::EXIST)),
        },
        other => other,
    }
}

fn count_below(directory: &OwnedFd) -> io::Result<u64> {
    let (mut count, mut paths) = (0, vec![b".".to_vec()]);
    while let Some(path) = paths.pop() {
        let open = fs::openat2(directory, OsStr::from_bytes(&path), DIRECTORY, Mode::empty(), WITHIN)?;
        for entry in fs::Dir::read_from(&open)? {
            let entry = entry?;
            let name = entry.file_name().to_bytes();
            if matches!(name, b"." | b"..") {
                continue;
            }
            let kind = match entry.file_type() {
                FileType::Unknown => FileType::from_raw_mode(look(&open, OsStr::from_bytes(name))?.st_mode),
                known => known,
            };
            if kind == FileType::Directory {
                paths.push([&*path, b"/", name].concat());
            } else {
                count += 1;
            }
        }
    }
    Ok(count)
}

fn look(directory: &OwnedFd, name: &OsStr) -> rustix::io::Result<Stat> {
    fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW)
}

fn is_directory(stat: &Stat) -> bool {
    FileType::from_raw_mode(stat.st_mode) == FileType::Directory
}

fn is_same(one: &Stat, other: &Stat) -> bool {
    (one.st_dev, one.st_ino) == (other.st_dev, other.st_ino)
}

#[cfg(test)]
#[path = "keep_tests.rs"]
mod tests;
