//! A destination whose calls take long: what does not wait for them goes on, and only a call that does not return hangs.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use cpt_relay::defaults::FILE_SYSTEM_SLOW;
use cpt_relay::documents::chunk::ChunkState;
use cpt_relay::{receive, send};

use crate::harness::{Running, Transfer, path, wait_for};
use crate::hooked::{Hooked, Step};

const CHUNK: u64 = 64 << 10;

/// What somebody waits at until it is opened.
#[derive(Default)]
struct Gate(Mutex<bool>, Condvar);

impl Gate {
    fn open(&self) {
        *self.0.lock().unwrap() = true;
        self.1.notify_all();
    }

    fn wait(&self) {
        drop(self.1.wait_while(self.0.lock().unwrap(), |is_open| !*is_open).unwrap());
    }
}

fn begin(transfer: &mut Transfer) -> (Running<receive::Outcome>, Running<send::Outcome>) {
    let receiver = transfer.receive();
    transfer.members(vec![path("direct", &[], receiver.address)]);
    let sender = transfer.send(None);
    (receiver, sender)
}

fn assert_arrived(transfer: &Transfer, receiver: Running<receive::Outcome>, sender: Running<send::Outcome>) {
    let sent = sender.join();
    assert!(matches!(sent, send::Outcome::Delivered(_)), "{sent:?}");
    assert_eq!(receiver.join(), receive::Outcome::Agreed);
    transfer.assert_same_trees();
}

fn to(transfer: Transfer, before: impl Fn(Step) + Send + Sync + 'static) -> Transfer {
    let to = transfer.destination();
    transfer.to(Hooked::new(to, before))
}

/// Reports of the receiver until both ends are done: the sequence, and for how long a call has not returned.
fn reports(transfer: &Transfer, is_over: impl Fn() -> bool) -> Vec<(u64, Option<f64>)> {
    let mut reports = Vec::new();
    wait_for("the end", || {
        if let Some(report) = transfer.record("progress-r0") {
            let report = (report["sequence"].as_u64().unwrap(), report["inFileSystemSeconds"].as_f64(), report["at"].to_string());
            if reports.last() != Some(&report) {
                reports.push(report);
            }
        }
        is_over().then_some(())
    });
    reports.into_iter().map(|(sequence, seconds, _)| (sequence, seconds)).collect()
}

#[test]
fn while_a_file_in_doubt_is_read_again_all_other_chunks_are_acknowledged() {
    let gate = Arc::new(Gate::default());
    let at_gate = Arc::clone(&gate);
    let mut transfer = to(
        Transfer::plan(CHUNK, None, |root| {
            // Its chunks come first, those of the small files after them.
            std::fs::write(root.join("0"), vec![7; 3 * CHUNK as usize]).unwrap();
            for number in 1..40 {
                std::fs::write(root.join(number.to_string()), vec![9; CHUNK as usize / 4]).unwrap();
            }
        }),
        move |step| {
            if step == Step::Read {
                at_gate.wait();
            }
        },
    );
    let (receiver, sender) = begin(&mut transfer);
    let waiting = wait_for("all chunks but that of the file's last part", || {
        let waiting: Vec<u64> =
            transfer.chunks().iter().filter(|chunk| chunk.state != ChunkState::Delivered).map(|chunk| chunk.chunk).collect();
        (waiting.len() == 1).then_some(waiting)
    });
    assert!(waiting[0] < 3, "{waiting:?}");
    assert!(!transfer.destination().join("0").exists());
    gate.open();
    assert_arrived(&transfer, receiver, sender);
}

#[test]
fn a_receiver_that_places_files_slowly_goes_on_and_does_not_hang() {
    const FILES: usize = 80;
    let placed = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&placed);
    let mut transfer = to(
        Transfer::plan(1 << 20, None, |root| (0..FILES).for_each(|number| std::fs::write(root.join(number.to_string()), b"x").unwrap())),
        move |step| {
            if step == Step::Place {
                std::thread::sleep(Duration::from_millis(100));
                counted.fetch_add(1, Ordering::SeqCst);
            }
        },
    );
    let (receiver, sender) = begin(&mut transfer);
    let reports = reports(&transfer, || placed.load(Ordering::SeqCst) == FILES);
    assert!(reports.iter().all(|(_, seconds)| seconds.is_none()), "{reports:?}");
    // All of them are of one chunk, which is not acknowledged before the last: each report shows an advance all the same.
    let sequences: BTreeSet<u64> = reports.iter().map(|(sequence, _)| *sequence).collect();
    assert!(sequences.len() >= 3 && sequences.len() == reports.len(), "{reports:?}");
    assert_arrived(&transfer, receiver, sender);
}

#[test]
fn a_receiver_of_which_one_call_does_not_return_says_so() {
    let gate = Arc::new(Gate::default());
    let at_gate = Arc::clone(&gate);
    let files = |root: &std::path::Path| (0..4).for_each(|number| std::fs::write(root.join(number.to_string()), b"x").unwrap());
    let mut transfer = to(Transfer::plan(CHUNK, None, files), move |step| {
        if step == Step::Place {
            at_gate.wait();
        }
    });
    let (receiver, sender) = begin(&mut transfer);
    let seconds = wait_for("the report", || transfer.record("progress-r0")?["inFileSystemSeconds"].as_f64());
    assert!(seconds >= FILE_SYSTEM_SLOW.as_secs_f64(), "{seconds}");
    gate.open();
    assert_arrived(&transfer, receiver, sender);
}
