//! What a request can ask for, where several receivers write one directory.

use cpt_relay::documents::command::{Compare, Verify};

use super::*;
use crate::harness::wait_for;

/// Something comes to each of two receivers before the limit is taken away.
fn by_both(transfer: Transfer) -> Site {
    let site = Site::with(transfer, &["s0"], &["r0", "r1"]);
    wait_for("chunks of both", || {
        let by = delivered_by(&site.transfer);
        ["r0", "r1"].iter().all(|to| by.contains_key(&format!("direct-s0-{to}"))).then_some(())
    });
    site.change(|membership| membership.bandwidth_limit_mbps = None);
    site
}

#[test]
fn a_tree_arrives_identical_where_all_that_came_is_read_back() {
    let mut transfer = Transfer::plan(CHUNK, None, tree);
    transfer.verify = Verify::Readback;
    by_both(transfer).assert_delivered();
}

#[test]
fn a_tree_arrives_identical_where_a_checksum_proves_it() {
    let mut transfer = Transfer::plan(CHUNK, None, tree);
    transfer.verify = Verify::Crc64;
    by_both(transfer).assert_delivered();
}

/// The first name comes to one receiver, and the other names to the one that finishes.
#[test]
fn names_of_one_file_and_holes_arrive_as_they_were() {
    use std::os::unix::fs::{FileExt as _, MetadataExt as _};
    let transfer = Transfer::plan_all(CHUNK, |root| {
        tree(root);
        for number in 0..60 {
            std::fs::hard_link(root.join(format!("a/b/small-{number}")), root.join(format!("empty/of-{number}"))).unwrap();
        }
        std::fs::hard_link(root.join("a/large-0"), root.join("other-large")).unwrap();
        let sparse = std::fs::File::create(root.join("sparse")).unwrap();
        sparse.set_len(8 << 20).unwrap();
        (0..8).for_each(|at| sparse.write_all_at(b"here", at << 20).unwrap());
    });
    let to = transfer.destination();
    by_both(transfer).assert_delivered_then(|| {
        let of = |name: &str| std::fs::metadata(to.join(name)).unwrap();
        assert!((0..60).all(|number| of(&format!("a/b/small-{number}")).ino() == of(&format!("empty/of-{number}")).ino()));
        assert_eq!(of("a/large-0").ino(), of("other-large").ino());
        assert!(of("sparse").blocks() * 512 < 4 << 20, "{}", of("sparse").blocks());
    });
}

/// Both receivers take what they need of the file that is there from it.
#[test]
fn a_file_of_which_a_few_parts_changed_arrives_as_it_is_now() {
    use std::os::unix::fs::FileExt as _;
    const PART: u64 = 1 << 20;
    let mut transfer = Transfer::plan(PART, Some(5), |root| std::fs::write(root.join("log"), noise(1, 24 << 20)).unwrap());
    let copied = std::process::Command::new("cp").arg("-a").args([transfer.source(), transfer.destination()]).status().unwrap();
    assert!(copied.success());
    let log = std::fs::OpenOptions::new().write(true).open(transfer.source().join("log")).unwrap();
    (0..24).for_each(|at| log.write_all_at(&noise(at + 9, 300 << 10), at << 20).unwrap());
    transfer.plan_compared(Compare::SizeTime, PART);
    by_both(transfer).assert_delivered();
}

/// Its process may have been started at the moment at which the transfer succeeded.
#[test]
fn a_receiver_that_comes_back_after_success_leaves_nothing() {
    let transfer = Transfer::plan(CHUNK, None, tree);
    let directory = transfer.directory.path().to_owned();
    let site = by_both(transfer);
    let Site { transfer, receivers, senders } = site;
    receivers.into_values().for_each(|receiver| drop(receiver.join()));
    let late = transfer.receive_beside(seat("r1"), false, true);
    std::fs::write(directory.join("control/records/transfer.json"), br#"{"fenced": true}"#).unwrap();
    assert!(matches!(late.join(), receive::Outcome::Fenced | receive::Outcome::Stopped));
    let outcomes: Vec<_> = senders.into_values().map(Running::join).collect();
    assert!(matches!(outcomes[..], [send::Outcome::Delivered(_)]), "{outcomes:?}");
    transfer.assert_same_trees();
}
