//! Receivers that are lost in the middle.

use std::os::unix::fs::FileExt as _;

use super::*;
use crate::harness::wait_for;

const SHARED: &str = ".cpt-partial-t-1";

fn large(root: &Path) {
    std::fs::write(root.join("large"), noise(5, 12 << 20)).unwrap();
    std::fs::write(root.join("small"), noise(6, 99)).unwrap();
}

/// Two receivers, of which each has delivered something of the large file, and then one is given up.
fn without_the_second(is_gone: bool, meanwhile: impl FnOnce(&Site)) -> Site {
    let mut site = Site::new(&["s0"], &["r0", "r1"], large);
    wait_for("chunks of both", || {
        let by = delivered_by(&site.transfer);
        ["r0", "r1"].iter().all(|to| by.contains_key(&format!("direct-s0-{to}"))).then_some(())
    });
    let lost = site.receivers.remove("r1").unwrap();
    lost.stop.request();
    assert_eq!(lost.join(), receive::Outcome::Stopped);
    meanwhile(&site);
    site.retire("r1", is_gone);
    site.change(|membership| membership.bandwidth_limit_mbps = None);
    site
}

#[test]
fn what_came_to_a_receiver_that_is_lost_and_gone_is_not_sent_again() {
    let site = without_the_second(true, |_| ());
    let attempts: u32 = site.transfer.chunks().iter().map(|chunk| chunk.attempt).max().unwrap();
    assert_eq!(attempts, 1);
    let (totals, ()) = site.totals_then(|| ());
    assert_eq!((totals.copied_bytes, totals.gathering), (0, std::time::Duration::ZERO), "nobody may still write into them");
}

/// As a machine does that was frozen: it wakes, and what it had in its memory goes to the file that it knew.
#[test]
fn what_a_receiver_that_is_not_known_to_be_gone_writes_later_changes_nothing() {
    let mut known = None;
    let site = without_the_second(false, |site| {
        let shared = site.transfer.destination().join(SHARED);
        let name = wait_for("the shared file", || {
            let names = std::fs::read_dir(&shared).unwrap().map(|entry| entry.unwrap().file_name());
            names.into_iter().find(|name| name.to_str().unwrap().parse::<u64>().is_ok())
        });
        known = Some(std::fs::OpenOptions::new().write(true).open(shared.join(name)).unwrap());
    });
    let file = known.unwrap();
    let placed = site.transfer.destination().join("large");
    let (before, after) = {
        site.assert_delivered_then(|| {
            let before = std::fs::metadata(&placed).unwrap();
            file.write_all_at(b"what came late", 7).unwrap();
            file.sync_all().unwrap();
            (before, std::fs::metadata(&placed).unwrap())
        })
    };
    use std::os::unix::fs::MetadataExt as _;
    assert_eq!((before.ino(), before.mtime_nsec(), before.ctime_nsec()), (after.ino(), after.mtime_nsec(), after.ctime_nsec()));
}

/// It wrote after it was given up, and before all was gathered.
#[test]
fn a_part_that_was_changed_before_it_was_gathered_comes_again() {
    let site = without_the_second(false, |site| {
        let shared = site.transfer.destination().join(SHARED);
        let names = std::fs::read_dir(&shared).unwrap().map(|entry| entry.unwrap().file_name());
        let name = names.into_iter().find(|name| name.to_str().unwrap().parse::<u64>().is_ok()).unwrap();
        let delivered = site.transfer.chunks().into_iter().find(|chunk| chunk.path_id.as_deref() == Some("direct-s0-r1")).unwrap();
        let file = std::fs::OpenOptions::new().write(true).open(shared.join(name)).unwrap();
        // Chunks of the one large file come in its order, after that of the small ones or before it.
        let at = delivered.chunk.min(10) * CHUNK;
        file.write_all_at(b"of another state", at + 5).unwrap();
    });
    let (totals, ()) = site.totals_then(|| ());
    assert!((CHUNK..12 << 20).contains(&totals.copied_bytes) && !totals.gathering.is_zero(), "{totals:?}");
}

/// As a machine does that is drained: it lives, and gives back what it has.
#[test]
fn a_receiver_that_is_retired_while_it_runs_ends_and_says_that_it_writes_nothing_any_more() {
    let mut site = Site::new(&["s0"], &["r0", "r1"], large);
    wait_for("chunks of both", || {
        let by = delivered_by(&site.transfer);
        ["r0", "r1"].iter().all(|to| by.contains_key(&format!("direct-s0-{to}"))).then_some(())
    });
    let has_ended = |site: &Site| site.transfer.control.progress(seat("r1")).unwrap().is_some_and(|progress| progress.has_ended);
    assert!(!has_ended(&site));
    site.retire("r1", false);
    assert_eq!(site.receivers.remove("r1").unwrap().join(), receive::Outcome::Fenced);
    assert!(has_ended(&site));
    site.change(|membership| {
        membership.retired.iter_mut().for_each(|retired| retired.is_gone = true);
        membership.bandwidth_limit_mbps = None;
    });
    let (totals, ()) = site.totals_then(|| ());
    assert_eq!(totals.copied_bytes, 0, "nobody may still write into them");
}
