//! Surveys: what the source holds, what the destination can take.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, AtFlags, FileType, Stat, accessat, readlinkat};

use crate::VERSION;
use crate::control::{Control, ControlError};
use crate::defaults::{FIRST_PART_LINES, PART_LINES, PROBLEMS_NAMED};
use crate::documents::entry::{Kind, ListingEntry};
use crate::documents::percent;
use crate::documents::survey::{Announcement, Problem, Survey, listing_key};
use crate::documents::text::SchemaVersion1;
use crate::ends::posix::disk;
use crate::ends::posix::roots::{Root, Roots, Step, Walk};

/// Permission to read for everybody.
const READABLE: u32 = 0o444;

/// Lists `paths` into objects `{prefix}listing/part-NNNNN.ndjson`. Like rsync: a path lands under its base name, with a
/// trailing slash its contents do. Names are sorted, links are not followed. `announce` is the key, below the prefix, of the
/// object that says what is listed so far.
pub fn source(paths: &[PathBuf], control: &dyn Control, prefix: &str, announce: Option<&str>) -> Result<Survey, ControlError> {
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
    // All of their names before the first line: nothing may be announced of a listing that is refused.
    let mut brought: Vec<Brought> = paths.iter().filter_map(|path| listing.open(path)).collect();
    listing.leave_out_collisions(&mut brought);
    for Brought { root, names } in brought {
        for name in names {
            listing.below(Walk::new(&root, name))?;
        }
    }
    listing.write()?;
    listing.tell(true)?;
    let roots = Roots::new(paths);
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
        read_mbps: disk::read_rate(|flags| roots.open(&largest, flags), largest_file_bytes),
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
    /// Bytes and path.
    largest: (u64, Vec<u8>),
    problems: Vec<Problem>,
    problem_count: u64,
}

impl Totals {
    fn problem(&mut self, path: &Path, error: &io::Error) {
        self.problem_count += 1;
        if self.problems.len() < PROBLEMS_NAMED {
            self.problems.push(problem(path, error.to_string()));
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

/// A path of the request, with the names that it brings to the top of the destination.
struct Brought {
    root: Root,
    names: Vec<Vec<u8>>,
}

impl Listing<'_> {
    /// The names that `path` brings, sorted; a problem where it cannot be listed.
    fn open(&mut self, path: &Path) -> Option<Brought> {
        let found = Root::open(path).and_then(|root| Ok((root.names()?, root)));
        match found {
            Ok(((names, skipped), root)) => {
                self.totals.skipped += skipped;
                Some(Brought { root, names })
            }
            Err(error) => {
                self.totals.problem(path, &error);
                None
            }
        }
    }

    /// Two sources for one path are a problem, two directories included: their modes and times could not both arrive, and
    /// what they hold might meet below. The first one stays listed, so no path is listed twice. Below the top nothing can
    /// meet then, and a single root has no name twice: the memory that this takes is bounded by the names at the top.
    fn leave_out_collisions(&mut self, roots: &mut [Brought]) {
        if roots.len() < 2 {
            return;
        }
        let mut taken: HashMap<Vec<u8>, usize> = HashMap::new();
        for number in 0..roots.len() {
            let (before, rest) = roots.split_at_mut(number);
            let Some(Brought { root, names }) = rest.first_mut() else { continue };
            names.retain(|name| {
                let Some(first) = taken.get(name).and_then(|first| before.get(*first)) else {
                    taken.insert(name.clone(), number);
                    return true;
                };
                let reason = format!("this and {:?} both land as {:?} at the destination", root.path_of(name), OsStr::from_bytes(name));
                self.totals.problem(&first.root.path_of(name), &io::Error::other(reason));
                false
            });
        }
    }

    /// Lists one of a root's names and all beneath it.
    fn below(&mut self, mut walk: Walk) -> Result<(), ControlError> {
        while let Some(step) = walk.step() {
            let line = match step {
                Step::Entry(stat) => self.entry(&walk, &stat),
                Step::Problem(error) => Err(error),
            };
            match line {
                Ok(Some(entry)) => self.line(&entry)?,
                Ok(None) => {}
                Err(error) => self.totals.problem(Path::new(OsStr::from_bytes(&walk.source())), &error),
            }
        }
        Ok(())
    }

    /// The line of an entry; none for what is not moved.
    fn entry(&mut self, walk: &Walk, stat: &Stat) -> io::Result<Option<ListingEntry>> {
        let (source, (directory, name)) = (walk.source(), walk.place());
        let mode = stat.st_mode & 0o7777;
        let mut size = 0;
        let (kind, target) = match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => {
                size = u64::try_from(stat.st_size).unwrap_or_default();
                // What everybody may read needs no second look.
                if mode & READABLE != READABLE
                    && let Err(error) = accessat(directory, name, Access::READ_OK, AtFlags::empty())
                {
                    self.totals.problem(Path::new(OsStr::from_bytes(&source)), &error.into());
                }
                self.totals.files += 1;
                self.totals.bytes += size;
                if size > self.totals.largest.0 {
                    self.totals.largest = (size, source.clone());
                }
                (Kind::File, None)
            }
            FileType::Directory => {
                self.totals.directories += 1;
                (Kind::Directory, None)
            }
            FileType::Symlink => {
                self.totals.symlinks += 1;
                (Kind::Symlink, Some(percent::encode(readlinkat(directory, name, Vec::new())?.as_bytes())))
            }
            _ => {
                self.totals.skipped += 1;
                return Ok(None);
            }
        };
        let mtime_ns = i128::from(stat.st_mtime) * 1_000_000_000 + i128::from(stat.st_mtime_nsec);
        Ok(Some(ListingEntry {
            path: percent::encode(walk.relative()),
            source: percent::encode(&source),
            size,
            kind,
            mode,
            mtime_ns: i64::try_from(mtime_ns).unwrap_or(if mtime_ns < 0 { i64::MIN } else { i64::MAX }),
            inode: stat.st_ino,
            target,
        }))
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
        problems: vec![problem(path, reason)],
        problem_count: 1,
    }
}

pub fn problem(path: &Path, reason: String) -> Problem {
    Problem { path: percent::encode(path.as_os_str().as_bytes()), reason }
}
