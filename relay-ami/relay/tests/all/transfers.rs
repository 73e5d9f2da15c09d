//! Whole transfers.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::time::{Duration, Instant, SystemTime};

use cpt_relay::control::Seat;
use cpt_relay::documents::chunk::ChunkState;
use cpt_relay::{receive, send};

use crate::harness::{Transfer, noise, path, wait_for};

/// Large files are cut into parts of so many bytes.
const CHUNK: u64 = 256 << 10;

/// Nested directories, empty ones, links, odd names, odd modes, many small files and large ones of awkward sizes.
fn tree(root: &Path) {
    std::fs::create_dir_all(root.join("a/b/c")).unwrap();
    std::fs::create_dir(root.join("empty")).unwrap();
    std::fs::write(root.join("a/zero"), b"").unwrap();
    std::fs::write(root.join("a/b/new\nline and space"), b"odd").unwrap();
    std::fs::write(root.join(OsStr::from_bytes(b"a/not\xff\xfeutf8")), b"bytes").unwrap();
    std::fs::write(root.join("n".repeat(255)), b"long").unwrap();
    symlink("../no/such\nplace", root.join("a/dangling")).unwrap();
    symlink("a", root.join("directory-link")).unwrap();
    for number in 0..300u32 {
        std::fs::write(root.join(format!("a/b/c/small-{number}")), noise(number.into(), number as usize * 7)).unwrap();
    }
    for (number, size) in [CHUNK, CHUNK + 1, 2 * CHUNK, 7 * CHUNK - 5, 12 * CHUNK].into_iter().enumerate() {
        std::fs::write(root.join(format!("large-{number}")), noise(1000 + number as u64, size as usize)).unwrap();
    }
    let past = SystemTime::UNIX_EPOCH + Duration::new(987_654_321, 123_456_789);
    for name in ["a/zero", "large-3", "empty", "a/b"] {
        std::fs::File::open(root.join(name)).unwrap().set_modified(past).unwrap();
    }
    for (name, mode) in [("a/zero", 0o400), ("large-2", 0o751), ("a/b/c", 0o710), ("empty", 0o1777)] {
        std::fs::set_permissions(root.join(name), PermissionsExt::from_mode(mode)).unwrap();
    }
}

fn assert_delivered(transfer: &Transfer, outcome: send::Outcome, received: receive::Outcome) {
    let send::Outcome::Delivered(totals) = outcome else { panic!("{outcome:?}") };
    assert_eq!(received, receive::Outcome::Agreed);
    assert_eq!((totals.bytes, totals.chunks), (transfer.plan.bytes, transfer.plan.chunks));
    assert!(transfer.chunks().iter().all(|chunk| chunk.state == ChunkState::Delivered && chunk.digest.is_some()));
    transfer.assert_same_trees();
    let digests = transfer.digests(Seat::RECEIVER);
    assert_eq!(digests, transfer.digests(Seat::SENDER));
    let ordinary = blake3::hash(&std::fs::read(transfer.source().join("large-3")).unwrap()).to_hex();
    assert!(digests.contains(ordinary.as_str()), "the digest is not what b3sum prints");
}

#[test]
fn a_file_does_not_become_set_user_of_another_owner() {
    let mut transfer = Transfer::plan(CHUNK, None, |root| {
        std::fs::write(root.join("program"), noise(7, 99)).unwrap();
        std::fs::set_permissions(root.join("program"), PermissionsExt::from_mode(0o6755)).unwrap();
    });
    let receiver = transfer.receive();
    transfer.members(vec![path("direct", &[], receiver.address)]);
    transfer.send(None).join();
    assert_eq!(receiver.join(), receive::Outcome::Agreed);
    let mode = std::fs::metadata(transfer.destination().join("program")).unwrap().permissions().mode();
    assert_eq!(mode & 0o7777, 0o755);
}

#[test]
fn a_tree_arrives_identical_on_the_direct_path() {
    let mut transfer = Transfer::plan(CHUNK, None, tree);
    let receiver = transfer.receive();
    transfer.members(vec![path("direct", &[], receiver.address)]);
    let sender = transfer.send(None);
    let outcome = sender.join();
    assert_delivered(&transfer, outcome, receiver.join());
}

#[test]
fn a_tree_arrives_identical_through_one_pair() {
    let mut transfer = Transfer::plan(CHUNK, None, tree);
    let (receiver, near, far) = (transfer.receive(), transfer.relay(), transfer.relay());
    transfer.members(vec![path("pair-0", &[near.address, far.address], receiver.address)]);
    let sender = transfer.send(None);
    let outcome = sender.join();
    assert_delivered(&transfer, outcome, receiver.join());
    assert!(transfer.chunks().iter().all(|chunk| chunk.path_id.as_deref() == Some("pair-0")));
    for relay in [near, far] {
        relay.stop.request();
        relay.join();
    }
}

#[test]
fn two_pairs_and_the_direct_path_carry_one_tree_together() {
    let mut transfer = Transfer::plan(64 << 10, None, tree);
    let receiver = transfer.receive();
    let relays: Vec<_> = (0..4).map(|_| transfer.relay()).collect();
    let pair = |slot: usize| path(&format!("pair-{slot}"), &[relays[2 * slot].address, relays[2 * slot + 1].address], receiver.address);
    transfer.members(vec![path("direct", &[], receiver.address), pair(0), pair(1)]);
    // Slow enough that no path takes everything before the others are connected.
    let sender = transfer.send(Some(80));
    let outcome = sender.join();
    let send::Outcome::Delivered(_) = outcome else { panic!("{outcome:?}") };
    assert_eq!(receiver.join(), receive::Outcome::Agreed);
    transfer.assert_same_trees();
    for name in ["direct", "pair-0", "pair-1"] {
        assert!(transfer.chunks().iter().any(|chunk| chunk.path_id.as_deref() == Some(name)), "{name} carried nothing");
    }
    for relay in relays {
        relay.stop.request();
        relay.join();
    }
}

#[test]
fn files_in_the_way_are_replaced() {
    let mut transfer = Transfer::plan(CHUNK, None, |root| {
        std::fs::write(root.join("file"), b"new").unwrap();
        symlink("elsewhere", root.join("link")).unwrap();
    });
    std::fs::create_dir(transfer.destination()).unwrap();
    std::fs::write(transfer.destination().join("file"), b"old and longer").unwrap();
    std::fs::write(transfer.destination().join("link"), b"a file").unwrap();
    let receiver = transfer.receive();
    transfer.members(vec![path("direct", &[], receiver.address)]);
    assert!(matches!(transfer.send(None).join(), send::Outcome::Delivered(_)));
    receiver.join();
    transfer.assert_same_trees();
}

#[test]
fn an_empty_plan_is_delivered() {
    let mut transfer = Transfer::plan(CHUNK, None, |_| {});
    let receiver = transfer.receive();
    transfer.members(vec![path("direct", &[], receiver.address)]);
    assert!(matches!(transfer.send(None).join(), send::Outcome::Delivered(_)));
    assert_eq!(receiver.join(), receive::Outcome::Agreed);
}

#[test]
fn the_bandwidth_limit_holds() {
    let mut transfer = Transfer::plan(CHUNK, None, |root| std::fs::write(root.join("file"), noise(1, 3_000_000)).unwrap());
    let receiver = transfer.receive();
    transfer.members(vec![path("direct", &[], receiver.address)]);
    let start = Instant::now();
    assert!(matches!(transfer.send(Some(16)).join(), send::Outcome::Delivered(_)));
    // 3 MB at 16 Mbit/s take 1.5 s, less the burst.
    assert!(start.elapsed() >= Duration::from_millis(1450), "{:?}", start.elapsed());
    receiver.join();
}

#[test]
fn the_bandwidth_limit_may_change_while_data_flows() {
    // At 1 Mbit/s they take four minutes.
    let mut transfer = Transfer::plan(CHUNK, None, |root| std::fs::write(root.join("file"), noise(1, 30_000_000)).unwrap());
    let receiver = transfer.receive();
    transfer.members(vec![path("direct", &[], receiver.address)]);
    let sender = transfer.send(Some(1));
    wait_for("the first byte", || transfer.record("progress-s0").filter(|progress| progress["firstByteAt"].is_number()));
    transfer.limit(None);
    assert!(matches!(sender.join(), send::Outcome::Delivered(_)));
    receiver.join();
}

#[test]
fn both_ends_stop_when_the_transfer_is_fenced() {
    let mut transfer = Transfer::plan(CHUNK, None, tree);
    let receiver = transfer.receive();
    let sender = transfer.send(None);
    std::fs::write(transfer.directory.path().join("control/records/transfer.json"), br#"{"fenced": true}"#).unwrap();
    assert_eq!(sender.join(), send::Outcome::Fenced);
    assert_eq!(receiver.join(), receive::Outcome::Fenced);
}

#[test]
fn progress_is_reported_by_both_ends() {
    let mut transfer = Transfer::plan(CHUNK, None, tree);
    let receiver = transfer.receive();
    transfer.members(vec![path("direct", &[], receiver.address)]);
    transfer.send(None).join();
    receiver.join();
    for side in ["progress-s0", "progress-r0"] {
        let progress = transfer.record(side).unwrap();
        assert_eq!(progress["bytes"], transfer.plan.bytes, "{side}");
        assert_eq!(progress["chunks"], transfer.plan.chunks, "{side}");
        assert!(progress["sequence"].as_u64().unwrap() >= 1 && progress["firstByteAt"].is_number(), "{side}: {progress}");
    }
}
