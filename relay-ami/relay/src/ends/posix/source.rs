//! Reading the source: exactly the files of the listing, or a reason why not.

use std::collections::HashMap;
use std::fs::{File, Metadata};
use std::io;
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::path::PathBuf;
use std::sync::Mutex;

use rustix::fs::{self, FileType, OFlags};
use rustix::io::Errno;

use super::roots::Roots;
use super::{disk, listing};
use crate::control::ControlError;
use crate::digest::Digest;
use crate::documents::entry::{Kind, Segment};
use crate::documents::event::SkipReason;
use crate::documents::percent;
use crate::ends::{Each, Source, SourceFailure, SourceFile};
use crate::thread::lock;

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
    /// Beneath these all reading stays, whatever a manifest names.
    roots: Roots,
    /// Change times (`ctime`, which no program can set) of the files that are read in parts, from each one's first part on:
    /// parts that are read before and after a change whose author put the modification time back do not make up one file.
    changed: Mutex<HashMap<u64, i128>>,
}

impl PosixSource {
    #[must_use]
    pub fn new(paths: Vec<PathBuf>) -> Self {
        Self { roots: Roots::new(&paths), paths, changed: Mutex::default() }
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
        let opened = Opened { segment, file, ctime_ns: self.first(segment, nanoseconds(now.ctime(), now.ctime_nsec())) };
        opened.compare(&now)?;
        Ok(opened)
    }

    /// Whether a symbolic link still points where the listing says.
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
        listing::list(&self.paths, each)
    }

    fn open<'a>(&'a self, segment: &'a Segment) -> Result<Option<Box<dyn SourceFile + 'a>>, SourceFailure> {
        match segment.kind {
            Kind::File => {}
            Kind::Symlink => return self.check_link(segment).map(|()| None),
            Kind::Directory => return Ok(None),
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

    fn read_rate(&self, source: &str, size: u64) -> Option<f64> {
        let path = percent::decode(source).ok()?;
        disk::read_rate(|flags| self.roots.open(&path, flags), size)
    }
}

struct Opened<'a> {
    segment: &'a Segment,
    file: File,
    ctime_ns: i128,
}

fn nanoseconds(seconds: i64, nanoseconds: i64) -> i128 {
    i128::from(seconds) * 1_000_000_000 + i128::from(nanoseconds)
}

impl Opened<'_> {
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
        match self.file.read_at(buffer, offset) {
            Ok(0) => Err(changed(self.segment, format!("ends at {offset}"))),
            Ok(count) => Ok(count),
            Err(error) => Err(unreadable(self.segment, &error)),
        }
    }

    fn check(&self) -> Result<(), SourceFailure> {
        self.compare(&self.file.metadata().map_err(|error| unreadable(self.segment, &error))?)
    }
}
