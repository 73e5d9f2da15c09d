//! What is removed of a list, and when nothing is.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;

use cpt_ends_posix::PosixDestination;
use cpt_relay::control::{Control as _, KeyRecord, Seat};
use cpt_relay::digest::Proof;
use cpt_relay::documents::extras::Remaining;
use cpt_relay::documents::survey::part_key;
use cpt_relay::documents::text::{DirectoryId, PlanId, TransferId};
use cpt_relay::ends::{Capabilities, Destination, Left, OpenDestination, Remover, Room, Tour, View};
use cpt_relay::epoch::PROCESSES_PER_START;
use cpt_relay::mirror::MirrorError;
use rustix::fs::{AtFlags, linkat};
use serde_json::json;

use super::{FOLDER, REMAINING, World};

#[test]
fn what_was_listed_is_removed_and_a_second_call_finds_it_gone() {
    let world = World::new(&["a"], &["a", "d/old", "d/deep/x", "b"]);
    let survey = world.survey().unwrap();
    let done = world.remove(&survey).unwrap();
    assert_eq!((done.entries, done.gone, done.bytes, done.remaining), (5, 0, 15, BTreeMap::new()));
    assert_eq!(world.left(), ["a"]);
    let again = world.remove(&survey).unwrap();
    assert_eq!((again.entries, again.gone, again.bytes, again.remaining_parts), (5, 5, 15, 0));
}

/// As after a call that was killed: some of it is gone, and what is not is as it was.
#[test]
fn a_call_goes_on_where_an_earlier_one_was_killed() {
    let world = World::new(&["a"], &["a", "d/old", "d/deep/x", "b"]);
    let survey = world.survey().unwrap();
    fs::remove_file(world.at("to/b")).unwrap();
    fs::remove_file(world.at("to/d/deep/x")).unwrap();
    let done = world.remove(&survey).unwrap();
    assert_eq!((done.entries, done.gone, done.remaining.len()), (5, 2, 0));
    assert_eq!(world.left(), ["a"]);
}

#[test]
fn what_changed_since_it_was_listed_stays_and_is_named_with_what_holds_it() {
    let world = World::new(&["a"], &["a", "d/old", "d/new", "b", "e/x"]);
    let survey = world.survey().unwrap();
    fs::write(world.at("to/d/new"), "someone needs this").unwrap();
    world.write("to/e/came later");
    let done = world.remove(&survey).unwrap();
    assert_eq!(world.left(), ["a", "d", "d/new", "e", "e/came later"]);
    let lines = world.lines(REMAINING, &json!(done.remaining_parts));
    let lines: Vec<Remaining> = lines.iter().map(|line| serde_json::from_slice(line).unwrap()).collect();
    let named: Vec<_> = lines.iter().map(|line| (&*line.path, serde_json::to_value(line.reason).unwrap())).collect();
    assert_eq!(named, [("d/new", json!("changed")), ("d", json!("not-empty")), ("e", json!("not-empty"))]);
    assert_eq!((done.entries, done.remaining.values().sum::<u64>()), (3, 3));
}

#[test]
fn a_list_that_is_not_the_confirmed_one_removes_nothing() {
    let world = World::new(&["a"], &["a", "b", "c"]);
    let survey = world.survey().unwrap();
    let key = part_key(FOLDER, 0);
    let text = String::from_utf8(world.control.read_object(&key, None).unwrap()).unwrap();
    for other in [text.replace("\"b\"", "\"a\""), text.lines().next().unwrap().to_owned(), String::new(), format!("{text}{text}")] {
        world.control.write_object(&key, other.into_bytes()).unwrap();
        let refusal = world.remove(&survey).unwrap_err();
        assert!(refusal.to_string().contains("not those that were confirmed"), "{refusal}");
    }
    assert_eq!(world.left(), ["a", "b", "c"]);
}

/// Rewrites the list once it was read for its digest.
struct Rewriting<'a>(&'a World, PosixDestination);

impl std::fmt::Display for Rewriting<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.1.fmt(formatter)
    }
}

impl Destination for Rewriting<'_> {
    fn capabilities(&self) -> Capabilities {
        self.1.capabilities()
    }

    fn room(&self) -> Room {
        self.1.room()
    }

    fn view(&self) -> io::Result<Box<dyn View + '_>> {
        self.1.view()
    }

    fn open(&self, transfer: &TransferId, plan: &PlanId, part_size: u64, proof: Proof) -> io::Result<(Box<dyn OpenDestination>, Left)> {
        self.1.open(transfer, plan, part_size, proof)
    }

    fn tour(&self) -> io::Result<Box<dyn Tour + '_>> {
        self.1.tour()
    }

    fn remover(&self, directory: &DirectoryId) -> io::Result<Box<dyn Remover>> {
        let key = part_key(FOLDER, 0);
        let text = String::from_utf8(self.0.control.read_object(&key, None).unwrap()).unwrap();
        self.0.control.write_object(&key, text.replace("\"b\"", "\"a\"").into_bytes()).unwrap();
        self.1.remover(directory)
    }
}

#[test]
fn a_list_that_changes_after_its_digest_was_checked_removes_nothing() {
    let world = World::new(&["a"], &["a", "b"]);
    let survey = world.survey().unwrap();
    let refusal = world.remove_from(&survey, &Rewriting(&world, world.destination())).unwrap_err();
    assert!(refusal.to_string().contains("have changed while they were read"), "{refusal}");
    assert_eq!(world.left(), ["a", "b"]);
}

#[test]
fn an_order_that_was_ended_or_overtaken_removes_nothing() {
    let world = World::new(&["a"], &["a", "b"]);
    let survey = world.survey().unwrap();
    let record = world.at("control/records/transfer.json");
    fs::write(&record, r#"{"fenced": true}"#).unwrap();
    assert!(matches!(world.remove(&survey), Err(MirrorError::Void)));
    fs::remove_file(record).unwrap();
    let receiver = |epoch| KeyRecord { epoch, tls_public_key: String::new(), route_public_key: None, address: None };
    world.control.publish_key(Seat::RECEIVER, &receiver(2 * PROCESSES_PER_START)).unwrap();
    assert!(matches!(world.remove(&survey), Err(MirrorError::Void)));
    assert_eq!(world.left(), ["a", "b"]);
    world.control.publish_key(Seat::RECEIVER, &receiver(2 * PROCESSES_PER_START - 1)).unwrap();
    assert_eq!(world.remove(&survey).unwrap().entries, 1);
}

#[test]
fn another_directory_in_the_place_of_the_destination_loses_nothing() {
    let world = World::new(&["a"], &["a", "b"]);
    let survey = world.survey().unwrap();
    fs::rename(world.at("to"), world.at("moved")).unwrap();
    world.write("to/b");
    assert!(matches!(world.remove(&survey), Err(MirrorError::Destination(_))));
    assert_eq!(world.left(), ["b"]);
    assert!(world.at("moved/b").exists());
}

#[test]
fn a_hundred_thousand_names_in_one_directory_are_found_and_removed() {
    const COUNT: usize = 100_000;
    let world = World::new(&["d/00500"], &["d/00500", "first", "second"]);
    let (to, directory) = (File::open(world.at("to")).unwrap(), File::open(world.at("to/d")).unwrap());
    // Names of two files, since making as many files would take most of the time.
    for number in (0..COUNT).filter(|number| *number != 500) {
        let file = if number % 2 == 0 { "first" } else { "second" };
        linkat(&to, file, &directory, format!("{number:05}"), AtFlags::empty()).unwrap();
    }
    let survey = world.survey().unwrap();
    assert_eq!((&survey["files"], &survey["parts"]), (&(COUNT + 1).into(), &3.into()));
    assert_eq!(world.remove(&survey).unwrap().entries, COUNT as u64 + 1);
    assert_eq!(world.left(), ["d", "d/00500"]);
}
