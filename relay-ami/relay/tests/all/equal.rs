//! One idea of what is equal: what a comparison takes for the same is the same for the last look too, and for the next run.

use std::fs::{self, File};
use std::path::Path;
use std::time::{Duration, SystemTime};

use cpt_relay::documents::command::Compare;
use cpt_relay::{receive, send};

use crate::harness::{EVERYTHING, Transfer, noise, path};

const CHUNK: u64 = 64 << 10;
const FILES: u64 = 8;
/// Enough not to be guessed: less is always sent.
const BYTES: usize = 5000;

fn fill(root: &Path) {
    for number in 0..FILES {
        fs::write(root.join(format!("f{number}")), noise(number, BYTES)).unwrap();
    }
}

fn at(file: &Path, time: SystemTime) {
    File::open(file).unwrap().set_modified(time).unwrap();
}

fn modified(file: &Path) -> SystemTime {
    fs::metadata(file).unwrap().modified().unwrap()
}

/// A destination that has all but `f0`, copied with their times or without.
fn copied(transfer: &Transfer, with_times: bool) {
    fs::create_dir_all(transfer.destination()).unwrap();
    for number in 1..FILES {
        let [from, to] = [transfer.source(), transfer.destination()].map(|root| root.join(format!("f{number}")));
        fs::copy(&from, &to).unwrap();
        at(&to, if with_times { modified(&from) } else { SystemTime::now() - Duration::from_secs(3600) });
    }
}

/// Moves what a comparison leaves to be sent; something happens at the destination after it.
fn moved(transfer: &mut Transfer, by: Compare, meanwhile: impl FnOnce(&Path)) -> send::Totals {
    transfer.plan_compared(by, CHUNK);
    meanwhile(&transfer.destination());
    transfer.epoch += 1;
    let receiver = transfer.receive();
    transfer.members(vec![path("direct", &[], receiver.address)]);
    let outcome = transfer.send(None).join();
    let send::Outcome::Delivered(totals) = outcome else { panic!("{outcome:?}") };
    assert_eq!(receiver.join(), receive::Outcome::Agreed);
    assert_eq!(totals.skipped, 0);
    totals
}

#[test]
fn what_is_equal_by_its_content_keeps_its_time_and_is_not_sent() {
    let mut transfer = Transfer::plan(CHUNK, Some(1), fill);
    copied(&transfer, false);
    let before = modified(&transfer.destination().join("f1"));
    let totals = moved(&mut transfer, Compare::Digest, |_| ());
    assert_eq!((totals.files, totals.bytes), (1, BYTES as u64));
    assert_eq!(modified(&transfer.destination().join("f1")), before);
    assert_eq!(moved(&mut transfer, Compare::Digest, |_| ()).bytes, 0, "the next run has nothing to send");
}

/// As `cp -al` does, or a program that keeps snapshots, while a transfer runs.
#[test]
fn names_that_are_made_at_the_destination_are_no_change() {
    for by in [Compare::SizeTime, Compare::Digest] {
        let mut transfer = Transfer::plan(CHUNK, Some(1), fill);
        copied(&transfer, true);
        let snapshot = transfer.directory.path().join("snapshot");
        let totals = moved(&mut transfer, by, |destination| {
            fs::create_dir(&snapshot).unwrap();
            for number in 1..FILES {
                fs::hard_link(destination.join(format!("f{number}")), snapshot.join(format!("f{number}"))).unwrap();
            }
        });
        assert_eq!(totals.files, 1, "{by:?}");
        transfer.assert_same_trees();
    }
}

/// A rotation of backups that share files: one name of an old file is replaced, which moves the change time of its other names.
#[test]
fn names_that_are_replaced_by_the_transfer_itself_are_no_change_of_the_others() {
    for preserve in [EVERYTHING, cpt_relay::documents::attributes::Preserve::default()] {
        let mut transfer = Transfer::plan(CHUNK, Some(1), |root| {
            for day in ["daily.0", "daily.1"] {
                fs::create_dir(root.join(day)).unwrap();
                fs::write(root.join(day).join("f"), day).unwrap();
                at(&root.join(day).join("f"), SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000));
            }
        });
        transfer.preserve = preserve;
        for day in ["daily.0", "daily.1"] {
            fs::create_dir_all(transfer.destination().join(day)).unwrap();
        }
        let [newest, older] = ["daily.0/f", "daily.1/f"].map(|name| transfer.destination().join(name));
        fs::write(&older, "daily.1").unwrap();
        at(&older, modified(&transfer.source().join("daily.1/f")));
        // Both names are of the old file; that of today is another one at the source.
        fs::hard_link(&older, &newest).unwrap();
        at(&transfer.source().join("daily.0/f"), SystemTime::UNIX_EPOCH + Duration::from_secs(1_800_000_000));
        moved(&mut transfer, Compare::SizeTime, |_| ());
        transfer.assert_same_trees();
    }
}

/// As `chmod -R` at the source brings about: no byte of a file leaves it.
#[test]
fn modes_alone_are_repaired_without_data() {
    for by in [Compare::SizeTime, Compare::Digest] {
        let mut transfer = Transfer::plan(CHUNK, Some(1), |root| {
            fill(root);
            fs::write(root.join("large"), noise(9, 3 * CHUNK as usize)).unwrap();
        });
        moved(&mut transfer, by, |_| ());
        for name in ["f0", "f1", "large"] {
            let file = transfer.source().join(name);
            let times = modified(&file);
            fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(0o640)).unwrap();
            at(&file, times);
        }
        let totals = moved(&mut transfer, by, |_| ());
        assert_eq!(totals.files, 3, "{by:?}");
        assert_eq!(totals.saved_bytes, totals.bytes, "{by:?}: no byte went out");
        transfer.assert_same_trees();
        assert_eq!(moved(&mut transfer, by, |_| ()).files, 0, "{by:?}");
    }
}

/// What was to be taken from the destination is another file by then: the bytes come after all.
#[test]
fn a_file_that_is_not_the_same_any_more_is_sent() {
    let mut transfer = Transfer::plan(CHUNK, Some(9), fill);
    moved(&mut transfer, Compare::SizeTime, |_| ());
    fs::set_permissions(transfer.source().join("f3"), std::os::unix::fs::PermissionsExt::from_mode(0o640)).unwrap();
    let totals = moved(&mut transfer, Compare::SizeTime, |destination| {
        let (file, other) = (destination.join("f3"), noise(77, BYTES));
        let time = modified(&file);
        fs::write(&file, other).unwrap();
        at(&file, time);
    });
    assert_eq!((totals.files, totals.bytes), (1, BYTES as u64));
    transfer.assert_same_trees();
}
