//! What lands at the top of a destination, or in a directory that no source has, in the order of a walk.

use std::cmp::Ordering;
use std::collections::{BinaryHeap, VecDeque};

use hdfs_native::HdfsError;
use hdfs_native::client::{FileStatus, ListStatusIterator};

use cpt_ends::above::order;
use cpt_wire::documents::end::SnapshotDiff;

use super::Asked;
use super::differences::{Changed, changed};
use crate::cluster::Cluster;
use crate::fault::{Meaning, words};
use crate::path::{join, plain, split};

pub struct Top {
    pub lands_as: String,
    pub status: FileStatus,
    /// With all that it holds.
    pub is_whole: bool,
}

/// The path that was asked for, and in words why there is nothing of it, or nothing more.
pub type Failed = (String, String);

/// Those of all paths. The name node sorts the names in a directory as a walk does, so the next one of each path is enough.
pub struct Tops<'a> {
    cluster: &'a Cluster,
    paths: &'a [Asked],
    rest: Vec<Rest>,
    heads: BinaryHeap<Head>,
    failed: VecDeque<Failed>,
}

/// What of a path comes after its head.
enum Rest {
    Nothing,
    /// What lies in a directory, which lands below this.
    Entries(ListStatusIterator, Option<String>),
    /// Below this directory of a snapshot.
    Changes(String, VecDeque<Changed>),
}

/// The next one of the path of this number.
struct Head(Top, usize);

impl Ord for Head {
    /// What comes first in a walk is the greatest, and of the same name the path that was asked for first.
    fn cmp(&self, other: &Self) -> Ordering {
        let (own, others) = (self.0.lands_as.as_bytes(), other.0.lands_as.as_bytes());
        order(others, own).then(other.1.cmp(&self.1))
    }
}

impl PartialOrd for Head {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Head {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Head {}

impl<'a> Tops<'a> {
    /// `diff`: only what has changed between two snapshots.
    pub fn of(cluster: &'a Cluster, paths: &'a [Asked], diff: Option<&SnapshotDiff>) -> Self {
        let mut tops = Self { cluster, paths, rest: Vec::new(), heads: BinaryHeap::new(), failed: VecDeque::new() };
        for (number, asked) in paths.iter().enumerate() {
            let begun = match diff {
                Some(diff) => changed(cluster, &asked.path, diff).map(|(root, changes)| (None, Rest::Changes(root, changes.into()))),
                None => tops.found(asked),
            };
            let (head, rest) = begun.unwrap_or_else(|why| {
                tops.failed.push_back((asked.path.clone(), why));
                (None, Rest::Nothing)
            });
            tops.rest.push(rest);
            match head {
                Some(top) => tops.heads.push(Head(top, number)),
                None => tops.pull(number),
            }
        }
        tops
    }

    pub fn next(&mut self) -> Option<Result<Top, Failed>> {
        if let Some(failed) = self.failed.pop_front() {
            return Some(Err(failed));
        }
        let Head(top, number) = self.heads.pop()?;
        self.pull(number);
        Some(Ok(top))
    }

    /// What a path brings to the top: itself, or what lies in it.
    fn found(&self, asked: &Asked) -> Result<(Option<Top>, Rest), String> {
        let path = plain(&asked.path);
        let status = self.cluster.persist(|| self.cluster.client().get_file_info(&path)).map_err(|error| in_words(&error))?;
        let is_whole = !asked.path.ends_with('/');
        let own = split(&path).1;
        if is_whole && !own.is_empty() {
            let lands_as = asked.lands_as.clone().unwrap_or_else(|| own.to_owned());
            return Ok((Some(Top { lands_as, status, is_whole: true }), Rest::Nothing));
        }
        if !status.isdir {
            return Err("is no directory: name it without a slash at its end".to_owned());
        }
        Ok((None, Rest::Entries(self.cluster.client().list_status_iter(&path, false), asked.lands_as.clone())))
    }

    /// The next one of a path becomes its head.
    fn pull(&mut self, number: usize) {
        match self.following(number) {
            Ok(None) => {}
            Ok(Some(top)) => self.heads.push(Head(top, number)),
            Err(why) => self.failed.push_back((self.paths[number].path.clone(), why)),
        }
    }

    fn following(&mut self, number: usize) -> Result<Option<Top>, String> {
        let (cluster, asked) = (self.cluster, &self.paths[number]);
        match &mut self.rest[number] {
            Rest::Nothing => Ok(None),
            Rest::Entries(entries, above) => {
                let Some(entry) = cluster.next(entries) else { return Ok(None) };
                let status = entry.map_err(|error| in_words(&error))?;
                let name = split(&status.path).1;
                let lands_as = above.as_ref().map_or_else(|| name.to_owned(), |above| format!("{above}/{name}"));
                Ok(Some(Top { lands_as, status, is_whole: true }))
            }
            Rest::Changes(root, changes) => {
                while let Some(change) = changes.pop_front() {
                    if let Some(top) = changed_top(cluster, asked, root, change)? {
                        return Ok(Some(top));
                    }
                }
                Ok(None)
            }
        }
    }
}

/// An entry of the later snapshot; none of what it has no more.
fn changed_top(cluster: &Cluster, asked: &Asked, root: &str, change: Changed) -> Result<Option<Top>, String> {
    let Changed { path, is_new } = change;
    let own = plain(&asked.path);
    let name = if asked.path.ends_with('/') { "" } else { split(&own).1 };
    let top = asked.lands_as.as_deref().unwrap_or(name);
    let lands_as = [top, &path].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("/");
    // The destination's own directory is nobody's entry.
    if lands_as.is_empty() {
        return Ok(None);
    }
    let at = if path.is_empty() { root.to_owned() } else { join(root, &path) };
    match cluster.persist(|| cluster.client().get_file_info(&at)) {
        Ok(status) => Ok(Some(Top { lands_as, status, is_whole: is_new })),
        // What has changed and was renamed then comes under its new path.
        Err(error) if Meaning::of(&error) == Meaning::Gone => Ok(None),
        Err(error) => Err(in_words(&error)),
    }
}

fn in_words(error: &HdfsError) -> String {
    match Meaning::of(error) {
        Meaning::Gone => "no such file or directory in HDFS".to_owned(),
        _ => words(error),
    }
}
