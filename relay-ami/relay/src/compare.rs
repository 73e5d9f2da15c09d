//! The part of the source's listing that is at the destination already.

use std::collections::{HashMap, HashSet};
use std::io;

use serde::{Deserialize, Serialize};

use crate::VERSION;
use crate::control::{Control, ControlError};
use crate::digest::to_hex;
use crate::documents::command::Compare;
use crate::documents::entry::{Kind, ListingEntry, with_basis};
use crate::documents::percent;
use crate::documents::survey::{Survey, compare_key, listing_key, part_key};
use crate::documents::text::SchemaVersion1;
use crate::ends::{Capabilities, Destination, Identity, Source, View};
use crate::line_objects::LineObjects;
use crate::receive::look::{EqualEntry, has_attributes, has_owner, is_linked};

/// The source's listing, in `parts` objects.
pub struct Listing<'a> {
    pub control: &'a dyn Control,
    /// Prefix of objects' keys; it ends with a slash or is empty.
    pub prefix: &'a str,
    pub parts: u64,
}

/// A file's content, by its number in the listing.
#[derive(Serialize, Deserialize)]
struct Content {
    entry: u64,
    digest: String,
}

impl Listing<'_> {
    /// At the source: digests its files into `{prefix}compare/part-NNNNN.ndjson`, an object for each of the listing's.
    /// One that cannot be read has no digest, and will count as changed.
    pub fn digests(&self, source: &dyn Source) -> Result<Survey, ControlError> {
        let (mut files, mut bytes, mut number) = (0, 0, 0);
        for part in 0..self.parts {
            let mut lines = Vec::new();
            self.part(part, |entry, _| {
                if entry.kind == Kind::File
                    && let Ok(digest) = source.digest(&entry.source)
                {
                    files += 1;
                    bytes += entry.size;
                    serde_json::to_writer(&mut lines, &Content { entry: number, digest: to_hex(&digest) })
                        .map_err(|error| malformed("digests", error))?;
                    lines.push(b'\n');
                }
                number += 1;
                Ok(())
            })?;
            self.control.write_object(&format!("{}{}", self.prefix, compare_key(part)), lines)?;
        }
        Ok(Survey::Digests { schema_version: SchemaVersion1, daemon_version: VERSION, files, bytes })
    }

    /// At the destination: writes those lines of the listing that are to be sent to `{prefix}{folder}part-NNNNN.ndjson`,
    /// in their order, and which files and links the others are to `{prefix}{equal}part-NNNNN.ndjson`, an object for each of
    /// the listing's: they are looked at again before the transfer succeeds.
    ///
    /// A file is the same with its size, its permission bits, and its modification time or its digest; a link with its
    /// target and modification time. Where any entry differs all directories are sent: what is put into one changes its
    /// modification time.
    pub fn with_destination(&self, destination: &dyn Destination, by: Compare, folder: &str, equal: &str) -> Result<Survey, ControlError> {
        // One that is not there, or cannot be looked into, has nothing that is the same.
        let (mut view, capabilities) = (destination.view().ok(), destination.capabilities());
        let mut changed = LineObjects::new(self.control, format!("{}{folder}", self.prefix));
        let (mut found, mut number, mut again) = (Found::default(), 0, HashSet::new());
        for part in 0..self.parts {
            let contents = if by == Compare::Digest { Some(self.contents(part)?) } else { None };
            let mut kept = Vec::new();
            self.part(part, |entry, line| {
                let content = contents.as_ref().map(|contents| contents.get(&number).map(String::as_str));
                let mut there = view.as_mut().map_or(There::Absent, |view| look(&mut **view, capabilities, entry, content));
                // A file that comes again is another one, and its further names with it.
                let first = entry.target.as_ref().filter(|_| entry.kind == Kind::Hardlink);
                if first.is_some_and(|first| again.contains(first)) && matches!(there, There::Same(_)) {
                    there = There::Other;
                }
                if !matches!(there, There::Same(_)) && entry.attributes.as_ref().is_some_and(|attributes| attributes.linked) {
                    again.insert(entry.path.clone());
                }
                number += 1;
                found.count(entry, &there);
                match there {
                    There::Same(Identity { inode, changed_ns }) if entry.kind != Kind::Directory => {
                        let line = EqualEntry { entry: number - 1, inode, changed_ns };
                        serde_json::to_writer(&mut kept, &line).map_err(|error| malformed("comparison", error))?;
                        kept.push(b'\n');
                        Ok(())
                    }
                    There::Earlier => changed.add_line(&with_basis(line)),
                    _ => changed.add_line(line),
                }
            })?;
            self.control.write_object(&format!("{}{}", self.prefix, part_key(equal, part)), kept)?;
        }
        let (parts, _) = changed.finish()?;
        Ok(found.survey(parts))
    }

    fn part(&self, part: u64, mut each: impl FnMut(&ListingEntry, &[u8]) -> Result<(), ControlError>) -> Result<(), ControlError> {
        let key = format!("{}{}", self.prefix, listing_key(part));
        let text = self.control.read_object(&key, None)?;
        for line in text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            each(&ListingEntry::parse(line).map_err(|why| malformed(&key, why))?, line)?;
        }
        Ok(())
    }

    fn contents(&self, part: u64) -> Result<HashMap<u64, String>, ControlError> {
        let key = format!("{}{}", self.prefix, compare_key(part));
        let text = self.control.read_object(&key, None)?;
        let lines = serde_json::Deserializer::from_slice(&text).into_iter::<Content>();
        lines.map(|line| line.map(|content| (content.entry, content.digest)).map_err(|error| malformed(&key, error))).collect()
    }
}

fn malformed(what: &str, why: impl ToString) -> ControlError {
    ControlError::Malformed { what: what.to_owned(), why: why.to_string() }
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
    new_files: u64,
    new_bytes: u64,
    differs: bool,
}

impl Found {
    fn count(&mut self, entry: &ListingEntry, there: &There) {
        let same = matches!(there, There::Same(_));
        self.differs |= !same;
        let is_file = matches!(entry.kind, Kind::File | Kind::Hardlink | Kind::Special);
        if is_file && matches!(there, There::Absent) {
            self.new_files += 1;
            self.new_bytes += entry.size;
        }
        match (entry.kind, same) {
            (Kind::Directory, _) => self.directories += 1,
            (Kind::File | Kind::Hardlink | Kind::Special, true) => {
                self.same_files += 1;
                self.same_bytes += entry.size;
            }
            (Kind::File | Kind::Hardlink | Kind::Special, false) => {
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
            new_files: self.new_files,
            new_bytes: self.new_bytes,
        }
    }
}

/// What the destination has in the place of an entry.
enum There {
    Same(Identity),
    /// A file that may be an earlier version of this one.
    Earlier,
    Other,
    Absent,
}

/// What cannot be looked at is something else, which shows when the entry is written.
fn look(view: &mut dyn View, capabilities: Capabilities, entry: &ListingEntry, content: Option<Option<&str>>) -> There {
    match same(view, capabilities, entry, content) {
        Ok(Some(identity)) => There::Same(identity),
        Ok(None) if entry.kind == Kind::File && is_file(view, entry) => There::Earlier,
        Err(error) if error.kind() == io::ErrorKind::NotFound => There::Absent,
        Ok(None) | Err(_) => There::Other,
    }
}

fn is_file(view: &mut dyn View, entry: &ListingEntry) -> bool {
    let seen = percent::decode(&entry.path).map_err(io::Error::other).and_then(|path| view.see(&path));
    seen.is_ok_and(|seen| seen.kind == Some(Kind::File) && seen.size > 0)
}

/// Returns which file the entry is where it is there as the listing has it.
/// `content`, where files are compared by it: the source's digest, none where it could not be read.
fn same(
    view: &mut dyn View,
    capabilities: Capabilities,
    entry: &ListingEntry,
    content: Option<Option<&str>>,
) -> io::Result<Option<Identity>> {
    let path = percent::decode(&entry.path).map_err(io::Error::other)?;
    let seen = view.see(&path)?;
    let same_time = seen.mtime_ns == entry.mtime_ns;
    let attributes = entry.attributes.as_deref();
    let same_mode = capabilities.same_mode(seen.mode, entry.mode, has_owner(attributes));
    if entry.kind == Kind::Hardlink {
        return Ok(is_linked(view, &seen, entry.target.as_deref()).then_some(seen.identity));
    }
    let is_same = seen.kind == Some(entry.kind)
        && has_attributes(view, &path, attributes)?
        && match entry.kind {
            Kind::File => {
                let same = same_mode && seen.size == entry.size;
                match content {
                    None => same && same_time,
                    Some(content) => same && content == Some(&*to_hex(&view.digest(&path, &seen.identity)?)),
                }
            }
            Kind::Directory | Kind::Special => same_mode && same_time,
            Kind::Hardlink => false,
            Kind::Symlink => same_time && entry.target == seen.target.as_deref().map(percent::encode),
        };
    // As it was before it was read: what changes it meanwhile shows in the look at the end.
    Ok(is_same.then_some(seen.identity))
}
