//! Failed attempts: noted in the item first, then put on the bus; from then on only the table brings the chunk back.

use std::sync::mpsc::Receiver;
use std::time::Duration;

use crate::control::{Control, ControlError};
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

/// Runs until the end closes `failures`.
pub fn run(control: &dyn Control, transfer: &TransferId, stop: &Stop, failures: &Receiver<Failure>) {
    while let Ok(failure) = failures.recv() {
        report(control, transfer, stop, failure);
    }
}

fn report(control: &dyn Control, transfer: &TransferId, stop: &Stop, failure: Failure) {
    let Failure { chunk, attempt, path, reason, message } = failure;
    tracing::warn!(chunk, attempt, path, reason = reason.as_str(), message, "chunk failed");
    // Delivered after all, or retried already: the table says how it goes on.
    if !noted(control, stop, chunk, attempt, reason) {
        return;
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
    if let Err(error) = control.put_event(&event) {
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
