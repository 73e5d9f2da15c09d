//! Receivers that are given up, or start again, after one has gathered.

use std::path::PathBuf;

use cpt_relay::control::leases::Finish;

use super::*;
use crate::harness::wait_for;

fn large(root: &Path) {
    tree(root);
    std::fs::write(root.join("large"), noise(5, 12 << 20)).unwrap();
}

/// While a file has the name of their directory, a receiver's digests are not taken: it has gathered, and does not answer.
fn holds_up(site: &Site, text: &str) -> PathBuf {
    let folder = site.transfer.directory.path().join(format!("control/digests/{}", site.transfer.plan.plan_id));
    std::fs::create_dir_all(&folder).unwrap();
    let held = folder.join(text);
    std::fs::write(&held, b"").unwrap();
    held
}

/// Two receivers that have both got something; the named one has gathered, and waits for the control plane. Returns it, and what holds it up.
fn gathered(senders: &[&'static str]) -> (Site, &'static str, PathBuf) {
    let site = Site::new(senders, &["r0", "r1"], large);
    let held = ["r0", "r1"].map(|text| (text, holds_up(&site, text)));
    wait_for("chunks of both", || {
        let by = delivered_by(&site.transfer);
        ["r0", "r1"].iter().all(|to| by.keys().any(|path| path.ends_with(&format!("-{to}")))).then_some(())
    });
    site.change(|membership| membership.bandwidth_limit_mbps = None);
    let named = wait_for("a named receiver", || site.transfer.control.finish().unwrap()).receiver;
    // Directories are what comes after all has been gathered.
    wait_for("all chunks", || site.transfer.chunks().iter().all(|chunk| chunk.state == ChunkState::Delivered).then_some(()));
    let mut of_named = None;
    for (text, path) in held {
        match seat(text) == named {
            true => of_named = Some((text, path)),
            false => std::fs::remove_file(path).unwrap(),
        }
    }
    let (text, held) = of_named.unwrap();
    (site, text, held)
}

fn most_attempts(site: &Site) -> u32 {
    site.transfer.chunks().iter().map(|chunk| chunk.attempt).max().unwrap()
}

#[test]
fn a_receiver_that_is_given_up_while_it_is_well_ends_by_itself() {
    let mut site = Site::new(&["s0"], &["r0", "r1"], large);
    site.retire("r1", false);
    let given_up = site.receivers.remove("r1").unwrap();
    assert_eq!(given_up.join(), receive::Outcome::Fenced);
    site.change(|membership| membership.bandwidth_limit_mbps = None);
    site.assert_delivered();
}

#[test]
fn another_receiver_gathers_where_the_named_one_is_lost_after_it_had_gathered() {
    let (mut site, named, held) = gathered(&["s0"]);
    let lost = site.receivers.remove(named).unwrap();
    lost.stop.request();
    assert_eq!(lost.join(), receive::Outcome::Stopped);
    site.retire(named, true);
    std::fs::remove_file(held).unwrap();
    assert_eq!(most_attempts(&site), 1);
    site.assert_delivered();
}

/// What it would have removed is what the other one works with.
#[test]
fn a_receiver_that_is_given_up_while_it_finishes_removes_nothing() {
    let (mut site, named, held) = gathered(&["s0"]);
    let other = if named == "r0" { "r1" } else { "r0" };
    let others = holds_up(&site, other);
    site.retire(named, false);
    wait_for("another named receiver", || site.transfer.control.finish().unwrap().filter(|finish| finish.receiver == seat(other)));
    let given_up = site.receivers.remove(named).unwrap();
    std::fs::remove_file(held).unwrap();
    assert_eq!(given_up.join(), receive::Outcome::Fenced);
    assert!(site.transfer.destination().join(".cpt-partial-t-1").join(other).exists());
    std::fs::remove_file(others).unwrap();
    site.assert_delivered();
}

#[test]
fn what_was_gathered_is_not_sent_again_to_a_named_receiver_that_starts_again() {
    let (mut site, named, held) = gathered(&["s0"]);
    let before = site.receivers.remove(named).unwrap();
    before.stop.request();
    assert_eq!(before.join(), receive::Outcome::Stopped);
    std::fs::remove_file(held).unwrap();
    site.transfer.epoch += 1;
    let again = site.transfer.receive_beside(seat(named), false, true);
    site.change(|membership| {
        for path in membership.paths.iter_mut().filter(|path| path.to == seat(named)) {
            *path = membership::Path { generation: 2, ..between("s0", named, &again) };
        }
    });
    site.receivers.insert(named, again);
    let again = site.receivers.remove(named).unwrap();
    assert_eq!(again.join(), receive::Outcome::Agreed);
    assert_eq!(most_attempts(&site), 1, "chunks were sent again");
    let other = site.receivers.into_values().next().unwrap();
    assert_eq!(other.join(), receive::Outcome::Stopped);
    std::fs::write(site.transfer.directory.path().join("control/records/transfer.json"), br#"{"fenced": true}"#).unwrap();
    let outcomes: Vec<_> = site.senders.into_values().map(Running::join).collect();
    let [send::Outcome::Delivered(totals)] = &outcomes[..] else { panic!("{outcomes:?}") };
    assert_eq!(totals.repaired_chunks, 0, "chunks were sent again");
    site.transfer.assert_same_trees();
}

/// What was gathered for it is gathered for the other one too.
#[test]
fn another_sender_finishes_where_the_holder_is_lost_after_it_had_let_one_gather() {
    let (mut site, _, held) = gathered(&["s0", "s1"]);
    let holder = site.transfer.control.finish().unwrap().unwrap().seat.to_string();
    let (text, lost) = site.senders.remove_entry(&*holder).unwrap();
    lost.stop.request();
    let outcome = lost.join();
    assert!(!matches!(outcome, send::Outcome::Delivered(_)), "{outcome:?}");
    site.retire(text, false);
    std::fs::remove_file(held).unwrap();
    wait_for("another holder", || site.transfer.control.finish().unwrap().filter(|finish| finish.seat != seat(text)));
    assert_eq!(most_attempts(&site), 1);
    site.assert_delivered();
}

/// What the lost one has asked for is never answered: nothing waits for that.
#[test]
fn another_sender_finishes_while_the_receiver_still_works_for_the_lost_one() {
    let (mut site, _, held) = gathered(&["s0", "s1"]);
    let holder = site.transfer.control.finish().unwrap().unwrap().seat.to_string();
    let (text, lost) = site.senders.remove_entry(&*holder).unwrap();
    lost.stop.request();
    lost.join();
    site.retire(text, false);
    wait_for("another holder", || site.transfer.control.finish().unwrap().filter(|finish| finish.seat != seat(text)));
    std::fs::remove_file(held).unwrap();
    site.assert_delivered();
}

/// Its new process has not heard that it had closed.
#[test]
fn a_receiver_that_starts_again_after_it_had_closed_closes_again() {
    let (mut site, named, held) = gathered(&["s0"]);
    let other = if named == "r0" { "r1" } else { "r0" };
    let before = site.receivers.remove(other).unwrap();
    before.stop.request();
    assert_eq!(before.join(), receive::Outcome::Stopped);
    site.transfer.epoch += 1;
    let again = site.transfer.receive_beside(seat(other), false, true);
    site.receivers.insert(other, again);
    wait_for("its report", || {
        let told = site.transfer.control.progress(seat(other)).unwrap()?;
        (told.epoch == 2 && told.closed_for.is_some_and(|lease| (lease.epoch, lease.receiver) == (1, seat(named)))).then_some(())
    });
    std::fs::remove_file(held).unwrap();
    site.assert_delivered();
}

/// Its first look comes before its first connection: else a lane of a sender that was told to leave could begin.
#[test]
fn a_receiver_that_starts_after_it_was_given_up_takes_nothing() {
    let site = Site::new(&["s0"], &["r0", "r1"], large);
    site.retire("r1", true);
    let late = site.transfer.receive_beside(seat("r1"), false, true);
    assert_eq!(late.join(), receive::Outcome::Fenced);
}

/// The answer of the receiver that had finished reached nobody, since its sender was lost: the next one names another receiver.
#[test]
fn a_receiver_whose_partial_files_were_removed_once_it_had_closed_ends_to_be_asked_once_more() {
    let (mut site, named, _held) = gathered(&["s0"]);
    let other = if named == "r0" { "r1" } else { "r0" };
    let told = |site: &Site| site.transfer.control.progress(seat(other)).unwrap();
    wait_for("its report", || told(&site)?.closed_for);
    let sender = site.senders.remove("s0").unwrap();
    sender.stop.request();
    sender.join();
    let finish = Finish { receiver: seat(other), ..site.transfer.control.finish().unwrap().unwrap() };
    assert!(site.transfer.control.take_finish(&finish, None).unwrap());
    wait_for("its report", || told(&site)?.closed_for.is_none().then_some(()));
    let names = std::fs::read_dir(site.transfer.destination()).unwrap().map(|entry| entry.unwrap().path());
    let is_partial = |path: &PathBuf| path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b".cpt-partial-"));
    std::fs::remove_dir_all(names.into_iter().find(is_partial).unwrap()).unwrap();
    assert_eq!(site.receivers.remove(other).unwrap().join(), receive::Outcome::Stopped);
}
