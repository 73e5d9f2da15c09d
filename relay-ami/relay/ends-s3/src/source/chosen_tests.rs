use std::sync::Mutex;

use super::*;
use crate::fault::Fault;
use crate::metadata::Kept;
use crate::source::heads::Head;
use crate::source::listing::{Wish, list};
use cpt_ends::select::Selector;
use cpt_wire::documents::end::ArchivedRule;
use cpt_wire::documents::percent;
use cpt_wire::documents::selection::Selection;

/// Notes for which keys it was asked.
#[derive(Default)]
struct Asked(Mutex<Vec<String>>);

impl Heads for Asked {
    fn heads(&self, keys: &[&str]) -> Vec<Result<Head, Fault>> {
        lock(&self.0).extend(keys.iter().map(|key| (*key).to_owned()));
        let head = |key: &&str| match *key {
            key if key.contains("gone") => Err(Fault::new(Meaning::Gone, "not there")),
            key if key.contains("denied") => Err(Fault::new(Meaning::Bucket, "AccessDenied: no")),
            key => Ok(Head {
                size: if key.ends_with('/') { 0 } else { 7 },
                tag: 9,
                modified_ns: 5,
                archived: key.contains("cold").then_some("GLACIER"),
                kept: Kept::default(),
            }),
        };
        keys.iter().map(head).collect()
    }
}

/// What is listed below `in/` by a list of these keys, a line each, and for which the bucket was asked.
fn listed(keys: &[String]) -> (Vec<String>, Vec<String>) {
    let (asked, selector) = (Asked::default(), Selector::new(&Selection::default()).unwrap());
    let wish = Wish { selector: &selector, free: None, heads: None, has_owners: false, archived: ArchivedRule::Refuse };
    let (chosen, mut lines) = (Chosen::new(&asked, keys), Vec::new());
    let mut take = |listed| {
        lines.push(match listed {
            Listed::Entry(entry) => entry.path,
            Listed::LeftOut(path, reason) => format!("- {} {reason:?}", percent::encode(&path)),
            Listed::Problem(key, why) => format!("! {} {why}", percent::encode(&key)),
            Listed::Unkept(_) => panic!("nothing is unkept"),
        });
        Ok(())
    };
    list(&chosen, 1, "in/", &wish, &mut take).unwrap().unwrap();
    chosen.name_missing("in/", &mut take).unwrap();
    drop(chosen);
    (lines, asked.0.into_inner().unwrap())
}

fn below(keys: &[&str]) -> Vec<String> {
    keys.iter().map(|key| format!("in/{key}")).collect()
}

#[test]
fn only_keys_of_the_list_are_asked_for_and_come_in_the_order_of_a_walk() {
    let keys = below(&["a-b", "a/c", "a/d/", "b"]);
    let (lines, asked) = listed(&keys);
    assert_eq!(lines, ["a/c", "a/d", "a-b", "b"]);
    assert_eq!(asked, keys);
}

#[test]
fn what_is_gone_or_cannot_be_looked_at_is_named_and_the_rest_is_listed() {
    let (lines, _) = listed(&below(&["a", "cold", "denied", "gone/1", "gone/2", "z"]));
    assert_eq!(lines[..2], ["a", "z"]);
    assert!(lines[2].starts_with("! in/cold is archived"), "{lines:?}");
    assert_eq!(lines[3..], ["- gone/1 Gone", "- gone/2 Gone", "! in/denied AccessDenied: no"]);
}

#[test]
fn a_list_of_many_keys_of_which_whole_pages_are_gone_is_gone_through_to_its_end() {
    let mut keys: Vec<_> = (0..2 * MOST + 10).map(|number| format!("in/gone-{number:06}")).collect();
    keys.push("in/here".to_owned());
    let (lines, asked) = listed(&keys);
    assert_eq!(lines[0], "here");
    assert_eq!(lines.len(), keys.len());
    assert_eq!(asked.len(), keys.len());
}

#[test]
fn a_key_that_others_lie_below_is_no_file() {
    assert_eq!(listed(&below(&["a", "a/b"])).0, ["- a NoPath", "a/b"]);
}
