#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use super::*;
use crate::builders::control::InMemory;
use crate::control::{Control, Seat};
use crate::digest::Proof;
use crate::documents::chunk::{Chunk, ChunkState};
use crate::entry_table::EntryTable;
use crate::send::builders::{Idle, item, plan};
use crate::send::manifests::Manifests;
use crate::send::noted::{Earlier, SentJournal};
use crate::send::questions::Questions;
use crate::send::queue::{Next, Patience};
use crate::send::settled::Chunks;
use crate::thread::lock;

/// Feeds a plan of two chunks of data; the table has these.
fn feeder(items: Vec<Chunk>) -> Feeder {
    let plan = TransferPlan { chunks: 2, last_phase_chunks: 0, ..plan() };
    let memory = InMemory::default();
    *lock(&memory.chunks) = items.into_iter().map(|item| Chunk { phase: 0, ..item }).collect();
    memory.write_object("p/m", b"{}".to_vec()).unwrap();
    let control: Arc<dyn Control> = Arc::new(memory);
    let (journal, earlier, stop) = (SentJournal::default(), Earlier::default(), Stop::new().unwrap());
    let chunks = Arc::new(Chunks::new(&plan, Proof::Blake3, Patience::default(), journal, earlier, EntryTable::default(), None).0);
    let questions = Arc::new(Questions::new(Arc::clone(&chunks.queue), stop.clone()));
    let manifests = Manifests { control: Arc::clone(&control), prefix: "p/".to_owned() };
    let owner = Owner { seat: Seat::SENDER, epoch: 1, process: "s0".to_owned() };
    Feeder { plan, plan_key: String::new(), owner, items: RangeItems { control, manifests, questions, chunks }, stop }
}

#[test]
fn chunks_wait_for_lanes_or_for_a_decision_and_what_is_settled_counts() {
    let failed = Chunk { failed_attempt: Some(2), ..item(1, ChunkState::Pending, 2, None) };
    let feeder = feeder(vec![item(0, ChunkState::Pending, 1, None), failed]);
    feeder.run().unwrap();
    let queue = &feeder.items.chunks.queue;
    assert!(matches!(queue.try_next(&Idle::on("direct")), Some(Next::Send(work)) if work.chunk == 0 && *work.manifest == *b"{"));
    assert!(queue.try_next(&Idle::on("direct")).is_none());
    assert_eq!(queue.undecided(), [1]);
}

#[test]
fn a_range_that_holds_less_than_the_plan_or_chunks_of_another_plan_ends_the_sender() {
    let pending = |chunk| item(chunk, ChunkState::Pending, 1, None);
    let error = |items| feeder(items).run().unwrap_err().to_string();
    assert!(error(vec![pending(0)]).contains("range 0 holds 1 of the plan's chunks; the plan says 2"));
    let of_another = Chunk { plan_id: crate::documents::text::PlanId::new("1".repeat(32)).unwrap(), ..pending(1) };
    assert!(error(vec![pending(0), of_another]).contains("chunk 1 is of plan 1111"));
    let beyond = Chunk { manifest_start: 1, manifest_end: 3, ..pending(1) };
    assert!(error(vec![Chunk { manifest_end: 1, ..pending(0) }, beyond]).contains("chunk 1 lies beyond the end of m"));
}

#[test]
fn a_feeder_that_is_told_to_stop_or_whose_queue_is_closed_ends_without_an_error() {
    let feeder = feeder(vec![item(0, ChunkState::Pending, 1, None), item(1, ChunkState::Pending, 1, None)]);
    feeder.items.chunks.queue.close();
    feeder.run().unwrap();
}
