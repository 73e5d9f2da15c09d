//! What a plan promises: the listing as it was made, and every content that a listed file has had since without looking another one.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use cpt_relay::digest::Digest;
use cpt_relay::documents::entry::{self, ListingEntry};
use cpt_relay::documents::percent;

use crate::trees::{Kind, Seen, Tree, digest, seen};

pub struct Listed {
    pub path: Vec<u8>,
    pub entry: ListingEntry,
    source: PathBuf,
    /// As it was when it was listed.
    was: Option<Seen>,
    /// Any of these may arrive: an author who puts the time back is not always found out, and whoever reads gets one of them whole.
    pub contents: HashSet<Digest>,
}

/// A plan in a control directory.
pub struct Planned {
    pub listed: Vec<Listed>,
    /// Further names of files, with the first ones.
    firsts: Vec<(Vec<u8>, Vec<u8>)>,
}

impl Listed {
    fn new(line: &[u8]) -> Self {
        let entry = ListingEntry::parse(line).unwrap();
        let source = PathBuf::from(OsStr::from_bytes(&percent::decode(&entry.source).unwrap()));
        let was = seen(&source);
        let contents = match entry.kind {
            entry::Kind::Symlink => HashSet::from([digest(&percent::decode(entry.target.as_deref().unwrap_or_default()).unwrap())]),
            _ => was.iter().map(|was| was.digest).collect(),
        };
        Self { path: percent::decode(&entry.path).unwrap(), entry, source, was, contents }
    }

    pub fn kind(&self) -> Kind {
        match self.entry.kind {
            entry::Kind::File | entry::Kind::Hardlink => Kind::File,
            entry::Kind::Directory => Kind::Directory,
            entry::Kind::Symlink => Kind::Link,
            entry::Kind::Special => unreachable!("there are none in these trees"),
        }
    }

    /// Where the first name of the file lands that this is another one of.
    fn first(&self) -> Option<Vec<u8>> {
        let target = self.entry.target.as_deref().filter(|_| self.entry.kind == entry::Kind::Hardlink);
        target.map(|target| percent::decode(target).unwrap())
    }

    /// What is wrong with what is at the destination; nothing where it is as promised.
    fn wrong(&self, destination: &Tree, with_directory_times: bool) -> Option<String> {
        let Some(found) = destination.get(&self.path) else { return Some("is missing".to_owned()) };
        if let Some(first) = self.first() {
            let is_same = destination.get(&first).is_some_and(|first| first.inode == found.inode);
            return (!is_same).then(|| format!("is no name of {:?}", OsStr::from_bytes(&first)));
        }
        if found.kind != self.kind() {
            return Some(format!("is a {:?}", found.kind));
        }
        let is_link = found.kind == Kind::Link;
        let mut wrong = Vec::new();
        if found.kind == Kind::File && found.size != self.entry.size {
            wrong.push(format!("has {} bytes in place of {}", found.size, self.entry.size));
        }
        if !is_link && found.mode != self.entry.mode & 0o1777 {
            wrong.push(format!("has mode {:o} in place of {:o}", found.mode, self.entry.mode));
        }
        if (found.kind != Kind::Directory || with_directory_times) && found.mtime_ns != self.entry.mtime_ns {
            wrong.push(format!("has time {} in place of {}", found.mtime_ns, self.entry.mtime_ns));
        }
        if found.kind != Kind::Directory && !self.contents.contains(&found.digest) {
            wrong.push("has another content".to_owned());
        }
        (!wrong.is_empty()).then(|| wrong.join(", "))
    }
}

impl Planned {
    /// Reads the listing that was made just now.
    pub fn read(control: &Path, parts: u64) -> Self {
        let mut listed = Vec::new();
        for part in 0..parts {
            let text = std::fs::read(control.join(cpt_relay::documents::survey::listing_key(part))).unwrap();
            listed.extend(text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).map(Listed::new));
        }
        let firsts = listed.iter().filter_map(|listed: &Listed| Some((listed.path.clone(), listed.first()?))).collect();
        Self { listed, firsts }
    }

    /// Notes what may be read of the source from now on.
    pub fn source_changed(&mut self) {
        for listed in self.listed.iter_mut().filter(|listed| listed.kind() == Kind::File) {
            let now = seen(&listed.source).filter(|now| now.kind == Kind::File);
            let looks_the_same = |now: &Seen| {
                let entry = &listed.entry;
                let same_size = now.size == entry.size || entry.kind == entry::Kind::Hardlink;
                same_size && (now.mtime_ns, now.inode) == (entry.mtime_ns, entry.inode)
            };
            listed.contents.extend(now.filter(looks_the_same).map(|now| now.digest));
        }
    }

    /// Whether nobody has touched anything of the source, not even and put it back.
    pub fn is_source_untouched(&self) -> bool {
        self.listed.iter().all(|listed| match listed.kind() {
            // Through a link in its place nobody goes, wherever it leads.
            Kind::Directory => seen(&listed.source).is_some_and(|now| now.kind == Kind::Directory),
            _ => seen(&listed.source) == listed.was,
        })
    }

    /// First names of the file that `path` is another name of.
    pub fn first_of<'a>(&'a self, path: &'a [u8]) -> impl Iterator<Item = &'a [u8]> {
        self.firsts.iter().filter(move |(name, _)| name == path).map(|(_, first)| &**first)
    }

    /// Every entry that is not at the destination as promised, in words.
    pub fn wrong(&self, destination: &Tree, with_directory_times: bool) -> Vec<String> {
        let wrong = |listed: &Listed| {
            let why = listed.wrong(destination, with_directory_times)?;
            Some(format!("{:?} {why}", OsStr::from_bytes(&listed.path)))
        };
        self.listed.iter().filter_map(wrong).collect()
    }

    /// Paths at the destination where something of another kind is in the way, the outermost ones only.
    pub fn in_the_way(&self, destination: &Tree) -> Vec<Vec<u8>> {
        let directory_at = |path: &[u8]| destination.get(path).is_none_or(|found| found.kind == Kind::Directory);
        let mut found = Vec::new();
        for listed in &self.listed {
            let slashes = listed.path.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(at, _)| at);
            if let Some(end) = slashes.into_iter().find(|end| !directory_at(&listed.path[..*end])) {
                found.push(listed.path[..end].to_vec());
                continue;
            }
            let is_wrong = |there: &Seen| (there.kind == Kind::Directory) != (listed.kind() == Kind::Directory);
            if destination.get(&listed.path).is_some_and(is_wrong) {
                found.push(listed.path.clone());
            }
        }
        found.sort();
        found.dedup();
        found
    }
}
