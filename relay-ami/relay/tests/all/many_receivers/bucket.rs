//! Several receivers of one bucket: the same as of a directory.

use std::sync::Arc;

use super::*;
use crate::harness::wait_for;
use crate::port::s3::{PREFIX, S3};
use crate::port::site::Site as _;

/// Files alone are what a bucket keeps.
fn tree(root: &Path) {
    std::fs::create_dir_all(root.join("a/b")).unwrap();
    for number in 0..60u32 {
        std::fs::write(root.join(format!("a/b/small-{number}")), noise(number.into(), number as usize * 7)).unwrap();
    }
    // Each is a chunk of its own, so that both receivers get some.
    for number in 0..40u32 {
        std::fs::write(root.join(format!("a/whole-{number}")), noise(100 + u64::from(number), 50_000)).unwrap();
    }
    for (number, chunks) in [60, 3, 1].into_iter().enumerate() {
        std::fs::write(root.join(format!("a/large-{number}")), noise(1000 + number as u64, chunks * CHUNK as usize + 17)).unwrap();
    }
}

fn files(root: &Path, below: &str, found: &mut BTreeMap<String, Vec<u8>>) {
    for entry in std::fs::read_dir(root.join(below)).unwrap().map(Result::unwrap) {
        let path = format!("{below}{}", entry.file_name().to_str().unwrap());
        match entry.file_type().unwrap().is_dir() {
            true => files(root, &format!("{path}/"), found),
            false => drop(found.insert(path, std::fs::read(entry.path()).unwrap())),
        }
    }
}

fn objects(s3: &S3) -> BTreeMap<String, Vec<u8>> {
    let state = s3.service.state();
    state.objects.iter().map(|(key, object)| (key.strip_prefix(PREFIX).unwrap().to_owned(), object.bytes.clone())).collect()
}

/// A transfer of a tree into a bucket.
fn to_bucket(s3: &Arc<S3>) -> Transfer {
    let (to, seen) = (Arc::clone(s3), Arc::clone(s3));
    Transfer::plan(CHUNK, None, tree).shared_by(
        move |seat| Box::new(to.shared(seat)),
        move |source| {
            let mut sent = BTreeMap::new();
            files(source, "", &mut sent);
            let there = objects(&seen);
            assert!(there == sent, "{:?} instead of {:?}", there.keys(), sent.keys());
            assert!(seen.is_tidy());
        },
    )
}

/// Two receivers, of which each has delivered something; the limit is still there.
fn by_both(s3: &Arc<S3>, senders: &[&'static str]) -> Site {
    let site = Site::with(to_bucket(s3), senders, &["r0", "r1"]);
    wait_for("chunks of both", || {
        let by = delivered_by(&site.transfer);
        ["r0", "r1"].iter().all(|to| by.keys().any(|path| path.ends_with(&format!("-{to}")))).then_some(())
    });
    site
}

fn unlimited(site: &Site) {
    site.change(|membership| membership.bandwidth_limit_mbps = None);
}

fn most_attempts(site: &Site) -> u32 {
    site.transfer.chunks().iter().map(|chunk| chunk.attempt).max().unwrap()
}

#[test]
fn a_tree_arrives_whole_by_two_receivers() {
    let s3 = Arc::new(S3::new());
    let site = by_both(&s3, &["s0", "s1"]);
    unlimited(&site);
    site.assert_delivered();
    assert_eq!(s3.called("CompleteMultipartUpload"), 3);
}

#[test]
fn what_came_to_a_receiver_that_is_lost_is_not_sent_again() {
    for is_gone in [true, false] {
        let s3 = Arc::new(S3::new());
        let mut site = by_both(&s3, &["s0"]);
        let lost = site.receivers.remove("r1").unwrap();
        lost.stop.request();
        assert_eq!(lost.join(), receive::Outcome::Stopped);
        site.retire("r1", is_gone);
        unlimited(&site);
        assert_eq!(most_attempts(&site), 1);
        let (totals, ()) = site.totals_then(|| ());
        assert_eq!((totals.copied_bytes, totals.repaired_chunks), (0, 0));
    }
}

/// It wakes after success, and does what it had begun.
#[test]
fn what_a_frozen_receiver_puts_after_success_changes_nothing() {
    let s3 = Arc::new(S3::new());
    let late = s3.service.hold_of("r1", "PUT", "whole-");
    let mut site = Site::with(to_bucket(&s3), &["s0"], &["r0", "r1"]);
    wait_for("the write that is late", || s3.service.has_held().then_some(()));
    let frozen = site.receivers.remove("r1").unwrap();
    site.retire("r1", false);
    unlimited(&site);
    site.totals_then(|| {
        let before = objects(&s3);
        drop(late);
        assert_eq!(frozen.join(), receive::Outcome::Fenced);
        assert!(objects(&s3) == before);
    });
}

/// While a file has the name of their directory, the named receiver's digests are not taken: it has gathered, and does not answer.
fn gathered(s3: &Arc<S3>) -> (Site, &'static str, std::path::PathBuf) {
    let site = by_both(s3, &["s0"]);
    let folder = site.transfer.directory.path().join(format!("control/digests/{}", site.transfer.plan.plan_id));
    std::fs::create_dir_all(&folder).unwrap();
    ["r0", "r1"].iter().for_each(|text| std::fs::write(folder.join(text), b"").unwrap());
    unlimited(&site);
    let named = wait_for("a named receiver", || site.transfer.control.finish().unwrap()).receiver;
    wait_for("all chunks", || site.transfer.chunks().iter().all(|chunk| chunk.state == ChunkState::Delivered).then_some(()));
    let (named, other) = if seat("r0") == named { ("r0", "r1") } else { ("r1", "r0") };
    std::fs::remove_file(folder.join(other)).unwrap();
    (site, named, folder.join(named))
}

#[test]
fn another_receiver_gathers_where_the_named_one_is_lost_after_it_had_gathered() {
    let s3 = Arc::new(S3::new());
    let (mut site, named, held) = gathered(&s3);
    let lost = site.receivers.remove(named).unwrap();
    lost.stop.request();
    assert_eq!(lost.join(), receive::Outcome::Stopped);
    site.retire(named, false);
    std::fs::remove_file(held).unwrap();
    let (totals, ()) = site.totals_then(|| ());
    assert_eq!(totals.repaired_chunks, 0);
}

/// It is held up in the completion of the first object.
#[test]
fn another_receiver_gathers_where_the_named_one_is_lost_while_it_gathers() {
    let s3 = Arc::new(S3::new());
    let mut site = by_both(&s3, &["s0"]);
    let late = s3.service.hold("POST", "large-0");
    unlimited(&site);
    wait_for("a completion", || s3.service.has_held().then_some(()));
    let named = site.transfer.control.finish().unwrap().unwrap().receiver.to_string();
    let (text, lost) = site.receivers.remove_entry(&*named).unwrap();
    site.retire(text, false);
    let (totals, ()) = site.totals_then(|| {
        drop(late);
        assert_eq!(lost.join(), receive::Outcome::Fenced);
    });
    assert_eq!(totals.repaired_chunks, 0);
}

#[test]
fn a_receiver_that_starts_again_costs_no_part() {
    let s3 = Arc::new(S3::new());
    let mut site = by_both(&s3, &["s0"]);
    let before = site.receivers.remove("r1").unwrap();
    before.stop.request();
    assert_eq!(before.join(), receive::Outcome::Stopped);
    site.transfer.epoch += 1;
    let again = site.transfer.receive_beside(seat("r1"), false, true);
    site.change(|membership| {
        for path in membership.paths.iter_mut().filter(|path| path.to == seat("r1")) {
            *path = membership::Path { generation: 2, ..between("s0", "r1", &again) };
        }
        membership.bandwidth_limit_mbps = None;
    });
    site.receivers.insert("r1", again);
    let (totals, ()) = site.totals_then(|| ());
    assert_eq!(totals.repaired_chunks, 0);
}
