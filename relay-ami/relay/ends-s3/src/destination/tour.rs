//! A walk over a bucket, for what only it has. Directories are what keys have before a slash.

use std::collections::VecDeque;
use std::io;

use cpt_ends::{FileId, Found, Stop, Tour};
use cpt_wire::documents::entry::Kind;
use cpt_wire::documents::extras::Spared;
use cpt_wire::documents::text::DirectoryId;

use super::PARTIAL;
use crate::client::{Bucket, Place};
use crate::source::names::Split;
use crate::source::ordered::Ordered;
use crate::source::pool::Pool;

pub struct BucketTour<'a> {
    keys: Ordered<'a>,
    prefix: &'a str,
    directory: DirectoryId,
    /// What the last key stands for, directories first.
    waiting: VecDeque<(String, Stop)>,
    /// The last key's path.
    last: String,
    path: String,
    is_directory: bool,
}

impl<'a> BucketTour<'a> {
    pub fn new(bucket: &'a Bucket) -> io::Result<Self> {
        let (prefix, directory) = (bucket.place().prefix.as_str(), identity(bucket.place())?);
        let keys = Ordered::new(&Pool::none(bucket), prefix);
        let (waiting, last, path) = (VecDeque::new(), String::new(), String::new());
        Ok(Self { keys, prefix, directory, waiting, last, path, is_directory: false })
    }
}

/// Tells one bucket and prefix from others.
pub fn identity(place: &Place) -> io::Result<DirectoryId> {
    let hash = blake3::hash(format!("{} {place}", place.region).as_bytes());
    let (one, rest) = hash.as_bytes().split_first_chunk::<8>().ok_or_else(|| io::Error::other("a short hash"))?;
    let other = rest.first_chunk::<8>().ok_or_else(|| io::Error::other("a short hash"))?;
    DirectoryId::new(format!("{}:{}", u64::from_le_bytes(*one), u64::from_le_bytes(*other))).map_err(io::Error::other)
}

const DIRECTORY: Stop = Stop::Entry(Found { kind: Kind::Directory, size: 0, mtime_ns: None });

impl Tour for BucketTour<'_> {
    fn directory(&self) -> &DirectoryId {
        &self.directory
    }

    fn step(&mut self) -> io::Result<Option<Stop>> {
        loop {
            if let Some((path, stop)) = self.waiting.pop_front() {
                (self.path, self.is_directory) = (path, stop == DIRECTORY);
                return Ok(Some(stop));
            }
            let Some(object) = self.keys.take().map_err(io::Error::other)? else { return Ok(None) };
            let Some(path) = object.key.strip_prefix(self.prefix).filter(|path| !path.is_empty()) else { continue };
            let split = Split::of(path);
            if !split.is_path() {
                // No source has such a name.
                self.waiting.push_back((path.to_owned(), Stop::Unreadable));
                continue;
            }
            self.waiting.extend(split.new_above(&self.last).map(|above| (above.to_owned(), DIRECTORY)));
            let stop = if split.ends_with_slash {
                DIRECTORY
            } else {
                Stop::Entry(Found { kind: Kind::File, size: object.size, mtime_ns: Some(object.modified_ns) })
            };
            self.waiting.push_back((split.path.to_owned(), stop));
            path.clone_into(&mut self.last);
        }
    }

    fn path(&self) -> &[u8] {
        self.path.as_bytes()
    }

    fn pass(&mut self) {
        if !self.is_directory {
            return;
        }
        let below = format!("{}/", self.path);
        self.waiting.retain(|(path, _)| !path.starts_with(&below));
        self.keys.pass(&format!("{}{below}", self.prefix));
    }

    fn spared(&self) -> Option<Spared> {
        self.path.starts_with(PARTIAL).then_some(Spared::Partial)
    }

    fn finds(&mut self, _path: &[u8]) -> io::Result<Option<FileId>> {
        Ok(None)
    }

    fn may_be(&self, _id: &FileId) -> bool {
        false
    }
}
