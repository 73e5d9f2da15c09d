//! The part of the source's listing that is at the destination already.

use std::collections::{HashMap, HashSet};
use std::io;

use serde::{Deserialize, Serialize};

use crate::VERSION;
use crate::control::{Control, ControlError};
use crate::digest::to_hex;
use crate::documents::command::{Compare, Overwrite};
use crate::documents::entry::{Kind, ListingEntry, Segment, with_basis, with_same};
use crate::documents::percent;
use crate::documents::survey::{Survey, compare_key, listing_key, part_key};
use crate::documents::text::{HexDigest, SchemaVersion1};
use crate::ends::{Capabilities, Destination, Source, Version, View};
use crate::look::EqualEntry;
use crate::look::same::{has_attributes, has_owner, is_linked};
use crate::objects::lines::LineObjects;

/// The source's listing, in `parts` objects.
pub struct Listing<'a> {
    pub control: &'a dyn Control,
    /// Prefix of objects' keys; it ends with a slash or is empty.
    pub prefix: &'a str,
    pub parts: u64,
}

/// What of the listing is to be sent.
#[derive(Clone, Copy, Debug)]
pub struct Rule {
    /// When a file that is there is the same.
    pub by: Compare,
    /// Whether one that is not the same is replaced.
    pub overwrite: Overwrite,
    /// All is sent, and no byte is taken from what is there.
    pub resend_all: bool,
}

impl From<Compare> for Rule {
    fn from(by: Compare) -> Self {
        Self { by, overwrite: Overwrite::Always, resend_all: false }
    }
}

/// A file's content, by its number in the listing.
#[derive(Serialize, Deserialize)]
struct Content {
    entry: u64,
    digest: String,
}

impl Listing<'_> {
    /// At the source: digests its files into `{prefix}compare/part-NNNNN.ndjson`, an object for each of the listing's.
    /// One that cannot be read, or has other names and is another one by now, has no digest, and will count as changed.
    pub fn digests(&self, source: &dyn Source) -> Result<Survey, ControlError> {
        let (mut files, mut bytes, mut number) = (0, 0, 0);
        for part in 0..self.parts {
            let mut lines = Vec::new();
            self.part(part, |entry, _| {
                if entry.kind == Kind::File
                    && let Ok(key) = percent::decode(&entry.source)
                    && let Ok(digest) = source.digest(&key)
                    && is_one_with_its_names(source, number, entry)
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
    /// A file of the same content with another mode or other attributes is marked, so that its bytes need not come.
    /// A file is the same with its size, its permission bits, and its modification time or its digest, with both if it has further names
    /// that are kept; a link with its target and modification time. Where any entry differs all directories are sent: what is put into one changes its
    /// modification time. What is left alone is written down beside what is equal, and marked: it is only looked whether it still is there.
    pub fn with_destination(
        &self,
        destination: &dyn Destination,
        rule: impl Into<Rule>,
        folder: &str,
        equal: &str,
    ) -> Result<Survey, ControlError> {
        let Rule { by, overwrite, resend_all } = rule.into();
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
                if matches!(there, There::SameContent | There::Earlier | There::Other)
                    && let Some(version) = view.as_mut().and_then(|view| left_alone(&mut **view, capabilities, entry, overwrite))
                {
                    there = There::LeftAlone(version);
                }
                if resend_all && !matches!(there, There::Absent) {
                    there = There::Other;
                }
                // A file that comes again is another one, and its further names with it.
                let first = entry.target.as_ref().filter(|_| entry.kind == Kind::Hardlink);
                if first.is_some_and(|first| again.contains(first)) && matches!(there, There::Same(_)) {
                    there = There::Other;
                }
                if !matches!(there, There::Same(_) | There::LeftAlone(_))
                    && entry.attributes.as_ref().is_some_and(|attributes| attributes.linked)
                {
                    again.insert(entry.path.clone());
                }
                number += 1;
                found.count(entry, &there);
                match there {
                    There::Same(version) if entry.kind != Kind::Directory => {
                        let digest = content.flatten().filter(|_| entry.kind == Kind::File).map(HexDigest::new).transpose();
                        let digest = digest.map_err(|why| malformed("digests", why))?;
                        write(&mut kept, &EqualEntry::new(number - 1, version, digest, false))
                    }
                    There::LeftAlone(version) => write(&mut kept, &EqualEntry::new(number - 1, version, None, true)),
                    There::Earlier => changed.add_line(&with_basis(line)),
                    There::SameContent => changed.add_line(&with_same(line)),
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

/// Whether a file still is the one of which other names are listed, if there are any.
fn is_one_with_its_names(source: &dyn Source, number: u64, entry: &ListingEntry) -> bool {
    let is_linked = entry.attributes.as_ref().is_some_and(|attributes| attributes.linked);
    !is_linked || source.open(&Segment::whole(number, entry.clone())).is_ok()
}

fn write(lines: &mut Vec<u8>, line: &EqualEntry) -> Result<(), ControlError> {
    serde_json::to_writer(&mut *lines, line).map_err(|error| malformed("comparison", error))?;
    lines.push(b'\n');
    Ok(())
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
    left_alone_entries: u64,
    left_alone_bytes: u64,
    differs: bool,
}

impl Found {
    fn count(&mut self, entry: &ListingEntry, there: &There) {
        if matches!(there, There::LeftAlone(_)) {
            self.left_alone_entries += 1;
            self.left_alone_bytes += if entry.kind == Kind::Symlink { 0 } else { entry.size };
            return;
        }
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
            left_alone_entries: self.left_alone_entries,
            left_alone_bytes: self.left_alone_bytes,
        }
    }
}

/// What the destination has in the place of an entry.
enum There {
    Same(Version),
    /// A file of the same content, with another mode, owner or other attributes, or with further names and another time.
    SameContent,
    /// A file that may be an earlier version of this one.
    Earlier,
    Other,
    /// Something else than the source has, which is not to be replaced.
    LeftAlone(Version),
    Absent,
}

/// What cannot be looked at is something else, which shows when the entry is written.
fn look(view: &mut dyn View, capabilities: Capabilities, entry: &ListingEntry, content: Option<Option<&str>>) -> There {
    // The sender leaves it out, by name, whatever is here.
    if entry.unreadable {
        return There::Other;
    }
    match same(view, capabilities, entry, content) {
        Ok(There::Other) if entry.kind == Kind::File && is_file(view, entry) => There::Earlier,
        Ok(there) => there,
        Err(error) if error.kind() == io::ErrorKind::NotFound => There::Absent,
        Err(_) => There::Other,
    }
}

/// Returns what is in the place of an entry, if that is not to be replaced. Directories are not replaced by any rule, and
/// what cannot be looked at cannot be told.
fn left_alone(view: &mut dyn View, capabilities: Capabilities, entry: &ListingEntry, overwrite: Overwrite) -> Option<Version> {
    if overwrite == Overwrite::Always || entry.kind == Kind::Directory {
        return None;
    }
    let seen = percent::decode(&entry.path).ok().and_then(|path| view.see(&path).ok())?;
    let is_left_alone = match overwrite {
        Overwrite::Always => false,
        Overwrite::Never => true,
        // A time that 64 bits do not hold cannot be told to be earlier.
        Overwrite::IfNewer => {
            let is_as_new = capabilities.same_time(seen.mtime_ns, entry.mtime_ns) || seen.mtime_ns.is_none_or(|is| is > entry.mtime_ns);
            entry.kind == Kind::File && seen.kind == Some(Kind::File) && capabilities.time_step_ns.is_some() && is_as_new
        }
    };
    is_left_alone.then_some(seen.version)
}

fn is_file(view: &mut dyn View, entry: &ListingEntry) -> bool {
    let seen = percent::decode(&entry.path).map_err(io::Error::other).and_then(|path| view.see(&path));
    seen.is_ok_and(|seen| seen.kind == Some(Kind::File) && seen.size > 0)
}

/// Returns whether the entry is there as the listing has it, or its content is.
/// `content`, where files are compared by it: the source's digest, none where it could not be read.
fn same(view: &mut dyn View, capabilities: Capabilities, entry: &ListingEntry, content: Option<Option<&str>>) -> io::Result<There> {
    if entry.kind == Kind::Directory && !capabilities.directories {
        return Ok(There::Same(Version::NONE));
    }
    let path = percent::decode(&entry.path).map_err(io::Error::other)?;
    let seen = view.see(&path)?;
    let same_time = capabilities.same_time(seen.mtime_ns, entry.mtime_ns);
    let attributes = entry.attributes.as_deref();
    let same_mode = capabilities.same_mode(seen.mode, entry.mode, has_owner(attributes));
    // As it was before it was read: what changes it meanwhile shows in the look at the end.
    let there = There::Same(seen.version);
    if entry.kind == Kind::Hardlink {
        return Ok(if is_linked(view, &seen, entry.target.as_deref()) { there } else { There::Other });
    }
    if seen.kind != Some(entry.kind) {
        return Ok(There::Other);
    }
    let has_attributes = has_attributes(view, &path, attributes)?;
    // By its time a receiver knows the file that it gives further names to.
    let is_linked = attributes.is_some_and(|attributes| attributes.linked);
    let may_keep_its_time = !is_linked || same_time || capabilities.time_step_ns.is_none();
    let is_same = match entry.kind {
        Kind::File => {
            let same_content = seen.size == entry.size
                && match content {
                    None => same_time,
                    Some(content) => content == Some(&*to_hex(&view.digest(&path, &seen.version, &|_| ())?)),
                };
            if same_content && entry.size > 0 && !(same_mode && has_attributes && may_keep_its_time) {
                return Ok(There::SameContent);
            }
            same_content && same_mode && may_keep_its_time
        }
        Kind::Directory | Kind::Special => same_mode && same_time,
        Kind::Hardlink => false,
        Kind::Symlink => same_time && entry.target == seen.target.as_deref().map(percent::encode),
    };
    Ok(if is_same && has_attributes { there } else { There::Other })
}
