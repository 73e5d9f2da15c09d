//! Surveys of sources.

use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use crate::VERSION;
use crate::control::{Control, ControlError};
use crate::defaults::{FIRST_PART_LINES, PART_LINES, PROBLEMS_NAMED};
use crate::documents::entry::{Kind, ListingEntry};
use crate::documents::percent;
use crate::documents::survey::{Announcement, Problem, Survey, listing_key};
use crate::documents::text::SchemaVersion1;
use crate::ends::{Listed, Source};

/// Lists a source into objects `{prefix}listing/part-NNNNN.ndjson`. `announce` is the key, below the prefix, of the object that
/// says what is listed so far.
pub fn source(source: &dyn Source, control: &dyn Control, prefix: &str, announce: Option<&str>) -> Result<Survey, ControlError> {
    let mut listing = Listing {
        control,
        prefix,
        announce,
        lines: Vec::new(),
        count: 0,
        full: FIRST_PART_LINES,
        parts: 0,
        digest: blake3::Hasher::new(),
        totals: Totals::default(),
    };
    source.list(&mut |listed| listing.take(listed))?;
    listing.write()?;
    listing.tell(true)?;
    let Totals { files, directories, symlinks, skipped, bytes, largest, problems, problem_count } = listing.totals;
    let (largest_file_bytes, largest) = largest;
    Ok(Survey::Source {
        schema_version: SchemaVersion1,
        daemon_version: VERSION,
        files,
        directories,
        symlinks,
        skipped,
        bytes,
        largest_file_bytes,
        read_mbps: source.read_rate(&largest, largest_file_bytes),
        parts: listing.parts,
        listing_digest: listing.digest.finalize().to_hex().to_string(),
        problems,
        problem_count,
    })
}

#[derive(Default)]
struct Totals {
    files: u64,
    directories: u64,
    symlinks: u64,
    skipped: u64,
    bytes: u64,
    /// Bytes and path, as the listing has it.
    largest: (u64, String),
    problems: Vec<Problem>,
    problem_count: u64,
}

impl Totals {
    fn count(&mut self, entry: &ListingEntry) {
        match entry.kind {
            Kind::File => {
                self.files += 1;
                self.bytes += entry.size;
                if entry.size > self.largest.0 {
                    self.largest = (entry.size, entry.source.clone());
                }
            }
            Kind::Directory => self.directories += 1,
            Kind::Symlink => self.symlinks += 1,
        }
    }
}

struct Listing<'a> {
    control: &'a dyn Control,
    prefix: &'a str,
    announce: Option<&'a str>,
    lines: Vec<u8>,
    count: usize,
    /// Lines of the object that is begun.
    full: usize,
    parts: u64,
    digest: blake3::Hasher,
    totals: Totals,
}

impl Listing<'_> {
    fn take(&mut self, listed: Listed) -> Result<(), ControlError> {
        match listed {
            Listed::Entry(entry) => {
                self.totals.count(&entry);
                return self.line(&entry);
            }
            Listed::Skipped(count) => self.totals.skipped += count,
            Listed::Problem(path, reason) => {
                self.totals.problem_count += 1;
                if self.totals.problems.len() < PROBLEMS_NAMED {
                    self.totals.problems.push(problem(&path, reason));
                }
            }
        }
        Ok(())
    }

    fn line(&mut self, entry: &ListingEntry) -> Result<(), ControlError> {
        let text =
            serde_json::to_vec(entry).map_err(|error| ControlError::Malformed { what: "listing".to_owned(), why: error.to_string() })?;
        self.lines.extend_from_slice(&text);
        self.lines.push(b'\n');
        self.count += 1;
        if self.count < self.full {
            return Ok(());
        }
        self.full = PART_LINES.min(2 * self.full);
        self.write()?;
        self.tell(false)
    }

    fn write(&mut self) -> Result<(), ControlError> {
        if self.count == 0 {
            return Ok(());
        }
        let key = format!("{}{}", self.prefix, listing_key(self.parts));
        self.parts += 1;
        self.count = 0;
        self.digest.update(&self.lines);
        self.control.write_object(&key, std::mem::take(&mut self.lines))
    }

    fn tell(&self, complete: bool) -> Result<(), ControlError> {
        let Some(key) = self.announce else { return Ok(()) };
        let Totals { files, directories, symlinks, bytes, largest: (largest_file_bytes, _), problem_count, .. } = self.totals;
        let announcement = Announcement {
            schema_version: SchemaVersion1,
            daemon_version: VERSION,
            files,
            directories,
            symlinks,
            bytes,
            largest_file_bytes,
            parts: self.parts,
            listing_digest: self.digest.finalize().to_hex().to_string(),
            problem_count,
            complete,
        };
        let text = serde_json::to_vec(&announcement)
            .map_err(|error| ControlError::Malformed { what: "announcement".to_owned(), why: error.to_string() })?;
        self.control.write_object(&format!("{}{key}", self.prefix), text)
    }
}

/// A source that cannot be looked at.
#[must_use]
pub fn refused_source(path: &Path, reason: String) -> Survey {
    Survey::Source {
        schema_version: SchemaVersion1,
        daemon_version: VERSION,
        files: 0,
        directories: 0,
        symlinks: 0,
        skipped: 0,
        bytes: 0,
        largest_file_bytes: 0,
        read_mbps: None,
        parts: 0,
        listing_digest: blake3::hash(b"").to_hex().to_string(),
        problems: vec![problem(path.as_os_str().as_bytes(), reason)],
        problem_count: 1,
    }
}

pub fn problem(path: &[u8], reason: String) -> Problem {
    Problem { path: percent::encode(path), reason }
}
