//! The paths that a command names, and reading beneath them. Everything goes by descriptor from a root downwards, so nobody
//! who may write there can point this process, which is often root, at anything outside.

mod allowed;
mod reach;
mod target;
mod walk;

use std::borrow::Cow;
use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, RwLock};

use rustix::fs::{self, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;

pub use allowed::{Access, enforce, enforce_hdfs, read_owners_file};
use reach::reach_beside;
pub use reach::{Reached, make, owner, quoted, reach};
pub use target::{Astray, MOST_LINKS, landing, target};
pub use walk::{HELD_NAMES, PATH_MAX, Step, Walk};

use crate::tree::{BENEATH, PARTIAL};

/// Names of one directory, as the system has them.
pub type Names = Vec<Vec<u8>>;

/// Returns whether this kernel can open beneath a directory; the text says what is needed.
pub fn check_kernel() -> Result<(), String> {
    match fs::openat2(fs::CWD, "/", OFlags::PATH | OFlags::CLOEXEC, Mode::empty(), ResolveFlags::NO_SYMLINKS) {
        Err(error @ (Errno::NOSYS | Errno::PERM)) => {
            let version = rustix::system::uname().release().to_string_lossy().into_owned();
            Err(format!(
                "the kernel is {version} and refuses openat2 ({error}): Linux 5.6 or later is needed, without a filter that keeps this call away"
            ))
        }
        _ => Ok(()),
    }
}

/// A path of a request that is open. Like rsync: a path lands under its base name, with a trailing slash its contents do; unless it has
/// another name of its own there.
#[derive(Debug)]
pub struct Root {
    directory: OwnedFd,
    /// Path of `directory` without a slash at its end; empty for the file system's root.
    base: Vec<u8>,
    /// The same with links resolved.
    real: Vec<u8>,
    /// The part of `directory` that is meant; none for all of it.
    name: Option<Vec<u8>>,
    /// Where that lands, if not under its own name: the path that it has there, or the directory for all of it.
    lands_as: Option<Vec<u8>>,
}

impl Root {
    /// Opens `path`. A link on the way is followed only if root or this process's own user made it: with a trailing slash
    /// that holds for the whole path, otherwise for all but its last name, which is taken as it is.
    pub fn open(path: &Path) -> io::Result<Self> {
        let (base, name) = Self::split(path.as_os_str().as_bytes())?;
        let reached = match &name {
            Some(name) => reach_beside(&base, name)?,
            None => reach(&base)?,
        };
        let real = plain_names(reached.path.as_os_str().as_bytes()).flat_map(|name| [b"/", name].concat()).collect();
        let directory = reached.whole()?;
        Ok(Self { directory, base, real, name, lands_as: None })
    }

    fn base(&self) -> &[u8] {
        &self.base
    }

    fn real(&self) -> &[u8] {
        &self.real
    }

    /// The path of names below the root's directory, through no link.
    #[must_use]
    pub fn real_path(&self, relative: &[u8]) -> Vec<u8> {
        if relative.is_empty() { self.real.clone() } else { [&*self.real, b"/", relative].concat() }
    }

    /// Device and inode of the directory whose contents are meant; none where it is not all of one.
    #[must_use]
    pub fn directory_id(&self) -> Option<(u64, u64)> {
        let stat = self.name.is_none().then(|| fs::fstat(&self.directory).ok())??;
        Some((stat.st_dev, stat.st_ino))
    }

    /// The same, which lands somewhere else.
    #[must_use]
    pub fn landing_as(self, lands_as: Option<Vec<u8>>) -> Self {
        Self { lands_as, ..self }
    }

    /// Where `relative`, which is meant or beneath what is, lands.
    #[must_use]
    pub fn landing<'a>(&self, relative: &'a [u8]) -> Cow<'a, [u8]> {
        match (&self.lands_as, &self.name) {
            (None, _) => relative.into(),
            (Some(directory), None) => [directory, b"/" as &[u8], relative].concat().into(),
            (Some(path), Some(name)) => [path, relative.get(name.len()..).unwrap_or_default()].concat().into(),
        }
    }

    /// What lands as `path`, by names below the root's directory; none where nothing of this root does.
    #[must_use]
    pub fn origin<'a>(&self, path: &'a [u8]) -> Option<Cow<'a, [u8]>> {
        let below = |above: &[u8]| path.strip_prefix(above).filter(|rest| rest.is_empty() || rest.starts_with(b"/"));
        match (&self.lands_as, &self.name) {
            (None, None) => Some(path.into()),
            (None, Some(name)) => below(name).map(|_| path.into()),
            (Some(directory), None) => below(directory).and_then(|rest| rest.strip_prefix(b"/")).map(Cow::from),
            (Some(lands_as), Some(name)) => below(lands_as).map(|rest| [name, rest].concat().into()),
        }
    }

    /// Returns whether `path` is a directory that leads to where this lands.
    #[must_use]
    pub fn lands_in(&self, path: &[u8]) -> bool {
        let lands_as = self.lands_as.as_deref().and_then(|lands_as| lands_as.strip_prefix(path));
        lands_as.is_some_and(|rest| rest.starts_with(b"/") || rest.is_empty() && self.name.is_none())
    }

    /// Bytes of the longer one of the paths that something has here and there, whose path below the root's directory has so many.
    fn longest(&self, relative: usize) -> usize {
        let there = self.lands_as.as_ref().map_or(0, |lands_as| lands_as.len() + 1 + relative - self.name.as_ref().map_or(0, Vec::len));
        there.max(self.base.len() + 1 + relative)
    }

    /// The directory's path in its plainest spelling, and the name in it that is meant.
    fn split(path: &[u8]) -> io::Result<(Vec<u8>, Option<Vec<u8>>)> {
        let mut names: Vec<&[u8]> = plain_names(path).collect();
        let name = if path.ends_with(b"/") {
            None
        } else {
            let last = names.pop().filter(|name| *name != b"..");
            Some(last.ok_or_else(|| io::Error::other("has no name to land under; end it with a slash"))?.to_vec())
        };
        Ok((names.iter().flat_map(|name| [b"/", *name].concat()).collect(), name))
    }

    /// Names in the root's directory that land, sorted, each once, and those of them that are left out: those of
    /// partial files of earlier transfers to here, which no receiver takes.
    pub fn names(&self) -> io::Result<(Names, Names)> {
        let all = match &self.name {
            Some(name) => {
                fs::statat(&self.directory, OsStr::from_bytes(name), fs::AtFlags::SYMLINK_NOFOLLOW)?;
                vec![name.clone()]
            }
            None => walk::names(&fs::openat(&self.directory, ".", walk::DIRECTORY, Mode::empty())?, None, usize::MAX)?.to_vec(),
        };
        Ok(all.into_iter().partition(|name| !name.starts_with(PARTIAL)))
    }

    /// What of this an absolute path is, by names below the root's directory; none where it is not beneath it.
    #[must_use]
    pub fn relative<'a>(&self, source: &'a [u8]) -> Option<&'a [u8]> {
        below(&self.base, self.name.as_deref(), source)
    }

    /// Whether `source`, an absolute path in its plainest spelling, is the directory whose contents are meant.
    #[must_use]
    pub fn holds_all_of(&self, source: &[u8]) -> bool {
        self.name.is_none() && self.base == source
    }

    /// The file system of the path itself: of the directory that was named, whose contents or which is meant.
    pub fn device(&self) -> io::Result<u64> {
        let stat = match &self.name {
            Some(name) => fs::statat(&self.directory, OsStr::from_bytes(name), fs::AtFlags::SYMLINK_NOFOLLOW)?,
            None => fs::fstat(&self.directory)?,
        };
        Ok(stat.st_dev)
    }

    /// Returns whether `relative` is the very path that was asked for.
    #[must_use]
    pub fn is(&self, relative: &[u8]) -> bool {
        self.name.as_deref() == Some(relative)
    }

    /// Returns whether the very path that was asked for lands as `path`.
    #[must_use]
    pub fn is_at(&self, path: &[u8]) -> bool {
        self.origin(path).is_some_and(|origin| self.is(&origin))
    }

    /// Returns where `name`, one of those at the top, is.
    #[must_use]
    pub fn path_of(&self, name: &[u8]) -> PathBuf {
        OsStr::from_bytes(&[&*self.base, b"/", name].concat()).into()
    }

    /// Opens what is at `relative`, names below the root's directory.
    pub fn open_at(&self, relative: &[u8], flags: OFlags) -> io::Result<OwnedFd> {
        let plain = |name: &[u8]| !matches!(name, b"" | b"." | b"..") && !name.contains(&0);
        if !relative.split(|byte| *byte == b'/').all(plain) {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "is not a plain path: it has an empty name, '.' or '..' in it"));
        }
        let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(fs::openat2(&self.directory, OsStr::from_bytes(relative), flags, Mode::empty(), BENEATH)?)
    }
}

/// Names of a path, without those that mean the directory that they stand in.
fn plain_names(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    path.split(|byte| *byte == b'/').filter(|name| !matches!(*name, b"" | b"."))
}

/// Returns what of `source` is below the directory of a root, if it is the root's.
fn below<'a>(base: &[u8], name: Option<&[u8]>, source: &'a [u8]) -> Option<&'a [u8]> {
    let relative = source.strip_prefix(base)?.strip_prefix(b"/")?;
    match name {
        None => (!relative.is_empty()).then_some(relative),
        Some(name) => relative.strip_prefix(name).filter(|rest| rest.is_empty() || rest.starts_with(b"/")).map(|_| relative),
    }
}

/// The paths of a command. Each is opened when something beneath it is first read, and stays open.
#[derive(Debug, Default)]
pub struct Roots(Vec<Lazy>);

#[derive(Debug)]
struct Lazy {
    path: PathBuf,
    opened: RwLock<Option<Arc<Root>>>,
}

impl Roots {
    #[must_use]
    pub fn new(paths: &[PathBuf]) -> Self {
        Self(paths.iter().map(|path| Lazy { path: path.clone(), opened: RwLock::default() }).collect())
    }

    /// Opens `source`, an absolute path as the listing has it, without following any link below the roots.
    pub fn open(&self, source: &[u8], flags: OFlags) -> io::Result<OwnedFd> {
        let found = self.0.iter().filter_map(|lazy| {
            let (base, name) = Root::split(lazy.path.as_os_str().as_bytes()).ok()?;
            below(&base, name.as_deref(), source).map(|relative| (lazy, relative))
        });
        // The nearest: one root may lie in another one, behind a link of its user.
        let Some((lazy, relative)) = found.min_by_key(|(_, relative)| relative.len()) else {
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, "is outside the source paths of this transfer"));
        };
        let opened = lazy.root()?.open_at(relative, flags);
        if opened.as_ref().is_err_and(|error| error.raw_os_error() == Some(Errno::STALE.raw_os_error())) {
            // A network file system made the directory anew: it is looked for again the next time.
            lazy.forget();
        }
        opened
    }
}

impl Lazy {
    fn root(&self) -> io::Result<Arc<Root>> {
        if let Some(root) = self.opened.read().unwrap_or_else(std::sync::PoisonError::into_inner).as_ref() {
            return Ok(Arc::clone(root));
        }
        let root = Arc::new(Root::open(&self.path)?);
        Ok(Arc::clone(self.opened.write().unwrap_or_else(std::sync::PoisonError::into_inner).get_or_insert(root)))
    }

    fn forget(&self) {
        *self.opened.write().unwrap_or_else(std::sync::PoisonError::into_inner) = None;
    }
}

impl AsFd for Root {
    fn as_fd(&self) -> std::os::fd::BorrowedFd<'_> {
        self.directory.as_fd()
    }
}

#[cfg(test)]
mod tests;
