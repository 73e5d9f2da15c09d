//! What has another kind at the source goes before that comes, as far as it was confirmed and nothing in it stays.

use std::fs;
use std::os::unix::fs::symlink;

use serde_json::{Value, json};

use super::{FOLDER, World};
use cpt_relay::documents::command::Overwrite;
use cpt_relay::documents::extras::Extra;

/// Paths of the extras, those that are in the way with a `!`.
fn listed(world: &World) -> (Vec<String>, Value) {
    let survey = world.survey().unwrap();
    let extras = world.lines(FOLDER, &survey["parts"]);
    let marked = extras
        .iter()
        .map(|line| Extra::parse(line).unwrap())
        .map(|extra| format!("{}{}", extra.path, if extra.in_the_way { "!" } else { "" }));
    (marked.collect(), survey)
}

/// Each kind is replaced by each other one.
fn world() -> World {
    let world = World::new(
        &["directory-of-file/x", "directory-of-link/x", "file-of-directory", "kept/y", "same"],
        &["directory-of-file", "file-of-directory/d/x", "link-of-directory/x", "kept/y", "same", "old"],
    );
    symlink("kept", world.at("to/directory-of-link")).unwrap();
    symlink("kept", world.at("from/link-of-directory")).unwrap();
    // A file takes the place of a link, and a link that of a file, by itself.
    symlink("kept", world.at("from/link-of-file")).unwrap();
    world.write("to/link-of-file");
    world
}

#[test]
fn what_is_in_the_way_belongs_to_the_list_and_goes_first_and_alone() {
    let world = world();
    let (extras, survey) = listed(&world);
    let in_the_way = [
        "directory-of-file!",
        "directory-of-link!",
        "file-of-directory/d/x!",
        "file-of-directory/d!",
        "file-of-directory!",
        "link-of-directory/x!",
        "link-of-directory!",
    ];
    assert_eq!(extras, [&in_the_way[..], &["old"]].concat());
    assert_eq!(
        (&survey["inTheWay"], &survey["files"], &survey["directories"], &survey["symlinks"]),
        (&7.into(), &4.into(), &3.into(), &1.into())
    );

    for gone in [0, 7] {
        let made = world.make_way(&survey).unwrap();
        assert_eq!((made.entries, made.gone, made.remaining.len()), (7, gone, 0), "again after a kill, say");
    }
    assert_eq!(world.left(), ["kept", "kept/y", "link-of-file", "old", "same"]);
    // All has arrived. What came is none of the list's, though it has the same path.
    world.write("to/file-of-directory");
    world.write("to/directory-of-file/x");
    let done = world.remove(&survey).unwrap();
    assert_eq!((done.entries, done.gone, done.remaining.len()), (8, 7, 0));
    assert_eq!(world.left(), ["directory-of-file", "directory-of-file/x", "file-of-directory", "kept", "kept/y", "link-of-file", "same"]);
}

#[test]
fn a_removal_that_comes_late_takes_nothing_of_what_came_instead() {
    let world = world();
    let (_, survey) = listed(&world);
    world.make_way(&survey).unwrap();
    for path in ["directory-of-file/x", "directory-of-link/x", "file-of-directory"] {
        world.write(&format!("to/{path}"));
    }
    symlink("kept", world.at("to/link-of-directory")).unwrap();
    let before = world.left();
    let late = world.make_way(&survey).unwrap();
    assert_eq!(world.left(), before);
    assert!(!late.remaining.is_empty(), "it says so: {late:?}");
}

#[test]
fn a_directory_in_the_way_that_holds_what_stays_keeps_all_of_it() {
    let world = World::new(&["link"], &["link/a", "link/cache/x", "link/z", "old"]).selecting(json!({"exclude": ["cache"]}));
    let (extras, survey) = listed(&world);
    assert_eq!((extras, &survey["inTheWay"]), (vec!["old".to_owned()], &Value::Null));
    assert_eq!(world.make_way(&survey).unwrap().entries, 0);
    world.remove(&survey).unwrap();
    assert_eq!(world.left(), ["link", "link/a", "link/cache", "link/cache/x", "link/z"]);
}

#[test]
fn what_a_rule_or_a_mount_protects_is_not_in_the_way() {
    let world = World::new(&["d/x"], &["d", "old"]).selecting(json!({"maxSizeBytes": 6}));
    fs::write(world.at("to/d"), "1234567").unwrap();
    assert_eq!(listed(&world).0, ["old"]);
}

#[test]
fn a_list_that_a_longer_walk_has_written_leaves_no_object_of_that_behind() {
    let world = World::new(&["link"], &["link/keep.o"]).selecting(json!({"exclude": ["*.o"]}));
    (0..60_000).for_each(|number| fs::write(world.at(&format!("to/link/f{number:05}")), "").unwrap());
    let (extras, survey) = listed(&world);
    assert_eq!((extras.len(), &survey["parts"]), (0, &0.into()));
    let text = world.lines(FOLDER, &json!(1));
    assert!(text.is_empty(), "whoever takes the digest of all objects has that of the survey");
}

/// Nor is what a directory holds that stands in the place of a file.
#[test]
fn where_nothing_is_replaced_nothing_makes_way() {
    let mut world = world();
    world.overwrite = Overwrite::Never;
    let (extras, survey) = listed(&world);
    assert_eq!((extras, survey.get("inTheWay")), (vec!["old".to_owned()], None));
    world.overwrite = Overwrite::IfNewer;
    assert_eq!(listed(&world).1["inTheWay"], 7, "a directory has no age to go by");
}
