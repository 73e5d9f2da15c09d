//! The port of a destination from which things are removed.

use std::io;

use cpt_wire::documents::entry::Kind;
use cpt_wire::documents::extras::{Spared, Stayed};
use cpt_wire::documents::text::DirectoryId;

/// A walk over all that is there, each directory before what it holds, names sorted by their bytes. Links are not followed.
pub trait Tour {
    /// Which directory it is, as this kind tells one from another.
    fn directory(&self) -> &DirectoryId;
    /// The next entry, whose path is `path` then; none after the last.
    fn step(&mut self) -> io::Result<Option<Stop>>;
    /// Of what was given last.
    fn path(&self) -> &[u8];
    /// What was given last is a directory that is not gone into.
    fn pass(&mut self);
    /// Why what was given last stays, whatever the source has.
    fn spared(&self) -> Option<Spared>;
    /// What the destination finds by a path, whose directories are given as they are named; the last name may be none that its directory
    /// shows, where two spellings are one name. None where there is nothing.
    fn finds(&mut self, path: &[u8]) -> io::Result<Option<FileId>>;
    /// Returns whether what was given last may be this one.
    fn may_be(&self, id: &FileId) -> bool;
}

/// Tells an entry of a destination from others, whatever its name is: its kind makes it. Of a POSIX tree: device and inode.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FileId(pub [u64; 2]);

/// What a walk comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    Entry(Found),
    /// It, or what it holds, cannot be seen. A directory has been given before.
    Unreadable,
}

/// An entry of a destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Found {
    pub kind: Kind,
    /// Bytes of a file, length of a link's target.
    pub size: u64,
    /// Nanoseconds since 1970; none where 64 bits do not hold it: two such times may differ.
    pub mtime_ns: Option<i64>,
}

impl Found {
    /// Returns whether this is what was listed: of a directory only that it is one counts.
    #[must_use]
    pub fn is(&self, kind: Kind, size: u64, mtime_ns: Option<i64>) -> bool {
        self.kind == kind && (kind == Kind::Directory || (self.size == size && self.mtime_ns.is_some() && self.mtime_ns == mtime_ns))
    }
}

/// Removes entries of one destination. Nobody else removes any there meanwhile, in the name of any transfer.
pub trait Remover {
    /// An error where the destination's path leads to another directory now.
    fn check_there(&self) -> io::Result<()>;
    /// Removes what has this path if `is` says that it is what was meant. A directory goes only when it is empty; the one that holds it
    /// keeps its modification time.
    fn remove(&mut self, path: &[u8], is: &dyn Fn(&Found) -> bool) -> io::Result<Removal>;
    /// How many entries are kept of what this transfer has replaced or removed.
    fn kept(&self) -> io::Result<u64> {
        Ok(0)
    }
    /// What was removed stays so after a crash.
    fn sync(&self) -> io::Result<()>;
}

/// What became of an entry that was to be removed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Removal {
    Removed,
    /// It was not there.
    Gone,
    /// It is still there; in words, what the system said.
    Stays(Stayed, Option<String>),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_that_does_not_fit_is_the_one_of_nothing_that_was_listed() {
        let found = |mtime_ns| Found { kind: Kind::File, size: 3, mtime_ns };
        assert!(found(Some(7)).is(Kind::File, 3, Some(7)));
        assert!(!found(None).is(Kind::File, 3, None));
        assert!(!found(None).is(Kind::File, 3, Some(i64::MAX)));
        let directory = Found { kind: Kind::Directory, ..found(None) };
        assert!(directory.is(Kind::Directory, 0, None));
    }
}
