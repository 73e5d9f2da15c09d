//! Reading the source: exactly the files of the listing, or a reason why not.

use std::collections::HashMap;
use std::fs::{File, Metadata};
use std::io;
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::sync::Mutex;

use rustix::fs::{self, FileType, OFlags};
use rustix::io::Errno;

use super::roots::Roots;
use crate::documents::entry::{Kind, Segment};
use crate::documents::event::SkipReason;
use crate::documents::percent;
use crate::thread::lock;
use crate::wire::frame::SegmentHeader;

/// Why a segment cannot be sent.
#[derive(Debug)]
pub struct SourceFailure {
    pub reason: SkipReason,
    pub message: String,
    /// It may not last: an error of the disk, or a handle that a file server has dropped.
    pub transient: bool,
}

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

/// The metadata that goes before a segment's bytes.
pub fn header(segment: &Segment) -> Result<SegmentHeader, SourceFailure> {
    let decode = |text: &str| percent::decode(text).map_err(|why| changed(segment, why));
    Ok(SegmentHeader {
        entry: segment.entry,
        kind: segment.kind,
        mode: u16::try_from(segment.mode).unwrap_or(0o7777),
        mtime_ns: segment.mtime_ns,
        size: if segment.kind == Kind::File { segment.size } else { 0 },
        offset: segment.offset,
        length: segment.length,
        path: decode(&segment.path)?,
        target: decode(segment.target.as_deref().unwrap_or_default())?,
    })
}

/// Change times (`ctime`, which no program can set) of the files that are read in parts, from each one's first part on:
/// parts that are read before and after a change whose author put the modification time back do not make up one file.
/// It also holds the roots, beneath which all reading stays, whatever a manifest names.
#[derive(Default)]
pub struct Witness {
    roots: Roots,
    changed: Mutex<HashMap<u64, i128>>,
}

impl Witness {
    #[must_use]
    pub fn new(roots: Roots) -> Self {
        Self { roots, changed: Mutex::default() }
    }

    /// The change time that a file had when it was first read.
    fn first(&self, segment: &Segment, now: i128) -> i128 {
        if segment.is_part() { *lock(&self.changed).entry(segment.entry).or_insert(now) } else { now }
    }
}

/// A file that is still the one of the listing.
pub struct Source<'a> {
    segment: &'a Segment,
    file: File,
    ctime_ns: i128,
}

fn nanoseconds(seconds: i64, nanoseconds: i64) -> i128 {
    i128::from(seconds) * 1_000_000_000 + i128::from(nanoseconds)
}

impl<'a> Source<'a> {
    /// Opens the file; once more where the first failure may not last.
    pub fn open(segment: &'a Segment, witness: &Witness) -> Result<Self, SourceFailure> {
        match Self::open_once(segment, witness) {
            Err(failure) if failure.transient => {
                tracing::warn!(message = failure.message, "opened again");
                Self::open_once(segment, witness)
            }
            result => result,
        }
    }

    fn open_once(segment: &'a Segment, witness: &Witness) -> Result<Self, SourceFailure> {
        let path = percent::decode(&segment.source).map_err(|why| changed(segment, why))?;
        // Not through a link that took the file's place, and without waiting for a pipe's other end.
        let file = witness.roots.open(&path, OFlags::RDONLY | OFlags::NONBLOCK).map_err(|error| unreadable(segment, &error))?;
        let file = File::from(file);
        let now = file.metadata().map_err(|error| unreadable(segment, &error))?;
        let source = Self { segment, file, ctime_ns: witness.first(segment, nanoseconds(now.ctime(), now.ctime_nsec())) };
        source.compare(&now)?;
        Ok(source)
    }

    /// Whether the file still is what the listing says; asked after the last byte, as `open` asks before the first.
    pub fn check(&self) -> Result<(), SourceFailure> {
        self.compare(&self.file.metadata().map_err(|error| unreadable(self.segment, &error))?)
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

    /// Reads at an offset of the file; never less than one byte.
    pub fn read(&self, buffer: &mut [u8], offset: u64) -> Result<usize, SourceFailure> {
        match self.file.read_at(buffer, offset) {
            Ok(0) => Err(changed(self.segment, format!("ends at {offset}"))),
            Ok(count) => Ok(count),
            Err(error) => Err(unreadable(self.segment, &error)),
        }
    }
}

/// Whether a symbolic link still points where the listing says.
pub fn check_link(segment: &Segment, witness: &Witness) -> Result<(), SourceFailure> {
    let path = percent::decode(&segment.source).map_err(|why| changed(segment, why))?;
    let link = witness.roots.open(&path, OFlags::PATH).map_err(|error| unreadable(segment, &error))?;
    let stat = fs::fstat(&link).map_err(|error| unreadable(segment, &error.into()))?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::Symlink {
        return Err(changed(segment, "is no link any more"));
    }
    let target = fs::readlinkat(&link, "", Vec::new()).map_err(|error| unreadable(segment, &error.into()))?;
    if Some(percent::encode(target.as_bytes())) == segment.target { Ok(()) } else { Err(changed(segment, "points elsewhere now")) }
}
