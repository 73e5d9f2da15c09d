//! What of the source's listing is at the destination already.

use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use rustix::fs::{self, FileType, Mode, OFlags};

use crate::VERSION;
use crate::control::{Control, ControlError};
use crate::defaults::PART_LINES;
use crate::documents::entry::{Kind, ListingEntry};
use crate::documents::percent;
use crate::documents::survey::{Survey, changed_key, listing_key};
use crate::documents::text::SchemaVersion1;
use crate::receive::tree::{BENEATH, KEPT_MODE, Tree};

/// Reads `parts` objects of the listing and writes those of its lines that are to be sent to
/// `{prefix}changed/part-NNNNN.ndjson`, in their order.
///
/// A file is the same with its size, modification time and permission bits, a link with its target and modification time.
/// Where any entry differs all directories are sent: what is put into one changes its modification time.
pub fn with_destination(destination: &Path, parts: u64, control: &dyn Control, prefix: &str) -> Result<Survey, ControlError> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    // One that is not there, or cannot be looked into, has nothing that is the same.
    let root = fs::open(destination, flags, Mode::empty()).ok();
    let mut changed = Changed { control, prefix, lines: Vec::new(), count: 0, parts: 0 };
    let mut found = Found::default();
    for part in 0..parts {
        let key = format!("{prefix}{}", listing_key(part));
        let text = control.read_object(&key, None)?;
        for line in text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            let entry = ListingEntry::parse(line).map_err(|why| ControlError::Malformed { what: key.clone(), why })?;
            let same = root.as_ref().is_some_and(|root| is_same(root, &entry).unwrap_or(false));
            found.count(&entry, same);
            if !same || entry.kind == Kind::Directory {
                changed.line(line)?;
            }
        }
    }
    changed.flush()?;
    Ok(found.survey(changed.parts))
}

#[derive(Default)]
struct Found {
    files: u64,
    directories: u64,
    symlinks: u64,
    bytes: u64,
    largest_file_bytes: u64,
    same_files: u64,
    same_bytes: u64,
    differs: bool,
}

impl Found {
    fn count(&mut self, entry: &ListingEntry, same: bool) {
        self.differs |= !same;
        match (entry.kind, same) {
            (Kind::Directory, _) => self.directories += 1,
            (Kind::File, true) => {
                self.same_files += 1;
                self.same_bytes += entry.size;
            }
            (Kind::File, false) => {
                self.files += 1;
                self.bytes += entry.size;
                self.largest_file_bytes = self.largest_file_bytes.max(entry.size);
            }
            (Kind::Symlink, true) => {}
            (Kind::Symlink, false) => self.symlinks += 1,
        }
    }

    fn survey(self, parts: u64) -> Survey {
        Survey::Comparison {
            schema_version: SchemaVersion1,
            daemon_version: VERSION,
            files: self.files,
            directories: if self.differs { self.directories } else { 0 },
            symlinks: self.symlinks,
            bytes: self.bytes,
            largest_file_bytes: self.largest_file_bytes,
            parts: if self.differs { parts } else { 0 },
            same_files: self.same_files,
            same_bytes: self.same_bytes,
        }
    }
}

/// The listing's lines that are to be sent, in objects of as many lines as the listing's.
struct Changed<'a> {
    control: &'a dyn Control,
    prefix: &'a str,
    lines: Vec<u8>,
    count: usize,
    parts: u64,
}

impl Changed<'_> {
    fn line(&mut self, line: &[u8]) -> Result<(), ControlError> {
        self.lines.extend_from_slice(line);
        self.lines.push(b'\n');
        self.count += 1;
        if self.count >= PART_LINES { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> Result<(), ControlError> {
        if self.count == 0 {
            return Ok(());
        }
        let key = format!("{}{}", self.prefix, changed_key(self.parts));
        self.parts += 1;
        self.count = 0;
        self.control.write_object(&key, std::mem::take(&mut self.lines))
    }
}

/// Whether the entry is there as the listing has it; an error is a "no", and shows when the entry is written.
fn is_same(root: &OwnedFd, entry: &ListingEntry) -> std::io::Result<bool> {
    let path = percent::decode(&entry.path).map_err(std::io::Error::other)?;
    Tree::check(&path)?;
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let found = fs::openat2(root, std::ffi::OsStr::from_bytes(&path), flags, Mode::empty(), BENEATH)?;
    let stat = fs::fstat(&found)?;
    let mtime_ns = i128::from(stat.st_mtime) * 1_000_000_000 + i128::from(stat.st_mtime_nsec);
    if mtime_ns != i128::from(entry.mtime_ns) {
        return Ok(false);
    }
    let same_mode = stat.st_mode & KEPT_MODE == entry.mode & KEPT_MODE;
    Ok(match (entry.kind, FileType::from_raw_mode(stat.st_mode)) {
        (Kind::File, FileType::RegularFile) => same_mode && i128::from(stat.st_size) == i128::from(entry.size),
        (Kind::Directory, FileType::Directory) => same_mode,
        (Kind::Symlink, FileType::Symlink) => {
            let target = fs::readlinkat(&found, "", Vec::new())?;
            entry.target.as_deref() == Some(&percent::encode(target.as_bytes()))
        }
        _ => false,
    })
}
