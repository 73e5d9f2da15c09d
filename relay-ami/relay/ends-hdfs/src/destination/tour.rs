//! A walk over a directory of HDFS, for what only it has.

use std::io;

use hdfs_native::client::{FileStatus, ListStatusIterator};

use cpt_ends::{FileId, Found, Stop, Tour};
use cpt_wire::documents::entry::Kind;
use cpt_wire::documents::extras::Spared;
use cpt_wire::documents::text::DirectoryId;

use crate::cluster::Cluster;
use crate::fault::{Meaning, of_data, words};
use crate::path::{PARTIAL, join, split};
use crate::source::nanoseconds;
use crate::whereabouts::device;

pub struct HdfsTour<'a> {
    cluster: &'a Cluster,
    root: String,
    directory: DirectoryId,
    levels: Vec<Level>,
    /// What was given last.
    path: String,
    /// It is a directory, and what it holds comes next, unless it is passed.
    enters: bool,
}

/// A directory that is being walked through.
struct Level {
    /// Below the destination; empty for that itself.
    path: String,
    entries: ListStatusIterator,
}

impl<'a> HdfsTour<'a> {
    /// Fails where there is no such directory.
    pub fn begin(cluster: &'a Cluster, root: &str) -> io::Result<Self> {
        let directory = identity(cluster, root)?;
        let top = Level { path: String::new(), entries: cluster.client().list_status_iter(root, false) };
        Ok(Self { cluster, root: root.to_owned(), directory, levels: vec![top], path: String::new(), enters: false })
    }
}

/// Tells a directory of a cluster from others.
pub fn identity(cluster: &Cluster, root: &str) -> io::Result<DirectoryId> {
    let found = cluster.persist(|| cluster.client().get_file_info(root)).map_err(|error| of_data(&error, root))?;
    if !found.isdir {
        return Err(io::Error::new(io::ErrorKind::NotADirectory, format!("{root}: is no directory")));
    }
    DirectoryId::new(format!("{}:{}", device(cluster.name()), found.file_id)).map_err(io::Error::other)
}

/// What an entry is to a walk.
pub fn found(status: &FileStatus) -> Found {
    if status.isdir {
        return Found { kind: Kind::Directory, size: 0, mtime_ns: Some(nanoseconds(status.modification_time)) };
    }
    let kind = if status.is_symlink { Kind::Symlink } else { Kind::File };
    Found { kind, size: status.length as u64, mtime_ns: Some(nanoseconds(status.modification_time)) }
}

impl Tour for HdfsTour<'_> {
    fn directory(&self) -> &DirectoryId {
        &self.directory
    }

    fn step(&mut self) -> io::Result<Option<Stop>> {
        if std::mem::take(&mut self.enters) {
            let whole = join(&self.root, &self.path);
            self.levels.push(Level { path: self.path.clone(), entries: self.cluster.client().list_status_iter(&whole, false) });
        }
        while let Some(level) = self.levels.last() {
            match self.cluster.next(&level.entries) {
                None => drop(self.levels.pop()),
                Some(Ok(status)) => {
                    let name = split(&status.path).1;
                    self.path = if level.path.is_empty() { name.to_owned() } else { format!("{}/{name}", level.path) };
                    self.enters = status.isdir;
                    return Ok(Some(Stop::Entry(found(&status))));
                }
                // The destination itself: what it holds is not known, nor what of it is to stay.
                Some(Err(error)) if level.path.is_empty() => return Err(of_data(&error, "the destination")),
                Some(Err(error)) => {
                    self.path.clone_from(&level.path);
                    self.levels.pop();
                    if Meaning::of(&error) != Meaning::Gone {
                        tracing::warn!(path = self.path, error = words(&error), "is left alone");
                        return Ok(Some(Stop::Unreadable));
                    }
                }
            }
        }
        Ok(None)
    }

    fn path(&self) -> &[u8] {
        self.path.as_bytes()
    }

    fn pass(&mut self) {
        self.enters = false;
    }

    fn spared(&self) -> Option<Spared> {
        split(&self.path).1.starts_with(PARTIAL).then_some(Spared::Partial)
    }

    /// Of a name there is one spelling.
    fn finds(&mut self, _path: &[u8]) -> io::Result<Option<FileId>> {
        Ok(None)
    }

    fn may_be(&self, _id: &FileId) -> bool {
        false
    }
}
