//! Reading the source: exactly the files of the listing, or a reason why not.

use std::cell::Cell;
use std::collections::HashMap;
use std::fs::{File, Metadata};
use std::io;
use std::num::NonZeroU64;
use std::ops::Range;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::path::PathBuf;
use std::sync::Mutex;

use rustix::fs::{self, Advice, FileType, OFlags, SeekFrom};
use rustix::io::Errno;

use super::identity::modified_ns;
use super::keeping::node;
use super::roots::Roots;
use super::{disk, listing};
use crate::control::ControlError;
use crate::digest::Digest;
use crate::documents::attributes::Preserve;
use crate::documents::entry::{Kind, Segment};
use crate::documents::event::SkipReason;
use crate::documents::percent;
use crate::documents::selection::Selection;
use crate::ends::{Each, Listed, Source, SourceFailure, SourceFile};
use crate::select::Selector;
use crate::thread::lock;

/// What is asked for before it is read: many requests at once, which disks behind a network answer side by side. The kernel's own
/// read-ahead is 128 KiB on most machines.
const AHEAD_BYTES: u64 = 4 << 20;
/// The kernel leaves out what is more than its own read-ahead. What is smaller than this is read before asking for it would help.
const ASKED_AT_ONCE: u64 = 128 << 10;

fn changed(segment: &Segment, what: impl std::fmt::Display) -> SourceFailure {
    SourceFailure { reason: SkipReason::SourceChanged, message: format!("{}: {what}", segment.source), transient: false }
}

fn unreadable(segment: &Segment, error: &io::Error) -> SourceFailure {
    // What the listing named and is gone has changed; all else the system refuses is unreadable.
    let gone = matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
        || error.raw_os_error() == Some(Errno::LOOP.raw_os_error());
    let reason = if gone { SkipReason::SourceChanged } else { SkipReason::SourceUnreadable };
    let transient = [Errno::IO, Errno::STALE].iter().any(|errno| error.raw_os_error() == Some(errno.raw_os_error()));
    SourceFailure { reason, message: format!("{}: {error}", segment.source), transient }
}

/// The paths of a request.
pub struct PosixSource {
    paths: Vec<PathBuf>,
    selection: Selection,
    preserve: Preserve,
    /// Beneath these all reading stays, whatever a manifest names.
    roots: Roots,
    /// Change times (`ctime`, which no program can set) of the files that are read in parts, from each one's first part on:
    /// parts that are read before and after a change whose author put the modification time back do not make up one file.
    changed: Mutex<HashMap<u64, i128>>,
}

impl PosixSource {
    #[must_use]
    pub fn new(paths: Vec<PathBuf>) -> Self {
        let (selection, preserve) = (Selection::default(), Preserve::default());
        Self { roots: Roots::new(&paths), paths, selection, preserve, changed: Mutex::default() }
    }

    /// The same, of which only that is listed.
    #[must_use]
    pub fn selecting(self, selection: Selection) -> Self {
        Self { selection, ..self }
    }

    /// Lists what is to be kept beyond the default too.
    #[must_use]
    pub fn preserving(self, preserve: Preserve) -> Self {
        Self { preserve, ..self }
    }

    /// The change time that a file had when it was first read.
    fn first(&self, segment: &Segment, now: i128) -> i128 {
        if segment.is_part() { *lock(&self.changed).entry(segment.entry).or_insert(now) } else { now }
    }

    fn open_file<'a>(&self, segment: &'a Segment) -> Result<Opened<'a>, SourceFailure> {
        let path = percent::decode(&segment.source).map_err(|why| changed(segment, why))?;
        // Not through a link that took the file's place, and without waiting for a pipe's other end.
        let file = self.roots.open(&path, OFlags::RDONLY | OFlags::NONBLOCK).map_err(|error| unreadable(segment, &error))?;
        let file = File::from(file);
        let now = file.metadata().map_err(|error| unreadable(segment, &error))?;
        let ctime_ns = self.first(segment, nanoseconds(now.ctime(), now.ctime_nsec()));
        let opened = Opened { segment, file, ctime_ns, asked_until: Cell::new(segment.offset) };
        opened.compare(&now)?;
        Ok(opened)
    }

    /// Returns whether another name of a file, or a special file, still is what the listing says.
    fn check_node(&self, segment: &Segment) -> Result<(), SourceFailure> {
        let path = percent::decode(&segment.source).map_err(|why| changed(segment, why))?;
        let found = self.roots.open(&path, OFlags::PATH).map_err(|error| unreadable(segment, &error))?;
        let stat = fs::fstat(&found).map_err(|error| unreadable(segment, &error.into()))?;
        let is_kind = match segment.kind {
            Kind::Special => node(&stat) == segment.attributes.as_ref().and_then(|attributes| attributes.node),
            _ => FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile,
        };
        if is_kind && (stat.st_ino, modified_ns(&stat)) == (segment.inode, segment.mtime_ns) {
            Ok(())
        } else {
            Err(changed(segment, "is not what it was when it was listed"))
        }
    }

    /// Returns whether a symbolic link still points where the listing says.
    fn check_link(&self, segment: &Segment) -> Result<(), SourceFailure> {
        let path = percent::decode(&segment.source).map_err(|why| changed(segment, why))?;
        let link = self.roots.open(&path, OFlags::PATH).map_err(|error| unreadable(segment, &error))?;
        let stat = fs::fstat(&link).map_err(|error| unreadable(segment, &error.into()))?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::Symlink {
            return Err(changed(segment, "is no link any more"));
        }
        let target = fs::readlinkat(&link, "", Vec::new()).map_err(|error| unreadable(segment, &error.into()))?;
        if Some(percent::encode(target.as_bytes())) == segment.target { Ok(()) } else { Err(changed(segment, "points elsewhere now")) }
    }
}

impl Source for PosixSource {
    fn list(&self, each: Each<'_>) -> Result<(), ControlError> {
        match Selector::new(&self.selection) {
            Ok(selector) => listing::list(&self.paths, &selector, &self.selection, &self.preserve, each),
            // Named once, as a problem of the first path: the request is wrong and not the machine.
            Err(why) => each(Listed::Problem(self.paths.first().map_or(b"/" as &[u8], |path| path.as_os_str().as_bytes()).to_vec(), why)),
        }
    }

    fn open<'a>(&'a self, segment: &'a Segment) -> Result<Option<Box<dyn SourceFile + 'a>>, SourceFailure> {
        match segment.kind {
            Kind::File => {}
            Kind::Symlink => return self.check_link(segment).map(|()| None),
            Kind::Directory => return Ok(None),
            Kind::Hardlink | Kind::Special => return self.check_node(segment).map(|()| None),
        }
        let opened = match self.open_file(segment) {
            Err(failure) if failure.transient => {
                tracing::warn!(message = failure.message, "opened again");
                self.open_file(segment)
            }
            result => result,
        };
        Ok(Some(Box::new(opened?)))
    }

    fn digest(&self, source: &str) -> io::Result<Digest> {
        let path = percent::decode(source).map_err(io::Error::other)?;
        let file = File::from(self.roots.open(&path, OFlags::RDONLY | OFlags::NONBLOCK)?);
        Ok(*blake3::Hasher::new().update_reader(file)?.finalize().as_bytes())
    }

    fn sample(&self, source: &str, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let path = percent::decode(source).map_err(io::Error::other)?;
        let file = File::from(self.roots.open(&path, OFlags::RDONLY | OFlags::NONBLOCK)?);
        file.read_at(buffer, offset)
    }

    fn read_rate(&self, source: &str, size: u64) -> Option<f64> {
        let path = percent::decode(source).ok()?;
        disk::read_rate(|flags| self.roots.open(&path, flags), size)
    }
}

struct Opened<'a> {
    segment: &'a Segment,
    file: File,
    ctime_ns: i128,
    /// Up to there the disk was asked for the file's bytes.
    asked_until: Cell<u64>,
}

fn nanoseconds(seconds: i64, nanoseconds: i64) -> i128 {
    i128::from(seconds) * 1_000_000_000 + i128::from(nanoseconds)
}

impl Opened<'_> {
    /// Asks for what follows, each time that half of what was asked for has been read. A file system that does not take it is read as it
    /// was before. The part that comes next is asked for too: else each part would begin with nothing under way.
    fn ask_ahead(&self, offset: u64) {
        let end = self.segment.size;
        let asked = self.asked_until.get().max(offset);
        if self.segment.length <= ASKED_AT_ONCE || asked >= end || asked > offset.saturating_add(AHEAD_BYTES / 2) {
            return;
        }
        let until = end.min(offset.saturating_add(AHEAD_BYTES));
        let mut at = asked;
        while at < until {
            let length = ASKED_AT_ONCE.min(until - at);
            let _ = fs::fadvise(&self.file, at, NonZeroU64::new(length), Advice::WillNeed);
            at += length;
        }
        self.asked_until.set(until);
    }

    fn compare(&self, now: &Metadata) -> Result<(), SourceFailure> {
        let listed = self.segment;
        if !now.is_file() {
            return Err(changed(listed, "is no file any more"));
        }
        let mtime_ns = now.mtime().saturating_mul(1_000_000_000).saturating_add(now.mtime_nsec());
        for (what, is, was) in [
            ("size", i128::from(now.size()), i128::from(listed.size)),
            ("modification time", i128::from(mtime_ns), i128::from(listed.mtime_ns)),
            ("inode", i128::from(now.ino()), i128::from(listed.inode)),
        ] {
            if is != was {
                return Err(changed(listed, format!("{what} was {was} when it was listed and is {is} now")));
            }
        }
        // Owner, mode and links change it too: none of them should while a file is moved.
        let ctime_ns = nanoseconds(now.ctime(), now.ctime_nsec());
        if ctime_ns == self.ctime_ns {
            Ok(())
        } else {
            Err(changed(listed, format!("changed at {ctime_ns}, while it was read; its change time was {}", self.ctime_ns)))
        }
    }
}

impl SourceFile for Opened<'_> {
    fn read(&self, buffer: &mut [u8], offset: u64) -> Result<usize, SourceFailure> {
        self.ask_ahead(offset);
        match self.file.read_at(buffer, offset) {
            Ok(0) => Err(changed(self.segment, format!("ends at {offset}"))),
            Ok(count) => Ok(count),
            Err(error) => Err(unreadable(self.segment, &error)),
        }
    }

    fn data(&self, offset: u64) -> Range<u64> {
        let all = offset..u64::MAX;
        if !self.segment.attributes.as_ref().is_some_and(|attributes| attributes.sparse) {
            return all;
        }
        match fs::seek(&self.file, SeekFrom::Data(offset)) {
            Ok(data) => data..fs::seek(&self.file, SeekFrom::Hole(data)).unwrap_or(u64::MAX),
            // Nothing follows but a hole.
            Err(Errno::NXIO) => self.segment.size.max(offset)..u64::MAX,
            // The file system cannot tell.
            Err(_) => all,
        }
    }

    fn check(&self) -> Result<(), SourceFailure> {
        self.compare(&self.file.metadata().map_err(|error| unreadable(self.segment, &error))?)
    }
}
