//! Where the entries of each directory wait, and how they are made, so that they have what their directory hands on.
//!
//! An entry that is renamed into a directory keeps the group, the access control list and the quota of where it was made, and no entry is renamed
//! into another file system. So each file system below the destination has a staging directory of its own, at its top, and a file for a directory
//! that hands something on is made in that directory, without a name where the file system makes such files, and moved to the staging
//! directory at once.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Write as _};
use std::os::fd::{AsFd, AsRawFd as _, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::sync::{Arc, Mutex};

use rustix::fs::{self, AtFlags, CWD, Mode, OFlags, StatxFlags};
use rustix::io::Errno;

use super::keeping;
use super::parent::in_own;
use super::shards;
use super::staging::{NEW, Staging, new_mode};
use super::tree::{BENEATH, split};
use cpt_process::thread::lock;
use cpt_wire::documents::percent;
use cpt_wire::documents::seat::Seat;

/// Directories that are remembered: files come sorted by directory, on some tens of streams.
const REMEMBERED: usize = 1024;
/// The list of places in which something may be left, in the first staging directory. No partial file has this name.
const ELSEWHERE: &str = "elsewhere";
/// `FS_PROJINHERIT_FL` (linux/fs.h): what is made in a directory counts for the quota of its project, and nothing is renamed into it from others.
const PROJECT: u32 = 0x2000_0000;
const DIRECTORY: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

/// What tells file systems apart, as far as renaming goes: a mount, a subvolume, the tree of a project.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Domain {
    mount: u64,
    device: (u32, u32),
    is_project: bool,
}

/// How entries of one directory come to it.
pub struct Home {
    pub staging: Arc<Staging>,
    /// Files made in it get something from it: a group, an access control list.
    hands_on: bool,
}

/// The homes of all directories of a destination.
pub struct Homes {
    root: OwnedFd,
    /// Name of each staging directory.
    name: String,
    /// That of this receiver, where it has others beside it.
    seat: Option<Seat>,
    domain: Domain,
    first: Arc<Staging>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    known: HashMap<Vec<u8>, Arc<Home>>,
    /// Staging directories besides the first one, with the paths of their directories.
    others: Vec<(Vec<u8>, Arc<Staging>)>,
    list: Option<File>,
}

impl Homes {
    /// With what earlier processes left in other places than the `first` staging directory.
    pub fn open(root: OwnedFd, name: &str, seat: Option<Seat>, first: Arc<Staging>) -> io::Result<Self> {
        let domain = domain_of(&root)?;
        let homes = Self { root, name: name.to_owned(), seat, domain, first, state: Mutex::default() };
        homes.recall()?;
        Ok(homes)
    }

    /// The home of a directory's entries. The directory need not be there yet.
    pub fn of(&self, directory: &[u8]) -> io::Result<Arc<Home>> {
        if let Some(known) = lock(&self.state).known.get(directory) {
            return Ok(Arc::clone(known));
        }
        // Streams do not wait for each other's looks at a directory.
        let (path, found) = self.deepest(directory)?;
        let (domain, hands_on) = (domain_of(&found)?, hands_on(&found)?);
        let mut state = lock(&self.state);
        let staging = if domain == self.domain { Arc::clone(&self.first) } else { self.other(&mut state, path, domain)? };
        let home = Arc::new(Home { staging, hands_on });
        if state.known.len() >= REMEMBERED {
            state.known.clear();
        }
        state.known.insert(directory.to_vec(), Arc::clone(&home));
        Ok(home)
    }

    /// Forgets what it knows of directories: something was mounted or moved meanwhile.
    pub fn forget(&self) {
        lock(&self.state).known.clear();
    }

    /// A new file for `directory`, which must be open, in the staging directory of its home.
    pub fn create(&self, home: &Home, path: &[u8], directory: &OwnedFd, name: &str, mode: u16) -> io::Result<File> {
        let mode = new_mode(mode);
        match nameless(home, directory, name, mode)? {
            Some(file) => Ok(file),
            None => self.create_by_name(home, path, directory, name, mode),
        }
    }

    /// The same where a file system makes no files without names.
    fn create_by_name(&self, home: &Home, path: &[u8], directory: &OwnedFd, name: &str, mode: Mode) -> io::Result<File> {
        self.note('d', path)?;
        let own = format!("{}{name}", self.made());
        let make = || in_own(directory, || fs::openat(directory, &*own, NEW, mode));
        let made = match make() {
            Err(Errno::EXIST) => fs::unlinkat(directory, &*own, AtFlags::empty()).and_then(|()| make()),
            other => other,
        };
        let file = File::from(made.map_err(|error| keeping::no_name(directory, error))?);
        let staging = home.staging.of(name)?;
        in_own(directory, || fs::renameat(directory, &*own, staging, name))?;
        // Who may write to the directory may have put something else in its place, which must not get an owner or a mode here.
        let (made, found) = (fs::fstat(&file)?, fs::statat(staging, name, AtFlags::SYMLINK_NOFOLLOW)?);
        if (made.st_dev, made.st_ino, made.st_nlink) == (found.st_dev, found.st_ino, 1) {
            return Ok(file);
        }
        home.staging.discard(name);
        Err(io::Error::other("somebody has changed a new file of the receiver"))
    }

    /// All staging directories, the first one included.
    pub fn stagings(&self) -> Vec<Arc<Staging>> {
        let state = lock(&self.state);
        std::iter::once(&self.first).chain(state.others.iter().map(|(_, staging)| staging)).map(Arc::clone).collect()
    }

    /// Syncs the file systems besides that of the first staging directory.
    pub fn sync_others(&self) -> io::Result<()> {
        let others: Vec<Arc<Staging>> = self.stagings().into_iter().skip(1).collect();
        others.iter().try_for_each(|staging| Ok(fs::syncfs(&staging.directory)?))
    }

    /// Removes the staging directories besides the first one: with all that is in them, of which `removed` hears, or only empty ones.
    pub fn remove_others(&self, removed: Option<&dyn Fn()>) -> io::Result<()> {
        let mut state = lock(&self.state);
        let mut left = false;
        for (path, staging) in &state.others {
            if let Some(removed) = removed {
                staging.clear(removed)?;
            }
            shards::remove_empty(&staging.directory);
            let gone = self.open_directory(path).and_then(|above| Ok(fs::unlinkat(&above, &*self.name, AtFlags::REMOVEDIR)?));
            left |= gone.is_err_and(|error| error.kind() != io::ErrorKind::NotFound);
        }
        if !left && state.list.take().is_some() {
            self.first.discard(ELSEWHERE);
        }
        Ok(())
    }

    /// The deepest directory on the way to `directory` that is there, with its path.
    fn deepest<'a>(&self, directory: &'a [u8]) -> io::Result<(&'a [u8], OwnedFd)> {
        let mut path = directory;
        loop {
            match self.open_directory(path) {
                Err(error) if error.kind() == io::ErrorKind::NotFound && !path.is_empty() => path = above(path)?,
                found => return Ok((path, found?)),
            }
        }
    }

    fn open_directory(&self, path: &[u8]) -> io::Result<OwnedFd> {
        let path = if path.is_empty() { b"." } else { path };
        let open = |flags| fs::openat2(&self.root, OsStr::from_bytes(path), flags, Mode::empty(), BENEATH);
        match open(DIRECTORY) {
            // Where nothing may be listed, something may still be made.
            Err(Errno::ACCESS) => Ok(open(OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC)?),
            other => Ok(other?),
        }
    }

    /// The staging directory of another file system that the directory at `path` is on: at its top, or as near to that as this user may write.
    fn other(&self, state: &mut State, path: &[u8], domain: Domain) -> io::Result<Arc<Staging>> {
        let mut ways = vec![path];
        while let Some(last) = ways.last().filter(|last| !last.is_empty()) {
            let up = above(last)?;
            if domain_of(&self.open_directory(up)?)? != domain {
                break;
            }
            ways.push(up);
        }
        let mut refused = io::Error::from(Errno::ACCESS);
        for way in ways.into_iter().rev() {
            if let Some((_, known)) = state.others.iter().find(|(known, _)| known == way) {
                return Ok(Arc::clone(known));
            }
            write_note(&mut state.list, &self.first, 'f', way)?.sync_data()?;
            match self.open_directory(way).and_then(|parent| Staging::open(&parent, &self.name, self.seat)) {
                Ok(staging) => {
                    let staging = Arc::new(staging);
                    state.others.push((way.to_vec(), Arc::clone(&staging)));
                    return Ok(staging);
                }
                Err(error) => refused = error,
            }
        }
        Err(refused)
    }

    /// Beginning of the names that files have in their directories for a moment. No transfer's id has a dot, so they are no other one's.
    fn made(&self) -> String {
        format!("{}.", self.name)
    }

    fn note(&self, kind: char, path: &[u8]) -> io::Result<()> {
        write_note(&mut lock(&self.state).list, &self.first, kind, path).map(drop)
    }

    /// Opens the staging directories, and removes the files, that earlier processes left in other places.
    fn recall(&self) -> io::Result<()> {
        let Some(mut list) = self.first.open_own(ELSEWHERE)? else { return Ok(()) };
        let text = io::read_to_string(&mut list)?;
        lock(&self.state).list = Some(list);
        self.recall_from(&text)
    }

    /// The same of what another receiver, whose directory this is, left in other places.
    pub fn recall_of(&self, directory: &OwnedFd) -> io::Result<()> {
        match fs::openat(directory, ELSEWHERE, OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty()) {
            Ok(list) => self.recall_from(&io::read_to_string(File::from(list))?),
            Err(Errno::NOENT) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    fn recall_from(&self, text: &str) -> io::Result<()> {
        let mut notes: Vec<&str> = text.lines().collect();
        notes.sort_unstable();
        notes.dedup();
        let mut state = lock(&self.state);
        for (kind, path) in notes.iter().filter_map(|note| note.split_once(' ')) {
            let path = percent::decode(path).map_err(io::Error::other)?;
            // What is not there now, with its disk, say, is no obstacle.
            let Ok(directory) = self.open_directory(&path) else { continue };
            if kind == "d" {
                if let Err(error) = self.remove_made(&directory) {
                    tracing::warn!(%error, "a file of an earlier receiver");
                }
            } else if fs::statat(&directory, &*self.name, AtFlags::SYMLINK_NOFOLLOW).is_ok()
                && domain_of(&directory)? != self.domain
                && !state.others.iter().any(|(known, _)| *known == path)
            {
                state.others.push((path, Arc::new(Staging::open(&directory, &self.name, self.seat)?)));
            }
        }
        Ok(())
    }

    /// Removes files that this transfer made in a directory and did not move away.
    fn remove_made(&self, directory: &OwnedFd) -> io::Result<()> {
        let ours = self.made();
        for entry in fs::Dir::read_from(directory)? {
            let entry = entry?;
            if entry.file_name().to_bytes().starts_with(ours.as_bytes()) {
                in_own(directory, || fs::unlinkat(directory, entry.file_name(), AtFlags::empty()))?;
            }
        }
        Ok(())
    }
}

impl Home {
    /// Returns whether a file must be made in the directory itself.
    pub const fn hands_on(&self) -> bool {
        self.hands_on
    }
}

/// A file that was made in a directory without a name there, and that has one in the staging directory; none where that is not possible.
fn nameless(home: &Home, directory: &OwnedFd, name: &str, mode: Mode) -> io::Result<Option<File>> {
    let flags = OFlags::RDWR | OFlags::CLOEXEC | OFlags::TMPFILE;
    let Ok(file) = in_own(directory, || fs::openat(directory, ".", flags, mode)) else { return Ok(None) };
    let own = format!("/proc/self/fd/{}", file.as_raw_fd());
    let staging = home.staging.of(name)?;
    let linked = home.staging.instead(name, || fs::linkat(CWD, &*own, staging, name, AtFlags::SYMLINK_FOLLOW));
    Ok(linked.is_ok().then(|| file.into()))
}

/// In the file when this returns: a process that comes later must find what this one leaves.
fn write_note<'a>(list: &'a mut Option<File>, first: &Staging, kind: char, path: &[u8]) -> io::Result<&'a File> {
    let file = match list {
        Some(file) => file,
        None => list.insert(first.create(ELSEWHERE, 0)?),
    };
    file.write_all(format!("{kind} {}\n", percent::encode(path)).as_bytes())?;
    Ok(file)
}

fn above(path: &[u8]) -> io::Result<&[u8]> {
    split(path).map(|(parent, _)| parent)
}

fn domain_of(directory: &impl AsFd) -> io::Result<Domain> {
    let found = fs::statx(directory, "", AtFlags::EMPTY_PATH, StatxFlags::BASIC_STATS | StatxFlags::MNT_ID)?;
    let mount = if StatxFlags::from_bits_retain(found.stx_mask).contains(StatxFlags::MNT_ID) { found.stx_mnt_id } else { 0 };
    // Only some file systems have such flags.
    let is_project = fs::ioctl_getflags(directory).is_ok_and(|flags| flags.bits() & PROJECT != 0);
    Ok(Domain { mount, device: (found.stx_dev_major, found.stx_dev_minor), is_project })
}

/// Returns whether a file that is made in a directory gets more from it than its place.
fn hands_on(directory: &OwnedFd) -> io::Result<bool> {
    let stat = fs::fstat(directory)?;
    let hands_group_on = Mode::from_raw_mode(stat.st_mode).contains(Mode::SGID);
    Ok(hands_group_on || keeping::has_default_acl(directory))
}

#[cfg(test)]
#[path = "homes_tests.rs"]
mod tests;
