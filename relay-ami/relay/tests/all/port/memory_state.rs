//! What a destination in memory holds.

use std::collections::{BTreeMap, HashMap};
use std::io;

use cpt_relay::digest::{Digest, Proof};
use cpt_relay::documents::attributes::Attributes;
use cpt_relay::documents::entry::Kind;
use cpt_relay::documents::text::PlanId;
use cpt_relay::ends::problem::first_is_missing;
use cpt_relay::ends::{Placed, Version};
use rustix::io::Errno;

/// One entry.
#[derive(Clone, Debug)]
pub struct Node {
    pub kind: Kind,
    /// Of a file its content, of a link its target.
    pub bytes: Vec<u8>,
    pub mode: u32,
    pub mtime_ns: i64,
    /// Names of one file have the same.
    pub version: Version,
    pub attributes: Attributes,
}

impl Node {
    /// Of no attributes; it is told from others once it is in its place.
    pub fn new(kind: Kind, bytes: Vec<u8>, mode: u32, mtime_ns: i64) -> Self {
        Self { kind, bytes, mode, mtime_ns, version: Version::NONE, attributes: Attributes::default() }
    }
}

#[derive(Debug, Default)]
pub struct State {
    pub nodes: BTreeMap<Vec<u8>, Node>,
    /// Large files that are not in their places, with the number that tells one from another.
    pub partial: HashMap<u64, (u64, Vec<u8>)>,
    /// Bytes that can still be taken.
    pub free: u64,
    pub notes: Notes,
    pub synced: Notes,
    pub serial: u64,
}

/// What receivers to come are told.
#[derive(Clone, Debug, Default)]
pub struct Notes {
    /// And the kind of the digests.
    pub plan: Option<(PlanId, Proof)>,
    pub placed: BTreeMap<u64, Placed>,
    /// By entry: the number of the partial file, its size, and the parts.
    pub parts: HashMap<u64, (u64, u64, BTreeMap<u64, Digest>)>,
}

impl State {
    pub fn next(&mut self) -> u64 {
        self.serial += 1;
        self.serial
    }

    fn version(&mut self) -> Version {
        let inode = self.next();
        Version::of_numbers((inode, inode.cast_signed()))
    }

    pub fn take(&mut self, bytes: u64) -> io::Result<()> {
        self.free = self.free.checked_sub(bytes).ok_or(Errno::NOSPC)?;
        Ok(())
    }

    fn make_above(&mut self, path: &[u8]) -> io::Result<()> {
        for at in path.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(at, _)| at) {
            let above = path[..at].to_vec();
            if self.nodes.get(&above).is_some_and(|found| found.kind != Kind::Directory) {
                return Err(Errno::NOTDIR.into());
            }
            let version = self.version();
            self.nodes.entry(above).or_insert(Node { version, ..Node::new(Kind::Directory, Vec::new(), 0o700, 0) });
        }
        Ok(())
    }

    /// Gives the file at `first` another name.
    pub fn link(&mut self, first: &[u8], path: &[u8], is_listed: impl Fn(&Node) -> bool) -> io::Result<()> {
        let Some(node) = self.nodes.get(first).filter(|node| node.kind == Kind::File && is_listed(node)).cloned() else {
            return Err(first_is_missing(first));
        };
        self.make_above(path)?;
        if self.nodes.get(path).is_some_and(|found| found.kind == Kind::Directory) {
            return Err(Errno::ISDIR.into());
        }
        // A file that is in its place is never written again: a copy of the same version is another name.
        self.nodes.insert(path.to_vec(), node);
        Ok(())
    }

    /// Puts a node into its place, below directories that are made where they are absent.
    pub fn put(&mut self, path: &[u8], mut node: Node) -> io::Result<Version> {
        self.make_above(path)?;
        match self.nodes.get(path) {
            Some(found) if found.kind == Kind::Directory && node.kind != Kind::Directory => return Err(Errno::ISDIR.into()),
            Some(found) if found.kind != Kind::Directory && node.kind == Kind::Directory => return Err(Errno::NOTDIR.into()),
            _ => {}
        }
        node.version = self.version();
        let version = node.version;
        self.nodes.insert(path.to_vec(), node);
        Ok(version)
    }
}
