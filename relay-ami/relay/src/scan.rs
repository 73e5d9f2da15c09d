//! Surveys: what the source holds, what the destination can take.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs::{DirEntry, Metadata};
use std::io;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::{Access, AtFlags, CWD, accessat, statvfs};

use crate::VERSION;
use crate::control::{Control, ControlError};
use crate::defaults::{FIRST_PART_LINES, PART_LINES, PROBLEMS_NAMED};
use crate::disk;
use crate::documents::entry::{Kind, ListingEntry};
use crate::documents::percent;
use crate::documents::survey::{Announcement, Problem, Survey, listing_key};
use crate::documents::text::SchemaVersion1;
use crate::receive::tree::PARTIAL;

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
    let mut roots: Vec<Root> = paths.iter().filter_map(|path| listing.root(path)).collect();
    listing.leave_out_collisions(&mut roots);
    for root in roots {
        listing.below(root)?;
    }
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
        read_mbps: disk::read_rate(&largest, largest_file_bytes),
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
    largest: (u64, PathBuf),
    problems: Vec<Problem>,
    problem_count: u64,
}

impl Totals {
    fn problem(&mut self, path: &Path, error: &io::Error) {
        self.problem_count += 1;
        if self.problems.len() < PROBLEMS_NAMED {
            self.problems.push(Problem { path: percent::encode(path.as_os_str().as_bytes()), reason: error.to_string() });
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
struct Root {
    /// The directory that holds `names`.
    directory: PathBuf,
    names: Vec<Vec<u8>>,
}

impl Listing<'_> {
    /// The names that `path` brings, sorted; a problem where it cannot be listed.
    fn root(&mut self, path: &Path) -> Option<Root> {
        let bytes = path.as_os_str().as_bytes();
        let plain = bytes.len() - bytes.iter().rev().take_while(|byte| **byte == b'/').count();
        let contents_only = plain < bytes.len();
        let path = Path::new(OsStr::from_bytes(if plain == 0 { b"/" } else { &bytes[..plain] }));
        // A trailing slash goes through a link to the directory itself, as rsync's does.
        let found = if contents_only { std::fs::metadata(path) } else { std::fs::symlink_metadata(path) };
        let problem = match (found, path.file_name(), path.parent()) {
            (Err(error), ..) => error,
            (Ok(metadata), ..) if contents_only && metadata.is_dir() => {
                return Some(Root { directory: path.to_owned(), names: self.names(path) });
            }
            (Ok(_), ..) if contents_only => io::ErrorKind::NotADirectory.into(),
            (Ok(_), Some(name), Some(directory)) => {
                return Some(Root { directory: directory.to_owned(), names: vec![name.as_bytes().to_vec()] });
            }
            (Ok(_), ..) => io::Error::other("has no name to land under; end it with a slash"),
        };
        self.totals.problem(path, &problem);
        None
    }

    /// Two sources for one path are a problem, two directories included: their modes and times could not both arrive, and
    /// what they hold might meet below. The first one stays listed, so no path is listed twice. Below the top nothing can
    /// meet then, and a single root has no name twice: the memory that this takes is bounded by the names at the top.
    fn leave_out_collisions(&mut self, roots: &mut [Root]) {
        if roots.len() < 2 {
            return;
        }
        let mut taken: HashMap<Vec<u8>, usize> = HashMap::new();
        for number in 0..roots.len() {
            let (before, rest) = roots.split_at_mut(number);
            let Some(Root { directory, names }) = rest.first_mut() else { continue };
            names.retain(|name| {
                let Some(first) = taken.get(name).and_then(|first| before.get(*first)) else {
                    taken.insert(name.clone(), number);
                    return true;
                };
                let name = OsStr::from_bytes(name);
                let reason = format!("this and {:?} both land as {name:?} at the destination", directory.join(name));
                self.totals.problem(&first.directory.join(name), &io::Error::other(reason));
                false
            });
        }
    }

    /// Lists what a root brings.
    fn below(&mut self, Root { directory, names }: Root) -> Result<(), ControlError> {
        for name in names {
            let path = directory.join(OsStr::from_bytes(&name));
            match std::fs::symlink_metadata(&path) {
                Err(error) => self.totals.problem(&path, &error),
                Ok(metadata) => self.entry(&path, &name, &metadata)?,
            }
        }
        Ok(())
    }

    /// Lists what a directory holds. The walk keeps its own stack: a deep tree must not exhaust the thread's.
    fn walk(&mut self, directory: &Path, relative: &[u8]) -> Result<(), ControlError> {
        let mut stack = vec![self.children(directory, relative)];
        while let Some(level) = stack.last_mut() {
            let Some((path, relative)) = level.next() else {
                stack.pop();
                continue;
            };
            match std::fs::symlink_metadata(&path) {
                Err(error) => self.totals.problem(&path, &error),
                Ok(metadata) => {
                    self.one(&path, &relative, &metadata)?;
                    if metadata.is_dir() {
                        stack.push(self.children(&path, &relative));
                    }
                }
            }
        }
        Ok(())
    }

    fn names(&mut self, directory: &Path) -> Vec<Vec<u8>> {
        let entries = std::fs::read_dir(directory).and_then(Iterator::collect::<io::Result<Vec<DirEntry>>>);
        let mut names: Vec<Vec<u8>> = match entries {
            Ok(entries) => entries.into_iter().map(|entry| entry.file_name().into_vec()).collect(),
            Err(error) => {
                self.totals.problem(directory, &error);
                Vec::new()
            }
        };
        names.sort_unstable();
        names
    }

    fn children(&mut self, directory: &Path, relative: &[u8]) -> std::vec::IntoIter<(PathBuf, Vec<u8>)> {
        let names = self.names(directory);
        let child = |name: Vec<u8>| {
            let below = if relative.is_empty() { name.clone() } else { [relative, b"/", &name].concat() };
            (directory.join(OsStr::from_bytes(&name)), below)
        };
        names.into_iter().map(child).collect::<Vec<_>>().into_iter()
    }

    fn entry(&mut self, path: &Path, relative: &[u8], metadata: &Metadata) -> Result<(), ControlError> {
        self.one(path, relative, metadata)?;
        if metadata.is_dir() { self.walk(path, relative) } else { Ok(()) }
    }

    fn one(&mut self, path: &Path, relative: &[u8], metadata: &Metadata) -> Result<(), ControlError> {
        let kind = metadata.file_type();
        let (kind, target) = if kind.is_file() {
            if let Err(error) = accessat(CWD, path, Access::READ_OK, AtFlags::empty()) {
                self.totals.problem(path, &error.into());
            }
            self.totals.files += 1;
            self.totals.bytes += metadata.size();
            if metadata.size() > self.totals.largest.0 {
                self.totals.largest = (metadata.size(), path.to_owned());
            }
            (Kind::File, None)
        } else if kind.is_dir() {
            self.totals.directories += 1;
            (Kind::Directory, None)
        } else if kind.is_symlink() {
            self.totals.symlinks += 1;
            match std::fs::read_link(path) {
                Ok(target) => (Kind::Symlink, Some(percent::encode(target.as_os_str().as_bytes()))),
                Err(error) => {
                    self.totals.problem(path, &error);
                    return Ok(());
                }
            }
        } else {
            self.totals.skipped += 1;
            return Ok(());
        };
        self.line(&ListingEntry {
            path: percent::encode(relative),
            source: percent::encode(path.as_os_str().as_bytes()),
            size: if kind == Kind::File { metadata.size() } else { 0 },
            kind,
            mode: metadata.permissions().mode() & 0o7777,
            mtime_ns: metadata.mtime().saturating_mul(1_000_000_000).saturating_add(metadata.mtime_nsec()),
            inode: metadata.ino(),
            target,
        })
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

/// Looks at the directory, or at the nearest one above it that exists.
#[must_use]
pub fn destination(path: &Path) -> Survey {
    let mut problems = Vec::new();
    let mut problem = |path: &Path, reason: String| problems.push(Problem { path: percent::encode(path.as_os_str().as_bytes()), reason });
    let existing = path.ancestors().find(|ancestor| ancestor.symlink_metadata().is_ok()).unwrap_or_else(|| Path::new("/"));
    let (mut free_bytes, mut free_inodes) = (0, 0);
    match std::fs::metadata(existing) {
        Ok(metadata) if !metadata.is_dir() => problem(existing, "is not a directory".to_owned()),
        Ok(_) => {
            if let Err(error) = accessat(CWD, existing, Access::WRITE_OK | Access::EXEC_OK, AtFlags::empty()) {
                problem(existing, format!("cannot be written: {}", io::Error::from(error)));
            }
            match statvfs(existing) {
                Ok(space) => {
                    free_bytes = space.f_bavail.saturating_mul(space.f_frsize);
                    // A file system without a limit says 0 of 0.
                    free_inodes = if space.f_files == 0 { i64::MAX as u64 } else { space.f_favail };
                }
                Err(error) => problem(existing, io::Error::from(error).to_string()),
            }
        }
        Err(error) => problem(existing, error.to_string()),
    }
    let write_mbps = if problems.is_empty() { disk::write_rate(existing, free_bytes) } else { None };
    let problem_count = problems.len() as u64;
    Survey::Destination {
        schema_version: SchemaVersion1,
        daemon_version: VERSION,
        free_bytes,
        free_inodes,
        occupied: is_occupied(path),
        write_mbps,
        problems,
        problem_count,
    }
}

fn is_occupied(path: &Path) -> bool {
    let mut entries = std::fs::read_dir(path).into_iter().flatten().flatten();
    entries.any(|entry| !entry.file_name().as_bytes().starts_with(PARTIAL))
}
