//! Whole transfers between any two kinds of ends.

use std::sync::Arc;

use cpt_relay::documents::entry::Kind;
use cpt_relay::documents::membership::Path;
use cpt_relay::ends::Capabilities;
use cpt_relay::{receive, send};

use super::memory::MemoryDestination;
use super::memory_source::MemorySource;
use super::site::NOTHING;
use crate::harness::{Transfer, noise, path};

pub const PART: u64 = 64 << 10;
pub const ALL: Capabilities = Capabilities {
    parts: true,
    directories: true,
    modes: true,
    time_step_ns: Some(1),
    links: true,
    hard_links: false,
    special_files: false,
    attributes: false,
    holes: false,
};

pub fn source() -> Arc<MemorySource> {
    let source = MemorySource::default();
    source.put("d", Kind::Directory, b"", 5);
    source.put("d/large", Kind::File, &noise(1, 3 * PART as usize + 1), 6);
    source.put("link", Kind::Symlink, b"d/large", 7);
    source.put("small", Kind::File, b"small", 8);
    Arc::new(source)
}

/// How the sender ended, and how many entries it left out.
pub fn moved(transfer: &mut Transfer) -> (send::Outcome, usize) {
    let receiver = transfer.receive();
    transfer.members(vec![path("direct", &[], receiver.address)]);
    let outcome = transfer.send(None).join();
    assert_eq!(receiver.join(), receive::Outcome::Agreed);
    let skipped = transfer.skipped().len();
    (outcome, skipped)
}

fn delivered(outcome: &send::Outcome) -> bool {
    matches!(outcome, send::Outcome::Delivered(_))
}

#[test]
fn what_is_in_memory_arrives_in_memory() {
    let (from, to) = (source(), MemoryDestination::new(ALL, 1 << 30));
    let mut transfer = Transfer::of(PART, Some(1), Arc::clone(&from) as _).to(to.clone());
    let (outcome, skipped) = moved(&mut transfer);
    assert!(delivered(&outcome) && skipped == 0, "{outcome:?}");
    let state = to.state();
    for (path, node) in &state.nodes {
        let item = from.item(std::str::from_utf8(path).unwrap()).unwrap();
        assert_eq!((node.kind, &node.bytes, node.mtime_ns), (item.kind, &item.bytes, item.mtime_ns));
    }
    assert_eq!((state.nodes.len(), state.partial.len()), (4, 0));
}

#[test]
fn what_is_in_memory_arrives_in_a_tree_and_what_is_in_a_tree_in_memory() {
    let mut transfer = Transfer::of(PART, Some(1), source());
    let (outcome, skipped) = moved(&mut transfer);
    assert!(delivered(&outcome) && skipped == 0, "{outcome:?}");
    assert_eq!(std::fs::read(transfer.destination().join("d/large")).unwrap(), noise(1, 3 * PART as usize + 1));

    let to = MemoryDestination::new(ALL, 1 << 30);
    let fill = |root: &std::path::Path| std::fs::write(root.join("large"), noise(2, 2 * PART as usize)).unwrap();
    let mut transfer = Transfer::plan(PART, Some(1), fill).to(to.clone());
    let (outcome, skipped) = moved(&mut transfer);
    assert!(delivered(&outcome) && skipped == 0, "{outcome:?}");
    assert_eq!(to.state().nodes[&b"large"[..]].bytes, noise(2, 2 * PART as usize));
}

#[test]
fn what_a_kind_of_destination_cannot_keep_is_not_missed_and_what_it_cannot_take_is_left_out() {
    let poor = NOTHING;
    let to = MemoryDestination::new(poor, 1 << 30);
    let mut transfer = Transfer::of(PART, Some(1), source()).to(to.clone());
    let (outcome, _) = moved(&mut transfer);
    assert!(matches!(&outcome, send::Outcome::Delivered(totals) if totals.skipped == 2), "{outcome:?}");
    let mut left_out: Vec<String> = transfer
        .skipped()
        .iter()
        .map(|skip| format!("{}: {}", skip["path"].as_str().unwrap(), skip["message"].as_str().unwrap()))
        .collect();
    left_out.sort();
    assert_eq!(left_out, ["d/large: the destination does not take files in parts", "link: the destination does not take symbolic links"]);
    let arrived: Vec<Vec<u8>> = to.state().nodes.keys().cloned().collect();
    assert_eq!(arrived, [&b"d"[..], b"small"]);
}

#[test]
fn a_destination_of_coarse_times_gets_everything_once() {
    let to = MemoryDestination::new(Capabilities { time_step_ns: Some(1_000_000_000), ..ALL }, 1 << 30);
    let mut transfer = Transfer::of(PART, Some(1), source()).to(to.clone());
    let (outcome, skipped) = moved(&mut transfer);
    assert!(delivered(&outcome) && skipped == 0, "{outcome:?}");
    assert!(matches!(&outcome, send::Outcome::Delivered(totals) if totals.repaired_chunks == 0), "{outcome:?}");
    assert_eq!(to.state().nodes[&b"small"[..]].mtime_ns, 0, "8 ns are no second");
}

#[test]
fn what_the_destination_has_stored_as_something_else_comes_again() {
    for path in ["small", "d/large"] {
        let to = MemoryDestination::new(ALL, 1 << 30).spoiling(path);
        let mut transfer = Transfer::of(PART, Some(1), source()).to(to.clone());
        let (outcome, skipped) = moved(&mut transfer);
        assert!(matches!(&outcome, send::Outcome::Delivered(totals) if totals.repaired_chunks > 0) && skipped == 0, "{path}: {outcome:?}");
        assert_eq!(to.state().nodes[&b"small"[..]].bytes, b"small");
    }
}

/// What is wrong there is no matter of bytes: once more may help, and then no more.
#[test]
fn what_a_repair_has_not_changed_is_not_repaired_again() {
    let to = MemoryDestination::new(ALL, 1 << 30).forgetting_modes();
    let mut transfer = Transfer::of(PART, Some(1), source()).to(to);
    let bytes = transfer.plan.bytes;
    let receiver = transfer.receive();
    // Of two lanes the idle one sends a copy of what the other one is late with.
    transfer.members(vec![Path { lanes: 1, ..path("direct", &[], receiver.address) }]);
    let outcome = transfer.send(None).join();
    let send::Outcome::DigestMismatch(why) = &outcome else { panic!("{outcome:?}") };
    assert!(why.contains("has mode 0 and should have"), "{why}");
    assert!(matches!(receiver.join(), receive::Outcome::Disagreed(_)));
    let moved = transfer.record("progress-s0").unwrap()["movedBytes"].as_u64().unwrap();
    assert_eq!(moved, 2 * bytes);
}

/// Without room nothing is burnt and nothing is lost: the destination says so until somebody makes room.
#[test]
fn a_destination_without_room_is_waited_for() {
    let to = MemoryDestination::new(ALL, 10);
    let mut transfer = Transfer::of(PART, Some(1), source()).to(to.clone());
    let receiver = transfer.receive();
    transfer.members(vec![path("direct", &[], receiver.address)]);
    let sender = transfer.send(None);
    std::thread::sleep(std::time::Duration::from_millis(300));
    assert!(!sender.is_finished());
    to.state().free = 1 << 30;
    assert!(delivered(&sender.join()));
    assert_eq!(receiver.join(), receive::Outcome::Agreed);
}
