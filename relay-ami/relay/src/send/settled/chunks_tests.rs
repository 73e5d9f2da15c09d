#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;

use super::*;
use crate::documents::event::SkipReason;
use crate::send::builders::{Idle, item, plan, segment, work};
use crate::send::noted::sent_journal;

fn lane() -> Arc<Handle> {
    Idle::on("pair-1").0
}

fn whole(entry: u64) -> Sent {
    Sent::Whole(vec![(entry, [entry as u8; 32])])
}

fn chunks() -> (Chunks, Inboxes) {
    Chunks::new(&plan(), Proof::Blake3, Patience::default(), SentJournal::default(), Earlier::default(), EntryTable::default(), None)
}

fn digests(chunks: &Chunks) -> BTreeMap<u64, Digest> {
    chunks.digests().collect()
}

fn delivered_count(chunks: &Chunks) -> u64 {
    chunks.counters.chunks.load(Ordering::Relaxed)
}

/// The table has said that the chunk is delivered.
fn delivered_after_all(chunks: &Chunks, work: &Work) {
    chunks.queue.recalls(1);
    chunks.delivered_after_all(work);
}

#[test]
fn a_lost_acknowledgement_counts_with_its_digests_once_the_table_says_that_the_chunk_is_delivered() {
    let (chunks, inboxes) = chunks();
    chunks.unacknowledged(work(0), Some(whole(7)), &lane(), "reset".to_owned());
    assert_eq!((delivered_count(&chunks), digests(&chunks).len()), (0, 0));
    let failure = inboxes.failures.try_recv().unwrap();
    assert_eq!((failure.chunk, failure.reason, failure.message.as_str()), (0, FailureReason::StreamLost, "reset"));
    delivered_after_all(&chunks, &work(0));
    assert_eq!((delivered_count(&chunks), digests(&chunks)), (1, BTreeMap::from([(7, [7; 32])])));
    assert!(inboxes.recalls.try_recv().is_err(), "nothing is to be read again");
}

#[test]
fn a_chunk_that_an_earlier_process_delivered_is_read_again_for_its_digests() {
    let (chunks, inboxes) = chunks();
    delivered_after_all(&chunks, &work(0));
    assert_eq!(inboxes.recalls.try_recv().unwrap(), [0]);
    chunks.recalled(0, whole(3));
    assert_eq!(digests(&chunks), BTreeMap::from([(3, [3; 32])]));
}

#[test]
fn what_an_earlier_process_sent_and_noted_is_not_read_again() {
    let folder = tempfile::tempdir().unwrap();
    let journal =
        || SentJournal::go_on(Some(sent_journal::open(&folder.path().join("send.sent")).unwrap()), &plan().plan_id, Proof::Blake3).0;
    journal().note(0, &whole(3));
    let (chunks, inboxes) =
        Chunks::new(&plan(), Proof::Blake3, Patience::default(), journal(), Earlier::default(), EntryTable::default(), None);
    let items = [item(0, ChunkState::Delivered, 1, None), item(1, ChunkState::Delivered, 1, None)];
    chunks.settled_before(items.iter(), Origin::Here);
    assert_eq!((digests(&chunks), delivered_count(&chunks)), (BTreeMap::from([(3, [3; 32])]), 2));
    assert_eq!(inboxes.recalls.try_recv().unwrap(), [1], "of this nothing was noted");
}

/// Its parts would be put together with those that are read now.
#[test]
fn what_was_sent_before_a_repair_does_not_count_in_it() {
    let (chunks, inboxes) = chunks();
    chunks.unacknowledged(work(0), Some(whole(7)), &lane(), "reset".to_owned());
    chunks.forget(std::iter::once(0), &[7]);
    delivered_after_all(&chunks, &work(0));
    assert_eq!(inboxes.recalls.try_recv().unwrap(), [0], "it is read again");
    assert!(digests(&chunks).is_empty());
}

#[test]
fn what_is_sent_again_after_the_end_counts_once() {
    let (chunks, _inboxes) = chunks();
    chunks.delivered(&work(0), Some(whole(1)));
    chunks.delivered(&Work { again: true, ..work(0) }, Some(whole(1)));
    assert_eq!(delivered_count(&chunks), 1);
}

#[test]
fn entries_that_are_left_out_are_not_among_the_digests() {
    let (chunks, _inboxes) = chunks();
    chunks.delivered(&work(0), Some(Sent::Whole(vec![(1, [1; 32]), (2, [2; 32])])));
    chunks.skipped.note(&segment(2, "b"), SkipReason::SourceChanged, "it grew");
    assert_eq!((chunks.is_complete(), digests(&chunks)), (true, BTreeMap::from([(1, [1; 32])])));
}

#[test]
fn threads_that_read_the_inboxes_end_once_all_is_closed_and_read() {
    let (chunks, inboxes) = chunks();
    chunks.failed(work(0), &lane(), FailureReason::ChecksumMismatch, String::new());
    chunks.close();
    chunks.failed(work(1), &lane(), FailureReason::ChecksumMismatch, String::new());
    assert_eq!(inboxes.failures.iter().map(|failure| failure.chunk).collect::<Vec<_>>(), [0]);
    assert_eq!(inboxes.recalls.iter().count(), 0);
}
