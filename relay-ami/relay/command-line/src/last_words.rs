//! The event that an end ends with.

use std::time::Duration;

use cpt_relay::control::{Control, Seat, tell};
use cpt_relay::documents::event::{Copied, Event, Failure};
use cpt_relay::documents::text::{SchemaVersion1, TransferId};
use cpt_relay::send::Totals;
use cpt_relay::stop::Stop;

pub fn announce_failure(control: &dyn Control, stop: &Stop, transfer_id: TransferId, seat: Seat, epoch: u64, error: Failure, cause: &str) {
    // Its calls ended because it was told to stop.
    if error == Failure::ControlUnavailable && stop.is_requested() {
        return;
    }
    let (side, cause) = (seat.role.as_str().to_owned(), cause.chars().take(1000).collect());
    let event = Event::TransferFailed { schema_version: SchemaVersion1, transfer_id, side, seat, epoch, error, cause };
    put_surely(control, stop, &event, epoch);
}

/// The sender's last word where all has arrived.
pub fn delivered(transfer_id: TransferId, (seat, epoch): (Seat, u64), totals: Totals) -> Event {
    let Totals { bytes, files, chunks, sent_bytes, saved_bytes, hedged_bytes, repaired_chunks, skipped, kept, copied_bytes, gathering } =
        totals;
    let copied = (copied_bytes > 0).then_some(Copied { bytes: copied_bytes, seconds: gathering.as_secs_f64() });
    Event::TransferDelivered {
        schema_version: SchemaVersion1,
        transfer_id,
        seat,
        epoch,
        bytes,
        files,
        chunks,
        sent_bytes,
        saved_bytes,
        hedged_bytes,
        repaired_chunks,
        skipped,
        kept,
        copied,
    }
}

/// The outcome is worth some patience: 1 + 2 + 4 + 8 s beside the SDK's own retries, less once the process is told to stop. Once it
/// is noted, the reconciler finds it where the event is lost; before that, it finds a silent end.
pub fn put_surely(control: &dyn Control, stop: &Stop, event: &Event, epoch: u64) {
    for attempt in 0..5 {
        match tell(control, event, epoch) {
            Ok(()) => return,
            Err(error) => tracing::warn!(%error, "event"),
        }
        if stop.sleep(Duration::from_secs(1 << attempt)) {
            return;
        }
    }
}
