//! Everything beneath a directory, depth first, the names of each directory sorted.

use std::borrow::{Borrow, Cow};
use std::ffi::{CStr, CString, OsStr};
use std::io;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;

use rustix::fs::{self, AtFlags, FileType, Mode, OFlags, RawDir, SeekFrom, Stat};
use rustix::io::Errno;

use super::Root;
use crate::defaults::{AHEAD_NAMES, THREADS_AT_ONCE};
use crate::tree::BENEATH;
use cpt_ends::tempo::{Tempo, timed};
use cpt_process::thread;

pub const DIRECTORY: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
/// Directories of the way down that stay open; above them each is opened again on the way back. A tree may be 2 000 deep,
/// and 1 024 open files are the usual limit.
const HELD: usize = 64;
/// Bytes of names that one call asks for: about 1 000 entries.
const NAMES_BYTES: usize = 32 << 10;
/// The kernel's limit of a path (`PATH_MAX`), its zero included: nothing longer can be named to the sender.
pub const PATH_MAX: usize = 4096;

/// Bytes of one directory's names that a walk holds at a time, twice that while it reads them: 10⁶ names of 30 bytes. What a directory
/// has beyond that is read in further passes over it.
pub const HELD_NAMES: usize = 32 << 20;

/// Names in one piece of memory, sorted, each with a zero behind it: they cost their bytes and 9 more each.
#[derive(Debug, Default)]
pub struct Names {
    bytes: Vec<u8>,
    starts: Vec<usize>,
    /// The directory has later names, too.
    more: bool,
}

impl Names {
    fn get(&self, number: usize) -> Option<&CStr> {
        self.starts.get(number).map(|start| at(&self.bytes, *start))
    }

    fn last(&self) -> Option<&CStr> {
        self.starts.last().map(|start| at(&self.bytes, *start))
    }

    pub fn to_vec(&self) -> Vec<Vec<u8>> {
        self.starts.iter().map(|start| at(&self.bytes, *start).to_bytes().to_vec()).collect()
    }

    fn push(&mut self, name: &CStr) {
        self.starts.push(self.bytes.len());
        self.bytes.extend_from_slice(name.to_bytes_with_nul());
    }

    /// Sorts them, each once, and keeps the first of them, of `most` bytes together.
    fn settle(&mut self, most: usize) {
        let bytes = &self.bytes;
        self.starts.sort_unstable_by(|one, other| at(bytes, *one).cmp(at(bytes, *other)));
        self.starts.dedup_by(|one, other| at(bytes, *one) == at(bytes, *other));
        if bytes.len() <= most {
            return;
        }
        let mut kept = Self { more: self.more, ..Self::default() };
        for start in &self.starts {
            let name = at(bytes, *start);
            if !kept.starts.is_empty() && kept.bytes.len() + name.count_bytes() >= most {
                kept.more = true;
                break;
            }
            kept.push(name);
        }
        *self = kept;
    }
}

fn at(bytes: &[u8], start: usize) -> &CStr {
    CStr::from_bytes_until_nul(bytes.get(start..).unwrap_or_default()).unwrap_or_default()
}

/// Returns what a directory holds, sorted: the names after `after`, and of those the first, of `most` bytes together. A name that is renamed
/// to and fro meanwhile may be given twice; it is listed once.
pub fn names(directory: &OwnedFd, after: Option<&CStr>, most: usize) -> io::Result<Names> {
    fs::seek(directory, SeekFrom::Start(0))?;
    let mut buffer = Vec::with_capacity(NAMES_BYTES);
    let mut entries = RawDir::new(directory, buffer.spare_capacity_mut());
    let (mut found, mut highest) = (Names::default(), None::<CString>);
    while let Some(entry) = entries.next() {
        let entry = entry?;
        let name = entry.file_name();
        if matches!(name.to_bytes(), b"." | b"..") || after.is_some_and(|after| name <= after) {
            continue;
        }
        if highest.as_deref().is_some_and(|highest| name > highest) {
            found.more = true;
            continue;
        }
        found.push(name);
        if found.bytes.len() / 2 > most {
            found.settle(most);
            highest = found.last().map(CStr::to_owned);
        }
    }
    found.settle(most);
    Ok(found)
}

/// A directory whose names are being gone through.
struct Level {
    /// None while it is closed.
    directory: Option<OwnedFd>,
    names: Names,
    next: usize,
    /// Names before this one were looked at ahead.
    ahead: usize,
    /// Length of the part of the path that is this directory's.
    length: usize,
}

/// The next step of a walk.
pub enum Step {
    Entry(Stat),
    /// The entry, or the names of the directory, cannot be had.
    Problem(io::Error),
    /// The directory that was gone through cannot be gone on with: what more it holds is not known.
    Broken(io::Error),
}

/// One of a root's names and all beneath it, or all of a root.
pub struct Walk<R> {
    root: R,
    /// Below the root's directory: of what was given last. Its name begins at `name`.
    relative: Vec<u8>,
    name: usize,
    levels: Vec<Level>,
    /// The last entry is a directory that is to be entered.
    descends: bool,
    begun: bool,
    /// As [`HELD_NAMES`].
    held: usize,
    tempo: Tempo,
}

impl<R: Borrow<Root>> Walk<R> {
    #[must_use]
    pub fn new(root: R, name: Vec<u8>) -> Self {
        Self { root, relative: name, name: 0, levels: Vec::new(), descends: false, begun: false, held: HELD_NAMES, tempo: Tempo::default() }
    }

    /// All that the root's directory holds, at most `held` bytes of one directory's names at a time.
    pub fn whole(root: R, held: usize) -> io::Result<Self> {
        let directory = fs::openat(&root.borrow().directory, ".", DIRECTORY, Mode::empty())?;
        let top = Level { names: names(&directory, None, held)?, directory: Some(directory), next: 0, ahead: 0, length: 0 };
        Ok(Self { levels: vec![top], begun: true, held, ..Self::new(root, Vec::new()) })
    }

    /// What is at `relative`, names below the root's directory none of which is a link, and all beneath it. Without a name it is that
    /// directory.
    pub fn at(root: R, relative: &[u8]) -> io::Result<Self> {
        let Some(length) = relative.iter().rposition(|byte| *byte == b'/') else { return Ok(Self::new(root, relative.to_vec())) };
        let (parent, mut names) = (relative.get(..length).unwrap_or_default(), Names::default());
        names.push(&CString::new(relative.get(length + 1..).unwrap_or_default())?);
        let directory = Some(root.borrow().open_at(parent, DIRECTORY)?);
        let level = Level { directory, names, next: 0, ahead: 0, length };
        Ok(Self { levels: vec![level], begun: true, ..Self::new(root, parent.to_vec()) })
    }

    /// Closes the directories that are gone through; each is opened again when it is gone on with.
    pub fn rest(&mut self) {
        self.levels.iter_mut().for_each(|level| level.directory = None);
    }

    /// Path of what was given last, below the root's directory.
    #[must_use]
    pub fn relative(&self) -> &[u8] {
        &self.relative
    }

    /// Path of what was given last, as it lands.
    #[must_use]
    pub fn landing(&self) -> Cow<'_, [u8]> {
        self.root.borrow().landing(&self.relative)
    }

    /// Path of what was given last, from the file system's root on.
    #[must_use]
    pub fn source(&self) -> Vec<u8> {
        let base = &*self.root.borrow().base;
        if self.relative.is_empty() && !base.is_empty() { base.to_vec() } else { [base, b"/", &self.relative].concat() }
    }

    /// The directory of what was given last, and its name there.
    #[must_use]
    pub fn place(&self) -> (BorrowedFd<'_>, &OsStr) {
        let directory =
            self.levels.last().and_then(|level| level.directory.as_ref()).map_or(self.root.borrow().as_fd(), |found| found.as_fd());
        let name = self.relative.get(self.name..).unwrap_or_default();
        (directory, OsStr::from_bytes(if name.is_empty() { b"." } else { name }))
    }

    #[must_use]
    pub fn root(&self) -> &Root {
        self.root.borrow()
    }

    /// Goes into what was given last, where that is a directory, before the next step would: an error where that cannot be looked into.
    /// `relative` and `source` are of it still.
    pub fn enter(&mut self) -> io::Result<()> {
        if !std::mem::take(&mut self.descends) {
            return Ok(());
        }
        self.descend()?;
        let Some(directory) = self.levels.last().and_then(|level| level.directory.as_ref()) else { return Ok(()) };
        // Names can be read of a directory of which nothing can be looked at.
        fs::accessat(directory, ".", fs::Access::EXEC_OK, AtFlags::empty()).map_err(|error| {
            self.levels.pop();
            error.into()
        })
    }

    /// What was given last is a directory that is not gone into.
    pub fn pass(&mut self) {
        self.descends = false;
    }

    #[cfg(test)]
    pub fn open_directories(&self) -> usize {
        self.levels.iter().filter(|level| level.directory.is_some()).count()
    }

    #[cfg(test)]
    pub fn seems_slow(&mut self) {
        (0..9).for_each(|_| self.tempo.note(std::time::Duration::from_secs(1)));
    }

    #[cfg(test)]
    pub fn looked_at_ahead(&self) -> usize {
        self.levels.iter().map(|level| level.ahead).max().unwrap_or_default()
    }

    /// The next entry; `relative`, `source` and `place` are of it then.
    pub fn step(&mut self) -> Option<Step> {
        if !self.begun {
            self.begun = true;
            return Some(self.look());
        }
        if std::mem::take(&mut self.descends)
            && let Err(error) = self.descend()
        {
            return Some(Step::Problem(error));
        }
        loop {
            let level = self.levels.last_mut()?;
            self.relative.truncate(level.length);
            if let Some(name) = level.names.get(level.next) {
                level.next += 1;
                if level.length > 0 {
                    self.relative.push(b'/');
                }
                self.name = self.relative.len();
                self.relative.extend_from_slice(name.to_bytes());
                return Some(match self.reopen() {
                    Ok(()) => {
                        self.look_ahead();
                        self.look()
                    }
                    // The directory is not where it was.
                    Err(error) => self.give_up(error),
                });
            }
            if !level.names.more {
                self.levels.pop();
            } else if let Err(error) = self.read_on() {
                return Some(self.give_up(error));
            }
        }
    }

    /// The directory that is gone through cannot be gone on with.
    fn give_up(&mut self, error: io::Error) -> Step {
        self.relative.truncate(self.levels.pop().map_or(0, |level| level.length));
        Step::Broken(error)
    }

    /// Reads the next names of the directory that is gone through.
    fn read_on(&mut self) -> io::Result<()> {
        self.reopen()?;
        let held = self.held;
        if let Some(Level { directory: Some(directory), names: known, next, ahead, .. }) = self.levels.last_mut() {
            (*known, *next, *ahead) = (names(directory, known.last(), held)?, 0, 0);
        }
        Ok(())
    }

    fn look(&mut self) -> Step {
        if self.root.borrow().longest(self.relative.len()) >= PATH_MAX {
            return Step::Problem(Errno::NAMETOOLONG.into());
        }
        let (directory, name) = self.place();
        let (found, time) = timed(|| fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW));
        // What was looked at ahead is in memory now, which says nothing of the file system.
        if self.levels.last().is_none_or(|level| level.next > level.ahead) {
            self.tempo.note(time);
        }
        match found {
            Ok(stat) => {
                self.descends = FileType::from_raw_mode(stat.st_mode) == FileType::Directory;
                Step::Entry(stat)
            }
            Err(error) => Step::Problem(error.into()),
        }
    }

    /// Where looks are slow, looks at what comes next on several threads, for the file system to have it in memory. The look that counts
    /// comes in its turn.
    fn look_ahead(&mut self) {
        let Some(level) = self.levels.last_mut().filter(|level| self.tempo.is_slow() && level.next > level.ahead) else { return };
        let Some(directory) = &level.directory else { return };
        let names: Vec<&CStr> = (level.next - 1..).map_while(|number| level.names.get(number)).take(AHEAD_NAMES).collect();
        level.ahead = level.next - 1 + names.len();
        let look = |name: &CStr| timed(|| fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW)).1;
        thread::map(THREADS_AT_ONCE, names, look).into_iter().for_each(|time| self.tempo.note(time));
    }

    /// Goes into what was given last.
    fn descend(&mut self) -> io::Result<()> {
        let (parent, name) = self.place();
        // One plain name, and no link: this stays beneath.
        let directory = fs::openat(parent, name, DIRECTORY, Mode::empty())?;
        let names = names(&directory, None, self.held)?;
        self.levels.push(Level { directory: Some(directory), names, next: 0, ahead: 0, length: self.relative.len() });
        let open = self.levels.len();
        if open > HELD
            && let Some(far) = self.levels.get_mut(open - 1 - HELD)
        {
            far.directory = None;
        }
        Ok(())
    }

    /// Opens the directory that is gone on with, if it was closed.
    fn reopen(&mut self) -> io::Result<()> {
        if let Some(level) = self.levels.last_mut()
            && level.directory.is_none()
        {
            let path = if level.length == 0 { b"." } else { self.relative.get(..level.length).unwrap_or_default() };
            level.directory = Some(fs::openat2(&self.root.borrow().directory, OsStr::from_bytes(path), DIRECTORY, Mode::empty(), BENEATH)?);
        }
        Ok(())
    }
}
