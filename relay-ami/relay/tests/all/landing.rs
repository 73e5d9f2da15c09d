//! Paths of a source that arrive under another path than their own name.

use std::fs::{self, File};
use std::os::unix::fs::{MetadataExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use cpt_ends_posix::PosixSource;
use cpt_laboratory::directory::Directory;
use cpt_laboratory::plan::RANGE_SIZE;
use cpt_relay::control::Control as _;
use cpt_relay::documents::attributes::Preserve;
use cpt_relay::documents::command::Compare;
use cpt_relay::documents::selection::Selection;
use cpt_relay::documents::survey::{listing_key, unselected_key};
use cpt_relay::documents::text::LandingPath;
use cpt_relay::survey::scan;
use cpt_relay::{receive, send};
use rustix::fs::{AtFlags, CWD, Timespec, Timestamps, utimensat};
use serde_json::{Value, json};

use crate::harness::{Transfer, list, path};

const CHUNK: u64 = 64 << 10;

type Named = (&'static str, Option<&'static str>);

/// Below a directory: a run of two files in it, a file, a link, and a directory of which the contents are meant.
fn fill(root: &Path) {
    for (name, seconds) in [("run-17/a", 100), ("run-17/deep/b", 200), ("notes.txt", 300), ("set/c", 400), ("set/d/e", 500)] {
        let path = root.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, name).unwrap();
        File::open(path).unwrap().set_modified(UNIX_EPOCH + Duration::from_secs(seconds)).unwrap();
    }
    symlink("run-17", root.join("latest")).unwrap();
    // rsync takes two times within a second for one, and leaves what it has made just now as it is.
    let time = Timespec { tv_sec: 600, tv_nsec: 0 };
    let times = Timestamps { last_access: time, last_modification: time };
    utimensat(CWD, root.join("latest"), &times, AtFlags::SYMLINK_NOFOLLOW).unwrap();
    for directory in ["run-17/deep", "run-17", "set/d", "set"] {
        File::open(root.join(directory)).unwrap().set_modified(UNIX_EPOCH + Duration::from_secs(1_000)).unwrap();
    }
}

fn source(root: &Path, named: &[Named]) -> PosixSource {
    // By their text: joined paths would lose what is at their end.
    let paths: Vec<PathBuf> = named.iter().map(|(path, _)| format!("{}/{path}", root.display()).into()).collect();
    PosixSource::new(paths).landing_as(named.iter().map(|(_, lands_as)| lands_as.map(|path| path.as_bytes().to_vec())))
}

fn landing(paths: &[&str]) -> Vec<LandingPath> {
    paths.iter().map(|path| LandingPath::new(*path).unwrap()).collect()
}

/// The survey, the paths that are listed, and those that are left out.
fn listed(root: &Path, named: &[Named], selection: Value) -> (Value, Vec<String>, Vec<String>) {
    let control = Directory::open(root.join("control"), RANGE_SIZE, None).unwrap();
    control.clear().unwrap();
    let selection: Selection = serde_json::from_value(selection).unwrap();
    let source = source(root, named).selecting(selection);
    let survey = serde_json::to_value(scan::source(&source, &control, "", scan::Options::default()).unwrap()).unwrap();
    let paths = |parts: &Value, key: fn(u64) -> String| -> Vec<String> {
        let text: Vec<u8> =
            (0..parts.as_u64().unwrap_or_default()).flat_map(|part| control.read_object(&key(part), None).unwrap()).collect();
        let lines = text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
        lines.map(|line| serde_json::from_slice::<Value>(line).unwrap()["path"].as_str().unwrap().to_owned()).collect()
    };
    let (listed, left_out) = (paths(&survey["parts"], listing_key), paths(&survey["unselectedParts"], unselected_key));
    (survey, listed, left_out)
}

/// Directories that lead there have the time of whoever made them last.
fn without_times_of(tree: &Path, directories: &[&str]) -> impl PartialEq + std::fmt::Debug {
    let mut found = list(tree);
    for directory in directories {
        found.get_mut(directory.as_bytes()).unwrap().1 = 0;
    }
    found
}

#[test]
fn what_arrives_is_where_and_as_rsync_would_have_put_it() {
    if !Command::new("rsync").args(["--mkpath", "--version"]).output().is_ok_and(|found| found.status.success()) {
        cpt_skipped::skipped("rsync 3.2.3 or later is missing, beside which paths are given names");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    fill(folder.path());
    let named: [Named; 4] = [
        ("run-17", Some("2026/run-seventeen")),
        ("notes.txt", Some("2026/notes/of run 17.txt")),
        ("latest", Some("2026/latest")),
        ("set/", Some("in/here")),
    ];
    let from = source(folder.path(), &named);
    let mut transfer = Transfer::of(CHUNK, Some(1), Arc::new(from)).making(landing(&["2026", "2026/notes", "in/here"]));
    assert_eq!(transfer.deliver(), 5 + 1 + 3, "files, a link, directories of the source");
    let peer = transfer.directory.path().join("peer");
    let here = folder.path().display();
    for (from, to) in [
        ("run-17/", "2026/run-seventeen/"),
        ("notes.txt", "2026/notes/of run 17.txt"),
        ("latest", "2026/latest"),
        // To rsync the directory itself is named by this, too.
        ("set/", "in/here/"),
    ] {
        let to = peer.join(to);
        assert!(Command::new("rsync").args(["-a", "--mkpath", &format!("{here}/{from}")]).arg(to).status().unwrap().success());
    }
    let leading = ["2026", "2026/notes", "in", "in/here"];
    assert_eq!(without_times_of(&transfer.destination(), &leading), without_times_of(&peer, &leading));
    transfer.plan_compared(Compare::Digest, CHUNK);
    assert_eq!(transfer.deliver(), 0, "the next run has nothing to send");
}

#[test]
fn directories_that_lead_there_are_left_as_they_are_and_made_as_others_would_make_them() {
    let folder = tempfile::tempdir().unwrap();
    fill(folder.path());
    let from = source(folder.path(), &[("run-17", Some("kept/new/run"))]);
    let mut transfer = Transfer::of(CHUNK, Some(1), Arc::new(from)).making(landing(&["kept/new"]));
    let kept = transfer.destination().join("kept");
    fs::create_dir_all(&kept).unwrap();
    fs::set_permissions(&kept, std::os::unix::fs::PermissionsExt::from_mode(0o2751)).unwrap();
    let usual = transfer.directory.path().join("usual");
    fs::create_dir(&usual).unwrap();
    transfer.deliver();
    let mode = |path: &Path| path.metadata().unwrap().mode() & 0o7777;
    assert_eq!([mode(&kept), mode(&kept.join("new"))], [0o2751, 0o2000 | mode(&usual) & 0o755]);
}

#[test]
fn what_is_listed_is_in_the_order_of_the_paths_that_it_arrives_under() {
    let folder = tempfile::tempdir().unwrap();
    fill(folder.path());
    let (_, paths, _) = listed(
        folder.path(),
        &[("run-17/", Some("b")), ("notes.txt", Some("b/c/d")), ("set", Some("b.x")), ("latest", Some("a"))],
        json!({}),
    );
    assert_eq!(paths, ["a", "b/a", "b/c/d", "b/deep", "b/deep/b", "b.x", "b.x/c", "b.x/d", "b.x/d/e"]);
}

#[test]
fn two_paths_that_bring_one_name_or_one_below_the_other_are_a_problem_that_names_both() {
    let cases: [(&[Named], &str, &str, &str); 6] = [
        (&[("run-17", Some("x")), ("set", Some("x"))], "run-17", "x", "x"),
        (&[("run-17", Some("x")), ("set", Some("x/y"))], "run-17", "x", "x/y"),
        (&[("set", Some("x/y/z")), ("notes.txt", Some("x/y"))], "set", "x/y/z", "x/y"),
        (&[("set/", None), ("run-17", Some("c"))], "set/c", "c", "c"),
        (&[("set/", Some("x")), ("run-17", Some("x/d/e/f"))], "set/d", "x/d", "x/d/e/f"),
        (&[("set", None), ("run-17", Some("set/new"))], "set", "set", "set/new"),
    ];
    let folder = tempfile::tempdir().unwrap();
    fill(folder.path());
    for (named, first, there, here) in cases {
        let (survey, paths, _) = listed(folder.path(), named, json!({}));
        let problem = &survey["problems"][0];
        assert_eq!(
            (&survey["problemCount"], problem["path"].as_str()),
            (&1.into(), Some(&*format!("{}/{first}", folder.path().display())))
        );
        let reason = problem["reason"].as_str().unwrap();
        assert!(reason.contains(&format!("{there:?}")) && reason.contains(&format!("{here:?}")), "{reason}");
        let mut once = paths.clone();
        once.dedup();
        assert_eq!(paths, once);
    }
    for beside in [&[("run-17", Some("x")), ("set", Some("x.y"))], &[("set/", Some("x")), ("run-17", Some("x/d.e"))]] {
        assert_eq!(listed(folder.path(), beside, json!({})).0["problemCount"], 0, "{beside:?}");
    }
}

#[test]
fn rules_and_lists_are_of_the_paths_that_things_arrive_under() {
    let folder = tempfile::tempdir().unwrap();
    fill(folder.path());
    let named = [("run-17", Some("2026/run")), ("set/", Some("in/here"))];
    let of = |selection: Value| {
        let (survey, paths, left_out) = listed(folder.path(), &named, selection);
        assert_eq!(survey["problemCount"], 0, "{survey}");
        (paths.join(" "), left_out.join(" "))
    };
    let text = |listed: &str, left_out: &str| (listed.to_owned(), left_out.to_owned());
    assert_eq!(
        of(json!({"exclude": ["/2026/run/deep/", "/run-17", "c"]})),
        text("2026/run 2026/run/a in/here/d in/here/d/e", "2026/run/deep in/here/c")
    );
    assert_eq!(of(json!({"exclude": ["/2026/"]})), text("in/here/c in/here/d in/here/d/e", "2026/run"));
    assert_eq!(of(json!({"include": ["/in/"]})).0, "in/here/c in/here/d in/here/d/e");
    let list = folder.path().join("list");
    let from = |lines: &str| {
        fs::write(&list, lines).unwrap();
        of(json!({"pathsFrom": list.to_str().unwrap()})).0
    };
    let here = folder.path().display();
    assert_eq!(from("2026/run/a\n"), "2026/run 2026/run/a");
    assert_eq!(from(&format!("{here}/run-17/deep\n{here}/set/c\n")), "2026/run 2026/run/deep 2026/run/deep/b in/here/c");
    assert_eq!(from(&format!("{here}/set/\n")), "in/here/c in/here/d in/here/d/e");
    assert_eq!(from("in\n"), "in/here/c in/here/d in/here/d/e", "a directory that leads to something means all of that");
    assert_eq!(from(".\n"), "2026/run 2026/run/a 2026/run/deep 2026/run/deep/b in/here/c in/here/d in/here/d/e");
    fs::write(&list, "run-17/a\n").unwrap();
    let (survey, ..) = listed(folder.path(), &named, json!({"pathsFrom": list.to_str().unwrap()}));
    assert_eq!(survey["problemCount"], 1, "{survey}");
}

#[test]
fn a_file_of_several_names_stays_one_though_they_arrive_far_from_each_other() {
    let folder = tempfile::tempdir().unwrap();
    fill(folder.path());
    fs::hard_link(folder.path().join("run-17/a"), folder.path().join("set/z")).unwrap();
    let from = source(folder.path(), &[("run-17", Some("z/last")), ("set", Some("a/first"))]);
    let preserve = Preserve { hard_links: true, ..Preserve::default() };
    let mut transfer = Transfer::of(CHUNK, Some(1), Arc::new(from.preserving(preserve))).making(landing(&["a", "z"]));
    transfer.preserve = preserve;
    transfer.deliver();
    let inode = |path: &str| transfer.destination().join(path).metadata().map(|found| (found.ino(), found.nlink())).unwrap();
    assert_eq!(inode("a/first/z"), inode("z/last/a"));
    assert_eq!(inode("z/last/a").1, 2);
}

/// Nobody is led out of the destination, and nothing that is there goes.
#[test]
fn what_is_no_directory_and_would_have_to_lead_there_is_left_and_fails_what_arrives_below() {
    let of_file: fn(&Path) = |there| fs::write(there, "what is there").unwrap();
    let of_link: fn(&Path) = |there| symlink("..", there).unwrap();
    for put in [of_file, of_link] {
        let folder = tempfile::tempdir().unwrap();
        fill(folder.path());
        let from = source(folder.path(), &[("run-17", Some("x/run"))]);
        let mut transfer = Transfer::of(CHUNK, Some(1), Arc::new(from)).making(landing(&["x"]));
        fs::create_dir(transfer.destination()).unwrap();
        put(&transfer.destination().join("x"));
        let before = list(&transfer.destination());
        transfer.epoch += 1;
        let receiver = transfer.receive();
        transfer.members(vec![path("direct", &[], receiver.address)]);
        let send::Outcome::Delivered(totals) = transfer.send(None).join() else { panic!("all is left out by name") };
        assert_eq!((totals.skipped, receiver.join()), (4, receive::Outcome::Agreed));
        let mut after = list(&transfer.destination());
        after.retain(|path, _| !path.starts_with(b".cpt-partial-"));
        assert_eq!(after, before);
    }
}
