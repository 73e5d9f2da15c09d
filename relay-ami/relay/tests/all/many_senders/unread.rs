//! Senders whose machine cannot read what another one can.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use cpt_relay::digest::Digest;
use cpt_relay::documents::entry::Segment;
use cpt_relay::documents::event::SkipReason;
use cpt_relay::ends::{Each, Halted, Source, SourceFailure, SourceFile};

use super::*;

/// A mount of the source on which some files cannot be read.
struct Failing {
    inner: Arc<dyn Source>,
    fails: fn(&str) -> bool,
    failed: Arc<AtomicU64>,
}

impl Source for Failing {
    fn list(&self, each: Each<'_>) -> Result<(), Halted> {
        self.inner.list(each)
    }

    fn open<'a>(&'a self, segment: &'a Segment) -> Result<Option<Box<dyn SourceFile + 'a>>, SourceFailure> {
        if (self.fails)(&segment.path) {
            self.failed.fetch_add(1, Ordering::SeqCst);
            let message = format!("{}: Input/output error (os error 5)", segment.source);
            return Err(SourceFailure { reason: SkipReason::SourceUnreadable, message, transient: true });
        }
        self.inner.open(segment)
    }

    fn digest(&self, key: &[u8]) -> io::Result<Digest> {
        self.inner.digest(key)
    }

    fn sample(&self, key: &[u8], offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        self.inner.sample(key, offset, buffer)
    }

    fn read_rate(&self, key: &[u8], size: u64) -> Option<f64> {
        self.inner.read_rate(key, size)
    }
}

/// A sender on whose machine these cannot be read, and how many it could not read so far.
fn failing(transfer: &mut Transfer, text: &str, fails: fn(&str) -> bool) -> (Running<send::Outcome>, Arc<AtomicU64>) {
    let config = beside_others(transfer, seat(text));
    let failed = Arc::<AtomicU64>::default();
    let source = Arc::new(Failing { inner: Arc::clone(&config.source), fails, failed: Arc::clone(&failed) });
    (transfer.start(send::Config { source, ..config }), failed)
}

/// Some of the small files, and a large one of which the other machine has sent parts.
fn some(path: &str) -> bool {
    path.ends_with('7') || path == "large-0"
}

#[test]
fn what_one_machine_cannot_read_is_sent_by_another() {
    let mut transfer = Transfer::plan(CHUNK, None, tree);
    let receiver = transfer.receive_beside(Seat::RECEIVER, true, false);
    transfer.members(paths(&["s0", "s1"], &receiver));
    shares(&transfer, &[("s0", 20.0), ("s1", 20.0)]);
    let (whole, (failing, failed)) = (start(&mut transfer, "s0"), failing(&mut transfer, "s1", some));
    let by = assert_delivered(&transfer, vec![("s0", whole), ("s1", failing)], receiver);
    assert_eq!(by, "s0");
    assert!(failed.load(Ordering::SeqCst) > 0);
}

#[test]
fn what_no_machine_can_read_is_named_once() {
    let mut transfer = Transfer::plan(CHUNK, None, tree);
    let receiver = transfer.receive_beside(Seat::RECEIVER, true, false);
    transfer.members(paths(&["s0", "s1"], &receiver));
    shares(&transfer, &[("s0", 20.0), ("s1", 20.0)]);
    let senders = ["s0", "s1"].map(|text| failing(&mut transfer, text, |path| path == "large-1").0);
    assert_eq!(receiver.join(), receive::Outcome::Agreed);
    fence(&transfer);
    let outcomes = senders.map(Running::join);
    let skipped =
        outcomes.iter().filter_map(|outcome| if let send::Outcome::Delivered(totals) = outcome { Some(totals.skipped) } else { None });
    assert_eq!(skipped.collect::<Vec<_>>(), [1], "{outcomes:?}");
    let [named] = &*transfer.skipped() else { panic!("{:?}", transfer.skipped()) };
    assert_eq!((named["path"].as_str(), named["reason"].as_str()), (Some("large-1"), Some("source-unreadable")));
    assert!(!transfer.destination().join("large-1").exists() && transfer.destination().join("large-2").exists());
}

#[test]
fn a_machine_that_can_read_nothing_any_more_ends_and_another_sends_all() {
    let mut transfer = Transfer::plan(CHUNK, None, tree);
    let receiver = transfer.receive_beside(Seat::RECEIVER, true, false);
    transfer.members(paths(&["s0", "s1"], &receiver));
    let (blind, _) = failing(&mut transfer, "s1", |_| true);
    let why = blind.failure();
    assert!(why.contains("Unread"), "{why}");
    // The control plane gives it up once its restarts are used up.
    retire(&transfer, "s1");
    let other = start(&mut transfer, "s0");
    assert_delivered(&transfer, vec![("s0", other)], receiver);
}
