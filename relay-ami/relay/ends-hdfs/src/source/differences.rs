//! What is different between two snapshots of a directory: which of its entries a listing of the later one has to give.

use std::collections::BTreeMap;

use hdfs_native::client::SnapshotDifference;

use cpt_ends::above::{above, is_or_holds, order};
use cpt_wire::documents::end::SnapshotDiff;

use crate::cluster::Cluster;
use crate::fault::{Meaning, words};
use crate::path::{join, plain, split};

const SNAPSHOTS: &str = ".snapshot";

/// An entry of the later snapshot, below the directory.
#[derive(Debug, PartialEq, Eq)]
pub struct Changed {
    /// Empty for the directory itself.
    pub path: String,
    /// With all that it holds: the earlier snapshot has nothing of it under this path.
    pub is_new: bool,
}

/// The path of a directory as a snapshot has it, of itself or of a directory above it.
///
/// # Errors
///
/// In words: if no such directory has a snapshot of this name, or that has not this one.
fn within(cluster: &Cluster, directory: &str, snapshot: &str) -> Result<String, String> {
    let asked = |path: &str| cluster.persist(|| cluster.client().get_file_info(path));
    let mut above = directory;
    loop {
        let top = join(&join(above, SNAPSHOTS), snapshot);
        match asked(&top) {
            Ok(_) => {
                let path = format!("{top}{}", directory.strip_prefix(above).filter(|_| above != "/").unwrap_or(directory));
                let path = path.trim_end_matches('/').to_owned();
                return asked(&path).map(|_| path).map_err(|error| words(&error));
            }
            Err(error) if Meaning::of(&error) != Meaning::Gone => return Err(words(&error)),
            Err(_) if above == "/" => return Err(format!("neither it nor a directory above it has a snapshot {snapshot}")),
            Err(_) => above = split(above).0,
        }
    }
}

/// Whether a path is in a snapshot of this name and, without that, is `directory` or below it.
pub fn is_within(path: &str, directory: &str, snapshot: &str) -> bool {
    let Some((above, below)) = path.split_once(&format!("/{SNAPSHOTS}/{snapshot}")) else { return false };
    (below.is_empty() || below.starts_with('/')) && is_or_holds(directory.as_bytes(), format!("{above}{below}").as_bytes())
}

/// The path of the directory in the later snapshot; what has come, changed or got another path since the earlier one, and the directories
/// above that, in the order of a walk.
///
/// # Errors
///
/// In words: if there is no such snapshot of this directory, or a name is not UTF-8.
pub fn changed(cluster: &Cluster, directory: &str, diff: &SnapshotDiff) -> Result<(String, Vec<Changed>), String> {
    let (directory, from, to) = (plain(directory), diff.from.as_str(), diff.to.as_str());
    let root = within(cluster, &directory, to)?;
    let differences = cluster.persist(|| cluster.client().snapshot_diff(&directory, from, to)).map_err(|error| words(&error))?;
    Ok((root, to_list(differences)?))
}

fn to_list(differences: Vec<SnapshotDifference>) -> Result<Vec<Changed>, String> {
    let mut found: BTreeMap<Vec<u8>, bool> = BTreeMap::new();
    for SnapshotDifference { path, label, target } in differences {
        let (path, is_new) = match label.as_str() {
            "M" => (path, false),
            "+" => (path, true),
            // What it holds is at the destination under the earlier path.
            "R" => (target.ok_or_else(|| "a renamed entry has no new path".to_owned())?, true),
            "-" => continue,
            other => return Err(format!("the name node says {other:?} of an entry, which this daemon does not know")),
        };
        let path = path.strip_prefix(b"./").unwrap_or(&path).to_vec();
        for directory in above(&path) {
            found.entry(directory.to_vec()).or_default();
        }
        if !path.is_empty() {
            found.entry(Vec::new()).or_default();
        }
        *found.entry(path).or_default() |= is_new;
    }
    let mut entries: Vec<_> = found.into_iter().collect();
    entries.sort_by(|(one, _), (other, _)| order(one, other));
    let mut changed: Vec<Changed> = Vec::new();
    // The entry that is new with all that follows it, as long as that lies in it.
    let mut whole: Option<Vec<u8>> = None;
    for (path, is_new) in entries {
        if whole.as_ref().is_some_and(|above| is_or_holds(above, &path)) {
            continue;
        }
        let name = String::from_utf8(path.clone()).map_err(|_| format!("{}: is not UTF-8", String::from_utf8_lossy(&path)))?;
        changed.push(Changed { path: name, is_new });
        whole = is_new.then_some(path);
    }
    Ok(changed)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(lines: &[(&str, &str, Option<&str>)]) -> Vec<(String, bool)> {
        let difference = |(label, path, target): &(&str, &str, Option<&str>)| SnapshotDifference {
            path: path.as_bytes().to_vec(),
            label: (*label).to_owned(),
            target: target.map(|target| target.as_bytes().to_vec()),
        };
        to_list(lines.iter().map(difference).collect()).unwrap().into_iter().map(|one| (one.path, one.is_new)).collect()
    }

    fn expected(lines: &[(&str, bool)]) -> Vec<(String, bool)> {
        lines.iter().map(|(path, is_new)| ((*path).to_owned(), *is_new)).collect()
    }

    #[test]
    fn a_path_in_a_snapshot_is_that_of_its_directory() {
        assert!(is_within("/a/.snapshot/s1/b/c", "/a/b", "s1") && is_within("/a/b/.snapshot/s1", "/a/b", "s1"));
        assert!(is_within("/.snapshot/s1/a/b", "/a", "s1"));
        for wrong in ["/a/.snapshot/s1/bc", "/a/.snapshot/s12/b", "/a/b/c", "/b/.snapshot/s1/a/b"] {
            assert!(!is_within(wrong, "/a/b", "s1"), "{wrong}");
        }
    }

    #[test]
    fn what_changed_comes_with_the_directories_above_it_and_what_went_does_not() {
        let told = [("M", "", None), ("M", "a/b/c", None), ("-", "gone", None), ("+", "a!", None)];
        assert_eq!(of(&told), expected(&[("", false), ("a", false), ("a/b", false), ("a/b/c", false), ("a!", true)]));
    }

    #[test]
    fn what_is_new_is_walked_once_and_a_renamed_entry_counts_under_its_new_path() {
        let told = [("+", "d", None), ("M", "d/x", None), ("R", "old", Some("d/sub/new")), ("R", "e", Some("f"))];
        assert_eq!(of(&told), expected(&[("", false), ("d", true), ("f", true)]));
        assert_eq!(of(&[]), Vec::new());
    }
}
