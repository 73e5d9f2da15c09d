//! Reads back what the destination holds, for `verify: readback`: what was received right can still be stored wrong.

use std::collections::HashMap;
use std::io;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::Builder;

use super::verified::Landed;
use crate::defaults::{READBACK_THREADS, STACK_BYTES};
use crate::documents::command::Verify;
use crate::documents::entry::Kind;
use crate::documents::event::FailureReason;
use crate::ends::Heard;
use crate::look::Reading;
use crate::receive::files::Refusal;
use crate::thread::lock;

/// Reads what all chunks brought, which must be synced. Those whose bytes are not what came, by their index.
pub fn check(reading: Reading<'_>, chunks: &[&[Landed]]) -> HashMap<usize, Refusal> {
    let next = AtomicUsize::new(0);
    let refused = Mutex::new(HashMap::new());
    let work = || {
        reading.during(|heard| {
            loop {
                let index = next.fetch_add(1, Ordering::Relaxed);
                let Some(chunk) = chunks.get(index) else { return };
                if let Err(refusal) = chunk.iter().try_for_each(|item| check_one(item, heard)) {
                    lock(&refused).insert(index, refusal);
                }
            }
        });
    };
    std::thread::scope(|scope| {
        for _ in 1..READBACK_THREADS.min(chunks.len()) {
            // Without a thread to be had this one does it all.
            let _ = Builder::new().name("readback".to_owned()).stack_size(STACK_BYTES).spawn_scoped(scope, work);
        }
        work();
    });
    refused.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner)
}

fn check_one(item: &Landed, heard: Heard<'_>) -> Result<(), Refusal> {
    let checked = match item {
        // All of a file's parts were read before it went to its place.
        Landed::Part(part, _) if part.file.is_done() => Ok(()),
        Landed::Part(part, digest) => part.file.read_back(part.index, digest, heard),
        Landed::Whole { kind: Kind::File, file, digest, .. } => file.read_back(Verify::Readback.proof().whole(), digest, heard),
        Landed::Whole { .. } | Landed::Directory { .. } => Ok(()),
    };
    checked.map_err(|error| match error.kind() {
        io::ErrorKind::InvalidData => Refusal::Failed { reason: FailureReason::ChecksumMismatch, message: error.to_string() },
        _ => Refusal::destination(format_args!("read back: {error}")),
    })
}

#[cfg(test)]
#[path = "readback_tests.rs"]
mod tests;
