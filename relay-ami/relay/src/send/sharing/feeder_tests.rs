#![allow(clippy::unwrap_used)]

use std::sync::mpsc::Receiver;

use super::super::own::SettledRange;
use super::*;
use crate::builders::control::InMemory;
use crate::control::leases::Leased;
use crate::control::{Control, Seat};
use crate::digest::Proof;
use crate::documents::chunk::ChunkState;
use crate::entry_table::EntryTable;
use crate::send::builders::{Idle, item, membership, plan, report};
use crate::send::manifests::Manifests;
use crate::send::noted::{Earlier, Sent, SentJournal};
use crate::send::questions::Questions;
use crate::send::queue::{Next, Patience};
use crate::send::range_items::RangeItems;
use crate::send::settled::Chunks;
use crate::stop::Stop;
use crate::thread::lock;

/// The feeder of s0 with a plan of one chunk of data and three of directories, and what it tells others.
struct Site {
    feeder: SharingFeeder,
    course: Course,
    memory: Arc<InMemory>,
    settled: Receiver<SettledRange>,
}

impl Site {
    fn new() -> Self {
        let plan = plan();
        let memory = Arc::new(InMemory::default());
        *lock(&memory.chunks) = (0..4).map(|chunk| item(chunk, ChunkState::Pending, 1, None)).collect();
        memory.write_object("m", b"{".to_vec()).unwrap();
        let control: Arc<dyn Control> = Arc::<InMemory>::clone(&memory);
        let ((own, settled), stop) = (Own::new(plan.range_size), Stop::new().unwrap());
        let own = Arc::new(own);
        let (journal, earlier, table) = (SentJournal::default(), Earlier::default(), EntryTable::default());
        let chunks = Chunks::new(&plan, Proof::Blake3, Patience::default(), journal, earlier, table, Some(Arc::clone(&own))).0;
        let chunks = Arc::new(chunks);
        let questions = Arc::new(Questions::new(Arc::clone(&chunks.queue), stop.clone()));
        let manifests = Manifests { control: Arc::clone(&control), prefix: String::new() };
        let items = RangeItems { control, manifests, questions, chunks };
        let others = Arc::new(Others { items, proof: Proof::Blake3, folder: "digests/p".to_owned(), stop: stop.clone() });
        let owner = Owner { seat: Seat::SENDER, epoch: 1, process: "s0".to_owned() };
        let sharing = Arc::new(Sharing::new(Seat::SENDER, 1, false));
        let written = std::sync::mpsc::channel().1;
        let course = Course::begin(&plan, owner.seat);
        let feeder = SharingFeeder { plan, plan_key: String::new(), owner, others, sharing, own, written };
        Self { feeder, course, memory, settled }
    }

    /// So many lanes have a stream.
    fn lanes(&self, count: usize) {
        self.feeder.sharing.look(Instant::now(), std::iter::repeat_n(Seat::RECEIVER, count), 0);
    }

    fn holds(&self, seat: &str, is_settled: bool) {
        lock(&self.memory.leases).insert(0, Leased { seat: Seat::new(seat).unwrap(), epoch: 3, is_settled });
    }

    fn next(&mut self) -> Option<Choice> {
        self.course.asked_at = None;
        self.feeder.follow(&mut self.course);
        self.feeder.next(&mut self.course)
    }
}

#[test]
fn a_range_is_leased_once_lanes_need_it_and_only_its_data_is_fed() {
    let mut site = Site::new();
    assert_eq!(site.next(), None, "nobody would send it");
    site.lanes(1);
    assert_eq!(site.next(), Some(Choice::Lease(0, None)));
    site.feeder.lease(&mut site.course, 0, None).unwrap();
    assert_eq!(lock(&site.memory.leases)[&0].seat, Seat::SENDER);
    let (chunks, lane) = (&site.feeder.others.items.chunks, Idle::on("direct"));
    assert!(matches!(chunks.queue.try_next(&lane), Some(Next::Send(work)) if work.chunk == 0));
    assert!(chunks.queue.try_next(&lane).is_none(), "directories are for whoever finishes");
    chunks.delivered(&crate::send::builders::work(0), Some(Sent::Whole(vec![(7, [7; 32])])));
    let settled = site.settled.try_recv().unwrap();
    assert_eq!((settled.range, settled.sent.len()), (0, 1));
    assert!(chunks.queue.try_next(&lane).is_none(), "and so is the end");
    assert_eq!(site.next(), None);
}

#[test]
fn another_senders_range_is_taken_only_once_it_is_retired_for_every_receiver() {
    let mut site = Site::new();
    site.lanes(1);
    site.holds("s1", false);
    assert_eq!(site.next(), None);
    let gone = Retired { seat_id: Seat::new("s1").unwrap(), epoch: 3, is_gone: false };
    site.feeder.sharing.follow(&membership(5, &["r0"], vec![gone]));
    assert_eq!(site.next(), None, "r0 may still hear it");
    lock(&site.memory.progress).insert(Seat::RECEIVER, report(Some(5)));
    assert_eq!(site.next(), Some(Choice::Lease(0, Some(gone))));
    site.holds("s1", true);
    assert_eq!(site.next(), None, "it had settled it");
    assert!(site.course.ranges.are_settled());
}

#[test]
fn a_range_that_somebody_else_gets_first_is_left_to_that() {
    let mut site = Site::new();
    site.lanes(1);
    assert_eq!(site.next(), Some(Choice::Lease(0, None)));
    site.holds("s1", false);
    site.feeder.lease(&mut site.course, 0, None).unwrap();
    assert_eq!((site.next(), site.course.ranges.held()), (None, vec![0]));
    assert!(site.feeder.others.items.chunks.queue.try_next(&Idle::on("direct")).is_none());
}
