//! Looks at what is in a destination.

use std::collections::VecDeque;
use std::io;

use hdfs_native::client::{FileStatus, ListStatusIterator};

use cpt_ends::{Heard, Seen, Version, View};
use cpt_wire::digest::Digest;
use cpt_wire::documents::attributes::Attributes;
use cpt_wire::documents::entry::Kind;

use super::writing::read;
use crate::attributes::{self, Wanted};
use crate::cluster::Cluster;
use crate::fault::{Meaning, of_data};
use crate::path::{below, split};
use crate::source::{nanoseconds, version};

/// Directories whose listings are remembered: those on the way to what is looked at, and a walk has few levels.
const LISTINGS: usize = 8;
/// Entries that are passed over before one name is asked for by itself: the name node gives a thousand at a time.
const PASSED_OVER: usize = 1_000;

/// Looks by listings, since names are asked for in their order.
pub struct Sight<'a> {
    cluster: &'a Cluster,
    root: &'a str,
    listings: VecDeque<Listing>,
}

/// The listing of a directory, from some name on.
struct Listing {
    directory: String,
    entries: ListStatusIterator,
    /// The entry that comes next, once it was read.
    next: Option<FileStatus>,
    is_over: bool,
    /// The name that was asked for last.
    last: String,
}

impl<'a> Sight<'a> {
    /// Fails where there is no such directory.
    pub fn new(cluster: &'a Cluster, root: &'a str) -> io::Result<Self> {
        let found = cluster.persist(|| cluster.client().get_file_info(root)).map_err(|error| of_data(&error, root))?;
        if !found.isdir {
            return Err(io::Error::new(io::ErrorKind::NotADirectory, format!("{root}: is no directory")));
        }
        Ok(Self::opened(cluster, root))
    }

    /// The same of one that is there.
    pub fn opened(cluster: &'a Cluster, root: &'a str) -> Self {
        Self { cluster, root, listings: VecDeque::new() }
    }

    fn find(&mut self, path: &str) -> io::Result<FileStatus> {
        let (directory, name) = split(path);
        let gone = || io::Error::new(io::ErrorKind::NotFound, format!("{path}: is not there"));
        let known = self.listings.iter().position(|listing| listing.directory == directory);
        let mut listing = match known.and_then(|at| self.listings.remove(at)) {
            Some(listing) if listing.last.as_str() < name => listing,
            // Out of order, or for the first time. Of a directory that is looked at from its beginning on nothing is passed over in vain.
            other => {
                let is_first = other.is_none();
                let entries = if is_first {
                    self.cluster.client().list_status_iter(directory, false)
                } else {
                    self.cluster.client().list_status_after(directory, name)
                };
                let listing = Listing { directory: directory.to_owned(), entries, next: None, is_over: false, last: String::new() };
                if !is_first {
                    self.remember(Listing { last: name.to_owned(), ..listing });
                    return self.ask(path);
                }
                listing
            }
        };
        name.clone_into(&mut listing.last);
        for _ in 0..PASSED_OVER {
            if listing.next.is_none() && !listing.is_over {
                match self.cluster.next(&listing.entries) {
                    None => listing.is_over = true,
                    // What is no directory is all that its listing gives.
                    Some(Ok(found)) if found.path == directory => listing.is_over = true,
                    Some(Ok(found)) => listing.next = Some(found),
                    Some(Err(error)) => return Err(of_look(&error, directory)),
                }
            }
            let found = match &listing.next {
                None => Err(gone()),
                Some(next) => match split(&next.path).1.cmp(name) {
                    std::cmp::Ordering::Less => {
                        listing.next = None;
                        continue;
                    }
                    std::cmp::Ordering::Equal => Ok(next.clone()),
                    std::cmp::Ordering::Greater => Err(gone()),
                },
            };
            self.remember(listing);
            return found;
        }
        let entries = self.cluster.client().list_status_after(directory, name);
        self.remember(Listing { entries, next: None, is_over: false, ..listing });
        self.ask(path)
    }

    fn remember(&mut self, listing: Listing) {
        self.listings.truncate(LISTINGS - 1);
        self.listings.push_front(listing);
    }

    fn ask(&self, path: &str) -> io::Result<FileStatus> {
        self.cluster.persist(|| self.cluster.client().get_file_info(path)).map_err(|error| of_look(&error, path))
    }
}

/// Beneath what is no directory there is nothing.
fn of_look(error: &hdfs_native::HdfsError, path: &str) -> io::Error {
    match Meaning::of(error) {
        Meaning::InTheWay => io::Error::new(io::ErrorKind::NotFound, format!("{path}: is not there")),
        _ => of_data(error, path),
    }
}

impl View for Sight<'_> {
    fn see(&mut self, path: &[u8]) -> io::Result<Seen> {
        let found = self.find(&below(self.root, path)?)?;
        let kind = if found.isdir { Kind::Directory } else { Kind::File };
        Ok(Seen {
            kind: (!found.is_symlink).then_some(kind),
            size: if found.isdir { 0 } else { found.length as u64 },
            mode: u32::from(found.permission) & 0o7777,
            mtime_ns: Some(nanoseconds(found.modification_time)),
            version: version(&found),
            target: None,
        })
    }

    fn attributes(&mut self, path: &[u8], listed: &Attributes) -> io::Result<Attributes> {
        let found = self.find(&below(self.root, path)?)?;
        let read = self.cluster.persist(|| attributes::read(self.cluster.client(), &found, Wanted::of_listed(listed)));
        read.map_err(|error| of_look(&error, &found.path))
    }

    fn digest(&mut self, path: &[u8], of: &Version, heard: Heard<'_>) -> io::Result<Digest> {
        let path = below(self.root, path)?;
        let other = || io::Error::new(io::ErrorKind::NotFound, format!("{path}: is another file by now"));
        if version(&self.ask(&path)?) != *of {
            return Err(other());
        }
        let mut hasher = blake3::Hasher::new();
        read(self.cluster, &path, |bytes| {
            hasher.update(bytes);
            heard(bytes.len() as u64);
        })?;
        if version(&self.ask(&path)?) == *of { Ok(*hasher.finalize().as_bytes()) } else { Err(other()) }
    }
}
