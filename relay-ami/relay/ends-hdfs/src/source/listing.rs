//! The listing of a source's paths, in one order: each directory before what it holds, names sorted by their bytes.

use hdfs_native::client::{FileStatus, ListStatusIterator};

use cpt_ends::above::{above, is_kept_under};
use cpt_ends::select::Selector;
use cpt_ends::{Each, Halted, Listed};
use cpt_wire::documents::end::SnapshotDiff;
use cpt_wire::documents::entry::{Kind, ListingEntry};
use cpt_wire::documents::percent;
use cpt_wire::documents::selection::Reason;
use cpt_wire::documents::text::KeepName;

use super::Asked;
use super::opened::nanoseconds;
use super::tops::{Top, Tops};
use crate::attributes::{Wanted, read};
use crate::cluster::Cluster;
use crate::fault::{Meaning, words};
use crate::path::{PARTIAL, split};

/// Paths of a source of which is told where they are.
pub const MOST_PLACES: usize = 32;

/// What is listed.
pub struct Wish<'a> {
    /// Of two snapshots, what the later one has and the earlier one has not.
    pub diff: Option<&'a SnapshotDiff>,
    pub selector: &'a Selector,
    /// A name at the top of the destination that nothing may have.
    pub free: Option<&'a KeepName>,
    pub wanted: Wanted,
}

/// Lists what of the paths is selected. The name node gives a thousand entries of a directory at a time, so what is in memory is a page of
/// each path and of each directory on the way.
pub fn list(cluster: &Cluster, paths: &[Asked], wish: &Wish<'_>, each: Each<'_>) -> Result<(), Halted> {
    let mut tops = Tops::of(cluster, paths, wish.diff);
    let mut listing = Listing { cluster, wish, waiting: Vec::new() };
    // The name and the path of what has come last.
    let mut last: Option<(String, String)> = None;
    while let Some(next) = tops.next() {
        let top = match next {
            Ok(top) => top,
            Err((path, why)) => {
                each(Listed::Problem(path.into_bytes(), why))?;
                continue;
            }
        };
        if let Some((_, other)) = last.filter(|(lands_as, _)| *lands_as == top.lands_as) {
            let why = format!("lands as {}, as {other} does: name one of them with \"as\"", top.lands_as);
            each(Listed::Problem(top.status.path.clone().into_bytes(), why))?;
        }
        last = Some((top.lands_as.clone(), top.status.path.clone()));
        if above(top.lands_as.as_bytes()).any(|above| wish.selector.excludes(above, true)) {
            each(Listed::LeftOut(top.lands_as.into_bytes(), Reason::Excluded))?;
        } else {
            listing.walk(top, each)?;
        }
    }
    Ok(())
}

struct Listing<'a> {
    cluster: &'a Cluster,
    wish: &'a Wish<'a>,
    /// Directories above what was looked at last that arrive only with something in them.
    waiting: Vec<ListingEntry>,
}

/// A directory that is being walked through.
struct Level {
    lands_as: String,
    entries: ListStatusIterator,
}

impl Listing<'_> {
    fn walk(&mut self, top: Top, each: Each<'_>) -> Result<(), Halted> {
        let mut levels = Vec::new();
        if self.take(&top.lands_as, &top.status, each)? && top.is_whole {
            levels.push(self.level(top.lands_as, &top.status));
        }
        while let Some(level) = levels.last() {
            let next = match self.cluster.next(&level.entries) {
                None => None,
                Some(Ok(status)) => Some((format!("{}/{}", level.lands_as, split(&status.path).1), status)),
                Some(Err(error)) => {
                    each(match Meaning::of(&error) {
                        // Removed since it was looked at.
                        Meaning::Gone => Listed::LeftOut(level.lands_as.clone().into_bytes(), Reason::Gone),
                        _ => Listed::Problem(level.lands_as.clone().into_bytes(), words(&error)),
                    })?;
                    None
                }
            };
            match next {
                None => drop(levels.pop()),
                Some((lands_as, status)) => {
                    if self.take(&lands_as, &status, each)? {
                        levels.push(self.level(lands_as, &status));
                    }
                }
            }
        }
        Ok(())
    }

    fn level(&self, lands_as: String, directory: &FileStatus) -> Level {
        Level { lands_as, entries: self.cluster.client().list_status_iter(&directory.path, false) }
    }

    /// Gives an entry; whether it is a directory that is gone into.
    fn take(&mut self, lands_as: &str, status: &FileStatus, each: Each<'_>) -> Result<bool, Halted> {
        let path = lands_as.as_bytes();
        if split(lands_as).1.starts_with(PARTIAL) {
            return each(Listed::LeftOut(path.to_vec(), Reason::Leftover)).map(|()| false);
        }
        let kind = if status.isdir { Kind::Directory } else { Kind::File };
        let mtime_ns = nanoseconds(status.modification_time);
        let listed_kind = if status.is_symlink { Kind::Symlink } else { kind };
        if let Some(reason) = self.wish.selector.leaves_out(path, Some(listed_kind), status.length as u64, Some(mtime_ns)) {
            return each(Listed::LeftOut(path.to_vec(), reason)).map(|()| false);
        }
        if self.wish.free.is_some_and(|name| is_kept_under(name, path)) {
            let why = "lands where $.keepReplaced keeps what is replaced: leave it out with $.select.exclude, or give that another name";
            return self.problem(status, why, each);
        }
        if status.is_symlink {
            return self.problem(status, "is a symbolic link of HDFS, which is not moved: leave it out with $.select.exclude", each);
        }
        if status.is_encrypted {
            return self.problem(status, "lies in an encryption zone, whose keys this daemon does not have", each);
        }
        let mut found = entry(lands_as, kind, mtime_ns, status);
        if self.wish.wanted.is_any() {
            match self.cluster.persist(|| read(self.cluster.client(), status, self.wish.wanted)) {
                Ok(attributes) => found.attributes = Some(Box::new(attributes)),
                // Removed since it was listed.
                Err(error) if Meaning::of(&error) == Meaning::Gone => {
                    return each(Listed::LeftOut(path.to_vec(), Reason::Gone)).map(|()| false);
                }
                Err(error) => return self.problem(status, &words(&error), each),
            }
        }
        let encoded = found.path.as_bytes();
        self.waiting.retain(|above| encoded.strip_prefix(above.path.as_bytes()).is_some_and(|rest| rest.starts_with(b"/")));
        if kind == Kind::Directory && !self.wish.selector.includes(path, true) {
            self.waiting.push(found);
        } else {
            self.waiting.drain(..).try_for_each(|above| each(Listed::Entry(above)))?;
            each(Listed::Entry(found))?;
        }
        Ok(status.isdir)
    }

    fn problem(&self, status: &FileStatus, why: &str, each: Each<'_>) -> Result<bool, Halted> {
        each(Listed::Problem(status.path.clone().into_bytes(), why.to_owned())).map(|()| false)
    }
}

fn entry(lands_as: &str, kind: Kind, mtime_ns: i64, status: &FileStatus) -> ListingEntry {
    ListingEntry {
        path: percent::encode(lands_as.as_bytes()),
        source: percent::encode(status.path.as_bytes()),
        kind,
        size: if kind == Kind::File { status.length as u64 } else { 0 },
        mode: u32::from(status.permission) & 0o1777,
        mtime_ns,
        inode: status.file_id,
        target: None,
        attributes: None,
        basis: false,
        same: false,
        unreadable: false,
        stored: None,
    }
}
