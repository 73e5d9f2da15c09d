//! The table's word on chunks that failed.

use super::chunks::Chunks;
use crate::control::Control;
use crate::defaults::WATCH_INTERVAL;
use crate::stop::Stop;

/// Follows it until the queue is over. A thread of its own: a table that does not answer must not keep this end from its reports.
pub fn run(control: &dyn Control, chunks: &Chunks, stop: &Stop) {
    while !stop.sleep(WATCH_INTERVAL) && !chunks.queue.is_over() {
        let undecided = chunks.queue.undecided();
        if !undecided.is_empty() {
            match control.chunks(&undecided) {
                Ok(items) => chunks.decide(&items),
                Err(error) => tracing::warn!(%error, "failed chunks"),
            }
        }
    }
}
