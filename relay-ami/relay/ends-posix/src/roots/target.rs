//! Where a symbolic link of a source leads, as long as that lies beneath a source path of the request.
//!
//! Nothing outside of those paths is looked at, not even whether it exists: of a way that leads through there only the names count, and
//! they must be those on the way to a source path.

use std::collections::VecDeque;
use std::io;

use rustix::fs::{self, FileType, OFlags, Stat};
use rustix::io::Errno;

use super::Root;
use crate::tree::PARTIAL;

/// The number of links that the kernel follows on one way (`MAXSYMLINKS`).
pub const MOST_LINKS: usize = 40;

/// What a link leads to: the number of a root, and names below its directory, none of which is a link. No names are the directory itself.
#[derive(Debug, PartialEq, Eq)]
pub struct Target {
    pub root: usize,
    pub relative: Vec<u8>,
    /// Device and inode, of a directory.
    pub directory: Option<(u64, u64)>,
}

/// Why a link is not followed.
#[derive(Debug)]
pub enum Astray {
    /// It leads to nothing that a source path of the request has beneath it.
    Outside,
    /// There is nothing.
    Dangling,
    /// It leads to itself, through itself, or through more links than the kernel follows.
    Loop,
    /// What it leads to cannot be looked at.
    Unreadable(io::Error),
}

impl From<io::Error> for Astray {
    fn from(error: io::Error) -> Self {
        match error.raw_os_error().map(Errno::from_raw_os_error) {
            // Whoever made a link of a directory meanwhile has made another way, too.
            Some(Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::STALE) => Self::Dangling,
            _ => Self::Unreadable(error),
        }
    }
}

/// A place on a way.
#[derive(Clone, Debug)]
enum Place {
    /// A directory on the way to a root's, from the file system's root on; without a slash at its end.
    Above(Vec<u8>),
    /// Names below a root's directory, the last one of a directory.
    Inside(usize, Vec<u8>),
}

/// Goes where a link leads that is at `relative` below a root's directory, which is through no other one.
pub fn target(roots: &[&Root], root: usize, relative: &[u8]) -> Result<Target, Astray> {
    let mut way = Way { roots, links: 0 };
    let directory = parent(relative);
    let name = relative.get(directory.len()..).unwrap_or_default();
    way.to(way.directory(root, directory.to_vec())?, name)
}

/// Goes to `relative` below a root's directory, through any links.
pub fn landing(roots: &[&Root], root: usize, relative: &[u8]) -> Result<Target, Astray> {
    let mut way = Way { roots, links: 0 };
    way.to(way.directory(root, Vec::new())?, relative)
}

struct Way<'a> {
    roots: &'a [&'a Root],
    links: usize,
}

impl Way<'_> {
    fn to(&mut self, mut place: Place, path: &[u8]) -> Result<Target, Astray> {
        let mut rest = names(path);
        while let Some(name) = rest.pop_front() {
            if name == b"." {
                continue;
            }
            if name == b".." {
                place = self.parent(place)?;
                continue;
            }
            let next = match &place {
                Place::Above(path) => self.place([&**path, b"/", &name].concat())?,
                Place::Inside(root, below) => Place::Inside(*root, joined(below, &name)),
            };
            let Place::Inside(root, below) = next else {
                place = next;
                continue;
            };
            // No receiver takes a name of partial files either.
            if name.starts_with(PARTIAL) {
                return Err(Astray::Outside);
            }
            match FileType::from_raw_mode(self.look(root, &below)?.st_mode) {
                FileType::Directory => place = Place::Inside(root, below),
                FileType::Symlink => {
                    self.links += 1;
                    if self.links > MOST_LINKS {
                        return Err(Astray::Loop);
                    }
                    let text = self.read(root, &below)?;
                    if text.starts_with(b"/") {
                        place = self.place(Vec::new())?;
                    }
                    names(&text).into_iter().rev().for_each(|name| rest.push_front(name));
                }
                _ if rest.is_empty() => return Ok(Target { root, relative: below, directory: None }),
                _ => return Err(Astray::Dangling),
            }
        }
        match place {
            Place::Inside(root, relative) => {
                let stat = self.look(root, &relative)?;
                Ok(Target { root, relative, directory: Some((stat.st_dev, stat.st_ino)) })
            }
            Place::Above(_) => Err(Astray::Outside),
        }
    }

    fn root(&self, number: usize) -> Result<&Root, Astray> {
        self.roots.get(number).copied().ok_or(Astray::Outside)
    }

    fn look(&self, root: usize, below: &[u8]) -> Result<Stat, Astray> {
        let root = self.root(root)?;
        let stat = if below.is_empty() { fs::fstat(root) } else { fs::fstat(root.open_at(below, OFlags::PATH)?) };
        Ok(stat.map_err(io::Error::from)?)
    }

    fn read(&self, root: usize, below: &[u8]) -> Result<Vec<u8>, Astray> {
        let link = self.root(root)?.open_at(below, OFlags::PATH)?;
        Ok(fs::readlinkat(&link, "", Vec::new()).map_err(io::Error::from)?.into_bytes())
    }

    /// Names below a root's directory; where that has but one that is meant, the directory itself is above the root.
    fn directory(&self, root: usize, below: Vec<u8>) -> Result<Place, Astray> {
        let of = self.root(root)?;
        if below.is_empty() && of.name.is_some() { self.place(of.real.clone()) } else { Ok(Place::Inside(root, below)) }
    }

    fn parent(&self, place: Place) -> Result<Place, Astray> {
        match place {
            Place::Inside(root, below) if below.is_empty() => self.place(parent(&self.root(root)?.real).to_vec()),
            Place::Inside(root, below) => self.directory(root, parent(&below).to_vec()),
            // A way through a link of the request's own paths is known in one direction only.
            Place::Above(path) if self.roots.iter().any(|root| leads(&path, &root.real)) => self.place(parent(&path).to_vec()),
            Place::Above(_) => Err(Astray::Outside),
        }
    }

    /// Where a path is, from the file system's root on, of which at most the last name may be a link.
    fn place(&self, path: Vec<u8>) -> Result<Place, Astray> {
        for spelling in [Root::real, Root::base] {
            let found = self.roots.iter().enumerate().find_map(|(number, root)| Some((number, inside(spelling(root), root, &path)?)));
            if let Some((root, below)) = found {
                return Ok(Place::Inside(root, below.to_vec()));
            }
        }
        let is_above = self.roots.iter().any(|root| leads(&path, &root.real) || leads(&path, &root.base));
        if is_above { Ok(Place::Above(path)) } else { Err(Astray::Outside) }
    }
}

/// Names of `path` below `base`, the directory of `root`, where they are the root's.
fn inside<'a>(base: &[u8], root: &Root, path: &'a [u8]) -> Option<&'a [u8]> {
    let all = root.name.is_none() && path == base;
    if all { Some(b"") } else { super::below(base, root.name.as_deref(), path) }
}

/// Whether a way to `base` goes through `path`, or ends there.
fn leads(path: &[u8], base: &[u8]) -> bool {
    base.strip_prefix(path).is_some_and(|rest| rest.is_empty() || rest.starts_with(b"/"))
}

fn parent(path: &[u8]) -> &[u8] {
    path.get(..path.iter().rposition(|byte| *byte == b'/').unwrap_or(0)).unwrap_or_default()
}

fn joined(directory: &[u8], name: &[u8]) -> Vec<u8> {
    if directory.is_empty() { name.to_vec() } else { [directory, b"/", name].concat() }
}

/// With a `.` at the end where only a directory is meant.
fn names(path: &[u8]) -> VecDeque<Vec<u8>> {
    let mut names: VecDeque<Vec<u8>> = super::plain_names(path).map(<[u8]>::to_vec).collect();
    if path.ends_with(b"/") || path.ends_with(b"/.") {
        names.push_back(b".".to_vec());
    }
    names
}
