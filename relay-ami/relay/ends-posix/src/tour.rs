//! A walk over a destination, for what the source does not have.

use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use rustix::fs::{self, AtFlags, FileType, Mode, OFlags, ResolveFlags, Stat};
use rustix::io::Errno;

use super::identity::{keeps_inodes, modified_ns};
use super::keep::Kept;
use super::roots::{HELD_NAMES, Root, Step, Walk};
use super::tree::{BENEATH, PARTIAL};
use cpt_ends::{FileId, Found, Stop, Tour};
use cpt_wire::documents::entry::Kind;
use cpt_wire::documents::extras::Spared;
use cpt_wire::documents::text::DirectoryId;

/// Beneath, and not over a mount either: neither of another file system nor of another directory of this one.
pub const WITHIN: ResolveFlags = BENEATH.union(ResolveFlags::NO_XDEV);

/// A directory that is only looked into.
const PLACE: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// One walk.
pub struct PosixTour {
    walk: Walk<Root>,
    directory: DirectoryId,
    device: u64,
    /// What was given last.
    last: Option<Stat>,
    /// The directory of this program's files.
    own: Option<(u64, u64)>,
    /// The directory in which what was replaced is kept.
    kept: Option<(u64, u64)>,
    /// A directory that names were looked for in last.
    above: Option<(Vec<u8>, Option<OwnedFd>)>,
    keeps_inodes: bool,
}

impl PosixTour {
    /// Begins a walk over `path`, an absolute path of a directory. A link on the way is followed only if root or this process's own
    /// user made it.
    pub fn begin(path: &Path) -> io::Result<Self> {
        Self::holding(path, HELD_NAMES)
    }

    /// With so many bytes of one directory's names in memory.
    fn holding(path: &Path, names: usize) -> io::Result<Self> {
        let root = Root::open(&path.join(""))?;
        let (directory, device, keeps_inodes) = (id_of(&root)?, fs::fstat(&root)?.st_dev, keeps_inodes(&root));
        let walk = Walk::whole(root, names)?;
        Ok(Self { walk, directory, device, last: None, own: own_directory(), kept: None, above: None, keeps_inodes })
    }

    /// The same, in which what earlier transfers have replaced or removed stays.
    pub fn sparing(self, kept: Option<&Kept>) -> Self {
        let found = kept.and_then(|kept| fs::statat(self.walk.root(), kept.name.as_str(), AtFlags::SYMLINK_NOFOLLOW).ok());
        Self { kept: found.map(|stat| (stat.st_dev, stat.st_ino)), ..self }
    }

    fn name(&self) -> &[u8] {
        self.walk.place().1.as_bytes()
    }
}

impl Tour for PosixTour {
    fn directory(&self) -> &DirectoryId {
        &self.directory
    }

    fn step(&mut self) -> io::Result<Option<Stop>> {
        self.last = None;
        Ok(match self.walk.step() {
            None => None,
            Some(Step::Entry(stat)) => {
                self.last = Some(stat);
                Some(Stop::Entry(found(&stat)))
            }
            // The destination itself: what it holds is not known, nor what of it is to stay.
            Some(Step::Problem(error) | Step::Broken(error)) if self.walk.relative().is_empty() => return Err(error),
            Some(Step::Problem(error) | Step::Broken(error)) => {
                tracing::warn!(path = %OsStr::from_bytes(self.walk.relative()).display(), %error, "is left alone");
                Some(Stop::Unreadable)
            }
        })
    }

    fn path(&self) -> &[u8] {
        self.walk.relative()
    }

    fn pass(&mut self) {
        self.walk.pass();
    }

    fn spared(&self) -> Option<Spared> {
        let stat = self.last.as_ref()?;
        let (directory, name) = self.walk.place();
        if self.name().starts_with(PARTIAL) {
            Some(Spared::Partial)
        } else if self.own == Some((stat.st_dev, stat.st_ino)) {
            Some(Spared::Own)
        } else if self.kept == Some((stat.st_dev, stat.st_ino)) {
            Some(Spared::Kept)
        } else {
            // A subvolume is a file system of its own without being mounted. Files of one may have any device in layered file systems.
            let is_other = found(stat).kind == Kind::Directory && stat.st_dev != self.device;
            (is_other || is_mounted(directory, name)).then_some(Spared::OtherFileSystem)
        }
    }

    fn finds(&mut self, path: &[u8]) -> io::Result<Option<FileId>> {
        let (above, name) = path.split_at(path.iter().rposition(|byte| *byte == b'/').map_or(0, |at| at + 1));
        if self.above.as_ref().is_none_or(|(known, _)| known != above) {
            let way = if above.is_empty() { b"." } else { above };
            let opened = match fs::openat2(self.walk.root(), OsStr::from_bytes(way), PLACE, Mode::empty(), WITHIN) {
                Ok(directory) => Some(directory),
                Err(error) if is_nothing(error) => None,
                Err(error) => return Err(error.into()),
            };
            self.above = Some((above.to_vec(), opened));
        }
        let Some((_, Some(directory))) = &self.above else { return Ok(None) };
        match fs::statat(directory, OsStr::from_bytes(name), AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Ok(Some(id(&stat))),
            Err(error) if is_nothing(error) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    fn may_be(&self, other: &FileId) -> bool {
        self.last.as_ref().is_some_and(|stat| !self.keeps_inodes || id(stat) == *other)
    }
}

fn id(stat: &Stat) -> FileId {
    FileId([stat.st_dev, stat.st_ino])
}

/// Returns whether an error says that there is no such entry beneath, and none of that name could be.
fn is_nothing(error: Errno) -> bool {
    [Errno::NOENT, Errno::NOTDIR, Errno::LOOP, Errno::XDEV, Errno::NAMETOOLONG, Errno::INVAL, Errno::ILSEQ].contains(&error)
}

/// Returns what an entry is. What is neither file, directory nor link counts as special, as it does at a source.
pub fn found(stat: &Stat) -> Found {
    let kind = match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => Kind::File,
        FileType::Directory => Kind::Directory,
        FileType::Symlink => Kind::Symlink,
        _ => Kind::Special,
    };
    let size = if matches!(kind, Kind::File | Kind::Symlink) { u64::try_from(stat.st_size).unwrap_or(u64::MAX) } else { 0 };
    Found { kind, size, mtime_ns: modified_ns(stat) }
}

/// Returns what tells a directory from another one of the same path.
pub fn id_of(directory: &impl AsFd) -> io::Result<DirectoryId> {
    let stat = fs::fstat(directory)?;
    DirectoryId::new(format!("{}:{}", stat.st_dev, stat.st_ino)).map_err(io::Error::other)
}

/// Returns whether something is mounted in the place of an entry. One that cannot be asked is treated so: nothing is lost by that.
fn is_mounted(directory: impl AsFd, name: &OsStr) -> bool {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    !matches!(fs::openat2(directory, name, flags, Mode::empty(), WITHIN), Ok(_) | Err(Errno::NOENT))
}

/// The directory above that of the program, where the documents keep programs, commands and locks (`CPT_HOME`).
fn own_directory() -> Option<(u64, u64)> {
    let program = std::env::current_exe().ok()?;
    let home = std::fs::metadata(program.parent()?.parent()?).ok()?;
    Some((home.dev(), home.ino()))
}

#[cfg(test)]
#[path = "tour_tests.rs"]
mod tests;
