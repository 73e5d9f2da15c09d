//! Whole transfers to a destination in memory that several machines share, and that breaks promises.

use std::sync::Arc;

use cpt_relay::defaults::LOOK_THREADS;
use cpt_relay::digest::Proof;
use cpt_relay::documents::entry::Kind;
use cpt_relay::documents::text::{PlanId, TransferId};
use cpt_relay::ends::{Destination, OpenDestination};
use cpt_relay::send;
use cpt_relay::wire::frame::SegmentHeader;
use rustix::io::Errno;

use super::memory::MemoryDestination;
use super::shared::{Call, Machine};
use super::whole::{ALL, PART, moved, source};
use crate::harness::Transfer;

fn opened(machine: &Machine) -> Box<dyn OpenDestination> {
    machine.open(&TransferId::new("t").unwrap(), &PlanId::new("1".repeat(32)).unwrap(), PART, Proof::Blake3).unwrap().0
}

fn place(to: &dyn OpenDestination, entry: u64, path: &str) -> std::io::Result<()> {
    let header = SegmentHeader {
        entry,
        kind: Kind::File,
        mode: 0o640,
        mtime_ns: 7,
        size: 4,
        offset: 0,
        length: 4,
        path: path.as_bytes().to_vec(),
        target: Vec::new(),
        attributes: Vec::new(),
    };
    let mut file = to.small(&header)?;
    file.write(b"four")?;
    file.finish()?;
    file.place(path.as_bytes()).map(drop)
}

#[test]
fn what_one_machine_places_another_one_that_has_it_open_sees() {
    let server = MemoryDestination::new(ALL, 1 << 30);
    let machines = [Machine::of(&server), Machine::of(&server)];
    let [one, other] = [0, 1].map(|number| opened(&machines[number]));
    machines[1].remember(1);
    place(&*one, 1, "d/one").unwrap();
    place(&*other, 2, "d/other").unwrap();
    other.view().see(b"d/one").unwrap_err();
    for path in ["d/one", "d/other"] {
        assert_eq!((one.view().see(path.as_bytes()).unwrap().size, other.view().see(path.as_bytes()).unwrap().size), (4, 4));
    }
    machines[0].lose(Call::Small, 1, Errno::NOENT);
    assert_eq!(place(&*one, 3, "d/lost").unwrap_err().kind(), std::io::ErrorKind::NotFound);
    other.view().see(b"d/lost").unwrap();
}

/// A transfer in which a machine's `wrong` happens; what it cost.
fn delivered(wrong: impl FnOnce(&Machine)) -> (send::Totals, Machine) {
    let (from, server) = (source(), MemoryDestination::new(ALL, 1 << 30));
    let machine = Machine::of(&server);
    wrong(&machine);
    let mut transfer = Transfer::of(PART, Some(3), Arc::clone(&from) as _).to(machine.clone());
    let (outcome, skipped) = moved(&mut transfer);
    let send::Outcome::Delivered(totals) = outcome else { panic!("{outcome:?}") };
    assert_eq!((skipped, server.state().partial.len()), (0, 0), "{:?}", transfer.skipped());
    let state = server.state();
    assert_eq!(state.nodes.len(), 4);
    for (path, node) in &state.nodes {
        let item = from.item(std::str::from_utf8(path).unwrap()).unwrap();
        assert_eq!((node.kind, &node.bytes, node.mtime_ns), (item.kind, &item.bytes, item.mtime_ns));
    }
    (totals, machine)
}

#[test]
fn an_answer_that_is_lost_costs_another_attempt_and_no_file() {
    for call in [Call::Small, Call::Large, Call::Directory, Call::Note, Call::Sync] {
        let (_, machine) = delivered(|machine| machine.lose(call, 1, Errno::IO));
        assert_eq!(machine.left(call), 0, "{call:?}");
    }
}

#[test]
fn a_look_at_what_was_there_before_is_made_good_and_not_believed() {
    // Each thread of the look has a view of its own, and any of them may see everything.
    let (totals, _) = delivered(|machine| machine.remember(LOOK_THREADS as u64));
    assert!(totals.repaired_chunks > 0, "{totals:?}");
}
