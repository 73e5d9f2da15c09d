//! Of a file that changed, what the destination has already does not cross the network.

use std::fs::{self, File, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::time::{Duration, SystemTime};

use cpt_relay::{receive, send};

use crate::harness::{Transfer, noise, path};

const CHUNK: u64 = 1 << 20;
const BLOCK: u64 = 64 << 10;
const SIZE: usize = 20 << 20;

/// A transfer whose destination has what the source had before `change`, but for what `spoil` does to it.
fn changed(change: impl FnOnce(&Path), spoil: impl FnOnce(&Path)) -> Transfer {
    let mut transfer = Transfer::plan(CHUNK, Some(5), |root| {
        fs::write(root.join("log"), noise(1, SIZE)).unwrap();
        fs::write(root.join("other"), noise(2, SIZE)).unwrap();
    });
    let copied = std::process::Command::new("cp").arg("-a").args([transfer.source(), transfer.destination()]).status().unwrap();
    assert!(copied.success());
    change(&transfer.source());
    spoil(&transfer.destination());
    transfer.plan_changed(CHUNK);
    transfer
}

fn run(transfer: &mut Transfer) -> send::Totals {
    let receiver = transfer.receive();
    let sender = transfer.send(None);
    transfer.members(vec![path("direct", &[], receiver.address)]);
    let outcome = sender.join();
    let send::Outcome::Delivered(totals) = outcome else { panic!("{outcome:?}") };
    assert_eq!(receiver.join(), receive::Outcome::Agreed);
    transfer.assert_same_trees();
    totals
}

/// Bytes that crossed the network.
fn wire(totals: &send::Totals) -> u64 {
    totals.sent_bytes - totals.saved_bytes
}

fn later(file: &Path) {
    File::open(file).unwrap().set_modified(SystemTime::now() + Duration::from_secs(60)).unwrap();
}

#[test]
fn of_a_log_that_grew_only_the_end_is_sent() {
    let grown = |root: &Path| OpenOptions::new().append(true).open(root.join("log")).unwrap().write_all(&noise(3, 300_000)).unwrap();
    let mut transfer = changed(grown, |_| {});
    assert_eq!(transfer.plan.bytes, SIZE as u64 + 300_000, "the other file is the same");
    let totals = run(&mut transfer);
    assert!((300_000..300_000 + BLOCK).contains(&wire(&totals)), "{totals:?}");
}

#[test]
fn of_an_edit_in_place_only_its_blocks_are_sent() {
    let edited = |root: &Path| {
        let file = OpenOptions::new().write(true).open(root.join("log")).unwrap();
        for at in [5, 7_000_000, SIZE as u64 - 10] {
            file.write_all_at(b"edited", at).unwrap();
        }
        later(&root.join("log"));
    };
    let totals = run(&mut changed(edited, |_| {}));
    assert_eq!(wire(&totals), 3 * BLOCK, "{totals:?}");
}

#[test]
fn a_log_that_was_rotated_is_found_under_its_earlier_name() {
    let rotated = |root: &Path| {
        fs::rename(root.join("other"), root.join("log.2")).unwrap();
        fs::rename(root.join("log"), root.join("log.1")).unwrap();
        fs::write(root.join("log"), noise(4, 3000)).unwrap();
    };
    let before = |root: &Path| {
        fs::rename(root.join("other"), root.join("log.1")).unwrap();
        // Something of that name is there, else nothing is an earlier version of it.
        fs::write(root.join("log.2"), noise(9, SIZE)).unwrap();
    };
    let totals = run(&mut changed(rotated, before));
    assert_eq!(totals.bytes, 2 * SIZE as u64 + 3000);
    assert!(wire(&totals) <= 3000 + CHUNK, "{totals:?}");
}

#[test]
fn a_file_of_which_nothing_is_left_is_sent_whole() {
    let totals = run(&mut changed(|root| fs::write(root.join("log"), noise(5, SIZE)).unwrap(), |_| {}));
    assert_eq!((wire(&totals), totals.sent_bytes), (SIZE as u64, SIZE as u64));
}

#[test]
fn a_shorter_version_arrives_shorter() {
    let cut = |root: &Path| {
        OpenOptions::new().write(true).open(root.join("log")).unwrap().set_len(SIZE as u64 - 3_000_001).unwrap();
        later(&root.join("log"));
    };
    let totals = run(&mut changed(cut, |_| {}));
    assert!(wire(&totals) < BLOCK, "{totals:?}");
}
