//! What is listed of a source by the rules of a request.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, UNIX_EPOCH};

use cpt_ends_posix::PosixSource;
use cpt_laboratory::directory::Directory;
use cpt_laboratory::plan::RANGE_SIZE;
use cpt_relay::control::Control as _;
use cpt_relay::documents::selection::Selection;
use cpt_relay::documents::survey::{listing_key, unselected_key};
use cpt_relay::survey::scan;
use serde_json::{Value, json};

use crate::users::is_root;

/// Files of so many bytes, modified so many seconds after 1970.
const FILES: &[(&str, u64, u64)] = &[
    ("a.o", 10, 100),
    ("a.c", 20, 200),
    ("keep/b.o", 30, 300),
    ("keep/b.c", 40, 400),
    ("keep/deep/c.c", 50, 500),
    ("cache/x", 60, 600),
    ("only/objects.o", 70, 700),
];

fn fill(root: &Path) {
    for (path, size, seconds) in FILES {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, vec![b'x'; usize::try_from(*size).unwrap()]).unwrap();
        File::open(&path).unwrap().set_modified(UNIX_EPOCH + Duration::from_secs(*seconds)).unwrap();
    }
    fs::create_dir(root.join("empty")).unwrap();
}

fn lines(control: &Directory, parts: u64, key: fn(u64) -> String) -> Vec<Value> {
    let text: Vec<u8> = (0..parts).flat_map(|part| control.read_object(&key(part), None).unwrap()).collect();
    text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).map(|line| serde_json::from_slice(line).unwrap()).collect()
}

/// The survey of `{root}/source/`, the paths that it lists, and those that it does not with their reasons.
fn listed(root: &Path, selection: Value) -> (Value, Vec<String>, Vec<(String, String)>) {
    let control = Directory::open(root.join("control"), RANGE_SIZE, None).unwrap();
    control.clear().unwrap();
    let selection: Selection = serde_json::from_value(selection).unwrap();
    let source = PosixSource::new(vec![format!("{}/source/", root.display()).into()]).selecting(selection);
    let survey = serde_json::to_value(scan::source(&source, &control, "", scan::Options::default()).unwrap()).unwrap();
    let text = |line: &Value, name: &str| line[name].as_str().unwrap().to_owned();
    let paths = lines(&control, survey["parts"].as_u64().unwrap(), listing_key).iter().map(|line| text(line, "path")).collect();
    let left_out = lines(&control, survey["unselectedParts"].as_u64().unwrap_or_default(), unselected_key);
    let left_out = left_out.iter().map(|line| (text(line, "path"), text(line, "reason"))).collect();
    (survey, paths, left_out)
}

fn selected(selection: Value) -> (Value, Vec<String>, Vec<(String, String)>) {
    let folder = tempfile::tempdir().unwrap();
    fill(&folder.path().join("source"));
    listed(folder.path(), selection)
}

fn pairs(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs.iter().map(|(path, reason)| ((*path).to_owned(), (*reason).to_owned())).collect()
}

#[test]
fn without_rules_everything_is_listed() {
    let (survey, paths, left_out) = selected(json!({}));
    assert_eq!((&survey["files"], &survey["directories"], survey.get("unselected"), left_out.len()), (&7.into(), &5.into(), None, 0));
    assert_eq!(paths.len(), 12);
}

#[test]
fn what_is_excluded_is_not_counted_and_named_with_its_reason() {
    let (survey, paths, left_out) = selected(json!({"exclude": ["*.o", "/cache/", "!/keep/b.o"]}));
    assert_eq!(paths, ["a.c", "empty", "keep", "keep/b.c", "keep/b.o", "keep/deep", "keep/deep/c.c", "only"]);
    assert_eq!(left_out, pairs(&[("a.o", "excluded"), ("cache", "excluded"), ("only/objects.o", "excluded")]));
    assert_eq!((&survey["bytes"], &survey["unselected"]), (&140.into(), &json!({"excluded": 3})));
}

/// Nothing in it is looked at: it may hold millions, or be broken.
#[test]
fn an_excluded_directory_is_not_read() {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("source");
    fill(&source);
    let inside = source.join("cache").join("d".repeat(200));
    fs::create_dir_all(&inside).unwrap();
    // So deep that whoever walks it meets a path that is too long.
    let mut deepest = fs::canonicalize(&inside).unwrap();
    while deepest.as_os_str().len() + 260 < 4000 {
        deepest.push("e".repeat(250));
        fs::create_dir(&deepest).unwrap();
    }
    fs::write(deepest.join("f".repeat(50)), "").unwrap();
    let moved = folder.path().join("source/longer-name-for-the-cache");
    fs::rename(source.join("cache"), &moved).unwrap();
    fs::rename(&moved, source.join("cache")).unwrap();
    let opened =
        |exclude: Value| listed(folder.path(), json!({"exclude": exclude})).1.iter().filter(|path| path.starts_with("cache/")).count();
    assert!(opened(json!([])) > 1);
    assert_eq!(opened(json!(["cache"])), 0);
}

#[test]
fn what_is_included_brings_the_directories_above_it_and_no_others() {
    let (survey, paths, left_out) = selected(json!({"include": ["*.c", "/cache/"]}));
    assert_eq!(paths, ["a.c", "cache", "cache/x", "keep", "keep/b.c", "keep/deep", "keep/deep/c.c"]);
    assert_eq!(left_out, pairs(&[("a.o", "not-included"), ("keep/b.o", "not-included"), ("only/objects.o", "not-included")]));
    assert_eq!(survey["unselected"], json!({"not-included": 3}));
}

#[test]
fn what_is_excluded_stays_out_whatever_includes_it() {
    let (_, paths, _) = selected(json!({"include": ["*.c"], "exclude": ["deep"]}));
    assert_eq!(paths, ["a.c", "keep", "keep/b.c"]);
}

/// A link to a directory, too: what it leads to is not looked at either way.
#[test]
fn links_are_left_out_and_named_where_they_are_not_wanted() {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("source");
    fill(&source);
    for (target, name) in [("a.c", "file"), ("keep", "directory"), ("absent", "keep/nowhere")] {
        std::os::unix::fs::symlink(target, source.join(name)).unwrap();
    }
    let (survey, paths, left_out) = listed(folder.path(), json!({"links": "skip"}));
    assert_eq!(left_out, pairs(&[("directory", "link"), ("file", "link"), ("keep/nowhere", "link")]));
    assert_eq!((&survey["symlinks"], &survey["unselected"], paths.len()), (&0.into(), &json!({"link": 3}), 12));
    assert_eq!(listed(folder.path(), json!({})).0["symlinks"], 3);
}

#[test]
fn sizes_and_times_bound_files_from_and_until() {
    let (_, paths, left_out) = selected(json!({"minSizeBytes": 20, "maxSizeBytes": 60}));
    assert_eq!(paths, ["a.c", "cache", "cache/x", "empty", "keep", "keep/b.c", "keep/b.o", "keep/deep", "keep/deep/c.c", "only"]);
    assert_eq!(left_out, pairs(&[("a.o", "too-small"), ("only/objects.o", "too-large")]));
    let second = 1_000_000_000_u64;
    let (_, paths, left_out) = selected(json!({"modifiedFromNs": 300 * second, "modifiedUntilNs": 600 * second}));
    assert_eq!(paths, ["cache", "empty", "keep", "keep/b.c", "keep/b.o", "keep/deep", "keep/deep/c.c", "only"]);
    assert_eq!(left_out, pairs(&[("a.c", "too-old"), ("a.o", "too-old"), ("cache/x", "too-new"), ("only/objects.o", "too-new")]));
}

#[test]
fn a_list_of_paths_brings_what_it_names_with_all_below_it() {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("source");
    fill(&source);
    let list = folder.path().join("list");
    for (text, expected) in [
        ("keep/deep\na.c\n", &["a.c", "keep", "keep/deep", "keep/deep/c.c"][..]),
        ("./keep//b.c\0a.o\0", &["a.o", "keep", "keep/b.c"]),
        (&format!("{}/keep/b.c\n\n", source.display()), &["keep", "keep/b.c"]),
        ("empty/\n", &["empty"]),
        ("", &[]),
    ] {
        fs::write(&list, text).unwrap();
        let (survey, paths, _) = listed(folder.path(), json!({"pathsFrom": list}));
        assert_eq!(
            (&survey["problemCount"], &*paths),
            (&0.into(), &*expected.iter().map(|path| (*path).to_owned()).collect::<Vec<_>>()),
            "{text:?}"
        );
    }
    for (text, named) in [("a.c\nabsent\n", "no such file"), ("keep/../a.c\n", "'..'"), ("/etc/passwd\n", "not beneath $.source.paths")] {
        fs::write(&list, text).unwrap();
        let (survey, ..) = listed(folder.path(), json!({"pathsFrom": list}));
        assert_eq!(survey["problemCount"], 1, "{text:?}");
        assert!(survey["problems"][0]["reason"].as_str().unwrap().contains(named), "{survey}");
    }
    fs::remove_file(&list).unwrap();
    assert_eq!(listed(folder.path(), json!({"pathsFrom": list})).0["problemCount"], 1);
}

/// `find` begins with the directory that it was given, which lands only by what it holds.
#[test]
fn a_list_that_find_writes_means_all_that_it_found() {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("source");
    fill(&source);
    let everything = listed(folder.path(), json!({})).1;
    assert_eq!(everything.len(), 12);
    let list = folder.path().join("list");
    let here = format!("{}/", source.display());
    for (directory, options) in [(".", &["-print0"][..]), (&here, &["-print0"]), (".", &[]), (&here, &["-maxdepth", "0"])] {
        let found = Command::new("find").arg(directory).args(options).current_dir(&source).output().unwrap();
        assert!(found.stdout.starts_with(directory.as_bytes()));
        fs::write(&list, found.stdout).unwrap();
        let (survey, paths, _) = listed(folder.path(), json!({"pathsFrom": list}));
        assert_eq!((&survey["problemCount"], &paths), (&0.into(), &everything), "find {directory} {options:?}");
    }
    for all in ["/\n", ".\0", "./\0a.c\0"] {
        fs::write(&list, all).unwrap();
        assert_eq!(listed(folder.path(), json!({"pathsFrom": list})).1, everything, "{all:?}");
    }
}

/// Needs root, who may mount.
#[test]
fn with_one_file_system_a_mount_arrives_as_an_empty_directory() {
    if !is_root() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("source");
    fill(&source);
    let mounted = Mounted::new("tmpfs", source.join("empty"));
    fs::create_dir(mounted.0.join("inside")).unwrap();
    fs::write(mounted.0.join("inside/file"), "other").unwrap();
    let beneath = |selection: Value| {
        let (_, paths, left_out) = listed(folder.path(), selection);
        (paths.into_iter().filter(|path| path.starts_with("empty")).collect::<Vec<_>>(), left_out)
    };
    assert_eq!(beneath(json!({})), (["empty", "empty/inside", "empty/inside/file"].map(str::to_owned).into(), vec![]));
    let one = beneath(json!({"oneFileSystem": true}));
    assert_eq!(one, (vec!["empty".to_owned()], pairs(&[("empty", "other-file-system")])));
}

/// A file system in memory, until it is dropped.
pub struct Mounted(PathBuf);

impl Mounted {
    pub fn new(kind: &str, at: PathBuf) -> Self {
        let status = Command::new("mount").args(["-t", kind, "cpt-test"]).arg(&at).status().unwrap();
        assert!(status.success());
        Self(at)
    }

    /// A new file system in a file of so many bytes; none where this machine has not what makes it, or no loop devices.
    pub fn image(kind: &str, image: &Path, bytes: u64, at: PathBuf) -> Option<Self> {
        Self::made(kind, &["-q"], image, bytes, at)
    }

    /// The same, made with these options.
    pub fn made(kind: &str, options: &[&str], image: &Path, bytes: u64, at: PathBuf) -> Option<Self> {
        let make = Path::new("/usr/sbin").join(format!("mkfs.{kind}"));
        if !make.exists() {
            return None;
        }
        fs::File::create(image).unwrap().set_len(bytes).unwrap();
        assert!(Command::new(make).args(options).arg(image).status().unwrap().success());
        let mounted = Command::new("mount").args(["-o", "loop"]).arg(image).arg(&at).status().unwrap();
        mounted.success().then_some(Self(at))
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        // Threads of ends that have ended may hold it open for a moment longer.
        let _ = Command::new("umount").arg("--lazy").arg(&self.0).status();
    }
}

#[test]
fn a_rule_that_is_none_is_named_with_its_field() {
    let (survey, paths, _) = selected(json!({"exclude": ["fine", "[a"]}));
    let reason = survey["problems"][0]["reason"].as_str().unwrap();
    assert!(paths.is_empty() && reason.contains("$.select.exclude[1]") && reason.contains("\"[a\""), "{reason}");
    let (survey, ..) = selected(json!({"include": ["[[:digit:]]"]}));
    assert!(survey["problems"][0]["reason"].as_str().unwrap().contains("write [0-9]"));
}
