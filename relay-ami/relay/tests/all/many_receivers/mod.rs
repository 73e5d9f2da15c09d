//! Several receivers of one directory: each takes what comes, and one of them puts together what came to all.

mod bucket;
mod losses;
mod options;
mod restarts;

use std::collections::BTreeMap;
use std::path::Path;

use cpt_relay::control::Control as _;
use cpt_relay::documents::chunk::ChunkState;
use cpt_relay::documents::membership::{self, Membership, Retired};
use cpt_relay::{receive, send};

use crate::harness::{Running, Transfer, noise, path, seat};

/// Large files are cut into parts of so many bytes.
const CHUNK: u64 = 64 << 10;

/// A large file that all receivers get parts of, one that is mostly a hole, small ones, links and directories.
fn tree(root: &Path) {
    std::fs::create_dir_all(root.join("a/b")).unwrap();
    std::fs::create_dir(root.join("empty")).unwrap();
    for number in 0..60u32 {
        std::fs::write(root.join(format!("a/b/small-{number}")), noise(number.into(), number as usize * 7)).unwrap();
    }
    std::os::unix::fs::symlink("b/small-1", root.join("a/link")).unwrap();
    for (number, chunks) in [150, 3, 1].into_iter().enumerate() {
        std::fs::write(root.join(format!("a/large-{number}")), noise(1000 + number as u64, chunks * CHUNK as usize + 17)).unwrap();
    }
}

/// A transfer with these senders and receivers; each sender has a path to each receiver.
struct Site {
    transfer: Transfer,
    receivers: BTreeMap<&'static str, Running<receive::Outcome>>,
    senders: BTreeMap<&'static str, Running<send::Outcome>>,
}

impl Site {
    fn new(senders: &[&'static str], receivers: &[&'static str], tree: impl FnOnce(&Path)) -> Self {
        Self::with(Transfer::plan(CHUNK, None, tree), senders, receivers)
    }

    fn with(transfer: Transfer, senders: &[&'static str], receivers: &[&'static str]) -> Self {
        let many = (senders.len() > 1, receivers.len() > 1);
        let receivers: BTreeMap<_, _> = receivers.iter().map(|text| (*text, transfer.receive_beside(seat(text), many.0, many.1))).collect();
        let mut site = Self { transfer, receivers, senders: BTreeMap::new() };
        let paths = senders.iter().flat_map(|from| site.receivers.iter().map(|(to, receiver)| between(from, to, receiver)));
        site.transfer.members(paths.collect());
        // So that each of them gets something.
        site.change(|membership| membership.bandwidth_limit_mbps = Some(60));
        for text in senders {
            let (many_senders, many_receivers) = many;
            let config = send::Config { many_senders, many_receivers, ..site.transfer.sender(seat(text)) };
            site.senders.insert(text, site.transfer.start(config));
        }
        site
    }

    fn change(&self, change: impl FnOnce(&mut Membership)) {
        let mut membership = self.transfer.control.membership().unwrap().unwrap();
        membership.version += 1;
        change(&mut membership);
        self.transfer.control.put_membership(&membership).unwrap();
    }

    fn retire(&self, text: &str, is_gone: bool) {
        let retired = Retired { seat_id: seat(text), epoch: self.transfer.epoch, is_gone };
        self.change(|membership| {
            membership.paths.retain(|path| path.from != retired.seat_id && path.to != retired.seat_id);
            membership.retired.push(retired);
        });
    }

    /// All of it has arrived as it was, one receiver has agreed, and the others end; nothing of ours is left.
    fn assert_delivered(self) {
        self.assert_delivered_then(|| ());
    }

    /// The same; `meanwhile` something happens after success.
    fn assert_delivered_then<T>(self, meanwhile: impl FnOnce() -> T) -> T {
        self.totals_then(meanwhile).1
    }

    /// The same, with what the sender that finished has counted.
    fn totals_then<T>(self, meanwhile: impl FnOnce() -> T) -> (send::Totals, T) {
        let Self { transfer, receivers, senders } = self;
        let ended: Vec<_> = receivers.into_values().map(Running::join).collect();
        assert_eq!(ended.iter().filter(|outcome| **outcome == receive::Outcome::Agreed).count(), 1, "{ended:?}");
        assert!(ended.iter().all(|outcome| matches!(outcome, receive::Outcome::Agreed | receive::Outcome::Stopped)), "{ended:?}");
        // The control plane has heard of it.
        std::fs::write(transfer.directory.path().join("control/records/transfer.json"), br#"{"fenced": true}"#).unwrap();
        let outcomes: Vec<_> = senders.into_values().map(Running::join).collect();
        let delivered = |outcome: &send::Outcome| if let send::Outcome::Delivered(totals) = outcome { Some(*totals) } else { None };
        let delivered: Vec<send::Totals> = outcomes.iter().filter_map(delivered).collect();
        let [totals] = delivered[..] else { panic!("{outcomes:?}") };
        assert!(transfer.chunks().iter().all(|chunk| chunk.state == ChunkState::Delivered));
        transfer.assert_same_trees();
        let happened = meanwhile();
        transfer.assert_same_trees();
        (totals, happened)
    }
}

fn between(from: &str, to: &str, receiver: &Running<receive::Outcome>) -> membership::Path {
    membership::Path { from: seat(from), to: seat(to), ..path(&format!("direct-{from}-{to}"), &[], receiver.address) }
}

/// Bytes that each path has delivered.
fn delivered_by(transfer: &Transfer) -> BTreeMap<String, u64> {
    let mut bytes = BTreeMap::new();
    for chunk in transfer.chunks() {
        *bytes.entry(chunk.path_id.unwrap_or_default()).or_default() += chunk.bytes;
    }
    bytes
}

fn all_receive(senders: &[&'static str], receivers: &[&'static str]) {
    let site = Site::new(senders, receivers, tree);
    crate::harness::wait_for("a chunk by each path", || {
        let by = delivered_by(&site.transfer);
        let lacking = receivers.iter().any(|to| !by.keys().any(|path| path.ends_with(&format!("-{to}"))));
        (!lacking).then_some(())
    });
    site.change(|membership| membership.bandwidth_limit_mbps = None);
    site.assert_delivered();
}

#[test]
fn a_tree_arrives_identical_from_one_sender_at_two_receivers() {
    all_receive(&["s0"], &["r0", "r1"]);
}

#[test]
fn a_tree_arrives_identical_from_one_sender_at_four_receivers() {
    all_receive(&["s0"], &["r0", "r1", "r2", "r3"]);
}

#[test]
fn a_tree_arrives_identical_from_two_senders_at_two_receivers() {
    all_receive(&["s0", "s1"], &["r0", "r1"]);
}
