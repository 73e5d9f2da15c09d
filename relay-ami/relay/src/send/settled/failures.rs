//! Failed attempts: noted in the item first, then put on the bus; from then on only the table brings the chunk back.
//!
//! An event may be lost, and so may its function's work. Its chunk would wait for the reconciler's next minute, so the event is put
//! again until there is a decision.

use std::collections::{HashMap, HashSet};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use crate::control::{Control, ControlError};
use crate::defaults::{ASK_AGAIN, WATCH_INTERVAL};
use crate::documents::event::{Event, FailureReason};
use crate::documents::text::{SchemaVersion1, TransferId};
use crate::stop::Stop;

/// One failed attempt.
pub struct Failure {
    pub chunk: u64,
    pub attempt: u32,
    pub path: String,
    pub reason: FailureReason,
    pub message: String,
}

/// Longest message in an event; an entry may hold 256 KiB, a person reads less.
const MESSAGE_CHARACTERS: usize = 500;

/// Pause before a note that the table refused is written again; the call itself has been repeated for a minute by then.
const NOTE_AGAIN: Duration = Duration::from_secs(1);

/// Runs until the end closes `failures`. `undecided`: the chunks that wait for the retry policy.
pub fn run(control: &dyn Control, transfer: &TransferId, stop: &Stop, failures: &Receiver<Failure>, undecided: impl Fn() -> Vec<u64>) {
    // The last event of each chunk, and when it was put.
    let mut asked: HashMap<u64, (Instant, Event)> = HashMap::new();
    loop {
        match failures.recv_timeout(WATCH_INTERVAL) {
            Ok(failure) => {
                let chunk = failure.chunk;
                if let Some(event) = report(control, transfer, stop, failure) {
                    asked.insert(chunk, (Instant::now(), event));
                }
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
        if !asked.is_empty() {
            let waiting: HashSet<u64> = undecided().into_iter().collect();
            asked.retain(|chunk, _| waiting.contains(chunk));
        }
        for (chunk, (at, event)) in &mut asked {
            if at.elapsed() >= ASK_AGAIN {
                put(control, *chunk, event);
                *at = Instant::now();
            }
        }
    }
}

/// The event that was put; None where the table says already how it goes on.
fn report(control: &dyn Control, transfer: &TransferId, stop: &Stop, failure: Failure) -> Option<Event> {
    let Failure { chunk, attempt, path, reason, message } = failure;
    tracing::warn!(chunk, attempt, path, reason = reason.as_str(), message, "chunk failed");
    // Delivered after all, or retried already: the table says how it goes on.
    if !noted(control, stop, chunk, attempt, reason) {
        return None;
    }
    let event = Event::ChunkFailed {
        schema_version: SchemaVersion1,
        transfer_id: transfer.clone(),
        chunk,
        attempt,
        path_id: path,
        reason,
        message: message.chars().take(MESSAGE_CHARACTERS).collect(),
    };
    put(control, chunk, &event);
    Some(event)
}

fn put(control: &dyn Control, chunk: u64, event: &Event) {
    if let Err(error) = control.put_event(event) {
        // The note in the item is what the reconciler finds.
        tracing::warn!(chunk, %error, "event");
    }
}

/// Notes the failure however long that takes: the retry policy acts on the note alone. `false`: the item has moved on.
fn noted(control: &dyn Control, stop: &Stop, chunk: u64, attempt: u32, reason: FailureReason) -> bool {
    while !stop.is_requested() {
        match control.note_failure(chunk, attempt, reason) {
            Ok(noted) => return noted,
            Err(error) => {
                tracing::warn!(chunk, %error, "note the failure");
                if !matches!(error, ControlError::Unavailable { .. }) {
                    return false;
                }
            }
        }
        stop.sleep(NOTE_AGAIN);
    }
    false
}
