//! What is found of a tree.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::Path;

use cpt_relay::digest::Digest;
use cpt_relay::documents::attributes::ACLS;
use cpt_relay::documents::percent;

/// Beginning of the names of what is ours.
pub const PARTIAL: &[u8] = b".cpt-partial-";
pub const SECOND: i64 = 1_000_000_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    File,
    Directory,
    Link,
    /// A pipe: the one special file that everybody may make.
    Pipe,
}

/// Names and values, percent-encoded.
pub type Named = BTreeMap<String, String>;

/// An entry as it is found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    pub kind: Kind,
    /// Of a link the length of its target; 0 of directories and pipes.
    pub size: u64,
    pub mode: u32,
    pub mtime_ns: i64,
    pub ctime_ns: i64,
    pub inode: u64,
    /// Of a file's content or a link's target; of nothing for others.
    pub digest: Digest,
    pub owner: (u32, u32),
    /// Those of users.
    pub xattrs: Named,
    pub acls: Named,
}

pub type Tree = BTreeMap<Vec<u8>, Seen>;

impl Seen {
    /// Whether nobody could tell one from the other but by its change time, which moves with each name that comes or goes.
    pub fn is_like(&self, other: &Self) -> bool {
        let other = Self { ctime_ns: self.ctime_ns, ..other.clone() };
        *self == other
    }

    /// Whether nobody could tell one from the other but by reading it, or its attributes.
    pub fn is_told_by_as(&self, other: &Self) -> bool {
        let told = |seen: &Self| (seen.kind, seen.inode, seen.size, seen.mtime_ns, seen.ctime_ns);
        told(self) == told(other)
    }

    /// The same, in whatever file it lies.
    pub fn is_copy_of(&self, other: &Self) -> bool {
        self.is_like(&Self { inode: self.inode, ..other.clone() })
    }
}

pub fn seen(path: &Path) -> Option<Seen> {
    let metadata = path.symlink_metadata().ok()?;
    let kind = metadata.file_type();
    let (kind, content) = if kind.is_symlink() {
        (Kind::Link, fs::read_link(path).ok()?.as_os_str().as_bytes().to_vec())
    } else if kind.is_dir() {
        (Kind::Directory, Vec::new())
    } else if kind.is_fifo() {
        (Kind::Pipe, Vec::new())
    } else {
        (Kind::File, fs::read(path).ok()?)
    };
    let (xattrs, acls) = if kind == Kind::Link { Default::default() } else { attributes(path) };
    Some(Seen {
        kind,
        size: if matches!(kind, Kind::File | Kind::Link) { metadata.size() } else { 0 },
        mode: metadata.mode() & 0o7777,
        mtime_ns: metadata.mtime() * SECOND + metadata.mtime_nsec(),
        ctime_ns: metadata.ctime() * SECOND + metadata.ctime_nsec(),
        inode: metadata.ino(),
        digest: digest(&content),
        owner: (metadata.uid(), metadata.gid()),
        xattrs,
        acls,
    })
}

fn attributes(path: &Path) -> (Named, Named) {
    let (mut xattrs, mut acls) = (Named::new(), Named::new());
    let mut names = [0; 1024];
    let length = rustix::fs::llistxattr(path, &mut names[..]).unwrap_or_default();
    for name in names[..length].split(|byte| *byte == 0).filter(|name| !name.is_empty()) {
        let of_users = name.starts_with(b"user.");
        if !of_users && !ACLS.iter().any(|acl| acl.as_bytes() == name) {
            continue;
        }
        let mut value = [0; 1024];
        let Ok(length) = rustix::fs::lgetxattr(path, std::ffi::OsStr::from_bytes(name), &mut value[..]) else { continue };
        let into = if of_users { &mut xattrs } else { &mut acls };
        into.insert(percent::encode(name), percent::encode(&value[..length]));
    }
    (xattrs, acls)
}

pub fn digest(content: &[u8]) -> Digest {
    *blake3::hash(content).as_bytes()
}

/// Where a destination keeps what is replaced, if it does.
pub const KEPT: &str = ".kept";

/// All entries below `root` by their path, but nothing of ours.
pub fn list(root: &Path) -> Tree {
    let mut found = Tree::new();
    let mut left = vec![root.to_path_buf()];
    while let Some(directory) = left.pop() {
        for entry in fs::read_dir(&directory).into_iter().flatten().flatten() {
            let path = entry.path();
            let name = path.strip_prefix(root).unwrap().as_os_str().as_bytes().to_vec();
            if name.starts_with(PARTIAL) || name == KEPT.as_bytes() {
                continue;
            }
            let Some(entry) = seen(&path) else { continue };
            if entry.kind == Kind::Directory {
                left.push(path);
            }
            found.insert(name, entry);
        }
    }
    found
}

/// The directories above a path, the outermost one first.
pub fn above(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    path.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(at, _)| &path[..at])
}

/// Of a tree: whether something keeps an entry of this kind from its place.
pub fn is_in_the_way(tree: &Tree, path: &[u8], kind: Kind) -> bool {
    above(path).any(|above| tree.get(above).is_some_and(|found| found.kind != Kind::Directory))
        || tree.get(path).is_some_and(|there| (there.kind == Kind::Directory) != (kind == Kind::Directory))
}
