//! What a transfer replaces and a mirror removes is kept: beside rsync on the same trees, in the order of the steps, and whatever is killed.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::os::unix::fs::{MetadataExt as _, symlink};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, UNIX_EPOCH};

use cpt_ends_posix::{PosixDestination, PosixSource};
use cpt_laboratory::directory::Directory;
use cpt_laboratory::plan::RANGE_SIZE;
use cpt_relay::documents::text::{KeepName, TransferId};
use cpt_relay::ends::Destination as _;
use cpt_relay::survey::scan;
use cpt_relay::{receive, send};
use rustix::fs::{AtFlags, CWD, Timespec, Timestamps, utimensat};
use serde_json::Value;

use crate::by_hand::{last_line, run};
use crate::harness::{EVERYTHING, Transfer, list, noise, path, wait_for};

const CHUNK: u64 = 64 << 10;
const NAME: &str = ".kept";

fn file(root: &Path, name: &str, content: &[u8], seconds: u64) {
    let path = root.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, content).unwrap();
    File::open(path).unwrap().set_modified(UNIX_EPOCH + Duration::from_secs(seconds)).unwrap();
}

/// Small files and one of several chunks, new ones and others, links, and names of one file.
fn source(root: &Path) {
    for name in ["equal", "d/changed", "d/deep/changed", "new/x", "file-of-link"] {
        file(root, name, b"the source's", 200);
    }
    file(root, "large", &noise(1, 3 * CHUNK as usize + 5), 200);
    file(root, "new-large", &noise(2, 2 * CHUNK as usize), 200);
    for name in ["link", "link-of-file", "new-link"] {
        symlink("the-source's", root.join(name)).unwrap();
        // rsync takes two times within a second for one, and leaves what it has made just now as it is.
        let time = Timespec { tv_sec: 400, tv_nsec: 0 };
        utimensat(CWD, root.join(name), &Timestamps { last_access: time, last_modification: time }, AtFlags::SYMLINK_NOFOLLOW).unwrap();
    }
    fs::hard_link(root.join("d/changed"), root.join("name")).unwrap();
}

fn destination(root: &Path) {
    for name in ["d/changed", "d/deep/changed", "link-of-file", "name"] {
        file(root, name, format!("what {name} was").as_bytes(), 100);
    }
    file(root, "equal", b"the source's", 200);
    file(root, "large", &noise(3, 2 * CHUNK as usize), 100);
    symlink("what-was-there", root.join("link")).unwrap();
    symlink("what-was-there", root.join("file-of-link")).unwrap();
}

/// What only the destination has, for a mirror.
fn extras(root: &Path) {
    for name in ["only/there/x", "only/y", "d/z", "lone"] {
        file(root, name, format!("what {name} was").as_bytes(), 100);
    }
    symlink("nowhere", root.join("only/link")).unwrap();
    fs::create_dir_all(root.join("only/empty")).unwrap();
}

fn keep() -> Option<KeepName> {
    Some(KeepName::new(NAME).unwrap())
}

fn keeping(transfer: Transfer) -> Transfer {
    let to = PosixDestination::new(transfer.destination()).keeping(keep().as_ref(), &TransferId::new("t-1").unwrap());
    transfer.to(to)
}

/// Files and links with mode, time and digest of the content. Directories for what is kept are the keeper's own.
fn without_directories(root: &Path) -> BTreeMap<String, (u32, i128, blake3::Hash)> {
    let found = list(root).into_iter().filter(|(_, (mode, ..))| mode & 0o170_000 != 0o040_000);
    found.map(|(path, (mode, time, content))| (String::from_utf8(path).unwrap(), (mode, time, blake3::hash(&content)))).collect()
}

fn moved(transfer: &mut Transfer) -> send::Totals {
    let receiver = transfer.receive();
    transfer.members(vec![path("direct", &[], receiver.address)]);
    let sent = transfer.send(None).join();
    assert_eq!(receiver.join(), receive::Outcome::Agreed, "{sent:?}");
    let send::Outcome::Delivered(totals) = sent else { panic!("{sent:?}") };
    totals
}

#[test]
fn what_is_replaced_and_removed_is_kept_as_rsync_keeps_it() {
    if Command::new("rsync").arg("--version").output().is_err() {
        cpt_skipped::skipped("rsync is missing, beside which --backup is tried");
        return;
    }
    let here = tempfile::tempdir().unwrap();
    let at = |name: &str| here.path().join(name);
    for (name, fill) in [("source", &[source as fn(&Path)][..]), ("ours", &[destination, extras])] {
        fs::create_dir(at(name)).unwrap();
        fill.iter().for_each(|fill| fill(&at(name)));
        // By hand there is no comparison.
        fs::remove_file(at(name).join("equal")).unwrap();
    }
    // Links keep the times that they were made at.
    assert!(Command::new("cp").arg("-a").args([at("ours"), at("rsync")]).status().unwrap().success());
    let backup = format!("--backup-dir={NAME}/t");
    let options = ["-aH", "--backup", &backup, "--delete", "source/", "rsync"];
    assert!(Command::new("rsync").args(options).current_dir(here.path()).status().unwrap().success());

    let control = ["--control-dir", "control", "--transfer", "t"];
    let with = |role: &'static str, more: &[&str]| run(here.path(), &[&[role][..], &control, more].concat());
    let preserve = serde_json::to_string(&EVERYTHING).unwrap();
    assert!(with("plan", &["--chunk-kib", "64", "--preserve", &preserve, "source/"]).status.success());
    transfer_by_hand(here.path(), &control, &preserve, "ours");
    let mirrored = last_line(&with("mirror", &["--delete", "--keep-replaced", NAME, "source/", "ours"]));
    assert_eq!((&mirrored["entries"], &mirrored["remaining"]), (&Value::from(8), &Value::Object(serde_json::Map::new())), "{mirrored}");
    let kept = without_directories(&at("rsync").join(NAME).join("t"));
    assert_eq!(without_directories(&at("ours").join(NAME).join("t")), kept);
    assert_eq!((kept.len(), &mirrored["kept"]), (12, &Value::from(12)), "7 were replaced, 5 removed");
    let but_kept = |name: &str| {
        let is_other = |path: &String| !path.starts_with(NAME);
        without_directories(&at(name)).into_iter().filter(|(path, _)| is_other(path)).collect::<Vec<_>>()
    };
    assert_eq!(but_kept("ours"), but_kept("rsync"));
}

/// Both ends as processes, to their end.
fn transfer_by_hand(here: &Path, control: &[&str], preserve: &str, to: &str) {
    let mut receiver = receiver_by_hand(here, control, preserve, to);
    let sent = run(here, &[&["send"][..], control, &["--direct"]].concat());
    assert!(sent.status.success(), "{}", String::from_utf8_lossy(&sent.stderr));
    assert!(wait_for("the receiver's end", || receiver.try_wait().unwrap()).success());
}

fn receiver_by_hand(here: &Path, control: &[&str], preserve: &str, to: &str) -> std::process::Child {
    let _ = fs::remove_file(here.join("ready"));
    let own = ["--listen", "127.0.0.1:0", "--ready", "ready", "--keep-replaced", NAME, "--preserve", preserve, to];
    let mut command = Command::new(std::env::var_os("CARGO_BIN_EXE_cpt-laboratory").expect("cargo sets it"));
    command.current_dir(here).arg("receive").args(control).args(own).env_remove("CPT_RATE_LIMITS");
    let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    assert_eq!(last_line(&run(here, &["await-ready", "ready"]))["role"], "receive");
    child
}

/// However often the receiver is killed while it places, each file is what it was or what it is to be, and what it was is there once at least.
#[test]
fn a_receiver_that_is_killed_while_it_places_loses_neither_what_was_nor_what_comes() {
    const FILES: usize = 600;
    let here = tempfile::tempdir().unwrap();
    let at = |name: &str| here.path().join(name);
    let name = |number: usize| format!("d{}/f{number}", number % 7);
    let (old, new) = (|number: usize| format!("what {number} was"), |number: usize| format!("what {number} is"));
    for number in 0..FILES {
        file(&at("to"), &name(number), old(number).as_bytes(), 100);
        file(&at("from"), &name(number), new(number).as_bytes(), 200);
    }
    file(&at("to"), "large", b"what it was", 100);
    file(&at("from"), "large", &noise(1, 150 << 10), 200);
    let control = ["--control-dir", "control", "--transfer", "t"];
    let preserve = serde_json::to_string(&EVERYTHING).unwrap();
    let planned =
        run(here.path(), &[&["plan"][..], &control, &["--chunk-kib", "1", "--lanes", "2", "--preserve", &preserve, "from/"]].concat());
    assert!(planned.status.success(), "{}", String::from_utf8_lossy(&planned.stderr));
    let kept =
        || fs::read_dir(at("to").join(NAME)).map_or(0, |versions| versions.flatten().map(|version| files(&version.path())).sum::<usize>());
    let check = || {
        for number in 0..FILES {
            let there = fs::read_to_string(at("to").join(name(number))).unwrap();
            assert!(there == old(number) || there == new(number), "{number}: {there:?}");
            let first = fs::read_to_string(at("to").join(NAME).join("t").join(name(number)));
            assert!(there == old(number) || first.is_ok_and(|first| first == old(number)), "{number} is lost");
        }
    };
    let mut kills = 0;
    for share in [1, 120, 260, 430] {
        let mut receiver = receiver_by_hand(here.path(), &control, &preserve, "to");
        let send = [&["send"][..], &control, &["--direct", "--attempts", "9", "--route-key", "route.key"]].concat();
        let mut command = Command::new(std::env::var_os("CARGO_BIN_EXE_cpt-laboratory").unwrap());
        command.current_dir(here.path()).args(send).env_remove("CPT_RATE_LIMITS").stdin(Stdio::null()).stdout(Stdio::null());
        let mut sender = command.stderr(Stdio::null()).spawn().unwrap();
        let ended = wait_for("files that are kept", || match receiver.try_wait().unwrap() {
            Some(_) => Some(true),
            None => (kept() >= share).then_some(false),
        });
        kills += usize::from(!ended);
        for end in [&mut receiver, &mut sender] {
            let _ = end.kill();
            let _ = end.wait();
        }
        check();
    }
    assert!(kills >= 2, "it was hardly killed: {kills} times");
    let mut receiver = receiver_by_hand(here.path(), &control, &preserve, "to");
    let sent = run(here.path(), &[&["send"][..], &control, &["--direct", "--attempts", "9", "--route-key", "route.key"]].concat());
    assert!(sent.status.success(), "{}", String::from_utf8_lossy(&sent.stderr));
    assert!(wait_for("the receiver's end", || receiver.try_wait().unwrap()).success());
    check();
    for number in 0..FILES {
        assert_eq!(fs::read_to_string(at("to").join(name(number))).unwrap(), new(number));
    }
    assert_eq!(fs::read(at("to/large")).unwrap(), noise(1, 150 << 10));
    assert_eq!(fs::read(at("to").join(NAME).join("t/large")).unwrap(), b"what it was");
}

fn files(directory: &Path) -> usize {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    entries.map(|entry| if entry.path().is_dir() { files(&entry.path()) } else { 1 }).sum()
}

#[test]
fn the_sender_says_how_many_are_kept_and_a_transfer_that_replaces_nothing_makes_no_directory() {
    let mut transfer = Transfer::plan(CHUNK, Some(1), |root| {
        source(root);
        fs::remove_file(root.join("name")).unwrap();
    });
    transfer = keeping(transfer);
    let none = moved(&mut transfer);
    assert_eq!((none.kept, transfer.destination().join(NAME).exists()), (0, false));
    for (name, content) in [("equal", "changed"), ("d/changed", "changed")] {
        file(&transfer.destination(), name, content.as_bytes(), 50);
    }
    transfer.epoch += 1;
    transfer.plan_compared(cpt_relay::documents::command::Compare::SizeTime, CHUNK);
    assert_eq!(moved(&mut transfer).kept, 2);
    let kept = transfer.destination().join(NAME).join("t-1");
    assert_eq!(fs::read(kept.join("d/changed")).unwrap(), b"changed");
    assert_eq!(kept.metadata().unwrap().mode() & 0o7777, 0o700);
}

#[test]
fn without_the_option_nothing_is_kept() {
    let mut transfer = Transfer::plan(CHUNK, Some(1), source);
    destination(&transfer.destination());
    assert_eq!(moved(&mut transfer).kept, 0);
    transfer.assert_same_trees();
}

/// Something that the source changes while it is sent comes again, in its own place: the first version stays what is kept.
#[test]
fn what_is_repaired_is_kept_once() {
    let mut transfer = Transfer::plan(CHUNK, Some(3), |root| file(root, "f", b"the source's", 200));
    file(&transfer.destination(), "f", b"what was there", 100);
    transfer = keeping(transfer);
    let receiver = transfer.receive();
    transfer.members(vec![path("direct", &[], receiver.address)]);
    // Somebody spoils it as soon as it has come: the last look misses it, and it comes again.
    let place = transfer.destination().join("f");
    let spoil = std::thread::spawn(move || {
        wait_for("the file", || fs::read(&place).ok().filter(|content| content == b"the source's"));
        fs::write(&place, b"somebody's").unwrap();
    });
    let sent = transfer.send(None).join();
    assert_eq!(receiver.join(), receive::Outcome::Agreed, "{sent:?}");
    spoil.join().unwrap();
    let kept = transfer.destination().join(NAME);
    assert_eq!(fs::read(kept.join("t-1/f")).unwrap(), b"what was there");
}

#[test]
fn what_would_land_where_things_are_kept_is_a_problem_of_the_listing_unless_it_is_left_out() {
    let here = tempfile::tempdir().unwrap();
    let from = here.path().join("from");
    for name in ["a", ".kept/old", "b/.kept/x"] {
        file(&from, name, b"x", 200);
    }
    let control = Directory::open(here.path().join("control"), RANGE_SIZE, None).unwrap();
    let listed = |source: PosixSource| {
        serde_json::to_value(scan::source(&source.leaving_free(keep()), &control, "", scan::Options::default()).unwrap()).unwrap()
    };
    let found = listed(PosixSource::new(vec![from.join("")]));
    assert_eq!(found["problemCount"], 1, "{found}");
    let problem = &found["problems"][0];
    assert_eq!(problem["path"], from.join(NAME).to_str().unwrap());
    assert!(problem["reason"].as_str().unwrap().contains("$.keepReplaced"), "{problem}");
    let excluded = serde_json::from_value(serde_json::json!({"exclude": ["/.kept"]})).unwrap();
    let found = listed(PosixSource::new(vec![from.join("")]).selecting(excluded));
    assert_eq!((&found["problemCount"], &found["files"]), (&Value::from(0), &Value::from(2)), "{found}");
    // Under the name of its own directory it lands elsewhere.
    let found = listed(PosixSource::new(vec![from]));
    assert_eq!(found["problemCount"], 0, "{found}");
}

#[test]
fn a_survey_refuses_a_directory_in_which_nothing_can_be_kept() {
    let survey = |root: &Path| {
        let destination = PosixDestination::new(root.to_owned()).keeping(keep().as_ref(), &TransferId::new("t").unwrap());
        serde_json::to_value(destination.room().survey()).unwrap()
    };
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(survey(folder.path())["problemCount"], 0);
    assert_eq!(survey(&folder.path().join("to/come"))["problemCount"], 0);
    fs::create_dir(folder.path().join(NAME)).unwrap();
    assert_eq!(survey(folder.path())["problemCount"], 0);
    fs::remove_dir(folder.path().join(NAME)).unwrap();
    symlink("/tmp", folder.path().join(NAME)).unwrap();
    let found = survey(folder.path());
    assert!(found["problems"][0]["reason"].as_str().unwrap().starts_with(".kept is no directory"), "{found}");
}
