//! The directory that a path leads to, whatever it is called: links, "..", bind mounts.
//!
//! A directory is known by device and inode; one that does not exist yet by the nearest that does, and the names below. The
//! device's number is that of one mount: two mounts of one network file system are not known to be the same. Between machines inode and
//! time of birth are compared, and the name that a server has for it.

use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Component, Path, PathBuf};
use std::time::UNIX_EPOCH;

use super::mounts::{Mount, mount_of, mounts};
use cpt_wire::documents::percent;
use cpt_wire::documents::survey::{Place, Way};

/// Directories in all ways together: SSM keeps 24 000 characters of what a scan prints, and each is one of 62 at most.
const MOST_DIRECTORIES: usize = 256;
/// Of what is told of a source's paths, in JSON.
const MOST_CHARACTERS: usize = 12_000;
/// Paths of a source of which is told where they are.
const MOST_PLACES: usize = 32;

/// The ways to `path`: its own first, then those through other mounts of the same directories.
#[must_use]
pub fn ways(path: &Path) -> Vec<Way> {
    ways_from(nearest(path), MOST_DIRECTORIES, &mounts())
}

/// Where a source's paths are. Of many paths the first ones are told, and of each its own directory and some above it.
#[must_use]
pub fn places<'a>(paths: impl ExactSizeIterator<Item = &'a PathBuf>) -> Vec<Place> {
    let mounts = mounts();
    let told = paths.len().min(MOST_PLACES);
    let most = (MOST_DIRECTORIES / 2 / told.max(1)).max(2);
    let place = |path: &PathBuf| Place { path: percent::encode(path.as_os_str().as_bytes()), ways: ways_from(named(path), most, &mounts) };
    let mut left = MOST_CHARACTERS;
    let fits = |place: &Place| {
        let length = serde_json::to_string(place).map_or(left, |text| text.len());
        left = left.saturating_sub(length);
        left > 0
    };
    paths.take(told).map(place).take_while(fits).collect()
}

/// As [`nearest`]; a file, or a link that is meant itself, is the last of the names below the directory that holds it.
fn named(path: &Path) -> (PathBuf, Vec<String>) {
    let is_entered = path.as_os_str().as_bytes().ends_with(b"/") || fs::symlink_metadata(path).is_ok_and(|found| found.is_dir());
    match (path.parent(), path.file_name()) {
        (Some(parent), Some(name)) if !is_entered => {
            let (existing, mut missing) = nearest(parent);
            missing.push(percent::encode(name.as_bytes()));
            (existing, missing)
        }
        _ => nearest(path),
    }
}

fn ways_from(path: (PathBuf, Vec<String>), most: usize, mounts: &[Mount]) -> Vec<Way> {
    let mut paths = vec![path];
    let mut found: Vec<Way> = Vec::new();
    let mut next = 0;
    let mut left = most;
    while let Some((existing, missing)) = paths.get(next).cloned()
        && left > 0
    {
        next += 1;
        for directory in elsewhere(&existing, mounts) {
            if !paths.iter().any(|(known, _)| *known == directory) {
                paths.push((directory, missing.clone()));
            }
        }
        let way = way(&existing, &missing, left, mounts);
        left -= way.directories.len();
        found.push(way);
    }
    found
}

/// The nearest directory that exists, without links, and the names below it that do not.
fn nearest(path: &Path) -> (PathBuf, Vec<String>) {
    for ancestor in path.ancestors() {
        if let Ok(existing) = fs::canonicalize(ancestor) {
            let mut missing = Vec::new();
            for component in path.strip_prefix(ancestor).unwrap_or_else(|_| Path::new("")).components() {
                match component {
                    Component::Normal(name) => missing.push(percent::encode(name.as_bytes())),
                    Component::ParentDir => drop(missing.pop()),
                    Component::CurDir | Component::RootDir | Component::Prefix(_) => {}
                }
            }
            return (existing, missing);
        }
    }
    (PathBuf::from("/"), Vec::new())
}

/// The way along a path without links, of the nearest `most` directories.
fn way(existing: &Path, missing: &[String], most: usize, mounts: &[Mount]) -> Way {
    let (mut directories, mut births) = (Vec::new(), Vec::new());
    let mut names: Vec<String> = Vec::new();
    for ancestor in existing.ancestors().take(most) {
        let Ok(metadata) = fs::metadata(ancestor) else { break };
        directories.push(format!("{}:{}", metadata.dev(), metadata.ino()));
        let born = metadata.created().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        births.push(born.and_then(|since| i64::try_from(since.as_nanos()).ok()).unwrap_or_default());
        names.extend(ancestor.file_name().map(|name| percent::encode(name.as_bytes())));
    }
    // The farthest directory's own name is not looked up in any of these.
    names.truncate(directories.len().saturating_sub(1));
    directories.reverse();
    births.reverse();
    names.reverse();
    names.extend_from_slice(missing);
    let file_system = mount_of(existing, mounts).map(|mount| mount.file_system(existing, missing));
    Way { directories, names, births, file_system }
}

/// The same directory by the names that other mounts of its file system give it.
fn elsewhere(existing: &Path, mounts: &[Mount]) -> Vec<PathBuf> {
    let Some(here) = mount_of(existing, mounts) else { return Vec::new() };
    let inside = here.root.join(existing.strip_prefix(&here.point).unwrap_or_else(|_| Path::new("")));
    let others = mounts.iter().filter(|other| other.device == here.device && other.point != here.point);
    let named = others.filter_map(|other| Some(other.point.join(inside.strip_prefix(&other.root).ok()?)));
    named.filter(|directory| same(directory, existing)).collect()
}

fn same(one: &Path, other: &Path) -> bool {
    let id = |path: &Path| fs::metadata(path).map(|metadata| (metadata.dev(), metadata.ino())).ok();
    id(one).is_some() && id(one) == id(other)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns whether one is the other or lies inside it, as the lock compares them.
    fn lead_together(one: &[Way], other: &[Way]) -> bool {
        let below = |ways: &[Way]| -> Vec<(String, Vec<String>)> {
            ways.iter().flat_map(|way| way.directories.iter().enumerate().map(|(at, id)| (id.clone(), way.names[at..].to_vec()))).collect()
        };
        let theirs = below(other);
        below(one)
            .iter()
            .any(|(id, names)| theirs.iter().any(|(other, more)| id == other && names.iter().zip(more).all(|(name, other)| name == other)))
    }

    #[test]
    fn a_link_and_dots_lead_to_the_directory_itself_and_a_neighbour_does_not() {
        let folder = tempfile::tempdir().unwrap();
        let here = folder.path();
        fs::create_dir_all(here.join("data/restore")).unwrap();
        fs::create_dir(here.join("data/other")).unwrap();
        std::os::unix::fs::symlink(here.join("data"), here.join("link")).unwrap();
        let real = ways(&here.join("data/restore"));
        for name in ["link/restore", "link/../data/./restore", "data/other/../restore/", "link/restore/deep/er", "link"] {
            assert!(lead_together(&real, &ways(&here.join(name))), "{name}");
        }
        for name in ["link/other", "data/restore2", "elsewhere", "link/other/restore"] {
            assert!(!lead_together(&real, &ways(&here.join(name))), "{name}");
        }
    }

    #[test]
    fn names_that_do_not_exist_yet_are_compared_too() {
        let folder = tempfile::tempdir().unwrap();
        let here = folder.path();
        fs::create_dir(here.join("data")).unwrap();
        std::os::unix::fs::symlink("data", here.join("link")).unwrap();
        let before = ways(&here.join("data/new/inner"));
        assert_eq!(before[0].names.iter().rev().take(3).rev().collect::<Vec<_>>(), ["data", "new", "inner"]);
        assert!(lead_together(&before, &ways(&here.join("link/new"))));
        assert!(!lead_together(&before, &ways(&here.join("link/new/outer"))));
        // Made meanwhile, by the transfer that holds it.
        fs::create_dir_all(here.join("data/new/inner/made")).unwrap();
        assert!(lead_together(&before, &ways(&here.join("link/new/inner/made"))));
        assert!(!lead_together(&before, &ways(&here.join("link/new/other"))));
    }

    #[test]
    fn a_deep_path_names_no_more_directories_than_can_be_printed() {
        let folder = tempfile::tempdir().unwrap();
        let deep = (0..300).fold(folder.path().to_owned(), |path, _| path.join("d"));
        fs::create_dir_all(&deep).unwrap();
        let found = ways(&deep);
        assert_eq!(found.iter().map(|way| way.directories.len()).sum::<usize>(), MOST_DIRECTORIES);
        assert!(found[0].names.len() == MOST_DIRECTORIES - 1 && lead_together(&found, &ways(deep.parent().unwrap())));
    }

    #[test]
    fn a_bind_mount_of_an_inner_directory_lies_inside_the_outer_one() {
        if !rustix::process::geteuid().is_root() {
            cpt_skipped::skipped("only root may mount: what mounts do is tested as root");
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        let here = folder.path();
        for name in ["data/x/sub", "mnt/bind point", "data/y"] {
            fs::create_dir_all(here.join(name)).unwrap();
        }
        let (inner, point) = (here.join("data/x"), here.join("mnt/bind point"));
        if !std::process::Command::new("mount").arg("--bind").args([&inner, &point]).status().unwrap().success() {
            cpt_skipped::skipped("this container may not mount");
            return;
        }
        let checks = [("mnt/bind point/sub", true), ("mnt/bind point", true), ("mnt/bind point/sub/new", true), ("mnt", true)]
            .map(|(name, expected)| (name, expected, lead_together(&ways(&here.join("data/x/sub")), &ways(&here.join(name)))));
        let outer = lead_together(&ways(&here.join("data")), &ways(&here.join("mnt/bind point/sub/new")));
        let beside = lead_together(&ways(&here.join("data/y")), &ways(&point));
        let status = std::process::Command::new("umount").arg(&point).status().unwrap();
        assert!(status.success());
        for (name, expected, found) in checks {
            assert_eq!(found, expected, "{name}");
        }
        assert!(outer && !beside);
    }
}
