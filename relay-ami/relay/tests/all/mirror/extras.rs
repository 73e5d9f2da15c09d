//! What is listed as extra, and what stays whatever the source has.

use std::fs::{self, File};
use std::os::unix::fs::symlink;
use std::time::{Duration, UNIX_EPOCH};

use cpt_relay::control::Control as _;
use cpt_relay::documents::survey::{listing_key, part_key, unselected_key};
use cpt_relay::documents::text::{KeepName, LandingPath, TransferId};
use serde_json::{Value, json};

use super::{FOLDER, World};

#[test]
fn what_the_source_does_not_have_is_listed_with_what_it_holds_first_and_nothing_else_is() {
    let ours = [".cpt-partial-t/1", ".cpt-partial-mark-9f86", "d/.cpt-partial-mark-d081"];
    let there = ["a", "b", "d/x", "d/y", "d/old/deep/z", "d/old/w", "empty/", "bare/"];
    let world = World::new(&["a", "d/x", "empty/"], &[&there[..], &ours].concat());
    let (extras, spared) = world.extras();
    assert_eq!(extras, ["b", "bare", "d/old/deep/z", "d/old/deep", "d/old/w", "d/old", "d/y"]);
    assert_eq!(spared, json!({"partial": 3}));
    let survey = world.survey().unwrap();
    assert_eq!((&survey["files"], &survey["directories"], &survey["symlinks"]), (&4.into(), &3.into(), &0.into()));
    assert_eq!((&survey["bytes"], &survey["side"]), (&20.into(), &"extras".into()));
}

#[test]
fn of_a_path_without_a_slash_only_its_own_name_is_mirrored_as_rsync_does() {
    let mut world = World::new(&["set/a", "other/b"], &["set/a", "set/old", "other/old", "beside", "beside too/x"]);
    (world.paths, world.within) = (vec!["set"], Some(vec![LandingPath::new("set").unwrap()]));
    assert_eq!(world.extras(), (vec!["set/old".to_owned()], Value::Null));
    (world.paths, world.within) = (vec!["set", "other"], Some(["set", "other"].map(|name| LandingPath::new(name).unwrap()).into()));
    assert_eq!(world.extras().0, ["other/old", "set/old"], "whatever the order of the paths is");
}

/// As what any rule leaves out, at either end.
#[test]
fn where_links_are_left_out_those_of_the_destination_stay() {
    let world = World::new(&["a"], &["a", "old", "listed-there"]).selecting(json!({"links": "skip"}));
    symlink("a", world.at("to/only-there")).unwrap();
    symlink("a", world.at("from/listed-there")).unwrap();
    assert_eq!(world.extras(), (vec!["old".to_owned()], json!({"not-selected": 2})));
}

/// What is in the place of a link that leads nowhere stays: what it should lead to may only be gone for a while.
#[test]
fn where_links_are_followed_what_they_bring_is_no_extra_and_links_of_the_destination_are() {
    let destination = ["d/x", "file", "l/old", "l/x", "nowhere/x", "outside", "replaced"];
    let world = World::new(&["d/x", "f"], &destination).selecting(json!({"links": "follow"}));
    for (target, name) in [("d", "l"), ("f", "file"), ("absent", "nowhere"), ("/etc", "outside"), ("d", "replaced")] {
        symlink(target, world.at("from").join(name)).unwrap();
    }
    symlink("d", world.at("to/only-there")).unwrap();
    assert_eq!(world.extras(), (["l/old", "only-there", "replaced"].map(str::to_owned).into(), json!({"not-selected": 2})));
}

#[test]
fn several_sources_are_looked_for_in_one_order() {
    let mut world = World::new(&["one/b", "one/d/x", "two/a", "two/c"], &["a", "b", "bb", "c", "d/x", "d/y", "e"]);
    world.paths = vec!["one/", "two/"];
    assert_eq!(world.extras().0, ["bb", "d/y", "e"]);
}

#[test]
fn what_a_rule_leaves_out_at_either_end_stays_and_so_does_what_holds_it() {
    let rules = json!({"exclude": ["*.o", "/cache/", "!keep.o"]});
    let destination = ["a.o", "gone/deep/b.o", "gone/deep/c", "gone/d", "cache/x", "keep.o", "only here.o", "plain"];
    let world = World::new(&["a.o", "cache/x"], &destination).selecting(rules);
    let (extras, spared) = world.extras();
    assert_eq!(extras, ["gone/d", "gone/deep/c", "keep.o", "plain"]);
    assert_eq!(spared, json!({"not-selected": 4}));
}

#[test]
fn what_a_rule_leaves_out_at_the_source_stays_though_it_is_another_thing_here() {
    // Too large there and small here; a directory here and a file there.
    let world = World::new(&["large", "dir"], &["large", "dir/x", "old"]).selecting(json!({"maxSizeBytes": 5, "exclude": ["dir"]}));
    fs::write(world.at("from/large"), "123456").unwrap();
    assert_eq!(world.extras(), (vec!["old".to_owned()], json!({"not-selected": 2})));
}

#[test]
fn sizes_and_times_protect_here_as_they_do_there() {
    let world =
        World::new(&[], &["small", "old", "young"]).selecting(json!({"minSizeBytes": 3, "modifiedUntilNs": 2_000_000_000_000_000_000_i64}));
    fs::write(world.at("to/small"), "1").unwrap();
    File::open(world.at("to/young")).unwrap().set_modified(UNIX_EPOCH + Duration::from_secs(2_000_000_000)).unwrap();
    assert_eq!(world.extras(), (vec!["old".to_owned()], json!({"not-selected": 2})));
}

#[test]
fn directories_that_only_lead_to_what_is_included_stay() {
    let world = World::new(&["keep/a.c", "drop/b.o"], &["keep/a.c", "keep/old.c", "keep/x.o", "gone/old.c", "gone/sub/", "whole/y.c"])
        .selecting(json!({"include": ["*.c", "/whole/"]}));
    assert_eq!(world.extras(), (["gone/old.c", "keep/old.c", "whole/y.c", "whole"].map(str::to_owned).into(), json!({"not-selected": 1})));
}

#[test]
fn pipes_stay_unless_pipes_are_moved() {
    let mut world = World::new(&[], &["gone/"]);
    rustix::fs::mknodat(rustix::fs::CWD, world.at("to/gone/pipe"), rustix::fs::FileType::Fifo, rustix::fs::Mode::RWXU, 0).unwrap();
    assert_eq!(world.extras(), (vec![], json!({"special": 1})));
    world.special_files = true;
    assert_eq!(world.extras(), (["gone/pipe", "gone"].map(str::to_owned).into(), Value::Null));
}

#[test]
fn the_digest_is_of_the_list_and_changes_with_what_would_be_lost() {
    let world = World::new(&["a"], &["a", "d/x", "d/link"]);
    fs::remove_file(world.at("to/d/link")).unwrap();
    symlink("x", world.at("to/d/link")).unwrap();
    let survey = world.survey().unwrap();
    let text = world.control.read_object(&part_key(FOLDER, 0), None).unwrap();
    assert_eq!(survey["digest"], *blake3::hash(&text).to_hex());
    let digest = || world.survey().unwrap()["digest"].clone();
    // Neither what is equal nor what a directory's time says.
    world.write("from/b");
    world.write("to/b");
    File::open(world.at("to/d")).unwrap().set_modified(UNIX_EPOCH).unwrap();
    assert_eq!(digest(), survey["digest"]);
    let changes: [&dyn Fn(); 4] = [
        &|| File::open(world.at("to/d/x")).unwrap().set_modified(UNIX_EPOCH).unwrap(),
        &|| fs::write(world.at("to/d/x"), "123456").unwrap(),
        &|| world.write("to/d/y"),
        &|| fs::remove_file(world.at("to/d/link")).unwrap(),
    ];
    changes.iter().fold(survey["digest"].clone(), |before, change| {
        change();
        let after = digest();
        assert_ne!(after, before);
        after
    });
}

/// Whoever changes these lists could make everything look like an extra.
#[test]
fn lists_of_the_source_that_were_changed_are_not_believed() {
    let select = json!({"exclude": ["*.o"]});
    let change = |key: String, change: &dyn Fn(&str) -> String| {
        let world = World::new(&["a", "b", "x.o", "y.o"], &["a", "b", "x.o"]).selecting(select.clone());
        let listed = world.listed();
        let text = String::from_utf8(world.control.read_object(&key, None).unwrap()).unwrap();
        world.control.write_object(&key, change(&text).into_bytes()).unwrap();
        world.survey_of(&listed).unwrap_err().to_string()
    };
    for key in [listing_key(0), unselected_key(0)] {
        let without_first = |text: &str| text.split_once('\n').unwrap().1.to_owned();
        let said = change(key.clone(), &without_first);
        assert!(said.contains("not those that the source's scan has written"), "{said}");
        let turned = |text: &str| text.lines().rev().map(|line| format!("{line}\n")).collect();
        let said = change(key, &turned);
        assert!(said.contains("not in order"), "{said}");
    }
}

#[test]
fn nothing_is_found_where_nothing_is_extra() {
    let world = World::new(&["a", "d/x"], &["a", "d/x"]);
    let survey = world.survey().unwrap();
    assert_eq!((&survey["parts"], &survey["digest"]), (&0.into(), &(*blake3::hash(b"").to_hex()).into()));
    assert!(!world.at("control/extras").exists());
}

#[test]
fn what_was_kept_of_earlier_transfers_is_no_extra_where_it_is_kept_still() {
    let world = World::new(&["a"], &["a", "b", ".kept/yesterday/d/x"]);
    let listed = world.listed();
    let (name, transfer) = (KeepName::new(".kept").unwrap(), TransferId::new("today").unwrap());
    let keeping = world.destination().keeping(Some(&name), &transfer);
    let survey = world.survey_at(&listed, &keeping).unwrap();
    assert_eq!((&survey["files"], &survey["directories"], &survey["spared"]), (&json!(1), &json!(0), &json!({"kept": 1})), "{survey}");
    // Its list comes from another run: nothing is removed there all the same.
    let all = world.survey_of(&listed).unwrap();
    assert_eq!((&all["files"], &all["directories"]), (&json!(2), &json!(3)), "without the option it is an extra as any other");
    let removed = world.remove_from(&all, &keeping).unwrap();
    assert_eq!((removed.entries, removed.kept), (1, Some(1)));
    assert_eq!(world.left(), [".kept", ".kept/today", ".kept/today/b", ".kept/yesterday", ".kept/yesterday/d", ".kept/yesterday/d/x", "a"]);
}
