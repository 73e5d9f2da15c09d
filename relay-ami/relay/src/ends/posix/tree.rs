//! The destination: a directory that nothing leaves, and the hidden directory of partial files in it.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::fmt::Write as _;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use rustix::fs::{self, AtFlags, FallocateFlags, FileType, FlockOperation, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;

use super::attributes::{kept, times};
use super::identity::{Linked, birth, identity_of, modified_ns};
use super::journal::Journal;
use super::keeping;
use super::roots::reach;
use crate::defaults::EXIT_TIMEOUT;
use crate::documents::attributes::Attributes;
use crate::documents::text::TransferId;
use crate::ends::Identity;
use crate::thread::lock;

/// Directories are private until their own mode is set, last of all.
const NEW_DIRECTORY: Mode = Mode::RWXU;
const NEW_FILE: Mode = Mode::RUSR.union(Mode::WUSR);
/// No entry's name.
const MODE_PROBE: &str = "mode-probe";
const PERMISSIONS: Mode = Mode::RWXU.union(Mode::RWXG).union(Mode::RWXO);
/// Never up, never through a link, whoever planted it.
pub const BENEATH: ResolveFlags = ResolveFlags::BENEATH.union(ResolveFlags::NO_SYMLINKS).union(ResolveFlags::NO_MAGICLINKS);
/// Beginning of the name of any transfer's partial files.
pub const PARTIAL: &[u8] = b".cpt-partial-";
/// Open directories that are remembered within one batch; files come sorted by directory, so few are used at a time.
const REMEMBERED: usize = 256;
/// Magic numbers of `statfs` (linux/magic.h).
const TMPFS_MAGIC: fs::FsWord = 0x0102_1994;
const FUSE_SUPER_MAGIC: fs::FsWord = 0x6573_5546;

pub struct Tree {
    pub root: OwnedFd,
    pub partial: OwnedFd,
    pub partial_name: String,
    pub journal: Journal,
    /// Whether room is reserved before a large file is written: not in memory, where that would fill in every page first,
    /// 0.2 s per GB in which no lane can go on.
    reserves: bool,
    /// Whether each file and directory must be synced by itself: the kernel does not pass `syncfs` on to a program that serves a
    /// file system.
    pub syncs_each: bool,
    /// Bits of a mode that a new file does not get, because of the process's mask, say. All, where files get more than was asked.
    masked: Mode,
    attempts: AtomicU64,
    /// This process has removed its directory of partial files itself.
    pub is_tidied: AtomicBool,
    pub parents: Mutex<HashMap<Vec<u8>, Arc<OwnedFd>>>,
    pub linked: Arc<Mutex<Linked>>,
}

impl Tree {
    /// Opens `destination`, an absolute path, making it where it is absent. Links on the way are followed only if root or
    /// this process's own user made them.
    pub fn open(destination: &Path, transfer: &TransferId) -> io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let root = fs::openat(reach(destination.as_os_str().as_bytes())?.made()?, ".", flags, Mode::empty())?;
        let partial_name = format!("{}{transfer}", String::from_utf8_lossy(PARTIAL));
        let partial = open_partial(&root, &partial_name)?;
        let journal = Journal::new(rustix::io::fcntl_dupfd_cloexec(&partial, 0)?);
        let kind = fs::fstatfs(&root)?.f_type;
        let (reserves, syncs_each) = (kind != TMPFS_MAGIC, kind == FUSE_SUPER_MAGIC);
        let masked = masked_bits(&partial)?;
        let (attempts, is_tidied, parents, linked) = (AtomicU64::new(0), AtomicBool::new(false), Mutex::default(), Arc::default());
        let tree = Self { root, partial, partial_name, journal, reserves, syncs_each, masked, attempts, is_tidied, parents, linked };
        // Only large files are worth keeping: a small one comes again as a whole, under another name.
        for name in tree.partial_names()? {
            if name.contains(&b'-') {
                fs::unlinkat(&tree.partial, OsStr::from_bytes(&name), AtFlags::empty())?;
            }
        }
        Ok(tree)
    }

    /// A name that no other attempt at the entry has. Its room is asked for once: there are millions of them.
    pub fn unique_name(&self, entry: u64) -> String {
        let mut name = String::with_capacity(24);
        let _ = write!(name, "{entry}-{}", self.attempts.fetch_add(1, Ordering::Relaxed));
        name
    }

    /// Returns whether a file that [`Self::create`] makes already has the mode that it is to have in the end.
    pub fn has_mode_when_made(&self, mode: u16) -> bool {
        let mode = kept(mode);
        mode.contains(NEW_FILE) && PERMISSIONS.contains(mode) && !mode.intersects(self.masked)
    }

    /// A new partial file, which this user can write; as far as it can be had at once, with the mode it will have in the end.
    /// Others cannot reach it where it is.
    pub fn create(&self, name: &str, mode: u16) -> io::Result<File> {
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mode = NEW_FILE | kept(mode);
        match fs::openat(&self.partial, name, flags, mode) {
            // Left by an earlier process of this transfer, or planted.
            Err(Errno::EXIST) => {
                self.discard(name);
                Ok(fs::openat(&self.partial, name, flags, mode)?.into())
            }
            other => Ok(other?.into()),
        }
    }

    /// The partial file of a large entry, with its room reserved unless it has holes; what an earlier process wrote stays.
    pub fn open_large(&self, entry: u64, size: u64, sparse: bool) -> io::Result<File> {
        let name = entry.to_string();
        let file = match self.open_own(&name)? {
            Some(file) => file,
            None => self.create(&name, 0)?,
        };
        if self.reserves && !sparse {
            match fs::fallocate(&file, FallocateFlags::empty(), 0, size) {
                Ok(()) => {}
                // The file system cannot reserve; a full disk will show when it is written.
                Err(Errno::OPNOTSUPP) => {}
                Err(error) => return Err(error.into()),
            }
        }
        file.set_len(size)?;
        Ok(file)
    }

    /// A partial file for reading, past the page cache where the file system can: then the second is true.
    pub fn reopen(&self, name: &str) -> io::Result<(File, bool)> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        match fs::openat(&self.partial, name, flags | OFlags::DIRECT, Mode::empty()) {
            Ok(file) => Ok((file.into(), true)),
            Err(Errno::INVAL) => Ok((fs::openat(&self.partial, name, flags, Mode::empty())?.into(), false)),
            Err(error) => Err(error.into()),
        }
    }

    /// A partial file that is there and is nothing but that: writing through another name of a file would change that file.
    fn open_own(&self, name: &str) -> io::Result<Option<File>> {
        match fs::statat(&self.partial, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) if is_own(&stat) => {}
            Ok(_) | Err(Errno::NOENT) => return Ok(None),
            Err(error) => return Err(error.into()),
        }
        let flags = OFlags::RDWR | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = fs::openat(&self.partial, name, flags, Mode::empty())?;
        Ok(is_own(&fs::fstat(&file)?).then(|| file.into()))
    }

    pub fn discard(&self, name: &str) {
        if let Err(error) = fs::unlinkat(&self.partial, name, AtFlags::empty()) {
            tracing::debug!(name, %error, "discard");
        }
    }

    /// A symbolic link among the partial files; its target is never looked at.
    pub fn link(&self, name: &str, target: &[u8]) -> io::Result<()> {
        match fs::symlinkat(OsStr::from_bytes(target), &self.partial, name) {
            Err(Errno::EXIST) => {
                self.discard(name);
                fs::symlinkat(OsStr::from_bytes(target), &self.partial, name)?;
            }
            other => other?,
        }
        Ok(())
    }

    /// Moves a partial entry to its place, replacing a file or link that is there. What it is there, as only the rename has set its
    /// change time; none where it is gone already.
    pub fn place(&self, name: &str, path: &[u8]) -> io::Result<Option<Identity>> {
        let (parent, base) = split(path)?;
        let parent = self.directory_at(parent)?;
        fs::renameat(&self.partial, name, &*parent, OsStr::from_bytes(base))?;
        let found = fs::statat(&*parent, OsStr::from_bytes(base), AtFlags::SYMLINK_NOFOLLOW).ok();
        Ok(found.map(|stat| identity_of(&stat)))
    }

    /// Gives the file that is in its place at `first` another name, `path`, by way of the partial name: what is in that place is replaced.
    /// The file must be the one that was listed, as its time shows: one that was left out may have left an older one in its place.
    pub fn place_link(&self, name: &str, first: &[u8], path: &[u8], mtime_ns: i64) -> io::Result<()> {
        Self::check(first)?;
        let (first_parent, first_name) = split(first)?;
        let first_parent = self.directory_at(first_parent)?;
        let first_name = OsStr::from_bytes(first_name);
        let look = |directory: &OwnedFd, name| fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW);
        let before = match look(&first_parent, first_name) {
            Ok(stat) if FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile && modified_ns(&stat) == mtime_ns => stat,
            Ok(_) | Err(Errno::NOENT) => {
                let why = format!("its first name {:?} was left out", OsStr::from_bytes(first));
                return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
            }
            Err(error) => return Err(error.into()),
        };
        let (parent, base) = split(path)?;
        let (parent, base) = (self.directory_at(parent)?, OsStr::from_bytes(base));
        // It came before. Renaming one name of a file to another one does nothing.
        if look(&parent, base).is_ok_and(|there| (there.st_dev, there.st_ino) == (before.st_dev, before.st_ino)) {
            return Ok(());
        }
        match fs::linkat(&*first_parent, first_name, &self.partial, name, AtFlags::empty()) {
            // There may be only so many names.
            Err(error @ Errno::MLINK) => return Err(io::Error::new(io::ErrorKind::InvalidInput, error.to_string())),
            other => other?,
        }
        fs::renameat(&self.partial, name, &*parent, base)?;
        let after = look(&parent, base)?;
        let after = identity_of(&after);
        let first = lock(&self.linked).note(&identity_of(&before), &after);
        self.journal.linked(&first, &after)
    }

    /// Fails where a file could not be placed as things are: where a directory has its name, or a file that of a directory above it.
    pub fn is_free(&self, path: &[u8]) -> io::Result<()> {
        let (parent, base) = split(path)?;
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let open = || fs::openat2(&self.root, OsStr::from_bytes(parent), flags, Mode::empty(), BENEATH);
        let parent = match if parent.is_empty() { rustix::io::dup(&self.root) } else { open() } {
            Err(Errno::NOENT) => return Ok(()),
            found => found?,
        };
        match fs::statat(&parent, OsStr::from_bytes(base), AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) if FileType::from_raw_mode(stat.st_mode) == FileType::Directory => Err(Errno::ISDIR.into()),
            Ok(_) | Err(Errno::NOENT) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Makes a directory, or takes the one that is there, and sets its attributes, mode and time.
    pub fn directory(&self, path: &[u8], mode: u16, mtime_ns: i64, attributes: &Attributes) -> io::Result<()> {
        let directory = self.open_or_make(path)?;
        keeping::apply(&directory, OsStr::new("."), FileType::Directory, attributes, mode)?;
        Ok(fs::futimens(&directory, &times(mtime_ns))?)
    }

    fn directory_at(&self, path: &[u8]) -> io::Result<Arc<OwnedFd>> {
        if let Some(known) = lock(&self.parents).get(path) {
            return Ok(Arc::clone(known));
        }
        let directory = Arc::new(if path.is_empty() { rustix::io::dup(&self.root)? } else { self.open_or_make(path)? });
        let mut parents = lock(&self.parents);
        if parents.len() >= REMEMBERED {
            parents.clear();
        }
        parents.insert(path.to_vec(), Arc::clone(&directory));
        Ok(directory)
    }

    fn open_or_make(&self, path: &[u8]) -> io::Result<OwnedFd> {
        Self::check(path)?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let open = |path: &[u8]| fs::openat2(&self.root, OsStr::from_bytes(path), flags, Mode::empty(), BENEATH);
        match open(path) {
            Err(Errno::NOENT) => {}
            other => return Ok(other?),
        }
        // From the deepest one that is there downwards, in a loop: a path may have 2 000 names, and this thread's stack is small.
        let mut missing = Vec::new();
        let mut rest = path;
        let mut directory = loop {
            let (parent, base) = split(rest)?;
            missing.push(base);
            match if parent.is_empty() { rustix::io::dup(&self.root) } else { open(parent) } {
                Err(Errno::NOENT) => rest = parent,
                found => break found?,
            }
        };
        for name in missing.into_iter().rev() {
            make_directory(&directory, name)?;
            directory = fs::openat2(&directory, OsStr::from_bytes(name), flags, Mode::empty(), BENEATH)?;
        }
        Ok(directory)
    }

    /// Refuses paths that are not plain names one below the other, or that are ours.
    pub fn check(path: &[u8]) -> io::Result<()> {
        let plain = |name: &[u8]| !name.is_empty() && name != b"." && name != b".." && !name.contains(&0);
        let first = path.split(|byte| *byte == b'/').next();
        if path.split(|byte| *byte == b'/').all(plain) && !first.is_some_and(|name| name.starts_with(PARTIAL)) {
            Ok(())
        } else {
            Err(io::Error::new(io::ErrorKind::InvalidInput, format!("path {:?} does not stay in the destination", OsStr::from_bytes(path))))
        }
    }

    /// A file's bytes, size, mode and time are on the disk after the next `sync`.
    pub fn prepare_sync(&self, file: &File) -> io::Result<()> {
        if self.syncs_each { file.sync_all() } else { Ok(()) }
    }

    pub fn partial_names(&self) -> io::Result<Vec<Vec<u8>>> {
        let names = fs::Dir::read_from(&self.partial)?.map(|entry| Ok(entry?.file_name().to_bytes().to_vec()));
        let names: io::Result<Vec<Vec<u8>>> = names.collect();
        Ok(names?.into_iter().filter(|name| !matches!(&**name, b"." | b"..")).collect())
    }

    /// Returns whether a large entry's partial file is as an earlier process left it, so that it will be written on. Another one of its name
    /// and size was made later.
    pub fn is_left(&self, entry: u64, size: u64, born_ns: i64) -> bool {
        let name = entry.to_string();
        let found = fs::statat(&self.partial, &name, AtFlags::SYMLINK_NOFOLLOW);
        found.is_ok_and(|stat| is_own(&stat) && u64::try_from(stat.st_size) == Ok(size)) && born_ns == birth(&self.partial, &name)
    }

    /// Returns whether a large entry has a partial file.
    pub fn has_partial(&self, entry: u64) -> bool {
        fs::statat(&self.partial, entry.to_string(), AtFlags::SYMLINK_NOFOLLOW).is_ok()
    }
}

/// The locked directory of partial files, made where it is absent.
fn open_partial(root: &OwnedFd, name: &str) -> io::Result<OwnedFd> {
    loop {
        make_directory(root, name.as_bytes())?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let partial = fs::openat2(root, name, flags, Mode::empty(), BENEATH)?;
        let own = fs::fstat(&partial)?;
        // Somebody else's directory of this name could be filled with what we then write through.
        if own.st_uid != rustix::process::geteuid().as_raw() {
            return Err(io::Error::other(format!("{name} belongs to another user; remove it")));
        }
        fs::fchmod(&partial, NEW_DIRECTORY)?;
        lock_partial(&partial)?;
        // The receiver that ended meanwhile may have removed it.
        match fs::statat(root, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(now) if (now.st_dev, now.st_ino) == (own.st_dev, own.st_ino) => return Ok(partial),
            Ok(_) | Err(Errno::NOENT) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// The bits that new files do not get, as two of them show.
fn masked_bits(partial: &OwnedFd) -> io::Result<Mode> {
    let made = |mode: Mode| {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = fs::openat(partial, MODE_PROBE, flags, mode)?;
        fs::unlinkat(partial, MODE_PROBE, AtFlags::empty())?;
        fs::fstat(file).map(|stat| Mode::from_raw_mode(stat.st_mode))
    };
    match fs::unlinkat(partial, MODE_PROBE, AtFlags::empty()) {
        Ok(()) | Err(Errno::NOENT) => {}
        Err(error) => return Err(error.into()),
    }
    let (all, few) = (made(PERMISSIONS)?, made(NEW_FILE)?);
    Ok(if few == NEW_FILE { PERMISSIONS - all } else { PERMISSIONS })
}

/// One receiver at a time: two would rename each other's half files. One that is ending is waited for.
fn lock_partial(partial: &OwnedFd) -> io::Result<()> {
    let deadline = Instant::now() + EXIT_TIMEOUT;
    loop {
        match fs::flock(partial, FlockOperation::NonBlockingLockExclusive) {
            // The file system has no locks.
            Ok(()) | Err(Errno::OPNOTSUPP | Errno::NOLCK | Errno::NOSYS) => return Ok(()),
            Err(Errno::WOULDBLOCK) if Instant::now() < deadline => std::thread::sleep(std::time::Duration::from_millis(50)),
            Err(Errno::WOULDBLOCK) => return Err(io::Error::other("another receiver of this transfer runs here")),
            Err(error) => return Err(error.into()),
        }
    }
}

/// A file that is nothing but what is written here.
fn is_own(stat: &fs::Stat) -> bool {
    FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile && stat.st_nlink == 1
}

fn make_directory(parent: &OwnedFd, name: &[u8]) -> io::Result<()> {
    match fs::mkdirat(parent, OsStr::from_bytes(name), NEW_DIRECTORY) {
        Ok(()) | Err(Errno::EXIST) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// A path's directory and its last name.
pub fn split(path: &[u8]) -> io::Result<(&[u8], &[u8])> {
    match path.iter().rposition(|byte| *byte == b'/') {
        Some(at) => Ok((&path[..at], &path[at + 1..])),
        None if path.is_empty() => Err(io::ErrorKind::InvalidInput.into()),
        None => Ok((&[], path)),
    }
}

#[cfg(test)]
#[path = "tree_tests.rs"]
mod tests;
