//! A listing that is planned and sent while it goes on.

use std::path::Path;

use cpt_ends_posix::PosixSource;
use cpt_laboratory::directory::Directory;
use cpt_laboratory::plan::{PLAN_KEY, RANGE_SIZE};
use cpt_relay::control::Control as _;
use cpt_relay::documents::chunk::ChunkState;
use cpt_relay::documents::plan::TransferPlan;
use cpt_relay::survey::scan;
use cpt_relay::{receive, send};
use serde_json::Value;

use crate::harness::{Transfer, noise, path, wait_for};

const CHUNK: u64 = 4 << 10;

/// More chunks of data than a range holds, and directories.
fn two_ranges(root: &Path) {
    for number in 0..150u64 {
        let directory = root.join(format!("{}", number % 3));
        std::fs::create_dir_all(&directory).unwrap();
        std::fs::write(directory.join(format!("{number}")), noise(number, CHUNK as usize - 7)).unwrap();
    }
}

fn publish(transfer: &Transfer, plan: &TransferPlan) {
    transfer.control.write_object(PLAN_KEY, serde_json::to_vec(plan).unwrap()).unwrap();
}

/// The plan as it is once `chunks` of its chunks are written.
fn open(whole: &TransferPlan, chunks: u64) -> TransferPlan {
    TransferPlan {
        open: true,
        chunks,
        bytes: 0,
        files: 0,
        last_phase_chunks: 0,
        manifest_parts: Vec::new(),
        listing: None,
        ..whole.clone()
    }
}

fn wait_for_delivered(transfer: &Transfer, whole: &TransferPlan, chunks: u64) {
    let numbers: Vec<u64> = (0..whole.chunks).collect();
    wait_for("chunks", || {
        let items = transfer.control.chunks(&numbers).unwrap();
        let delivered: Vec<u64> = items.iter().filter(|item| item.state == ChunkState::Delivered).map(|item| item.chunk).collect();
        (delivered == (0..chunks).collect::<Vec<u64>>()).then_some(())
    });
}

#[test]
fn chunks_are_sent_as_far_as_they_are_planned_and_the_end_waits_for_the_whole_plan() {
    let mut transfer = Transfer::plan(CHUNK, None, two_ranges);
    let whole = transfer.plan.clone();
    assert!(whole.chunks > RANGE_SIZE + 1 && whole.last_phase_chunks > 0);
    transfer.plan = open(&whole, 0);
    publish(&transfer, &transfer.plan);
    let receiver = transfer.receive();
    transfer.members(vec![path("direct", &[], receiver.address)]);
    let sender = transfer.send(None);
    // Part of a range, the rest of it, all data, and the directories with the end.
    for chunks in [5, RANGE_SIZE, whole.chunks - whole.last_phase_chunks] {
        publish(&transfer, &open(&whole, chunks));
        wait_for_delivered(&transfer, &whole, chunks);
        assert!(!sender.is_finished() && !receiver.is_finished());
    }
    publish(&transfer, &whole);
    let send::Outcome::Delivered(totals) = sender.join() else { panic!("not delivered") };
    // Directories count as well.
    assert_eq!((totals.chunks, totals.files), (whole.chunks, 153));
    assert_eq!(receiver.join(), receive::Outcome::Agreed);
    transfer.assert_same_trees();
}

#[test]
fn a_sender_that_waits_for_the_planner_is_not_taken_for_one_that_stands_still() {
    let mut transfer = Transfer::plan(CHUNK, None, two_ranges);
    let whole = transfer.plan.clone();
    transfer.plan = open(&whole, 0);
    publish(&transfer, &transfer.plan);
    let receiver = transfer.receive();
    transfer.members(vec![path("direct", &[], receiver.address)]);
    let sender = transfer.send(None);
    for side in ["progress-s0", "progress-r0"] {
        wait_for(side, || transfer.record(side).filter(|progress| progress["sequence"].as_u64() >= Some(2)));
    }
    publish(&transfer, &whole);
    assert!(matches!(sender.join(), send::Outcome::Delivered(_)));
    receiver.join();
}

#[test]
fn the_first_objects_of_a_listing_are_small_and_its_end_is_announced() {
    let directory = tempfile::tempdir().unwrap();
    let source = directory.path().join("source");
    std::fs::create_dir(&source).unwrap();
    for number in 0..310 {
        std::fs::write(source.join(format!("{number:03}")), b"x").unwrap();
    }
    let control = Directory::open(directory.path().join("control"), 1, None).unwrap();
    scan::source(&PosixSource::new(vec![source.join("")]), &control, "", scan::Options::announcing("announced/far.json")).unwrap();
    let announced: Value = serde_json::from_slice(&control.read_object("announced/far.json", None).unwrap()).unwrap();
    assert_eq!((&announced["parts"], &announced["files"], &announced["complete"]), (&3.into(), &310.into(), &true.into()));
    let lines =
        |part: u64| control.read_object(&format!("listing/part-{part:05}.ndjson"), None).unwrap().split(|byte| *byte == b'\n').count() - 1;
    assert_eq!([lines(0), lines(1), lines(2)], [100, 200, 10]);
}
