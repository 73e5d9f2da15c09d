//! Links that are followed, and what they must never lead to.

mod beside;
mod exchanged;

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::os::unix::fs::symlink;
use std::path::Path;
use std::time::{Duration, UNIX_EPOCH};

use cpt_ends_posix::PosixSource;
use cpt_laboratory::directory::Directory;
use cpt_laboratory::plan::RANGE_SIZE;
use cpt_relay::control::Control as _;
use cpt_relay::documents::selection::Selection;
use cpt_relay::documents::survey::{listing_key, unselected_key};
use cpt_relay::survey::scan;
use serde_json::{Value, json};

const CHUNK: u64 = 64 << 10;

/// Each ends with a slash for a directory, or has its target behind an arrow.
fn fill(root: &Path, entries: &[&str]) {
    for (entry, seconds) in entries.iter().zip(1_000_000_000..) {
        let (name, target) = entry.split_once(" -> ").map_or((*entry, None), |(name, target)| (name, Some(target)));
        let at = root.join(name);
        fs::create_dir_all(if name.ends_with('/') { &at } else { at.parent().unwrap() }).unwrap();
        match target {
            Some(target) => symlink(target.replace("ROOT", root.to_str().unwrap()), &at).unwrap(),
            None if !name.ends_with('/') => {
                fs::write(&at, format!("of {name}")).unwrap();
                File::open(&at).unwrap().set_modified(UNIX_EPOCH + Duration::from_secs(seconds)).unwrap();
            }
            None => {}
        }
    }
}

fn following() -> Selection {
    serde_json::from_value(json!({"links": "follow"})).unwrap()
}

/// The survey of some source paths, the paths that it lists with their sources, and those left out with their reasons.
struct Found {
    survey: Value,
    paths: Vec<String>,
    sources: BTreeSet<String>,
    left_out: Vec<String>,
}

fn found(here: &Path, source: &PosixSource) -> Found {
    let control = Directory::open(here.join("control"), RANGE_SIZE, None).unwrap();
    control.clear().unwrap();
    let survey = serde_json::to_value(scan::source(source, &control, "", scan::Options::default()).unwrap()).unwrap();
    let lines = |parts: &Value, key: fn(u64) -> String| {
        let text: Vec<u8> =
            (0..parts.as_u64().unwrap_or_default()).flat_map(|part| control.read_object(&key(part), None).unwrap()).collect();
        let lines = text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
        lines.map(|line| serde_json::from_slice::<Value>(line).unwrap()).collect::<Vec<_>>()
    };
    let (listed, left_out) = (lines(&survey["parts"], listing_key), lines(&survey["unselectedParts"], unselected_key));
    let text = |line: &Value, key: &str| line[key].as_str().unwrap().to_owned();
    Found {
        paths: listed.iter().map(|line| text(line, "path")).collect(),
        sources: listed.iter().map(|line| text(line, "source")).collect(),
        left_out: left_out.iter().map(|line| format!("{} {}", text(line, "path"), text(line, "reason"))).collect(),
        survey,
    }
}

fn source(here: &Path, paths: &[&str], selection: &Value) -> PosixSource {
    let mut selection: Selection = serde_json::from_value(selection.clone()).unwrap();
    selection.links = following().links;
    // By their text: joined paths would lose what is at their end.
    PosixSource::new(paths.iter().map(|path| format!("{}/{path}", here.display()).into()).collect()).selecting(selection)
}

/// What is listed and what is left out of `paths`, beneath a directory with these entries.
fn listed(entries: &[&str], paths: &[&str], selection: &Value) -> Found {
    let directory = tempfile::tempdir().unwrap();
    fill(directory.path(), entries);
    found(directory.path(), &source(directory.path(), paths, selection))
}

#[test]
fn what_is_sent_of_a_followed_link_is_what_it_leads_to_in_the_place_of_the_link() {
    let directory = tempfile::tempdir().unwrap();
    fill(directory.path(), &["s/d/f", "s/l -> d", "s/m -> d/f"]);
    let found = found(directory.path(), &source(directory.path(), &["s/"], &json!({})));
    assert_eq!(found.paths, ["d", "d/f", "l", "l/f", "m"]);
    let real = |names: &[&str]| names.iter().map(|name| format!("{}/s/{name}", directory.path().display())).collect::<BTreeSet<_>>();
    assert_eq!(found.sources, real(&["d", "d/f"]), "no link is on the way to what is read");
    assert_eq!((&found.survey["symlinks"], &found.survey["files"], &found.survey["directories"]), (&0.into(), &3.into(), &2.into()));
}

#[test]
fn a_link_that_leads_elsewhere_nowhere_or_back_is_left_out_and_named() {
    let outside = ["other/file", "other/back -> ../s/d/f", "s/d/f", "s/d/.cpt-partial-t/7"];
    let links = [
        ("../other/file", "link-outside"),
        ("/etc/passwd", "link-outside"),
        ("/", "link-outside"),
        ("..", "link-outside"),
        // Not even whether there is something is looked at.
        ("../absent/file", "link-outside"),
        ("../other/../s/d/f", "link-outside"),
        ("ROOT/other/back", "link-outside"),
        ("../s2/d", "link-outside"),
        ("d/.cpt-partial-t/7", "link-outside"),
        ("absent", "link-dangling"),
        ("d/absent/../f", "link-dangling"),
        ("d/f/", "link-dangling"),
        ("d/f/.", "link-dangling"),
        ("d/f/..", "link-dangling"),
        ("l", "link-loop"),
        (".", "link-loop"),
        ("d/..", "link-loop"),
        ("ROOT/s", "link-loop"),
        ("../s", "link-loop"),
    ];
    for (target, reason) in links {
        let link = format!("s/l -> {target}");
        let found = listed(&[&outside[..], &[&link]].concat(), &["s/"], &json!({}));
        assert_eq!(found.left_out, ["d/.cpt-partial-t leftover", &format!("l {reason}")], "{target}");
        assert_eq!((&found.paths[..], &found.survey["unselected"][reason]), (&["d".to_owned(), "d/f".to_owned()][..], &1.into()));
        assert_eq!(found.survey["problemCount"], 0, "{target}");
    }
}

#[test]
fn another_source_path_is_followed_into_by_whatever_way_leads_there() {
    let entries = ["a/d/f", "a/x/l -> ", "b/g", "c/one/h", "real/r/i", "spelled -> real"];
    let paths = ["a/", "b", "c/one", "spelled/r/"];
    for (target, expected) in [
        ("../../b/g", "x/l"),
        ("../../b", "x/l x/l/g"),
        ("ROOT/b/../b/g", "x/l"),
        ("ROOT/b", "x/l x/l/g"),
        ("ROOT/c/one", "x/l x/l/h"),
        ("ROOT/c", ""),
        ("ROOT/c/two", ""),
        ("ROOT/spelled/r/i", "x/l"),
        ("ROOT/spelled/r", "x/l x/l/i"),
        ("ROOT/real/r/i", "x/l"),
        ("../../real/r/../r/i", "x/l"),
        ("ROOT/spelled/r/../r/i", "x/l"),
        ("ROOT/spelled/../b/g", ""),
        ("ROOT/a/x/../d", "x/l x/l/f"),
    ] {
        let link = format!("a/x/l -> {target}");
        let entries: Vec<&str> = entries.iter().map(|entry| if entry.starts_with("a/x/l") { &*link } else { *entry }).collect();
        let found = listed(&entries, &paths, &json!({}));
        let listed = found.paths.iter().filter(|path| path.starts_with("x/l")).cloned().collect::<Vec<_>>().join(" ");
        assert_eq!(listed, expected, "{target}: {:?} {}", found.left_out, found.survey);
    }
}

#[test]
fn loops_end_where_they_begin_again_and_their_links_are_named() {
    // Each of them leads to the other one, and both to a third that holds neither.
    let found = listed(&["s/a/to-b -> ../b", "s/a/x", "s/b/to-a -> ../a", "s/b/y"], &["s/"], &json!({}));
    assert_eq!(found.paths, ["a", "a/to-b", "a/to-b/y", "a/x", "b", "b/to-a", "b/to-a/x", "b/y"]);
    assert_eq!(found.left_out, ["a/to-b/to-a link-loop", "b/to-a/to-b link-loop"]);
    // A directory that a link lies in is none to follow, also where the way to the link does not lead through it.
    let found = listed(&["s/a/b/up -> ..", "s/a/y", "s/x -> a/b"], &["s/"], &json!({}));
    assert_eq!(found.paths, ["a", "a/b", "a/y", "x"]);
    assert_eq!(found.left_out, ["a/b/up link-loop", "x/up link-loop"]);
    // Through another source path, back to all of the first one.
    let found = listed(&["s/l -> ../t/d", "s/x", "t/d/back -> ../../s"], &["s/", "t"], &json!({}));
    assert_eq!(found.paths, ["l", "t", "t/d", "t/d/back", "t/d/back/x", "x"]);
    assert_eq!(found.left_out, ["l/back link-loop", "t/d/back/l link-loop"]);
}

#[test]
fn no_more_links_are_followed_on_one_way_than_the_kernel_follows() {
    let entries: Vec<String> = (0..60).map(|number| format!("s/{number:02}/next -> ../{:02}", number + 1)).collect();
    let found = listed(&[&entries.iter().map(String::as_str).collect::<Vec<_>>()[..], &["s/60/end"]].concat(), &["s/"], &json!({}));
    assert!(found.paths.contains(&format!("20{}/end", "/next".repeat(40))), "{:?}", found.left_out);
    assert!(found.left_out.contains(&format!("19{} link-loop", "/next".repeat(41))));
    assert_eq!(found.left_out.len(), 20);
}

/// Twenty directories of which each has two links to the next make a million.
#[test]
fn a_tree_that_links_make_without_end_is_refused_with_words() {
    let directory = tempfile::tempdir().unwrap();
    let links = (0..20).flat_map(|number| ["l", "m"].map(|name| format!("s/{number:02}/{name} -> ../{:02}", number + 1)));
    let entries: Vec<String> = links.chain(["s/20/end".to_owned()]).collect();
    fill(directory.path(), &entries.iter().map(String::as_str).collect::<Vec<_>>());
    let from = source(directory.path(), &["s/"], &json!({})).following_at_most(5_000);
    let refused = found(directory.path(), &from);
    assert_eq!(refused.survey["problemCount"], 1, "{}", refused.survey);
    let reason = refused.survey["problems"][0]["reason"].as_str().unwrap();
    assert!(reason.contains("more than 5000 entries") && reason.contains("$.links") && reason.contains("$.source.paths"), "{reason}");
    assert!(refused.paths.len() < 5_100);
    // As many as may be are.
    fs::remove_dir_all(directory.path().join("s/10")).unwrap();
    let beneath = found(directory.path(), &source(directory.path(), &["s/"], &json!({})).following_at_most(u64::MAX));
    let most = beneath.paths.iter().chain(&beneath.left_out).filter(|path| path.matches('/').count() > 1).count() as u64;
    for (most, problems) in [(most, 0), (most - 1, 1)] {
        let from = source(directory.path(), &["s/"], &json!({})).following_at_most(most);
        assert_eq!(found(directory.path(), &from).survey["problemCount"], problems, "{most}");
    }
}

#[test]
fn a_source_path_that_is_a_link_itself_is_followed_or_refused_with_what_to_do() {
    let entries = ["releases/3/f", "current -> releases/3", "s/x"];
    let found = listed(&entries, &["current", "releases"], &json!({}));
    assert_eq!(found.paths, ["current", "current/f", "releases", "releases/3", "releases/3/f"]);
    let found = listed(&entries, &["current", "s"], &json!({}));
    assert_eq!((&found.survey["problemCount"], found.left_out.len()), (&1.into(), 0));
    let reason = found.survey["problems"][0]["reason"].as_str().unwrap();
    assert!(reason.contains("$.links is \"follow\"") && reason.contains("name there what it leads to"), "{reason}");
}

#[test]
fn rules_are_of_paths_as_they_land_and_of_what_lands_there() {
    let entries = ["s/d/a.o", "s/d/a.c", "s/l -> d", "s/big -> d/a.c", "s/out -> /etc/passwd", "s/none -> absent"];
    let found = listed(&entries, &["s/"], &json!({"exclude": ["/d/", "*.o", "out", "none/"]}));
    assert_eq!(found.paths, ["big", "l", "l/a.c"]);
    assert_eq!(found.left_out, ["d excluded", "l/a.o excluded", "none excluded", "out excluded"]);
    let found = listed(&entries, &["s/"], &json!({"include": ["/l/", "out"], "maxSizeBytes": 4}));
    assert_eq!(found.paths, ["l"]);
    let left_out = ["big not-included", "d/a.c not-included", "d/a.o not-included", "l/a.c too-large", "l/a.o too-large"];
    assert_eq!(found.left_out, [&left_out[..], &["none not-included", "out link-outside"]].concat());
}

#[test]
fn a_list_of_paths_may_name_what_lies_behind_a_link() {
    let directory = tempfile::tempdir().unwrap();
    fill(directory.path(), &["s/d/f", "s/d/g", "s/l -> d", "s/m -> d/f", "s/n -> d", "s/none -> absent"]);
    let list = directory.path().join("list");
    for (text, expected, problems) in
        [("l/f\nm\n", &["l", "l/f", "m"][..], 0), ("n\n", &["n", "n/f", "n/g"], 0), ("none\n", &[], 0), ("l/absent\nm/f\nnone/f\n", &[], 3)]
    {
        fs::write(&list, text).unwrap();
        let found = found(directory.path(), &source(directory.path(), &["s/"], &json!({"pathsFrom": list})));
        assert_eq!(
            (found.paths, &found.survey["problemCount"]),
            (expected.iter().map(ToString::to_string).collect(), &problems.into()),
            "{text:?}"
        );
    }
}
