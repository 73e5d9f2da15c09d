//! What arrives, beside what rsync and rclone copy of the same tree.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, UNIX_EPOCH};

use cpt_relay::documents::attributes::Preserve;
use cpt_relay::documents::command::Compare;
use rustix::fs::FileType;

use super::{CHUNK, fill, following};
use crate::harness::{Transfer, list, noise};

fn delivered(transfer: &mut Transfer) -> u64 {
    transfer.plan_compared(Compare::SizeTime, CHUNK);
    transfer.deliver()
}

/// Files of one name and of several, and links to each of them, to directories, to links, and to what holds links.
fn tree(root: &Path) {
    let entries = [
        "a -> data/large",
        "again -> a",
        "b -> ROOT/data/two",
        "data/large",
        "data/one",
        "data/two",
        "dir -> data/",
        "dir2 -> dir",
        "empty/",
        "up/and -> ../data/./one",
        "up/down -> ../up/../data",
        "way -> dir2/inner/x",
        "data/inner/x",
        "data/inner/y -> ../one",
        "nowhere -> absent",
    ];
    fill(root, &entries);
    fs::write(root.join("data/large"), noise(1, 200_000)).unwrap();
    fs::hard_link(root.join("data/two"), root.join("data/two-too")).unwrap();
    fs::set_permissions(root.join("data/one"), fs::Permissions::from_mode(0o640)).unwrap();
    fs::set_permissions(root.join("data/inner"), fs::Permissions::from_mode(0o750)).unwrap();
    for directory in ["data/inner", "data", "up", "empty"] {
        File::open(root.join(directory)).unwrap().set_modified(UNIX_EPOCH + Duration::from_secs(1_000_000)).unwrap();
    }
}

fn has(program: &str) -> bool {
    let is_there = Command::new(program).arg("--version").output().is_ok();
    if !is_there {
        cpt_skipped::skipped(&format!("{program} is missing, beside which links are followed"));
    }
    is_there
}

/// Names by the file that they are of.
fn names_of_files(root: &Path) -> BTreeSet<BTreeSet<PathBuf>> {
    let mut by_inode = BTreeMap::<u64, BTreeSet<PathBuf>>::new();
    for name in list(root).into_keys() {
        let name = PathBuf::from(String::from_utf8(name).unwrap());
        let metadata = root.join(&name).symlink_metadata().unwrap();
        if metadata.is_file() {
            by_inode.entry(metadata.ino()).or_default().insert(name);
        }
    }
    by_inode.into_values().collect()
}

#[test]
fn a_destination_is_as_rsync_leaves_it_and_the_next_run_sends_nothing() {
    if !has("rsync") {
        return;
    }
    for (options, hard_links) in [("-aL", false), ("-aHL", true)] {
        let mut transfer = Transfer::plan(CHUNK, Some(1), tree);
        transfer.selection = following();
        transfer.preserve = Preserve { hard_links, ..Preserve::default() };
        let peer = transfer.directory.path().join("peer");
        let from = format!("{}/", transfer.source().display());
        // 23: one link leads nowhere.
        assert_eq!(Command::new("rsync").args([options, &from]).arg(&peer).output().unwrap().status.code(), Some(23));
        assert!(delivered(&mut transfer) > 20);
        assert_eq!(list(&transfer.destination()), list(&peer), "{options}");
        let (ours, theirs) = (names_of_files(&transfer.destination()), names_of_files(&peer));
        assert_eq!(ours, theirs, "{options}");
        let several = ours.iter().filter(|names| names.len() > 1).count();
        assert_eq!(several, usize::from(hard_links), "links alone make no names of one file: {ours:?}");
        assert_eq!(delivered(&mut transfer), 0, "{options}");
    }
}

#[test]
fn the_files_are_those_that_rclone_copies() {
    if !has("rclone") {
        return;
    }
    let mut transfer = Transfer::plan(CHUNK, Some(1), tree);
    transfer.selection = following();
    let peer = transfer.directory.path().join("peer");
    let options = ["copy", "--copy-links", "--config", "", "--retries", "1"];
    // It names the link that leads nowhere, and may fail for it.
    Command::new("rclone").args(options).args([transfer.source(), peer.clone()]).output().unwrap();
    delivered(&mut transfer);
    let contents = |root: &Path| {
        let files = list(root).into_iter().filter(|(_, (mode, ..))| FileType::from_raw_mode(*mode) == FileType::RegularFile);
        files.map(|(name, (_, at, content))| (name, at, content)).collect::<Vec<_>>()
    };
    assert_eq!(contents(&transfer.destination()), contents(&peer));
}
