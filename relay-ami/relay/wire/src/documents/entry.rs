//! Listing entries and segments: what is moved, one line each.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use super::attributes::Attributes;
use super::extras::is_false;
use super::percent;

/// The kind of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    File,
    Directory,
    Symlink,
    /// Another name of a file that is listed before it, at `target` of the destination.
    Hardlink,
    /// A pipe, socket or device.
    Special,
}

/// One line of the survey's listing. Paths are percent-encoded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ListingEntry {
    pub path: String,
    pub source: String,
    pub kind: Kind,
    /// Bytes of a file; 0 for others.
    pub size: u64,
    pub mode: u32,
    /// Nanoseconds since 1970.
    pub mtime_ns: i64,
    pub inode: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attributes: Option<Box<Attributes>>,
    /// The destination has another file in its place, which may be an earlier version.
    #[serde(default, skip_serializing_if = "is_false")]
    pub basis: bool,
    /// That file has the same content; its mode, its owner or its attributes are others.
    #[serde(default, skip_serializing_if = "is_false")]
    pub same: bool,
    /// A directory that cannot be looked into: what it holds is not listed, and the sender leaves it out, by name.
    #[serde(default, skip_serializing_if = "is_false")]
    pub unreadable: bool,
    /// Bytes that a file with holes has on its disk; none of others. For the totals of a listing, which has no such key.
    #[serde(skip)]
    pub stored: Option<u64>,
}

/// A line of the listing with the mark of [`ListingEntry::basis`]; the rest stays as it is.
#[must_use]
pub fn with_basis(line: &[u8]) -> Vec<u8> {
    let mut marked = line.strip_suffix(b"}").unwrap_or(line).to_vec();
    marked.extend_from_slice(b",\"basis\":true}");
    marked
}

/// The same with that of [`ListingEntry::same`], which has the other one too.
#[must_use]
pub fn with_same(line: &[u8]) -> Vec<u8> {
    let mut marked = with_basis(line);
    marked.pop();
    marked.extend_from_slice(b",\"same\":true}");
    marked
}

/// The part of a listing's line that the look at the destination needs; its strings are the line's own.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ListedLine<'a> {
    #[serde(borrow)]
    pub path: Cow<'a, str>,
    pub kind: Kind,
    pub size: u64,
    pub mode: u32,
    pub mtime_ns: i64,
    #[serde(borrow, default)]
    pub target: Option<Cow<'a, str>>,
    #[serde(default)]
    pub attributes: Option<Box<Attributes>>,
    #[serde(default)]
    pub unreadable: bool,
}

impl<'a> ListedLine<'a> {
    /// Reads one line; the refusal names the field.
    pub fn parse(line: &'a [u8]) -> Result<Self, String> {
        serde_json::from_slice(line).map_err(|error| error.to_string())
    }
}

/// One line of a manifest: a whole small entry, or one part of a large file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Segment {
    pub entry: u64,
    pub path: String,
    pub source: String,
    pub kind: Kind,
    pub size: u64,
    pub mode: u32,
    pub mtime_ns: i64,
    pub inode: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attributes: Option<Box<Attributes>>,
    /// These as in the listing.
    #[serde(default, skip_serializing_if = "is_false")]
    pub basis: bool,
    #[serde(default, skip_serializing_if = "is_false")]
    pub same: bool,
    #[serde(default, skip_serializing_if = "is_false")]
    pub unreadable: bool,
    pub offset: u64,
    pub length: u64,
}

impl ListingEntry {
    /// Reads one line; the refusal names the field.
    pub fn parse(line: &[u8]) -> Result<Self, String> {
        let entry: Self = serde_json::from_slice(line).map_err(|error| error.to_string())?;
        check(&entry.path, &entry.source, entry.mode, entry.target.as_deref(), entry.attributes.as_deref())?;
        Ok(entry)
    }
}

impl Segment {
    /// All of an entry of this number.
    #[must_use]
    pub fn whole(entry: u64, listed: ListingEntry) -> Self {
        let ListingEntry { path, source, kind, size, mode, mtime_ns, inode, target, attributes, basis, same, unreadable, .. } = listed;
        let length = if kind == Kind::File { size } else { 0 };
        Self { entry, path, source, kind, size, mode, mtime_ns, inode, target, attributes, basis, same, unreadable, offset: 0, length }
    }

    /// Reads one line; the refusal names the field.
    pub fn parse(line: &[u8]) -> Result<Self, String> {
        let segment: Self = serde_json::from_slice(line).map_err(|error| error.to_string())?;
        check(&segment.path, &segment.source, segment.mode, segment.target.as_deref(), segment.attributes.as_deref())?;
        if segment.offset.checked_add(segment.length).is_none_or(|end| end > segment.size) {
            return Err(format!("offset {} and length {} go beyond size {}", segment.offset, segment.length, segment.size));
        }
        Ok(segment)
    }

    /// A part is digested as a subtree of its file, a whole entry by itself.
    #[must_use]
    pub fn is_part(&self) -> bool {
        self.length < self.size
    }
}

fn check(path: &str, source: &str, mode: u32, target: Option<&str>, attributes: Option<&Attributes>) -> Result<(), String> {
    if percent::decode(path).map_err(|why| format!("path: {why}"))?.is_empty() {
        return Err("path is empty; it must name something below the destination".to_owned());
    }
    percent::decode(source).map_err(|why| format!("source: {why}"))?;
    if !source.starts_with('/') {
        return Err(format!("source: {source:?} is not an absolute path"));
    }
    if let Some(target) = target {
        percent::decode(target).map_err(|why| format!("target: {why}"))?;
    }
    attributes.map_or(Ok(()), Attributes::check)?;
    if mode > 0o7777 {
        return Err(format!("mode is {mode}; permission bits are at most 4095"));
    }
    Ok(())
}
