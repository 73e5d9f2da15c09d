//! A mirror of what arrives under another path than its own name.

use cpt_relay::documents::text::LandingPath;
use serde_json::{Value, json};

use super::World;

fn paths(texts: &[&str]) -> Vec<LandingPath> {
    texts.iter().map(|text| LandingPath::new(*text).unwrap()).collect()
}

fn world((from, to): (&[&str], &[&str]), named: &[(&'static str, Option<&'static str>)], within: Option<&[&str]>, above: &[&str]) -> World {
    let mut world = World::new(from, to);
    (world.paths, world.lands_as) = named.iter().copied().unzip();
    (world.within, world.above) = (within.map(paths), paths(above));
    world
}

#[test]
fn only_what_arrives_under_the_path_is_mirrored_and_the_directories_that_lead_there_are_no_extras() {
    let there = ["2026/run/a", "2026/run/old", "2026/run/gone/x", "2026/other/y", "2026/run.txt", "beside"];
    let world = world((&["set/a"], &there), &[("set", Some("2026/run"))], Some(&["2026/run"]), &["2026"]);
    assert_eq!(world.extras(), (["2026/run/gone/x", "2026/run/gone", "2026/run/old"].map(str::to_owned).into(), Value::Null));
}

#[test]
fn where_all_of_the_destination_is_mirrored_what_else_is_in_those_directories_goes() {
    let there = ["a", "old", "x/other", "x/y/a", "x/y/old", "x/y.txt"];
    let named = [("one/", None), ("two", Some("x/y"))];
    let world = world((&["one/a", "two/a"], &there), &named, None, &["x"]);
    assert_eq!(world.extras().0, ["old", "x/other", "x/y/old", "x/y.txt"]);
}

#[test]
fn a_directory_that_leads_to_what_is_still_to_arrive_is_no_extra() {
    let named = [("one/", None), ("two", Some("x/y/z"))];
    let world = world((&["one/a", "two/a"], &["a", "x/y/"]), &named, None, &["x/y"]);
    assert_eq!(world.extras().0, [""; 0]);
}

#[test]
fn contents_that_arrive_in_a_directory_are_mirrored_there() {
    let there = ["in/here/a", "in/here/old", "in/here/deep/b/c", "in/here/deep/old", "in/beside"];
    let named = [("one/", Some("in/here")), ("two", Some("in/here/deep/b"))];
    let world = world((&["one/a", "two/c"], &there), &named, Some(&["in/here", "in/here/deep/b"]), &["in/here", "in/here/deep"]);
    assert_eq!(world.extras(), (["in/here/deep/old", "in/here/old"].map(str::to_owned).into(), Value::Null));
}

/// As with a directory of the source: it cannot come before the file has gone.
#[test]
fn a_file_in_the_place_of_such_a_directory_is_in_the_way_where_that_is_mirrored_and_stays_elsewhere() {
    let named = [("one/", None), ("two", Some("x/y"))];
    let mirrored = world((&["one/a", "two/a"], &["a", "x"]), &named, None, &["x"]);
    let survey = mirrored.survey().unwrap();
    assert_eq!((&survey["inTheWay"], mirrored.extras().0), (&1.into(), vec!["x".to_owned()]));
    let elsewhere = world((&["two/a"], &["x"]), &[("two", Some("x/y"))], Some(&["x/y"]), &["x"]);
    assert_eq!(elsewhere.extras().0, [""; 0]);
}

#[test]
fn what_a_rule_says_of_such_a_directory_protects_all_that_it_holds() {
    let named = [("one/", None), ("two", Some("x/y"))];
    let rules = json!({"exclude": ["/x/"]});
    let world = world((&["one/a", "two/a"], &["a", "old", "x/other", "x/y/old"]), &named, None, &["x"]).selecting(rules);
    assert_eq!(world.extras(), (vec!["old".to_owned()], json!({"not-selected": 1})));
}
