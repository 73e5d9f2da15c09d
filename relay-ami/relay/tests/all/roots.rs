//! What a scan takes from the paths that it is given: each path at the destination from one source.

use std::fs;
use std::path::{Path, PathBuf};

use cpt_relay::control::Control as _;
use cpt_relay::control::directory::Directory;
use cpt_relay::plan::RANGE_SIZE;
use cpt_relay::scan;
use serde_json::Value;

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
    let survey = serde_json::to_value(scan::source(&roots, &control, "", Some("announcement")).unwrap()).unwrap();
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
    std::os::unix::fs::symlink("y", directory.path().join("a/x")).unwrap();
    assert_eq!(listed(directory.path(), &["a/", "b/"]).0["problemCount"], 1);
    assert_eq!(listed(directory.path(), &["b/", "a/"]).0["problemCount"], 1);
}

#[test]
fn sources_of_which_none_meet_are_listed_together() {
    let directory = tempfile::tempdir().unwrap();
    fill(directory.path(), &["a/x", "a/d/x", "b/y", "b/x y/x", "c/x"]);
    let (survey, paths) = listed(directory.path(), &["a/", "b/", "c"]);
    assert_eq!(survey["problemCount"], 0, "{survey}");
    assert_eq!(paths, ["d", "d/x", "x", "x%20y", "x%20y/x", "y", "c", "c/x"]);
}
