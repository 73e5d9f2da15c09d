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

use super::identity::{keeps_inodes, modified_ns};
use super::keeping::node;
use super::roots::Roots;
use super::{disk, listing, mounts, whereabouts};
use crate::defaults::MOST_FOLLOWED;
use cpt_ends::select::Selector;
use cpt_ends::{Each, Halted, Listed, Source, SourceFailure, SourceFile, Version};
use cpt_process::thread::lock;
use cpt_wire::digest::Digest;
use cpt_wire::documents::attributes::Preserve;
use cpt_wire::documents::entry::{Kind, Segment};
use cpt_wire::documents::event::SkipReason;
use cpt_wire::documents::percent;
use cpt_wire::documents::selection::Selection;
use cpt_wire::documents::survey::Place;
use cpt_wire::documents::text::KeepName;

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
    paths: Vec<listing::Asked>,
    selection: Selection,
    preserve: Preserve,
    list_unreadable: bool,
    overflow: Option<File>,
    most_followed: u64,
    /// A name at the top of the destination that is not to be brought.
    free: Option<KeepName>,
    /// By device: whether a file of it has the same inode each time.
    keeps_inodes: Mutex<HashMap<u64, bool>>,
    /// Beneath these all reading stays, whatever a manifest names.
    roots: Roots,
}

impl PosixSource {
    #[must_use]
    pub fn new(paths: Vec<PathBuf>) -> Self {
        let (selection, preserve) = (Selection::default(), Preserve::default());
        Self {
            roots: Roots::new(&paths),
            paths: paths.into_iter().map(|path| (path, None)).collect(),
            selection,
            preserve,
            list_unreadable: false,
            overflow: None,
            most_followed: MOST_FOLLOWED,
            free: None,
            keeps_inodes: Mutex::default(),
        }
    }

    /// The same, whose paths land, each in its turn, as these where there is one.
    #[must_use]
    pub fn landing_as(mut self, paths: impl IntoIterator<Item = Option<Vec<u8>>>) -> Self {
        self.paths.iter_mut().zip(paths).for_each(|((_, lands_as), path)| *lands_as = path);
        self
    }

    /// The same, of which only that is listed.
    #[must_use]
    pub fn selecting(self, selection: Selection) -> Self {
        Self { selection, ..self }
    }

    /// Lists files that cannot be read like all others, where the default is that they are problems of the listing.
    #[must_use]
    pub fn listing_unreadable(self, list_unreadable: bool) -> Self {
        Self { list_unreadable, ..self }
    }

    /// Lists at most so many entries beneath directories that links lead to; more are a problem of the listing.
    #[must_use]
    pub fn following_at_most(self, most_followed: u64) -> Self {
        Self { most_followed, ..self }
    }

    /// What a listing has to know and has no room for in memory goes into this file.
    #[must_use]
    pub fn spilling_into(self, overflow: Option<File>) -> Self {
        Self { overflow, ..self }
    }

    /// What would land under this name at the top of the destination is a problem of the listing.
    #[must_use]
    pub fn leaving_free(self, free: Option<KeepName>) -> Self {
        Self { free, ..self }
    }

    /// Lists what is to be kept beyond the default too.
    #[must_use]
    pub fn preserving(self, preserve: Preserve) -> Self {
        Self { preserve, ..self }
    }

    fn open_file<'a>(&self, segment: &'a Segment) -> Result<Opened<'a>, SourceFailure> {
        let path = percent::decode(&segment.source).map_err(|why| changed(segment, why))?;
        // Not through a link that took the file's place, and without waiting for a pipe's other end.
        let file = self.roots.open(&path, OFlags::RDONLY | OFlags::NONBLOCK).map_err(|error| unreadable(segment, &error))?;
        let file = File::from(file);
        let now = file.metadata().map_err(|error| unreadable(segment, &error))?;
        let has_inode = *lock(&self.keeps_inodes).entry(now.dev()).or_insert_with(|| keeps_inodes(&file));
        let opened = Opened { segment, file, has_inode, state: Version::NONE, asked_until: Cell::new(segment.offset) };
        let state = opened.compare(&now)?;
        Ok(Opened { state, ..opened })
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
        if is_kind && (stat.st_ino, modified_ns(&stat)) == (segment.inode, Some(segment.mtime_ns)) {
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
    fn list(&self, each: Each<'_>) -> Result<(), Halted> {
        match Selector::new(&self.selection) {
            Ok(selector) => {
                let Self { selection, preserve, list_unreadable, overflow, most_followed, .. } = self;
                let (list_unreadable, most_followed, overflow) = (*list_unreadable, *most_followed, overflow.as_ref());
                let free = self.free.as_ref();
                let wish = listing::Wish { selection, preserve, list_unreadable, most_followed, overflow, free };
                listing::list(&self.paths, &selector, &wish, each)
            }
            // Named once, as a problem of the first path: the request is wrong and not the machine.
            Err(why) => {
                each(Listed::Problem(self.paths.first().map_or(b"/" as &[u8], |(path, _)| path.as_os_str().as_bytes()).to_vec(), why))
            }
        }
    }

    fn places(&self) -> Vec<Place> {
        whereabouts::places(self.paths.iter().map(|(path, _)| path))
    }

    fn kernel(&self) -> Option<String> {
        mounts::kernel()
    }

    fn open<'a>(&'a self, segment: &'a Segment) -> Result<Option<Box<dyn SourceFile + 'a>>, SourceFailure> {
        match segment.kind {
            Kind::File => {}
            Kind::Symlink => return self.check_link(segment).map(|()| None),
            Kind::Directory if segment.unreadable => {
                let message = format!("{}: cannot be looked into; what it holds is not moved", segment.source);
                return Err(SourceFailure { reason: SkipReason::SourceUnreadable, message, transient: false });
            }
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

    fn digest(&self, path: &[u8]) -> io::Result<Digest> {
        let file = File::from(self.roots.open(path, OFlags::RDONLY | OFlags::NONBLOCK)?);
        Ok(*blake3::Hasher::new().update_reader(file)?.finalize().as_bytes())
    }

    fn sample(&self, path: &[u8], offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let file = File::from(self.roots.open(path, OFlags::RDONLY | OFlags::NONBLOCK)?);
        file.read_at(buffer, offset)
    }

    fn read_rate(&self, path: &[u8], size: u64) -> Option<f64> {
        disk::read_rate(|flags| self.roots.open(path, flags), size)
    }
}

struct Opened<'a> {
    segment: &'a Segment,
    file: File,
    /// Its inode tells it from another file.
    has_inode: bool,
    state: Version,
    /// Up to there the disk was asked for the file's bytes.
    asked_until: Cell<u64>,
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

    /// Returns the state that the file is in.
    fn compare(&self, now: &Metadata) -> Result<Version, SourceFailure> {
        let listed = self.segment;
        if !now.is_file() {
            return Err(changed(listed, "is no file any more"));
        }
        let modified = i128::from(now.mtime()) * 1_000_000_000 + i128::from(now.mtime_nsec());
        for (what, is, was) in
            [("size", i128::from(now.size()), i128::from(listed.size)), ("modification time", modified, i128::from(listed.mtime_ns))]
        {
            if is != was {
                return Err(changed(listed, format!("{what} was {was} when it was listed and is {is} now")));
            }
        }
        // Its other names are made of what arrives, and must be names of it here too.
        let is_linked = listed.attributes.as_ref().is_some_and(|attributes| attributes.linked);
        if is_linked && self.has_inode && now.ino() != listed.inode {
            return Err(changed(listed, "is another file than the one with other names that was listed"));
        }
        let changed_ns = now.ctime().saturating_mul(1_000_000_000).saturating_add(now.ctime_nsec());
        Ok(Version::of_numbers((if self.has_inode { now.ino() } else { 0 }, changed_ns)))
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

    fn state(&self) -> Version {
        self.state
    }

    fn check(&self) -> Result<Version, SourceFailure> {
        let listed = self.segment;
        // Some file systems say that a file is shorter than it is, or empty: exports of documents, files of the kernel.
        if listed.offset + listed.length == listed.size {
            let more = self.file.read_at(&mut [0], listed.size).map_err(|error| unreadable(listed, &error))?;
            if more > 0 {
                return Err(changed(listed, format!("has more bytes than the {} that its file system says", listed.size)));
            }
        }
        self.compare(&self.file.metadata().map_err(|error| unreadable(listed, &error))?)
    }
}
