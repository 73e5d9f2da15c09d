//! Times and sizes are not believed: a time that no 64-bit number of nanoseconds holds is nobody's, and a file ends where reading it ends.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use cpt_ends_posix::{PosixDestination, PosixSource};
use cpt_laboratory::directory::Directory;
use cpt_laboratory::plan;
use cpt_relay::documents::command::Compare;
use cpt_relay::documents::selection::Selection;
use cpt_relay::ends::{Listed, Source as _};
use cpt_relay::survey::compare::Listing;
use cpt_relay::survey::scan;
use cpt_relay::{receive, send};

use crate::harness::{Transfer, path};

/// 2262-04-11, the last one that 64 bits of nanoseconds hold.
const LAST: Duration = Duration::from_nanos(i64::MAX as u64);
/// 2300-01-01.
const FAR: Duration = Duration::from_secs(10_413_792_000);

fn at(file: &Path, since_1970: Duration) {
    File::open(file).unwrap().set_modified(SystemTime::UNIX_EPOCH + since_1970).unwrap();
}

/// A directory whose file system keeps a time that far out, as ext4 and tmpfs do.
fn far_reaching() -> Option<tempfile::TempDir> {
    let folders = [std::env::temp_dir(), PathBuf::from("/dev/shm")];
    let keeps = |folder: &PathBuf| {
        let folder = tempfile::tempdir_in(folder).ok()?;
        let file = folder.path().join("probe");
        fs::write(&file, b"").ok()?;
        at(&file, FAR);
        let kept = fs::metadata(&file).ok()?.modified().ok()? == SystemTime::UNIX_EPOCH + FAR;
        fs::remove_file(&file).ok()?;
        kept.then_some(folder)
    };
    let found = folders.iter().find_map(keeps);
    if found.is_none() {
        cpt_skipped::skipped("no file system here keeps times after 2262");
    }
    found
}

/// Paths and reasons of the problems that listing a directory has.
fn problems(root: &Path, exclude: &[&str]) -> Vec<(String, String)> {
    let exclude = exclude.iter().map(|rule| (*rule).to_owned()).collect();
    let source = PosixSource::new(vec![root.join("")]).selecting(Selection { exclude, ..Selection::default() });
    let mut found = Vec::new();
    let each = &mut |listed| {
        if let Listed::Problem(path, why) = listed {
            found.push((String::from_utf8(path).unwrap(), why));
        }
        Ok(())
    };
    source.list(each).unwrap();
    found
}

#[test]
fn a_file_whose_time_does_not_fit_is_named_before_anything_is_sent_and_may_be_excluded() {
    let Some(folder) = far_reaching() else { return };
    for name in ["usual", "far", "last"] {
        fs::write(folder.path().join(name), b"x").unwrap();
    }
    at(&folder.path().join("far"), FAR);
    at(&folder.path().join("last"), LAST);
    let [(path, why)] = &*problems(folder.path(), &[]) else { panic!("{:?}", problems(folder.path(), &[])) };
    assert!(path.ends_with("/far") && why.contains("modification time") && why.contains("10413792000"), "{path}: {why}");
    assert_eq!(problems(folder.path(), &["far"]), []);
}

#[test]
fn two_times_that_do_not_fit_are_not_the_same_and_none_is_the_last_that_does() {
    let Some(folder) = far_reaching() else { return };
    let [source, copy] = ["source", "copy"].map(|name| folder.path().join(name));
    for (root, content, time) in [(&source, b"new", LAST), (&copy, b"old", FAR)] {
        fs::create_dir(root).unwrap();
        fs::write(root.join("file"), content).unwrap();
        at(&root.join("file"), time);
    }
    let control = Directory::open(folder.path().join("control"), plan::RANGE_SIZE, None).unwrap();
    scan::source(&PosixSource::new(vec![source.join("")]), &control, "", scan::Options::default()).unwrap();
    let listing = Listing { control: &control, prefix: "", parts: 1 };
    let found = listing.with_destination(&PosixDestination::new(copy), Compare::SizeTime, "changed/1/", "equal/1/").unwrap();
    let found = serde_json::to_value(found).unwrap();
    assert_eq!((&found["files"], &found["sameFiles"]), (&1.into(), &0.into()), "{found}");
}

/// Files of the kernel say that they are empty, as do exports of documents from cloud drives.
#[test]
fn a_file_that_says_it_is_empty_and_is_not_is_named_and_its_neighbours_arrive() {
    let folder = tempfile::tempdir().unwrap();
    let beside = folder.path().join("beside");
    fs::write(&beside, b"").unwrap();
    let paths = vec![PathBuf::from("/proc/version"), beside];
    let mut transfer = Transfer::of(64 << 10, Some(1), Arc::new(PosixSource::new(paths)));
    let receiver = transfer.receive();
    transfer.members(vec![path("direct", &[], receiver.address)]);
    let outcome = transfer.send(None).join();
    let send::Outcome::Delivered(totals) = &outcome else { panic!("{outcome:?}") };
    assert_eq!((totals.skipped, totals.files), (1, 1));
    let skip = &transfer.skipped()[0];
    assert_eq!((skip["path"].as_str(), skip["reason"].as_str()), (Some("version"), Some("source-changed")));
    assert_eq!(skip["message"], "has more bytes than the 0 that its file system says");
    assert_eq!(receiver.join(), receive::Outcome::Agreed);
    assert!(!transfer.destination().join("version").exists());
    assert!(transfer.destination().join("beside").exists());
}
