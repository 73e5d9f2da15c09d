//! One bad file is one bad file: it is named and left out, and what stands beside it in the same bundle arrives.

use std::fs::{self, File};
use std::io::Write as _;
use std::os::unix::fs::{FileExt as _, symlink};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use cpt_relay::{receive, send};
use serde_json::Value;

use crate::harness::{Transfer, noise, path, wait_for};

const CHUNK: u64 = 64 << 10;

/// Sends what `fill` makes, after `change` has changed source and destination. Nothing is retried.
fn sent(chunk: u64, fill: impl FnOnce(&Path), change: impl FnOnce(&Transfer)) -> (Transfer, send::Totals) {
    let mut transfer = Transfer::plan(chunk, Some(1), fill);
    change(&transfer);
    let receiver = transfer.receive();
    transfer.members(vec![path("direct", &[], receiver.address)]);
    // 2 MB/s: an answer of the receiver comes long before a large file has gone out.
    let outcome = transfer.send(Some(16)).join();
    let send::Outcome::Delivered(totals) = outcome else { panic!("{outcome:?}") };
    assert_eq!(receiver.join(), receive::Outcome::Agreed);
    assert!(transfer.events().is_empty(), "a chunk failed: {:?}", transfer.events());
    assert!(!transfer.destination().join(".cpt-partial-t-1").exists(), "something is left of what was left out");
    (transfer, totals)
}

/// Path and reason of all that was left out.
fn named(transfer: &Transfer) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let mut named: Vec<_> = transfer.skipped().iter().map(|line| (text(&line["path"]), text(&line["reason"]))).collect();
    named.sort_unstable();
    named
}

fn same(transfer: &Transfer, name: &str) -> bool {
    fs::read(transfer.destination().join(name)).is_ok_and(|arrived| arrived == fs::read(transfer.source().join(name)).unwrap())
}

#[test]
fn a_log_that_is_always_written_keeps_none_of_its_neighbours_away() {
    let mut transfer = Transfer::plan(8 << 20, Some(2), |root| {
        for number in 0..300u64 {
            fs::write(root.join(format!("f{number}")), noise(number, 2000)).unwrap();
        }
    });
    assert_eq!(transfer.plan.chunks, 1, "all in one bundle");
    let (log, over) = (transfer.source().join("f150"), AtomicBool::new(false));
    let append = || File::options().append(true).open(&log).unwrap().write_all(b"a line\n").unwrap();
    append();
    let outcome = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !over.load(Ordering::SeqCst) {
                append();
                std::thread::sleep(Duration::from_millis(50));
            }
        });
        let receiver = transfer.receive();
        transfer.members(vec![path("direct", &[], receiver.address)]);
        let outcome = transfer.send(None).join();
        over.store(true, Ordering::SeqCst);
        assert_eq!(receiver.join(), receive::Outcome::Agreed);
        outcome
    });
    assert!(matches!(&outcome, send::Outcome::Delivered(totals) if totals.files == 299 && totals.skipped == 1), "{outcome:?}");
    assert_eq!(named(&transfer), [("f150".to_owned(), "source-changed".to_owned())]);
    assert!(transfer.skipped()[0]["message"].as_str().unwrap().starts_with("size was 2000"), "{:?}", transfer.skipped());
    assert_eq!((0..300).filter(|number| same(&transfer, &format!("f{number}"))).count(), 299);
    assert!(!transfer.destination().join("f150").exists());
}

#[test]
fn problems_of_every_kind_in_one_bundle_are_named_and_everything_else_arrives() {
    let fill = |root: &Path| {
        for number in 0..20u64 {
            fs::write(root.join(format!("good-{number}")), noise(number, 500)).unwrap();
        }
        for name in ["changed", "gone", "in-the-way", "replaced"] {
            fs::write(root.join(name), name).unwrap();
        }
        fs::create_dir(root.join("directory")).unwrap();
        fs::write(root.join("directory/below"), b"below").unwrap();
        symlink("here", root.join("link")).unwrap();
        fs::write(root.join("zero"), b"").unwrap();
    };
    let (transfer, totals) = sent(8 << 20, fill, |transfer| {
        let source = transfer.source();
        fs::write(source.join("changed"), b"longer than before").unwrap();
        fs::remove_file(source.join("gone")).unwrap();
        fs::remove_file(source.join("replaced")).unwrap();
        fs::create_dir(source.join("replaced")).unwrap();
        fs::remove_file(source.join("link")).unwrap();
        symlink("there", source.join("link")).unwrap();
        // A directory where a file should be, with something in it; a file where a directory should be.
        fs::create_dir_all(transfer.destination().join("in-the-way/full")).unwrap();
        fs::write(transfer.destination().join("directory"), b"a file").unwrap();
    });
    let expected = [
        ("changed", "source-changed"),
        ("directory", "destination-conflict"),
        ("directory/below", "destination-conflict"),
        ("gone", "source-changed"),
        ("in-the-way", "destination-conflict"),
        ("link", "source-changed"),
        ("replaced", "source-changed"),
    ];
    assert_eq!(named(&transfer), expected.map(|(path, reason)| (path.to_owned(), reason.to_owned())));
    let words = |path: &str| transfer.skipped().iter().find(|one| one["path"] == path).unwrap()["message"].as_str().unwrap().to_owned();
    assert_eq!(words("in-the-way"), "a directory is in its place");
    assert_eq!(words("directory/below"), "something that is no directory is in its place or above it");
    assert_eq!((totals.skipped, totals.files), (7, 21));
    assert!((0..20).all(|number| same(&transfer, &format!("good-{number}"))) && same(&transfer, "zero"));
    assert_eq!(fs::read(transfer.destination().join("directory")).unwrap(), b"a file", "what was there stays");
    let digests = |side: &str| transfer.object(&format!("digests/{}/{side}/part-00000.ndjson", transfer.plan.plan_id));
    assert_eq!(digests("s0"), digests("r0"));
}

#[test]
fn a_name_that_the_destination_does_not_take_is_left_out() {
    // Together with its directory at the destination the name is as long as it may be at the source, and no longer there.
    let long = "n".repeat(250);
    let (transfer, totals) = sent(
        8 << 20,
        |root| {
            fs::write(root.join(&long), b"long").unwrap();
            fs::write(root.join("short"), b"short").unwrap();
        },
        |transfer| {
            // What the listing says of it is another, longer name: as from a file system that takes it.
            let manifest = transfer.directory.path().join("control").join(&transfer.chunks()[0].manifest_key);
            let text = fs::read_to_string(&manifest).unwrap();
            let longer = text.replacen(&format!("\"path\":\"{long}\""), &format!("\"path\":\"{}\"", "m".repeat(256)), 1);
            assert_ne!(text, longer);
            fs::write(&manifest, &longer).unwrap();
            let (mut chunk, more) = (transfer.chunks().remove(0), (longer.len() - text.len()) as u64);
            chunk.manifest_end += more;
            transfer.control.put_chunk(&chunk).unwrap();
        },
    );
    assert_eq!(named(&transfer), [("m".repeat(256), "destination-refused".to_owned())]);
    assert_eq!(totals.files, 1);
    assert!(same(&transfer, "short"));
}

#[test]
fn a_directory_in_the_place_of_a_large_file_is_named_before_the_file_is_sent() {
    let parts = 200;
    let (transfer, totals) = sent(
        CHUNK,
        |root| {
            fs::write(root.join("large"), noise(8, (parts * CHUNK) as usize)).unwrap();
            fs::write(root.join("other"), b"other").unwrap();
        },
        |transfer| fs::create_dir_all(transfer.destination().join("large/full")).unwrap(),
    );
    assert_eq!(named(&transfer), [("large".to_owned(), "destination-conflict".to_owned())]);
    assert_eq!((totals.files, totals.bytes), (1, 5));
    assert!(totals.sent_bytes < parts * CHUNK / 2, "{} bytes were sent of a file that cannot be placed", totals.sent_bytes);
    assert!(same(&transfer, "other"));
}

#[test]
fn of_a_large_file_that_changes_in_the_middle_nothing_stays_and_no_more_is_read() {
    let parts = 64;
    let mut transfer = Transfer::plan(CHUNK, Some(1), |root| {
        fs::write(root.join("large"), noise(8, (parts * CHUNK) as usize)).unwrap();
        fs::write(root.join("other"), noise(9, 5 * CHUNK as usize)).unwrap();
    });
    let receiver = transfer.receive();
    transfer.members(vec![path("direct", &[], receiver.address)]);
    let sender = transfer.send(Some(8));
    let partial = transfer.destination().join(".cpt-partial-t-1/0");
    wait_for("the partial file", || partial.exists().then_some(()));
    File::options().write(true).open(transfer.source().join("large")).unwrap().write_all_at(b"other bytes", 0).unwrap();
    wait_for("the end of the partial file", || (!partial.exists()).then_some(()));
    transfer.limit(None);
    let outcome = sender.join();
    let send::Outcome::Delivered(totals) = outcome else { panic!("{outcome:?}") };
    assert_eq!(receiver.join(), receive::Outcome::Agreed);
    assert_eq!(named(&transfer), [("large".to_owned(), "source-changed".to_owned())]);
    assert_eq!((totals.files, totals.bytes), (1, 5 * CHUNK));
    assert!(totals.sent_bytes < parts * CHUNK / 2, "{} bytes were sent", totals.sent_bytes);
    assert!(same(&transfer, "other") && !transfer.destination().join("large").exists());
}
