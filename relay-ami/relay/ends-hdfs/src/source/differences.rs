//! What is different between two snapshots of a directory: which of its entries a listing of the later one has to give.

use std::collections::BTreeMap;

use hdfs_native::client::SnapshotDifference;

use cpt_ends::above::{above, is_or_holds, order};
use cpt_wire::documents::end::SnapshotDiff;

use crate::cluster::Cluster;
use crate::fault::words;
use crate::path::{join, plain};

/// An entry of the later snapshot, below the directory.
#[derive(Debug, PartialEq, Eq)]
pub struct Changed {
    /// Empty for the directory itself.
    pub path: String,
    /// With all that it holds: the earlier snapshot has nothing of it under this path.
    pub is_new: bool,
}

/// The path of a directory as a snapshot has it.
pub fn within(directory: &str, snapshot: &str) -> String {
    join(&join(&plain(directory), ".snapshot"), snapshot)
}

/// What has come, changed or got another path since the earlier snapshot, and the directories above that, in the order of a walk.
///
/// # Errors
///
/// In words: if there is no such snapshot of this directory, or a name is not UTF-8.
pub fn changed(cluster: &Cluster, directory: &str, diff: &SnapshotDiff) -> Result<Vec<Changed>, String> {
    let (directory, from, to) = (plain(directory), diff.from.as_str(), diff.to.as_str());
    let differences = cluster.persist(|| cluster.client().snapshot_diff(&directory, from, to)).map_err(|error| words(&error))?;
    to_list(differences)
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
