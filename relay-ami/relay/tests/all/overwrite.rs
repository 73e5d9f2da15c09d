//! Which files and links of a destination are replaced: beside rsync on the same trees, and in the last look.

use std::fs::{self, File};
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, UNIX_EPOCH};

use rustix::fs::{AtFlags, CWD, Timespec, Timestamps, utimensat};

use cpt_relay::documents::command::{Compare, Overwrite};
use cpt_relay::survey::compare::Rule;
use cpt_relay::{receive, send};

use crate::harness::{Transfer, list, path};

const CHUNK: u64 = 64 << 10;

/// A file with its modification time, seconds since 1970.
fn file(root: &Path, name: &str, content: &str, seconds: u64) {
    let path = root.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, content).unwrap();
    File::open(path).unwrap().set_modified(UNIX_EPOCH + Duration::from_secs(seconds)).unwrap();
}

fn source(root: &Path) {
    for (name, seconds) in [("d/newer-there", 100), ("d/older-there", 300), ("equal", 200), ("file-of-link", 100), ("new/x", 100)] {
        file(root, name, "the source's", seconds);
    }
    // rsync takes two times within a second for one, and leaves what it has made just now as it is.
    for name in ["link", "link-of-file"] {
        symlink("the-source's", root.join(name)).unwrap();
        let time = Timespec { tv_sec: 400, tv_nsec: 0 };
        let times = Timestamps { last_access: time, last_modification: time };
        utimensat(CWD, root.join(name), &times, AtFlags::SYMLINK_NOFOLLOW).unwrap();
    }
    for directory in ["d", "new"] {
        File::open(root.join(directory)).unwrap().set_modified(UNIX_EPOCH + Duration::from_secs(400)).unwrap();
    }
}

fn destination(root: &Path) {
    for name in ["d/newer-there", "d/older-there", "link-of-file"] {
        file(root, name, "what is there", 200);
    }
    file(root, "equal", "the source's", 200);
    file(root, "only-there", "what is there", 1);
    symlink("what-is-there", root.join("link")).unwrap();
    symlink("what-is-there", root.join("file-of-link")).unwrap();
}

/// Moves what the comparison leaves to be sent, once something has happened at the destination after it.
fn moved(transfer: &mut Transfer, rule: Rule, meanwhile: impl FnOnce(&Path)) -> (send::Outcome, receive::Outcome) {
    transfer.plan_compared(rule, CHUNK);
    meanwhile(&transfer.destination());
    transfer.epoch += 1;
    let receiver = transfer.receive();
    transfer.members(vec![path("direct", &[], receiver.address)]);
    (transfer.send(None).join(), receiver.join())
}

fn rule(overwrite: Overwrite) -> Rule {
    Rule { overwrite, ..Compare::SizeTime.into() }
}

fn delivered(transfer: &mut Transfer, rule: Rule) -> u64 {
    let (sent, received) = moved(transfer, rule, |_| ());
    let send::Outcome::Delivered(totals) = sent else { panic!("{sent:?}") };
    assert_eq!(received, receive::Outcome::Agreed);
    totals.files
}

#[test]
fn a_destination_is_as_rsync_leaves_it() {
    if Command::new("rsync").arg("--version").output().is_err() {
        cpt_skipped::skipped("rsync is missing, beside which --ignore-existing and --update are tried");
        return;
    }
    let rules = [(Overwrite::Always, "--times", 6), (Overwrite::Never, "--ignore-existing", 1), (Overwrite::IfNewer, "--update", 5)];
    for (overwrite, option, sent) in rules {
        let mut transfer = Transfer::plan(CHUNK, Some(1), source);
        let peer = transfer.directory.path().join("peer");
        destination(&transfer.destination());
        // Links keep the times that they were made at.
        assert!(Command::new("cp").arg("-a").args([&transfer.destination(), &peer]).status().unwrap().success());
        let from = format!("{}/", transfer.source().display());
        assert!(Command::new("rsync").args(["-a", option, &from]).arg(&peer).status().unwrap().success());
        // Directories are sent with whatever is.
        assert_eq!(delivered(&mut transfer, rule(overwrite)), sent + 2, "{overwrite:?}");
        assert_eq!(list(&transfer.destination()), list(&peer), "{overwrite:?}");
        assert_eq!(delivered(&mut transfer, rule(overwrite)), 0, "{overwrite:?}: the next run has nothing to send");
    }
}

/// Here rsync --update sends it: it calls only what is newer there newer.
#[test]
fn a_file_that_is_as_old_there_is_left_alone_whatever_its_size_and_mode() {
    let mut transfer = Transfer::plan(CHUNK, Some(1), |root| file(root, "f", "the source's", 200));
    file(&transfer.destination(), "f", "shorter", 200);
    let before = list(&transfer.destination());
    assert_eq!(delivered(&mut transfer, rule(Overwrite::IfNewer)), 0);
    assert_eq!(list(&transfer.destination()), before);
}

#[test]
fn what_is_left_alone_may_change_meanwhile_and_must_not_vanish() {
    let change: fn(&Path) = |root| file(root, "d/newer-there", "of somebody else", 50);
    let remove: fn(&Path) = |root| fs::remove_file(root.join("d/newer-there")).unwrap();
    for (meanwhile, is_right) in [(change, true), (remove, false)] {
        let mut transfer = Transfer::plan(CHUNK, Some(1), source);
        destination(&transfer.destination());
        let (sent, received) = moved(&mut transfer, rule(Overwrite::Never), meanwhile);
        assert_eq!(received == receive::Outcome::Agreed, is_right, "{sent:?} {received:?}");
        if !is_right {
            assert!(format!("{received:?}{sent:?}").contains("d/newer-there"), "{sent:?} {received:?}");
        }
    }
}

/// What somebody has changed under the same size and time is repaired, and no byte is taken from what is there; rsync -a leaves it,
/// and rsync --ignore-times repairs it too.
#[test]
fn all_is_sent_though_it_is_equal() {
    let contents = "the source's ".repeat(1_000);
    let mut transfer = Transfer::plan(CHUNK, Some(1), |root| ["a", "b"].iter().for_each(|name| file(root, name, &contents, 200)));
    file(&transfer.destination(), "a", &contents, 200);
    file(&transfer.destination(), "b", &contents.replace('o', "O"), 200);
    let (from, peer) = (format!("{}/", transfer.source().display()), transfer.directory.path().join("peer"));
    assert!(Command::new("cp").arg("-a").args([&transfer.destination(), &peer]).status().unwrap().success());
    let is_as_rsync_leaves_it = |transfer: &Transfer, option: &str| {
        // Without rsync the rest is tried all the same.
        let Ok(done) = Command::new("rsync").args(["-a", option, &from]).arg(&peer).status() else { return true };
        done.success() && list(&transfer.destination()) == list(&peer)
    };
    assert_eq!(delivered(&mut transfer, Compare::SizeTime.into()), 0);
    assert!(is_as_rsync_leaves_it(&transfer, "--times"));
    let (sent, received) = moved(&mut transfer, Rule { resend_all: true, ..Compare::SizeTime.into() }, |_| ());
    let send::Outcome::Delivered(totals) = sent else { panic!("{sent:?}") };
    assert_eq!(received, receive::Outcome::Agreed);
    assert_eq!((totals.files, totals.bytes, totals.saved_bytes), (2, 2 * contents.len() as u64, 0));
    transfer.assert_same_trees();
    assert!(is_as_rsync_leaves_it(&transfer, "--ignore-times"));
}
