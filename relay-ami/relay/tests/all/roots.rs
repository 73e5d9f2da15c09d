//! The source's paths: each path at the destination comes from one source, and nothing comes from beyond them.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use cpt_ends_posix::PosixSource;
use cpt_laboratory::directory::Directory;
use cpt_laboratory::plan::RANGE_SIZE;
use cpt_relay::control::Control as _;
use cpt_relay::survey::scan;
use cpt_relay::{receive, send};
use rustix::fs::{CWD, RenameFlags, renameat_with};
use serde_json::Value;

use crate::harness::{Transfer, path};

/// Makes `files` below `directory`; a name that ends with a slash is a directory.
fn fill(directory: &Path, files: &[&str]) {
    for file in files {
        let path = directory.join(file);
        fs::create_dir_all(if file.ends_with('/') { &path } else { path.parent().unwrap() }).unwrap();
        if !file.ends_with('/') {
            fs::write(path, file.as_bytes()).unwrap();
        }
    }
}

/// The survey of `roots`, below a directory that holds `files`, and the paths that it lists.
fn listed(directory: &Path, roots: &[&str]) -> (Value, Vec<String>) {
    let control = Directory::open(directory.join("control"), RANGE_SIZE, None).unwrap();
    control.clear().unwrap();
    // By their text: joined paths would lose what is at their end.
    let roots: Vec<PathBuf> = roots.iter().map(|root| format!("{}/{root}", directory.display()).into()).collect();
    let survey =
        serde_json::to_value(scan::source(&PosixSource::new(roots), &control, "", scan::Options::announcing("announcement")).unwrap())
            .unwrap();
    let mut paths = Vec::new();
    for part in 0..survey["parts"].as_u64().unwrap() {
        let text = control.read_object(&cpt_relay::documents::survey::listing_key(part), None).unwrap();
        let lines = text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
        paths.extend(lines.map(|line| serde_json::from_slice::<Value>(line).unwrap()["path"].as_str().unwrap().to_owned()));
    }
    (survey, paths)
}

#[test]
fn two_sources_for_one_path_are_a_problem_that_names_both_and_the_path() {
    type Case = (&'static [&'static str], &'static [&'static str], &'static str, &'static str, &'static str);
    let cases: &[Case] = &[
        (&["a/x", "b/x"], &["a/", "b/"], "a/x", "b/x", "x"),
        (&["a/x", "b/x/y"], &["a/", "b/"], "a/x", "b/x", "x"),
        (&["a/x/y", "b/x"], &["a/", "b/"], "a/x", "b/x", "x"),
        // Two directories of different contents: their modes and times could not both arrive.
        (&["a/x/1", "b/x/2"], &["a/", "b/"], "a/x", "b/x", "x"),
        (&["a/x", "b/x"], &["a/x", "b/"], "a/x", "b/x", "x"),
        (&["a/x", "b/x"], &["a/", "b//x"], "a/x", "b/x", "x"),
        (&["a/x", "b/x/y"], &["a/x", "b/x/."], "a/x", "b/x", "x"),
        // One and the same, by two names of its directory.
        (&["a/x"], &["a/", "a/x"], "a/x", "a/x", "x"),
        (&["a/x", "a/z", "b/z"], &["a/", "b/"], "a/z", "b/z", "z"),
    ];
    for (files, roots, first, second, name) in cases {
        let directory = tempfile::tempdir().unwrap();
        fill(directory.path(), files);
        let (survey, paths) = listed(directory.path(), roots);
        let here = directory.path().display();
        assert_eq!(survey["problemCount"], 1, "{roots:?} {survey}");
        let (path, reason) = (&survey["problems"][0]["path"], survey["problems"][0]["reason"].as_str().unwrap());
        assert_eq!(path.as_str(), Some(&*format!("{here}/{first}")), "{roots:?}");
        let words = format!("this and \"{here}/{second}\" both land as \"{name}\" at the destination");
        assert_eq!(reason.replace("//", "/").replace("/./", "/"), words, "{roots:?}");
        let mut once = paths.clone();
        once.sort();
        once.dedup();
        assert_eq!(paths.len(), once.len(), "each path is listed once: {paths:?}");
    }
}

#[test]
fn a_link_where_another_source_has_anything_is_a_problem() {
    let directory = tempfile::tempdir().unwrap();
    fill(directory.path(), &["a/", "b/x/y"]);
    symlink("y", directory.path().join("a/x")).unwrap();
    assert_eq!(listed(directory.path(), &["a/", "b/"]).0["problemCount"], 1);
    assert_eq!(listed(directory.path(), &["b/", "a/"]).0["problemCount"], 1);
}

#[test]
fn sources_of_which_none_meet_are_listed_together_in_one_order() {
    let directory = tempfile::tempdir().unwrap();
    fill(directory.path(), &["a/x", "a/d/x", "b/y", "b/x y/x", "c/x"]);
    let (survey, paths) = listed(directory.path(), &["a/", "b/", "c"]);
    assert_eq!(survey["problemCount"], 0, "{survey}");
    assert_eq!(paths, ["c", "c/x", "d", "d/x", "x", "x%20y", "x%20y/x", "y"]);
}

/// Partial files of an earlier transfer to the directory that is a source now, or to disks below it: no receiver takes their names.
#[test]
fn leftovers_of_a_transfer_are_skipped_and_counted() {
    let directory = tempfile::tempdir().unwrap();
    fill(directory.path(), &["a/.cpt-partial-old/7", "a/.cpt-partial", "a/d/.cpt-partial-old/8", "a/x", ".cpt-partial-b/x"]);
    // Marks of surveys that were killed.
    fill(directory.path(), &["a/.cpt-partial-mark-9f86", "a/d/.cpt-partial-mark-d081"]);
    let (survey, paths) = listed(directory.path(), &["a/", ".cpt-partial-b"]);
    assert_eq!((&survey["problemCount"], &survey["skipped"]), (&Value::from(0), &Value::from(5)), "{survey}");
    assert_eq!(paths, [".cpt-partial", "d", "x"]);
}

/// A user who may write at the source swaps a directory with a link, again and again, while root lists it.
#[test]
fn nothing_behind_a_link_is_listed_by_whomever_and_whenever_it_is_put_there() {
    const TRIES: u32 = 400;
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    fill(here, &["source/d/own", "secret/root-only", "secret/d/root-only"]);
    symlink(here.join("secret"), here.join("link")).unwrap();
    let (done, mut links) = (AtomicBool::new(false), 0);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                renameat_with(CWD, here.join("source/d"), CWD, here.join("link"), RenameFlags::EXCHANGE).unwrap();
            }
        });
        for attempt in 0..TRIES {
            let (_, paths) = listed(here, &["source/"]);
            links += u32::from(paths == ["d"]);
            if paths.iter().any(|path| path.contains("root-only")) {
                done.store(true, Ordering::Relaxed);
                panic!("after {attempt} scans: {paths:?}");
            }
        }
        done.store(true, Ordering::Relaxed);
    });
    println!("{TRIES} scans, {links} of them met a link");
    assert!(links > 0 && links < TRIES);
}

/// The link was there when the listing was made, so that everything the listing says of the file holds.
#[test]
fn nothing_is_sent_through_a_link_that_took_a_directorys_place() {
    let mut transfer = Transfer::plan(4096, Some(1), |root| fill(root, &["d/x", "y"]));
    let moved = transfer.source().with_file_name("moved");
    fs::rename(transfer.source().join("d"), &moved).unwrap();
    symlink(&moved, transfer.source().join("d")).unwrap();
    let (outcome, arrived) = sent(&mut transfer);
    assert!(matches!(&outcome, send::Outcome::Delivered(totals) if totals.skipped == 1), "{outcome:?}");
    let [skip] = &*transfer.skipped() else { panic!("{:?}", transfer.skipped()) };
    assert_eq!((&skip["path"], &skip["reason"]), (&Value::from("d/x"), &Value::from("source-changed")));
    assert!(!arrived.exists());
}

/// A manifest that a compromised function or end wrote.
#[test]
fn a_manifest_that_names_a_file_outside_the_source_gets_nothing_of_it() {
    let mut transfer = Transfer::plan(4096, Some(1), |root| fill(root, &["x"]));
    // The same inode, size and times, by another name of the same length: nothing else can tell them apart.
    let outside = transfer.source().with_file_name("beside");
    fs::create_dir(&outside).unwrap();
    fs::hard_link(transfer.source().join("x"), outside.join("x")).unwrap();
    let key = &transfer.plan.manifest_parts[0];
    let manifest = String::from_utf8(transfer.control.read_object(key, None).unwrap()).unwrap();
    assert!(manifest.contains("/source/x"));
    transfer.control.write_object(key, manifest.replace("/source/x", "/beside/x").into_bytes()).unwrap();
    let (outcome, _) = sent(&mut transfer);
    assert!(matches!(&outcome, send::Outcome::Delivered(totals) if totals.skipped == 1), "{outcome:?}");
    let [skip] = &*transfer.skipped() else { panic!("{:?}", transfer.skipped()) };
    assert_eq!(skip["reason"], "source-unreadable");
    assert!(skip["message"].as_str().unwrap().contains("outside the source paths"), "{skip}");
    assert!(!transfer.destination().join("x").exists());
}

/// How the sender ended, and where `d/x` would be.
fn sent(transfer: &mut Transfer) -> (send::Outcome, PathBuf) {
    let receiver = transfer.receive();
    transfer.members(vec![path("direct", &[], receiver.address)]);
    let outcome = transfer.send(None).join();
    assert_eq!(receiver.join(), receive::Outcome::Agreed);
    (outcome, transfer.destination().join("d/x"))
}
