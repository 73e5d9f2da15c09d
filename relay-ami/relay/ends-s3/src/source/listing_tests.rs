use std::sync::LazyLock;

use super::*;
use crate::fault::{Fault, Meaning};
use crate::metadata::Kept;
use crate::source::fake::Fake;
use crate::source::heads::Head;
use cpt_wire::documents::end::ArchivedRule;
use cpt_wire::documents::selection::Selection;

/// What a listing below `in/` gives, a line each.
fn listed<'a>(keys: &[&str], selection: &Selection, change: impl FnOnce(Wish<'a>) -> Wish<'a>) -> Vec<String> {
    let fake = Fake::new(keys.iter().map(|key| format!("in/{key}")).chain(["in".to_owned(), "inside".to_owned()]).collect(), 3);
    let selector = Selector::new(selection).unwrap();
    let Wish { free, heads, has_owners, archived, .. } = change(plain());
    let wish = Wish { selector: &selector, free, heads, has_owners, archived };
    let mut lines = Vec::new();
    let take = &mut |listed| {
        lines.push(match listed {
            Listed::Entry(entry) => {
                assert_eq!(entry.source, format!("/in/{}{}", entry.path, if entry.kind == Kind::Directory { "/" } else { "" }));
                let owner = entry.attributes.and_then(|attributes| attributes.owner).map_or(0, |owner| owner.uid);
                format!("{} {:?} {} {:o} {} {owner}", entry.path, entry.kind, entry.size, entry.mode, entry.mtime_ns)
            }
            Listed::LeftOut(path, reason) => format!("- {} {reason:?}", percent::encode(&path)),
            Listed::Problem(path, why) => format!("! {} {why}", percent::encode(&path)),
            Listed::Unkept(_) => panic!("nothing is unkept"),
        });
        Ok(())
    };
    list(&fake, 4, "in/", &wish, take).unwrap().unwrap();
    lines
}

fn plain<'a>() -> Wish<'a> {
    static ALL: LazyLock<Selector> = LazyLock::new(|| Selector::new(&Selection::default()).unwrap());
    Wish { selector: &ALL, free: None, heads: None, has_owners: false, archived: ArchivedRule::Refuse }
}

fn plainly(keys: &[&str], selection: &Selection) -> Vec<String> {
    listed(keys, selection, |wish| wish)
}

#[test]
fn objects_are_files_markers_are_directories_and_all_is_in_the_order_of_a_walk() {
    let found = plainly(&["", "a-b", "a/", "a/c d", "a/e/f", "é"], &Selection::default());
    let expected =
        ["a Directory 0 755 5 0", "a/c%20d File 7 644 5 0", "a/e/f File 7 644 5 0", "a-b File 7 644 5 0", "%C3%A9 File 7 644 5 0"];
    assert_eq!(found, expected);
}

#[test]
fn keys_that_no_file_system_bears_are_left_out_by_name() {
    let long = format!("{}/x", "n".repeat(256));
    let found = plainly(&["/top", "a", "a/b", "b/../c", "c//d", "e/full/", "f\0g", "h/.", &long], &Selection::default());
    let left_out: Vec<_> = found.iter().filter(|line| line.starts_with('-')).map(String::as_str).collect();
    let of_long = format!("- {long} NoPath");
    let expected =
        ["- /top NoPath", "- a NoPath", "- b/../c NoPath", "- c//d NoPath", "- e/full/ NoPath", "- f%00g NoPath", "- h/. NoPath", &of_long];
    assert_eq!(left_out, expected);
    assert_eq!(found.len(), 9, "{found:?}");
    assert!(found.contains(&"a/b File 7 644 5 0".to_owned()));
    // Bytes of the prefix' own marker have no name.
    assert_eq!(plainly(&["x"], &Selection::default()), ["x File 7 644 5 0"]);
}

#[test]
fn a_file_stays_where_only_a_marker_or_what_is_excluded_lies_below_it() {
    assert_eq!(plainly(&["a", "a/", "b"], &Selection::default()), ["a File 7 644 5 0", "- a/ NoPath", "b File 7 644 5 0"]);
    assert_eq!(plainly(&["a", "a/", "a/b"], &Selection::default()), ["- a NoPath", "a Directory 0 755 5 0", "a/b File 7 644 5 0"]);
    let selection = Selection { exclude: vec!["a/".to_owned()], ..Selection::default() };
    assert_eq!(plainly(&["a", "a/", "a/b", "a/c/d"], &selection), ["a File 7 644 5 0", "- a Excluded"]);
}

#[test]
fn rules_hold_as_for_a_tree_and_a_directory_is_left_out_once() {
    let selection = Selection { exclude: vec!["*.tmp".to_owned(), "cache/".to_owned()], ..Selection::default() };
    let keys = ["cache/1", "cache/2/3", "d/", "d/x.tmp", "d/y", "e/cache/9", "z/cache"];
    let expected = [
        "- cache Excluded",
        "d Directory 0 755 5 0",
        "- d/x.tmp Excluded",
        "d/y File 7 644 5 0",
        "- e/cache Excluded",
        "z/cache File 7 644 5 0",
    ];
    assert_eq!(plainly(&keys, &selection), expected);
    let selection = Selection { include: vec!["*.txt".to_owned()], min_size_bytes: Some(8), ..Selection::default() };
    assert_eq!(plainly(&["d/", "d/a.txt", "e/", "e/b"], &selection), ["- d/a.txt TooSmall", "- e/b NotIncluded"]);
    let selection = Selection { include: vec!["*.txt".to_owned()], ..Selection::default() };
    assert_eq!(
        plainly(&["d/", "d/a.txt", "e/", "e/b"], &selection),
        ["d Directory 0 755 5 0", "d/a.txt File 7 644 5 0", "- e/b NotIncluded"]
    );
}

#[test]
fn what_unfinished_transfers_keep_is_left_out_and_what_is_kept_needs_its_name() {
    let keys = [".cpt-partial-t/r0/1", ".cpt-partial-t/r0/2", "d/.cpt-partial-x", "e"];
    let expected = ["- .cpt-partial-t Leftover", "- d/.cpt-partial-x Leftover", "e File 7 644 5 0"];
    assert_eq!(plainly(&keys, &Selection::default()), expected);
    let name = KeepName::new(".replaced").unwrap();
    let found = listed(&[".replaced/a", "b"], &Selection::default(), |wish| Wish { free: Some(&name), ..wish });
    assert!(found[0].starts_with("! in/.replaced/a lands where"), "{found:?}");
}

#[test]
fn archived_objects_are_one_problem_or_left_out_or_listed_as_the_others() {
    let found = plainly(&["a", "cold/1", "cold/2"], &Selection::default());
    assert!(found[1].starts_with("! in/cold/1 is archived, as are 2 objects of 14 bytes"), "{found:?}");
    assert_eq!(found.len(), 2);
    let found = listed(&["a", "cold/1"], &Selection::default(), |wish| Wish { archived: ArchivedRule::Skip, ..wish });
    assert_eq!(found, ["a File 7 644 5 0", "- cold/1 Archived"]);
    let found = listed(&["a", "cold/1"], &Selection::default(), |wish| Wish { archived: ArchivedRule::Restore, ..wish });
    assert_eq!(found, ["a File 7 644 5 0", "cold/1 File 7 644 5 0"]);
    let selection = Selection { exclude: vec!["cold".to_owned()], ..Selection::default() };
    assert_eq!(plainly(&["a", "cold/1"], &selection), ["a File 7 644 5 0", "- cold Excluded"]);
}

/// Each object has its own mode; one is gone, and one is encrypted with a key of its owner's.
struct Told;

impl Heads for Told {
    fn heads(&self, keys: &[&str]) -> Vec<Result<Head, Fault>> {
        let failed = |meaning, status| {
            let mut fault = Fault::new(meaning, "");
            fault.status = Some(status);
            Err(fault)
        };
        let head = |key: &&str| match *key {
            "in/gone" => failed(Meaning::Gone, 404),
            "in/locked" => failed(Meaning::Bucket, 400),
            _ => {
                let kept = Kept { mode: Some(0o600), mtime_ns: Some(77), owner: Some((3, 4)) };
                Ok(Head { size: 8, tag: 1, modified_ns: 5, archived: None, kept })
            }
        };
        keys.iter().map(head).collect()
    }
}

#[test]
fn what_was_noted_with_objects_is_listed_where_it_is_asked_for() {
    let keys = ["a", "d/", "gone", "locked", "x//y"];
    let found = listed(&keys, &Selection::default(), |wish| Wish { heads: Some(&Told), has_owners: true, ..wish });
    assert_eq!(found[..3], ["a File 8 600 77 3", "d Directory 0 600 77 3", "- gone Gone"]);
    assert!(found[3].starts_with("! /in/locked cannot be asked for"), "{found:?}");
    assert_eq!(found[4..], ["- x//y NoPath"]);
}
