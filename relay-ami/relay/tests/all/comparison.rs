//! What a comparison finds at the destination already, and what it leaves to be sent.

use std::fs::{self, File, Permissions};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;
use std::time::{Duration, SystemTime};

use cpt_ends_posix::{PosixDestination, PosixSource};
use cpt_laboratory::directory::Directory;
use cpt_laboratory::plan;
use cpt_relay::control::Control as _;
use cpt_relay::documents::command::Compare;
use cpt_relay::documents::entry::ListingEntry;
use cpt_relay::ends::Destination as _;
use cpt_relay::survey::compare::Listing;
use cpt_relay::survey::scan;
use serde_json::Value;

fn fill(root: &Path) {
    fs::create_dir_all(root.join("deep")).unwrap();
    fs::write(root.join("deep/file"), "12345").unwrap();
    fs::write(root.join("other"), "678").unwrap();
    symlink("other", root.join("link")).unwrap();
}

fn at(path: &Path, time: SystemTime) {
    File::open(path).unwrap().set_modified(time).unwrap();
}

/// A source and its copy, changed by `change`; what the comparison prints, and the paths that it leaves to be sent.
fn compared(by: Compare, change: impl FnOnce(&Path)) -> (Value, Vec<String>) {
    let folder = tempfile::tempdir().unwrap();
    let (source, copy) = (folder.path().join("source"), folder.path().join("copy"));
    fill(&source);
    assert!(std::process::Command::new("cp").arg("-a").args([&source, &copy]).status().unwrap().success());
    change(&copy);
    let control = Directory::open(folder.path().join("control"), plan::RANGE_SIZE, None).unwrap();
    let from = PosixSource::new(vec![source.join("")]);
    scan::source(&from, &control, "", scan::Options::default()).unwrap();
    let listing = Listing { control: &control, prefix: "", parts: 1 };
    if by == Compare::Digest {
        listing.digests(&from).unwrap();
    }
    let found =
        serde_json::to_value(listing.with_destination(&PosixDestination::new(copy), by, "changed/1/", "equal/1/").unwrap()).unwrap();
    let parts = found["parts"].as_u64().unwrap();
    let left = (0..parts).flat_map(|part| {
        let text = control.read_object(&format!("changed/1/part-{part:05}.ndjson"), None).unwrap();
        let lines: Vec<String> =
            text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).map(|line| ListingEntry::parse(line).unwrap().path).collect();
        lines
    });
    let left = left.collect();
    (found, left)
}

#[test]
fn a_copy_leaves_nothing_to_be_sent() {
    let (found, left) = compared(Compare::SizeTime, |_| {});
    assert_eq!((&found["sameFiles"], &found["sameBytes"], &found["files"], &found["bytes"]), (&2.into(), &8.into(), &0.into(), &0.into()));
    assert_eq!((&found["directories"], &found["parts"], left.len()), (&0.into(), &0.into(), 0));
}

#[test]
fn where_nothing_is_all_is_sent() {
    let (found, left) = compared(Compare::SizeTime, |copy| fs::remove_dir_all(copy).unwrap());
    assert_eq!((&found["files"], &found["bytes"], &found["symlinks"]), (&2.into(), &8.into(), &1.into()));
    assert_eq!((&found["largestFileBytes"], &found["sameFiles"]), (&5.into(), &0.into()));
    assert_eq!((&found["newFiles"], &found["newBytes"]), (&2.into(), &8.into()));
    assert_eq!(left, ["deep", "deep/file", "link", "other"]);
}

#[test]
fn a_file_of_another_time_size_or_mode_is_sent_with_the_directories() {
    let later = SystemTime::now() + Duration::from_secs(9);
    let changes: [&dyn Fn(&Path); 3] = [
        &|copy| at(&copy.join("other"), later),
        &|copy| {
            let time = fs::metadata(copy.join("other")).unwrap().modified().unwrap();
            fs::write(copy.join("other"), "longer").unwrap();
            at(&copy.join("other"), time);
        },
        &|copy| fs::set_permissions(copy.join("other"), Permissions::from_mode(0o700)).unwrap(),
    ];
    for change in changes {
        let (found, left) = compared(Compare::SizeTime, change);
        assert_eq!(left, ["deep", "other"]);
        assert_eq!((&found["files"], &found["bytes"], &found["sameBytes"]), (&1.into(), &3.into(), &5.into()));
        assert_eq!((&found["newFiles"], &found["newBytes"]), (&0.into(), &0.into()));
    }
}

#[test]
fn a_file_in_whose_place_there_is_nothing_is_new_and_one_below_a_file_is_not() {
    let (found, _) = compared(Compare::SizeTime, |copy| fs::remove_file(copy.join("other")).unwrap());
    assert_eq!((&found["files"], &found["newFiles"], &found["newBytes"]), (&1.into(), &1.into(), &3.into()));
    let (found, _) = compared(Compare::SizeTime, |copy| {
        fs::remove_dir_all(copy.join("deep")).unwrap();
        fs::write(copy.join("deep"), "in the way").unwrap();
    });
    assert_eq!((&found["files"], &found["newFiles"]), (&1.into(), &0.into()));
}

#[test]
fn by_digest_the_content_counts_and_not_its_time() {
    let touched = |copy: &Path| at(&copy.join("other"), SystemTime::now() + Duration::from_secs(9));
    assert_eq!(compared(Compare::Digest, touched).1, [""; 0]);
    let (found, left) = compared(Compare::Digest, |copy| {
        let time = fs::metadata(copy.join("other")).unwrap().modified().unwrap();
        fs::write(copy.join("other"), "876").unwrap();
        at(&copy.join("other"), time);
    });
    assert_eq!(left, ["deep", "other"]);
    assert_eq!((&found["files"], &found["bytes"], &found["sameBytes"]), (&1.into(), &3.into(), &5.into()));
}

#[test]
fn a_link_elsewhere_and_a_path_through_a_link_are_no_copies() {
    let (_, left) = compared(Compare::SizeTime, |copy| {
        fs::remove_file(copy.join("link")).unwrap();
        symlink("elsewhere", copy.join("link")).unwrap();
        fs::rename(copy.join("deep"), copy.join("moved")).unwrap();
        symlink("moved", copy.join("deep")).unwrap();
    });
    assert_eq!(left, ["deep", "deep/file", "link"]);
}

#[test]
fn partial_files_do_not_make_a_destination_occupied() {
    let folder = tempfile::tempdir().unwrap();
    let occupied = || serde_json::to_value(PosixDestination::new(folder.path().to_owned()).room().survey()).unwrap()["occupied"].clone();
    fs::create_dir(folder.path().join(".cpt-partial-t-1")).unwrap();
    assert_eq!(occupied(), false);
    fs::write(folder.path().join("file"), "").unwrap();
    assert_eq!(occupied(), true);
}
