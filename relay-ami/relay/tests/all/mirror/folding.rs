//! A file system that takes two spellings for one name: what the source has under one is no extra under the other.

use std::fmt;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use cpt_ends_posix::PosixDestination;
use cpt_relay::digest::Proof;
use cpt_relay::documents::extras::{Extra, Spared};
use cpt_relay::documents::text::{DirectoryId, PlanId, TransferId};
use cpt_relay::ends::{Capabilities, Destination, FileId, Left, OpenDestination, Remover, Room, Stop, Tour, View};
use serde_json::{Value, json};

use super::{FOLDER, World};

/// A destination that finds a name by any of its spellings.
struct Folding {
    of: PosixDestination,
    /// Whether an entry has the same inode whatever it is called, as it has not where a program serves it by its path.
    keeps_inodes: bool,
}

impl fmt::Display for Folding {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.of.fmt(formatter)
    }
}

impl Destination for Folding {
    fn capabilities(&self) -> Capabilities {
        self.of.capabilities()
    }

    fn room(&self) -> Room {
        self.of.room()
    }

    fn view(&self) -> io::Result<Box<dyn View + '_>> {
        self.of.view()
    }

    fn open(&self, transfer: &TransferId, plan: &PlanId, part_size: u64, proof: Proof) -> io::Result<(Box<dyn OpenDestination>, Left)> {
        self.of.open(transfer, plan, part_size, proof)
    }

    fn tour(&self) -> io::Result<Box<dyn Tour + '_>> {
        Ok(Box::new(FoldingTour { tour: self.of.tour()?, of: self }))
    }

    fn remover(&self, directory: &DirectoryId) -> io::Result<Box<dyn Remover>> {
        self.of.remover(directory)
    }
}

struct FoldingTour<'a> {
    tour: Box<dyn Tour + 'a>,
    of: &'a Folding,
}

impl Tour for FoldingTour<'_> {
    fn directory(&self) -> &DirectoryId {
        self.tour.directory()
    }

    fn step(&mut self) -> io::Result<Option<Stop>> {
        self.tour.step()
    }

    fn path(&self) -> &[u8] {
        self.tour.path()
    }

    fn pass(&mut self) {
        self.tour.pass();
    }

    fn spared(&self) -> Option<Spared> {
        self.tour.spared()
    }

    fn finds(&mut self, path: &[u8]) -> io::Result<Option<FileId>> {
        let path = Path::new(std::str::from_utf8(path).unwrap());
        let (directory, name) = (self.of.of.path().join(path.parent().unwrap()), path.file_name().unwrap().to_str().unwrap());
        let Ok(entries) = fs::read_dir(directory) else { return Ok(None) };
        let found = entries.map(Result::unwrap).find(|entry| folded(entry.file_name().to_str().unwrap()) == folded(name));
        Ok(found.map(|entry| entry.metadata().unwrap()).map(|found| FileId([found.dev(), found.ino()])))
    }

    fn may_be(&self, id: &FileId) -> bool {
        !self.of.keeps_inodes || self.tour.may_be(id)
    }
}

/// Of any script, and `e` with its accent in one character or in two.
fn folded(name: &str) -> String {
    name.to_lowercase().replace("e\u{301}", "\u{e9}")
}

fn extras(world: &World, keeps_inodes: bool) -> (Vec<String>, Value) {
    let destination = Folding { of: world.destination(), keeps_inodes };
    let survey = world.survey_at(&world.listed(), &destination).unwrap();
    let paths = world.lines(FOLDER, &survey["parts"]).iter().map(|line| decoded(&Extra::parse(line).unwrap().path)).collect();
    (paths, survey["spared"].clone())
}

fn decoded(path: &str) -> String {
    String::from_utf8(cpt_relay::documents::percent::decode(path).unwrap()).unwrap()
}

#[test]
fn what_the_source_has_by_another_spelling_stays_with_all_that_it_holds() {
    let source = ["\u{444}\u{43e}\u{442}\u{43e}/1", "caf\u{e9}/x", "readme", "d/StraSSe", "new/x"];
    let destination =
        ["\u{424}\u{43e}\u{442}\u{43e}/1", "\u{424}\u{43e}\u{442}\u{43e}/old", "cafe\u{301}/x", "README", "d/STRASSE", "Old", "d/old"];
    let world = World::new(&source, &destination);
    assert_eq!(extras(&world, true), (vec!["Old".to_owned(), "d/old".to_owned()], json!({"other-spelling": 4})));
    // Where inodes say nothing all stays that might be it: whatever lies in a directory of which one name was found so.
    assert_eq!(extras(&world, false), (vec![], json!({"other-spelling": 6})));
}

#[test]
fn what_a_rule_leaves_out_at_the_source_stays_by_another_spelling_too() {
    let world = World::new(&["cache/x", "a"], &["CACHE/x", "a", "old"]).selecting(json!({"exclude": ["cache"]}));
    assert_eq!(extras(&world, true), (vec!["old".to_owned()], json!({"other-spelling": 1})));
}

#[test]
fn what_has_the_name_of_nothing_at_the_source_goes_by_any_spelling() {
    let world = World::new(&["a", "d/x"], &["a", "OLD", "d/x", "d/Old"]);
    assert_eq!(extras(&world, true), (vec!["OLD".to_owned(), "d/Old".to_owned()], Value::Null));
}

/// What appears after its directory's names were read is found by a name that the walk did not see.
#[test]
fn names_that_tell_spellings_apart_are_extras_beside_each_other() {
    let world = World::new(&["file"], &["file", "File"]);
    assert_eq!(world.extras(), (vec!["File".to_owned()], Value::Null));
}
