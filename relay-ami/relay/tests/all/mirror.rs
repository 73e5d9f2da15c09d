//! What a destination has and its source does not: found, confirmed, removed.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

use cpt_laboratory::directory::Directory;
use cpt_laboratory::plan::RANGE_SIZE;
use cpt_relay::control::{Control as _, KeyRecord, Side};
use cpt_relay::documents::attributes::Preserve;
use cpt_relay::documents::extras::{Deletion, Extra, Remaining};
use cpt_relay::documents::selection::Selection;
use cpt_relay::documents::survey::{listing_key, part_key, unselected_key};
use cpt_relay::documents::text::{DirectoryId, HexDigest, TopName};
use cpt_relay::ends::posix::{PosixDestination, PosixSource};
use cpt_relay::epoch::PROCESSES_PER_START;
use cpt_relay::mirror::{Confirmed, Extras, MirrorError};
use cpt_relay::scan;
use cpt_relay::select::Selector;
use serde_json::{Value, json};

const FOLDER: &str = "extras/1/";
const REMAINING: &str = "remaining/1/";

/// A source `from`, a destination `to`, and a control plane.
struct World {
    folder: tempfile::TempDir,
    control: Directory,
    /// Source paths, below `from`.
    paths: Vec<&'static str>,
    within: Option<Vec<TopName>>,
    selection: Selection,
    special_files: bool,
}

impl World {
    /// The source's contents are mirrored.
    fn new(source: &[&str], destination: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let control = Directory::open(folder.path().join("control"), RANGE_SIZE, None).unwrap();
        let (paths, selection) = (vec![""], Selection::default());
        let world = Self { folder, control, paths, within: None, selection, special_files: false };
        for (end, paths) in [("from", source), ("to", destination)] {
            fs::create_dir(world.at(end)).unwrap();
            paths.iter().for_each(|path| world.write(&format!("{end}/{path}")));
        }
        world
    }

    fn selecting(mut self, selection: Value) -> Self {
        self.selection = serde_json::from_value(selection).unwrap();
        self
    }

    fn at(&self, path: &str) -> PathBuf {
        self.folder.path().join(path)
    }

    /// A file; with a slash at its end a directory.
    fn write(&self, path: &str) {
        let at = self.at(path);
        if path.ends_with('/') {
            return fs::create_dir_all(at).unwrap();
        }
        fs::create_dir_all(at.parent().unwrap()).unwrap();
        fs::write(&at, "12345").unwrap();
        File::open(at).unwrap().set_modified(UNIX_EPOCH + Duration::from_secs(1_000_000_000)).unwrap();
    }

    fn destination(&self) -> PosixDestination {
        PosixDestination(self.at("to"))
    }

    fn listed(&self) -> Value {
        let paths = self.paths.iter().map(|path| self.at("from").join(path)).collect();
        let preserve = Preserve { special_files: self.special_files, ..Preserve::default() };
        let source = PosixSource::new(paths).selecting(self.selection.clone()).preserving(preserve);
        serde_json::to_value(scan::source(&source, &self.control, "", scan::Options::default()).unwrap()).unwrap()
    }

    fn survey(&self) -> Result<Value, MirrorError> {
        self.survey_of(&self.listed())
    }

    fn survey_of(&self, listed: &Value) -> Result<Value, MirrorError> {
        let digest = |name: &str| listed[name].as_str().map(|text| HexDigest::new(text).unwrap());
        let (listing, unselected) = (digest("listingDigest").unwrap(), digest("unselectedDigest"));
        let selector = Selector::new(&self.selection).unwrap();
        let extras = Extras {
            control: &self.control,
            prefix: "",
            listing: (listed["parts"].as_u64().unwrap(), &listing),
            unselected: (listed["unselectedParts"].as_u64().unwrap_or_default(), unselected.as_ref()),
            within: self.within.as_deref(),
            selector: &selector,
            preserve: Preserve { special_files: self.special_files, ..Preserve::default() },
            folder: FOLDER,
        };
        extras.list(&self.destination()).map(|survey| serde_json::to_value(survey).unwrap())
    }

    fn lines(&self, folder: &str, parts: &Value) -> Vec<Vec<u8>> {
        let text = (0..parts.as_u64().unwrap()).flat_map(|part| self.control.read_object(&part_key(folder, part), None).unwrap());
        let text: Vec<u8> = text.collect();
        text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).map(<[u8]>::to_vec).collect()
    }

    /// Paths of the extras, and how many others stay for each reason.
    fn extras(&self) -> (Vec<String>, Value) {
        let survey = self.survey().unwrap();
        let extras = self.lines(FOLDER, &survey["parts"]).iter().map(|line| Extra::parse(line).unwrap().path).collect();
        (extras, survey["spared"].clone())
    }

    fn remove(&self, survey: &Value) -> Result<Deletion, MirrorError> {
        let digest = HexDigest::new(survey["digest"].as_str().unwrap()).unwrap();
        let directory = DirectoryId::new(survey["directory"].as_str().unwrap()).unwrap();
        let confirmed = Confirmed {
            control: &self.control,
            prefix: "",
            folder: FOLDER,
            parts: survey["parts"].as_u64().unwrap(),
            digest: &digest,
            directory: &directory,
            epoch: PROCESSES_PER_START,
            remaining_folder: REMAINING,
        };
        confirmed.remove(&self.destination())
    }

    /// All that is at the destination.
    fn left(&self) -> Vec<String> {
        let mut found = Vec::new();
        let mut folders = vec![self.at("to")];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
                found.push(entry.path().strip_prefix(self.at("to")).unwrap().to_string_lossy().into_owned());
                if entry.file_type().unwrap().is_dir() {
                    folders.push(entry.path());
                }
            }
        }
        found.sort();
        found
    }
}

#[test]
fn what_the_source_does_not_have_is_listed_with_what_it_holds_first_and_nothing_else_is() {
    let world =
        World::new(&["a", "d/x", "empty/"], &["a", "b", "d/x", "d/y", "d/old/deep/z", "d/old/w", "empty/", "bare/", ".cpt-partial-t/1"]);
    let (extras, spared) = world.extras();
    assert_eq!(extras, ["b", "bare", "d/old/deep/z", "d/old/deep", "d/old/w", "d/old", "d/y"]);
    assert_eq!(spared, json!({"partial": 1}));
    let survey = world.survey().unwrap();
    assert_eq!((&survey["files"], &survey["directories"], &survey["symlinks"]), (&4.into(), &3.into(), &0.into()));
    assert_eq!((&survey["bytes"], &survey["side"]), (&20.into(), &"extras".into()));
}

#[test]
fn of_a_path_without_a_slash_only_its_own_name_is_mirrored_as_rsync_does() {
    let mut world = World::new(&["set/a", "other/b"], &["set/a", "set/old", "other/old", "beside", "beside too/x"]);
    (world.paths, world.within) = (vec!["set"], Some(vec![TopName::new("set").unwrap()]));
    assert_eq!(world.extras(), (vec!["set/old".to_owned()], Value::Null));
    (world.paths, world.within) = (vec!["set", "other"], Some(["set", "other"].map(|name| TopName::new(name).unwrap()).into()));
    assert_eq!(world.extras().0, ["other/old", "set/old"], "whatever the order of the paths is");
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
fn something_of_another_kind_in_the_place_of_what_is_sent_is_left_to_the_transfer() {
    let world = World::new(&["file", "dir/x", "link"], &["file/inside", "dir", "link/inside"]);
    fs::remove_file(world.at("from/link")).unwrap();
    symlink("file", world.at("from/link")).unwrap();
    assert_eq!(world.extras(), (vec![], Value::Null));
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

#[test]
fn an_order_that_was_ended_or_overtaken_removes_nothing() {
    let world = World::new(&["a"], &["a", "b"]);
    let survey = world.survey().unwrap();
    let record = world.at("control/records/transfer.json");
    fs::write(&record, r#"{"fenced": true}"#).unwrap();
    assert!(matches!(world.remove(&survey), Err(MirrorError::Void)));
    fs::remove_file(record).unwrap();
    let receiver = |epoch| KeyRecord { epoch, tls_public_key: String::new(), route_public_key: None, address: None };
    world.control.publish_key(Side::Receiver, &receiver(2 * PROCESSES_PER_START)).unwrap();
    assert!(matches!(world.remove(&survey), Err(MirrorError::Void)));
    assert_eq!(world.left(), ["a", "b"]);
    world.control.publish_key(Side::Receiver, &receiver(2 * PROCESSES_PER_START - 1)).unwrap();
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
fn a_hundred_thousand_names_in_one_directory_are_found_and_removed() {
    const COUNT: usize = 100_000;
    let world = World::new(&["d/00500"], &["d/00500"]);
    let directory = File::open(world.at("to/d")).unwrap();
    for number in 0..COUNT {
        let flags = rustix::fs::OFlags::CREATE | rustix::fs::OFlags::WRONLY;
        rustix::fs::openat(&directory, format!("{number:05}"), flags, rustix::fs::Mode::RUSR).unwrap();
    }
    let survey = world.survey().unwrap();
    assert_eq!((&survey["files"], &survey["parts"]), (&(COUNT - 1).into(), &2.into()));
    assert_eq!(world.remove(&survey).unwrap().entries, COUNT as u64 - 1);
    assert_eq!(world.left(), ["d", "d/00500"]);
}

#[test]
fn nothing_is_found_where_nothing_is_extra() {
    let world = World::new(&["a", "d/x"], &["a", "d/x"]);
    let survey = world.survey().unwrap();
    assert_eq!((&survey["parts"], &survey["digest"]), (&0.into(), &(*blake3::hash(b"").to_hex()).into()));
    assert!(Path::new(&world.at("control")).exists() && !world.at("control/extras").exists());
}
