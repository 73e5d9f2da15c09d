//! The directory that a path leads to, whatever it is called: links, "..", bind mounts.
//!
//! A directory is known by device and inode; one that does not exist yet by the nearest that does, and the names below. The
//! device's number is that of one mount: two mounts of one network file system are not known to be the same.

use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Component, Path, PathBuf};

use crate::documents::percent;
use crate::documents::survey::Way;

/// Directories in all ways together: SSM keeps 24 000 characters of what a scan prints, and each is one of 41 at most.
const MOST_DIRECTORIES: usize = 256;

/// A line of /proc/self/mountinfo.
struct Mount {
    device: String,
    /// The directory of its file system that is mounted.
    root: PathBuf,
    point: PathBuf,
}

/// The ways to `path`: its own first, then those through other mounts of the same directories.
#[must_use]
pub fn ways(path: &Path) -> Vec<Way> {
    let (existing, missing) = nearest(path);
    let text = fs::read("/proc/self/mountinfo").unwrap_or_default();
    let mounts: Vec<Mount> = text.split(|byte| *byte == b'\n').filter_map(mount).collect();
    let mut paths = vec![(existing, missing)];
    let mut found: Vec<Way> = Vec::new();
    let mut next = 0;
    let mut left = MOST_DIRECTORIES;
    while let Some((existing, missing)) = paths.get(next).cloned()
        && left > 0
    {
        next += 1;
        for directory in elsewhere(&existing, &mounts) {
            if !paths.iter().any(|(known, _)| *known == directory) {
                paths.push((directory, missing.clone()));
            }
        }
        let way = way(&existing, &missing, left);
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
fn way(existing: &Path, missing: &[String], most: usize) -> Way {
    let mut directories = Vec::new();
    let mut names: Vec<String> = Vec::new();
    for ancestor in existing.ancestors().take(most) {
        let Ok(metadata) = fs::metadata(ancestor) else { break };
        directories.push(format!("{}:{}", metadata.dev(), metadata.ino()));
        names.extend(ancestor.file_name().map(|name| percent::encode(name.as_bytes())));
    }
    // The farthest directory's own name is not looked up in any of these.
    names.truncate(directories.len().saturating_sub(1));
    directories.reverse();
    names.reverse();
    names.extend_from_slice(missing);
    Way { directories, names }
}

/// The same directory by the names that other mounts of its file system give it.
fn elsewhere(existing: &Path, mounts: &[Mount]) -> Vec<PathBuf> {
    // Of several that are mounted on one another the last is seen.
    let Some(here) = mounts.iter().filter(|mount| existing.starts_with(&mount.point)).max_by_key(|mount| mount.point.components().count())
    else {
        return Vec::new();
    };
    let inside = here.root.join(existing.strip_prefix(&here.point).unwrap_or_else(|_| Path::new("")));
    let others = mounts.iter().filter(|other| other.device == here.device && other.point != here.point);
    let named = others.filter_map(|other| Some(other.point.join(inside.strip_prefix(&other.root).ok()?)));
    named.filter(|directory| same(directory, existing)).collect()
}

fn same(one: &Path, other: &Path) -> bool {
    let id = |path: &Path| fs::metadata(path).map(|metadata| (metadata.dev(), metadata.ino())).ok();
    id(one).is_some() && id(one) == id(other)
}

fn mount(line: &[u8]) -> Option<Mount> {
    let mut fields = line.split(|byte| *byte == b' ');
    let device = fields.nth(2)?;
    let (root, point) = (fields.next()?, fields.next()?);
    Some(Mount { device: String::from_utf8_lossy(device).into_owned(), root: unescaped(root), point: unescaped(point) })
}

/// Blanks, tabs, line feeds and backslashes are written as `\040`.
fn unescaped(text: &[u8]) -> PathBuf {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((first, after)) = rest.split_first() {
        let digits = after.get(..3).filter(|digits| *first == b'\\' && digits.iter().all(|digit| (b'0'..b'8').contains(digit)));
        if let Some(digits) = digits {
            bytes.push(digits.iter().fold(0u8, |sum, digit| sum.wrapping_mul(8).wrapping_add(digit - b'0')));
            rest = &after[3..];
        } else {
            bytes.push(*first);
            rest = after;
        }
    }
    PathBuf::from(std::ffi::OsStr::from_bytes(&bytes))
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
            eprintln!("only root may mount: what mounts do is tested as root");
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        let here = folder.path();
        for name in ["data/x/sub", "mnt/bind point", "data/y"] {
            fs::create_dir_all(here.join(name)).unwrap();
        }
        let (inner, point) = (here.join("data/x"), here.join("mnt/bind point"));
        if !std::process::Command::new("mount").arg("--bind").args([&inner, &point]).status().unwrap().success() {
            eprintln!("this container may not mount");
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

    #[test]
    fn escapes_of_mountinfo_are_bytes() {
        let line = br"36 35 98:0 /mnt1 /mnt\040with\134blank rw,noatime master:1 - ext3 /dev/root rw";
        let found = mount(line).unwrap();
        assert_eq!((found.device.as_str(), found.root.as_path()), ("98:0", Path::new("/mnt1")));
        assert_eq!(found.point, Path::new("/mnt with\\blank"));
    }
}
