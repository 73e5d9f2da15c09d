//! A directory of the source that cannot be looked into is no empty one: nothing below it is an extra, and it is left out by name.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use cpt_ends_posix::PosixSource;
use cpt_relay::documents::entry::{Kind, ListingEntry, Segment};
use cpt_relay::documents::event::SkipReason;
use cpt_relay::documents::survey::{LISTING_FOLDER, UNSELECTED_FOLDER};
use cpt_relay::ends::Source as _;
use serde_json::{Value, json};

use super::World;

const NOBODY: u32 = 65_534;

/// On a thread of an ordinary user: root may look into everything.
fn as_nobody(test: impl FnOnce() + Send) {
    std::thread::scope(|scope| {
        let run = scope.spawn(|| {
            if rustix::process::geteuid().is_root() {
                rustix::thread::set_thread_uid(rustix::process::Uid::from_raw(NOBODY)).unwrap();
            }
            test();
        });
        run.join().unwrap();
    });
}

/// `closed` can be neither read nor searched; of `names` only the names can be had, of `paths` only what is known by its name.
fn world(list_unreadable: bool) -> World {
    let destination = ["open/a", "open/old", "closed/x", "closed/mine", "names/y", "names/mine", "paths/z", "paths/mine", "old"];
    let mut world = World::new(&["open/a", "closed/x", "names/y", "paths/z", "file"], &destination);
    world.list_unreadable = list_unreadable;
    set(&world, [0o000, 0o444, 0o333]);
    world
}

fn set(world: &World, modes: [u32; 3]) {
    for (name, mode) in ["closed", "names", "paths"].into_iter().zip(modes) {
        fs::set_permissions(world.at(&format!("from/{name}")), fs::Permissions::from_mode(mode)).unwrap();
    }
}

fn listed(world: &World, survey: &Value) -> Vec<ListingEntry> {
    world.lines(LISTING_FOLDER, &survey["parts"]).iter().map(|line| ListingEntry::parse(line).unwrap()).collect()
}

#[test]
fn what_lies_below_it_at_the_destination_stays_and_all_else_goes() {
    as_nobody(|| {
        let world = world(true);
        let survey = world.listed();
        assert_eq!((&survey["problemCount"], &survey["files"], &survey["directories"]), (&0.into(), &2.into(), &4.into()));
        let entries = listed(&world, &survey);
        let unreadable: Vec<&str> = entries.iter().filter(|entry| entry.unreadable).map(|entry| &*entry.path).collect();
        assert_eq!(unreadable, ["closed", "names", "paths"]);
        assert_eq!(world.extras(), (["old", "open/old"].map(str::to_owned).into(), json!({"unreadable": 3})));
        set(&world, [0o755; 3]);
        // It counts as left out, though it could be read by now: what it holds was not listed.
        let source = PosixSource::new(vec![world.at("from").join("")]);
        for entry in entries.into_iter().filter(|entry| entry.kind == Kind::Directory) {
            let ListingEntry { path, source: at, kind, size, mode, mtime_ns, inode, unreadable, .. } = entry;
            let line = json!({"entry": 1, "path": path, "source": at, "kind": kind, "size": size, "mode": mode, "mtimeNs": mtime_ns,
                "inode": inode, "unreadable": unreadable, "offset": 0, "length": 0});
            let segment = Segment::parse(line.to_string().as_bytes()).unwrap();
            let failure = source.open(&segment).err().map(|failure| failure.reason);
            assert_eq!(failure, unreadable.then_some(SkipReason::SourceUnreadable), "{path}");
        }
    });
}

#[test]
fn unless_the_request_lets_it_be_left_out_it_is_a_problem_of_the_survey() {
    as_nobody(|| {
        let world = world(false);
        let survey = world.listed();
        set(&world, [0o755; 3]);
        assert_eq!(survey["problemCount"], 3);
        let named: Vec<&str> = survey["problems"].as_array().unwrap().iter().map(|problem| problem["path"].as_str().unwrap()).collect();
        let ends = ["/closed", "/names/y", "/paths"];
        assert!(named.iter().zip(ends).all(|(path, end)| path.ends_with(end)), "{named:?}");
    });
}

#[test]
fn a_path_that_the_request_names_itself_is_a_problem_whatever_may_be_left_out() {
    as_nobody(|| {
        let mut world = world(true);
        world.paths = vec!["open", "closed"];
        let survey = world.listed();
        set(&world, [0o755; 3]);
        assert_eq!(survey["problemCount"], 1);
    });
}

#[test]
fn what_only_leads_to_what_is_selected_is_named_too() {
    as_nobody(|| {
        let world = world(true).selecting(json!({"include": ["x", "y", "old"]}));
        let survey = world.listed();
        let paths: Vec<String> = listed(&world, &survey).into_iter().map(|entry| entry.path).collect();
        let left_out = world.lines(UNSELECTED_FOLDER, &survey["unselectedParts"]).len();
        let (extras, _) = world.extras();
        set(&world, [0o755; 3]);
        assert_eq!(paths, ["closed", "names", "paths"]);
        assert_eq!((left_out, extras), (2, vec!["old".to_owned(), "open/old".to_owned()]));
    });
}
