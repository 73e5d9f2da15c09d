//! The destination: a directory that nothing leaves. What comes waits in staging directories and is moved to its place.

use std::collections::{BTreeSet, HashMap};
use std::ffi::OsStr;
use std::fmt::Write as _;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use rustix::fs::{self, AtFlags, FileType, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;

use super::answers;
use super::attributes::times;
use super::heads::Heads;
use super::homes::{Home, Homes};
use super::identity::{Linked, identity_of, modified_ns};
use super::journal::Journal;
use super::keep::{Keep, Kept};
use super::keeping;
use super::measured::Measured;
use super::parent::{Parent, in_own};
use super::roots::reach;
use super::shards;
use super::staging::Staging;
use cpt_ends::Version;
use cpt_ends::problem::first_is_missing;
use cpt_process::thread::lock;
use cpt_wire::documents::attributes::Attributes;
use cpt_wire::documents::seat::Seat;
use cpt_wire::documents::text::TransferId;

/// Directories are private until their own mode is set, last of all.
pub const NEW_DIRECTORY: Mode = Mode::RWXU;
/// As directories above the destination are made; where a default access control list counts, by that.
pub const LEADING_DIRECTORY: Mode = Mode::RWXU.union(Mode::RGRP).union(Mode::XGRP).union(Mode::ROTH).union(Mode::XOTH);
/// Never up, never through a link, whoever planted it.
pub const BENEATH: ResolveFlags = ResolveFlags::BENEATH.union(ResolveFlags::NO_SYMLINKS).union(ResolveFlags::NO_MAGICLINKS);
/// Beginning of the name of any transfer's partial files.
pub const PARTIAL: &[u8] = b".cpt-partial-";
/// Open directories that are remembered within one batch; files come sorted by directory, so few are used at a time.
const REMEMBERED: usize = 256;

pub struct Tree {
    pub root: OwnedFd,
    /// The staging directory at the top, where the journal is, and its name.
    pub staging: Arc<Staging>,
    pub partial_name: String,
    /// That of this receiver, where it has others beside it.
    seat: Option<Seat>,
    pub journal: Journal,
    /// Noted only where others may have to know of the large files that this receiver has begun.
    pub heads: Option<Heads>,
    pub homes: Homes,
    attempts: AtomicU64,
    /// This process has removed its directory of partial files itself.
    pub is_tidied: AtomicBool,
    pub parents: Mutex<HashMap<Vec<u8>, Arc<Parent>>>,
    pub linked: Arc<Mutex<Linked>>,
    /// Directories that no source has and that lead to what arrives: nobody sets their modes later.
    leading: BTreeSet<Vec<u8>>,
    /// What is replaced is kept there.
    pub keep: Option<Keep>,
}

impl Tree {
    /// Opens `destination`, an absolute path, making it where it is absent. Links on the way are followed only if root or
    /// this process's own user made them.
    pub fn open(destination: &Path, transfer: &TransferId, seat: Option<Seat>) -> io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let root = fs::openat(reach(destination.as_os_str().as_bytes())?.made()?, ".", flags, Mode::empty())?;
        let partial_name = format!("{}{transfer}", String::from_utf8_lossy(PARTIAL));
        let staging = Arc::new(Staging::open(&root, &partial_name, seat)?);
        let journal = Journal::new(rustix::io::fcntl_dupfd_cloexec(&staging.directory, 0)?);
        let heads = seat.map(|_| rustix::io::fcntl_dupfd_cloexec(&staging.directory, 0).map(Heads::new)).transpose()?;
        let homes = Homes::open(rustix::io::fcntl_dupfd_cloexec(&root, 0)?, &partial_name, seat, Arc::clone(&staging))?;
        let (attempts, is_tidied, parents, linked) = (AtomicU64::new(0), AtomicBool::new(false), Mutex::default(), Arc::default());
        Ok(Self {
            root,
            staging,
            partial_name,
            seat,
            journal,
            heads,
            homes,
            attempts,
            is_tidied,
            parents,
            linked,
            leading: BTreeSet::new(),
            keep: None,
        })
    }

    /// The same, in which these directories lead to what arrives.
    #[must_use]
    pub fn leading(self, leading: BTreeSet<Vec<u8>>) -> Self {
        Self { leading, ..self }
    }

    /// The same, which keeps what it replaces.
    pub fn keeping(mut self, kept: Option<Kept>) -> io::Result<Self> {
        let Some(kept) = kept else { return Ok(self) };
        super::keep::check(&self.root, &kept.name)?;
        let (root, own) = (rustix::io::fcntl_dupfd_cloexec(&self.root, 0)?, Linked::within(self.journal.nameless()));
        self.keep = Some(Keep::new(root, kept, own, Arc::clone(&self.linked)));
        Ok(self)
    }

    /// Refuses the path of an entry that would land in what this destination keeps for itself.
    pub fn is_for_sources(&self, path: &[u8]) -> io::Result<()> {
        Self::check(path)?;
        self.keep.as_ref().map_or(Ok(()), |keep| keep.check(path))
    }

    /// A name that no other attempt at the entry has. Its room is asked for once: there are millions of them.
    pub fn unique_name(&self, entry: u64) -> String {
        let mut name = String::with_capacity(24);
        let _ = write!(name, "{entry}-{}", self.attempts.fetch_add(1, Ordering::Relaxed));
        name
    }

    /// The home of an entry, which need not have a directory yet.
    pub fn home(&self, path: &[u8]) -> io::Result<Arc<Home>> {
        Self::check(path)?;
        self.homes.of(split(path)?.0)
    }

    /// A new partial file of the entry at `path`.
    pub fn create(&self, home: &Home, path: &[u8], name: &str, mode: u16) -> io::Result<File> {
        if !home.hands_on() {
            return home.staging.create(name, mode);
        }
        let (parent, _) = split(path)?;
        self.homes.create(home, parent, &**self.directory_at(parent)?, name, mode)
    }

    /// The partial file of a large entry; what an earlier process wrote stays.
    pub fn open_large(&self, home: &Home, path: &[u8], entry: u64, size: u64, sparse: bool) -> io::Result<File> {
        let name = entry.to_string();
        let file = match home.staging.open_own(&name)? {
            Some(file) => file,
            None if home.staging.shared().is_none() => self.create(home, path, &name, 0)?,
            None => self.create_shared(home, path, entry)?,
        };
        home.staging.set_size(&file, size, sparse)?;
        Ok(file)
    }

    /// A large file that other receivers may be making at the same time: the first one stays.
    fn create_shared(&self, home: &Home, path: &[u8], entry: u64) -> io::Result<File> {
        let (own, name) = (self.unique_name(entry), entry.to_string());
        let made = self.create(home, path, &own, 0)?;
        let staging = &home.staging;
        match staging.share(&own, &name) {
            Ok(()) => Ok(made),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                staging.discard(&own);
                staging.open_shared(&name)
            }
            Err(error) => Err(error),
        }
    }

    /// Moves a partial entry to its place, replacing a file or link that is there. What it is there, as only the rename has set its
    /// change time; none where it is gone already. It has its attributes already.
    pub fn place(&self, home: &Home, name: &str, path: &[u8], attributes: &Attributes) -> io::Result<Option<Version>> {
        let (parent, base) = split(path)?;
        let (parent, staging) = (self.directory_at(parent)?, home.staging.of(name)?);
        if attributes.owner.is_none() && parent.hand_on(staging, name)? && attributes.xattrs.is_some() {
            keeping::apply(staging, OsStr::new(name), FileType::Unknown, attributes, None)?;
        }
        self.move_to(home, name, &parent, path)?;
        let found = fs::statat(&**parent, OsStr::from_bytes(base), AtFlags::SYMLINK_NOFOLLOW).ok();
        let found = found.map(|stat| identity_of(&stat));
        if let (Some(keep), Some(found)) = (&self.keep, &found) {
            keep.placed(found);
        }
        Ok(found.map(Version::from))
    }

    /// Gives the file that is in its place at `first` another name, `path`, by way of the partial name: what is in that place is replaced.
    /// The file must be the one that was listed, as its time shows: one that was left out may have left an older one in its place.
    pub fn place_link(&self, home: &Home, name: &str, first: &[u8], path: &[u8], mtime_ns: i64) -> io::Result<()> {
        Self::check(first)?;
        let (first_parent, first_name) = split(first)?;
        let first_parent = self.directory_at(first_parent).map_err(|error| {
            let is_gone = [Errno::NOENT, Errno::NOTDIR, Errno::LOOP].iter().any(|errno| error.raw_os_error() == Some(errno.raw_os_error()));
            if is_gone { first_is_missing(first) } else { error }
        })?;
        let first_name = OsStr::from_bytes(first_name);
        let look = |directory: &OwnedFd, name| fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW);
        let is_file = |stat: &fs::Stat| FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile;
        let can = home.staging.measured.capabilities();
        // Where no times are kept, nothing tells an older file from it.
        let is_listed = |stat: &fs::Stat| can.time_step_ns.is_none() || can.same_time(modified_ns(stat), mtime_ns);
        let before = match look(&first_parent, first_name) {
            Ok(stat) if is_file(&stat) && is_listed(&stat) => stat,
            Ok(_) | Err(Errno::NOENT) => return Err(first_is_missing(first)),
            Err(error) => return Err(error.into()),
        };
        let (parent, base) = split(path)?;
        let (parent, base) = (self.directory_at(parent)?, OsStr::from_bytes(base));
        // It came before. Renaming one name of a file to another one does nothing.
        if look(&parent, base).is_ok_and(|there| (there.st_dev, there.st_ino) == (before.st_dev, before.st_ino)) {
            return Ok(());
        }
        let staging = home.staging.of(name)?;
        let linked = fs::linkat(&**first_parent, first_name, staging, name, AtFlags::empty());
        match answers::linked(linked, &before, staging, name) {
            // There may be only so many names.
            Err(error @ Errno::MLINK) => return Err(io::Error::new(io::ErrorKind::InvalidInput, error.to_string())),
            other => other?,
        }
        self.move_to(home, name, &parent, path)?;
        let after = look(&parent, base)?;
        let after = identity_of(&after);
        let first = lock(&self.linked).note(&identity_of(&before), &after);
        self.journal.linked(&first, &after)
    }

    /// Replaces what is in the place, or keeps it.
    fn move_to(&self, home: &Home, name: &str, parent: &OwnedFd, path: &[u8]) -> io::Result<()> {
        let staging = home.staging.of(name)?;
        let not_moved = |error| self.not_moved(parent, error);
        if let Some(keep) = &self.keep {
            return keep.place(staging, name, parent, path, &not_moved);
        }
        home.staging.placer.place(staging, name, parent, OsStr::from_bytes(split(path)?.1)).map_err(not_moved)
    }

    /// The error of an entry that could not be moved to its place in `parent`.
    fn not_moved(&self, parent: &OwnedFd, error: Errno) -> io::Error {
        if error != Errno::XDEV {
            return keeping::no_name(parent, error);
        }
        // A disk was mounted there after the entry had begun: another attempt waits on that disk.
        self.homes.forget();
        io::Error::other("its directory is on another file system now")
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
        keeping::apply(&directory, OsStr::new("."), FileType::Directory, attributes, self.measured().modes.then_some(mode))?;
        Ok(fs::futimens(&directory, &times(mtime_ns))?)
    }

    /// What the file system at the top keeps.
    pub fn measured(&self) -> &Measured {
        &self.staging.measured
    }

    fn directory_at(&self, path: &[u8]) -> io::Result<Arc<Parent>> {
        if let Some(known) = lock(&self.parents).get(path) {
            return Ok(Arc::clone(known));
        }
        let directory = Arc::new(Parent::of(if path.is_empty() { rustix::io::dup(&self.root)? } else { self.open_or_make(path)? })?);
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
        let mut length = path.len() - missing.iter().map(|name| name.len() + 1).sum::<usize>().min(path.len());
        for name in missing.into_iter().rev() {
            length += name.len() + usize::from(length > 0);
            let leads = self.leading.contains(path.get(..length).unwrap_or_default());
            make_directory(&directory, name, if leads { LEADING_DIRECTORY } else { NEW_DIRECTORY })?;
            directory = fs::openat2(&directory, OsStr::from_bytes(name), flags, Mode::empty(), BENEATH)?;
        }
        Ok(directory)
    }

    /// Refuses paths that are not plain names one below the other, or that are ours.
    pub fn check(path: &[u8]) -> io::Result<()> {
        let plain = |name: &[u8]| !name.is_empty() && name != b"." && name != b".." && !name.contains(&0);
        if path.split(|byte| *byte == b'/').all(|name| plain(name) && !name.starts_with(PARTIAL)) {
            Ok(())
        } else {
            Err(io::Error::new(io::ErrorKind::InvalidInput, format!("path {:?} does not stay in the destination", OsStr::from_bytes(path))))
        }
    }

    /// Returns whether a large entry has a partial file.
    pub fn has_partial(&self, entry: u64) -> bool {
        self.homes.stagings().iter().any(|staging| staging.has(entry))
    }

    /// Gives the partial file of a large entry up.
    pub fn discard(&self, entry: u64) {
        self.homes.stagings().iter().filter(|staging| staging.has(entry)).for_each(|staging| staging.discard(&entry.to_string()));
    }

    /// Everything that was finished or prepared is on the disk when this returns.
    pub fn sync(&self) -> io::Result<()> {
        // One call for a file system costs less than one per file as soon as a chunk holds several.
        fs::syncfs(&self.root)?;
        self.homes.sync_others()
    }

    /// Removes all that is not in its place; `removed` hears of each file.
    pub fn remove_partial(&self, removed: &dyn Fn()) -> io::Result<()> {
        self.is_tidied.store(true, Ordering::SeqCst);
        self.homes.remove_others(Some(removed))?;
        self.staging.clear(removed)?;
        match fs::unlinkat(&self.root, &*self.partial_name, AtFlags::REMOVEDIR) {
            // Removed when the sender asked before.
            Err(Errno::NOENT) => Ok(()),
            other => Ok(other?),
        }
    }

    /// Where this receiver's own staging directory is below the top.
    pub fn own_name(&self) -> String {
        self.seat.map_or_else(|| self.partial_name.clone(), |seat| format!("{}/{seat}", self.partial_name))
    }

    /// Removes staging directories that are empty.
    pub fn remove_empty(&self) {
        let _ = self.homes.remove_others(None);
        shards::remove_empty(&self.staging.directory);
        if let (Some(shared), Some(seat)) = (self.staging.shared(), self.seat) {
            let _ = fs::unlinkat(shared, seat.to_string(), AtFlags::REMOVEDIR);
        }
        let _ = fs::unlinkat(&self.root, &*self.partial_name, AtFlags::REMOVEDIR);
    }
}

pub fn make_directory(parent: &OwnedFd, name: &[u8], mode: Mode) -> io::Result<()> {
    match in_own(parent, || fs::mkdirat(parent, OsStr::from_bytes(name), mode)) {
        Ok(()) | Err(Errno::EXIST) => Ok(()),
        Err(error) => Err(keeping::no_name(parent, error)),
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
