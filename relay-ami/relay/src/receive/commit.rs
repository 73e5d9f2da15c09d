//! From verified to delivered: sync, rename, note in the journal, checkpoint, acknowledge, in batches.
//!
//! Two threads: one has the disk, one the table, so that the next sync goes on while the table answers. While either is at work,
//! verified chunks gather and make up the next batch, so a slow disk or a distant table makes batches larger instead of streams
//! slower, until as much waits as `CommitQueue` takes.

use std::collections::HashMap;
use std::fmt::Display;
use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver as Queue, sync_channel};
use std::time::{Duration, Instant};

use super::Shared;
use super::large::Part;
use super::placing::Placing;
use super::readback;
use crate::control::{Delivery, Undelivered, unix_now};
use crate::defaults::{CHECKPOINT_QUEUE, COMMIT_QUEUE, READBACK_BATCH, SYNC_INTERVAL};
use crate::digest::{Digest, to_hex};
use crate::documents::command::Verify;
use crate::documents::entry::Kind;
use crate::documents::event::FailureReason;
use crate::documents::text::HexDigest;
use crate::ends::SmallFile;
use crate::ends::problem::{Reach, reach};
use crate::stream::Replies;
use crate::wire::frame::{Frame, SegmentHeader};

/// The content of a chunk. A whole file that is dropped leaves nothing; a part's bytes are overwritten by the next attempt.
pub enum Landed {
    /// A part of a large file and its chaining value.
    Part(Part, Digest),
    /// A whole file or link.
    Whole {
        entry: u64,
        kind: Kind,
        file: Box<dyn SmallFile>,
        path: Vec<u8>,
        digest: Digest,
    },
    Directory {
        header: SegmentHeader,
        digest: Digest,
    },
}

/// A chunk whose digest is the sender's.
pub struct Verified {
    pub chunk: u64,
    pub attempt: u32,
    pub digest: Digest,
    pub landed: Vec<Landed>,
    pub bytes: u64,
    pub path: Arc<str>,
    pub lane: u32,
    pub started_at: f64,
    /// Failed syncs when it began.
    pub failures_at_start: u64,
    pub replies: Arc<Replies>,
}

impl Landed {
    pub fn entry(&self) -> u64 {
        match self {
            Self::Part(part, _) => part.file.entry(),
            Self::Whole { entry, .. } => *entry,
            Self::Directory { header, .. } => header.entry,
        }
    }
}

/// Why a chunk does not count.
#[derive(Clone)]
pub enum Refusal {
    /// It may be the chunk's own fault.
    Failed { reason: FailureReason, message: String },
    /// Nothing can be written.
    Full(String),
}

impl Refusal {
    pub fn destination(why: impl Display) -> Self {
        Self::Failed { reason: FailureReason::DestinationError, message: why.to_string() }
    }

    /// `what` was done when the error came.
    pub fn of(error: &io::Error, what: &str) -> Self {
        let message = format!("{what}{error}");
        if reach(error) == Reach::Destination { Self::Full(message) } else { Self::destination(message) }
    }
}

/// A batch that is on the disk and that the table has yet to take.
struct OnDisk {
    deliveries: Vec<Delivery>,
    /// Each with the entries that are complete by it.
    placed: Vec<(Verified, u64)>,
    /// Chunks of the whole batch.
    chunks: u64,
    entries: usize,
}

/// Runs until all streams have let go of the queue.
pub fn run(shared: &Shared, queue: &Queue<Verified>) -> io::Result<()> {
    let limit = if shared.verify == Verify::Readback { READBACK_BATCH } else { COMMIT_QUEUE };
    std::thread::scope(|scope| {
        // The other thread ends when this closure has let go of its half.
        let (on_disk, synced) = sync_channel(CHECKPOINT_QUEUE);
        std::thread::Builder::new().name("checkpoint".to_owned()).spawn_scoped(scope, move || {
            for batch in synced {
                acknowledge(shared, batch);
            }
        })?;
        let (mut last_sync, mut placing) = (None::<Instant>, Placing::new(shared.placing_threads));
        while let Ok(first) = queue.recv() {
            if let Some(last) = last_sync {
                shared.sending.wait_for_none(last + SYNC_INTERVAL);
            }
            let mut batch = vec![first];
            batch.extend(queue.try_iter().take(limit - 1));
            last_sync = Some(Instant::now());
            let _ = on_disk.send(sync(shared, &mut placing, batch));
        }
        Ok(())
    })
}

fn sync(shared: &Shared, placing: &mut Placing, batch: Vec<Verified>) -> OnDisk {
    let (chunks, entries) = (batch.len() as u64, batch.iter().map(|chunk| chunk.landed.len()).sum());
    let _call = shared.disk.enter();
    let began = Instant::now();
    let synced = shared.destination.sync();
    shared.verified.synced(batch.iter().map(|chunk| chunk.bytes).sum(), began.elapsed());
    if synced.is_err() {
        shared.verified.sync_failed();
    }
    let failures = shared.verified.sync_failures();
    let mut checked = match &synced {
        Ok(()) if shared.verify == Verify::Readback => {
            let landed: Vec<&[Landed]> = batch.iter().map(|chunk| &*chunk.landed).collect();
            readback::check(&landed)
        }
        _ => HashMap::new(),
    };
    let mut deliveries = Vec::with_capacity(batch.len());
    let mut all_placed = Vec::with_capacity(batch.len());
    for (index, mut chunk) in batch.into_iter().enumerate() {
        let placed = match &synced {
            Ok(()) if chunk.failures_at_start != failures => Err(Refusal::Full("a sync failed while the chunk was arriving".to_owned())),
            Ok(()) => match checked.remove(&index) {
                Some(refusal) => Err(refusal),
                None => placing.place_all(shared, &mut chunk).map_err(|error| Refusal::of(&error, "")),
            },
            Err(error) => Err(Refusal::of(error, "sync: ")),
        };
        match placed {
            Ok(entries) => {
                deliveries.extend(delivery(&chunk));
                all_placed.push((chunk, entries));
            }
            Err(refusal) => {
                chunk.landed.clear();
                shared.refuse(&chunk.replies, chunk.chunk, chunk.attempt, refusal);
            }
        }
    }
    if let Err(error) = shared.destination.sync_notes() {
        let refusal = Refusal::of(&error, "journal: ");
        deliveries.clear();
        for (chunk, _) in all_placed.drain(..) {
            shared.refuse(&chunk.replies, chunk.chunk, chunk.attempt, refusal.clone());
        }
    }
    OnDisk { deliveries, placed: all_placed, chunks, entries }
}

fn acknowledge(shared: &Shared, batch: OnDisk) {
    let OnDisk { deliveries, placed, chunks, entries } = batch;
    if let Some(moved_on) = checkpoint(shared, &deliveries) {
        for (chunk, entries) in placed {
            // The sender looks the chunk up: the table says how it goes on.
            if let Some(other) = moved_on.iter().find(|other| other.chunk == chunk.chunk) {
                let refusal = Refusal::Failed { reason: FailureReason::StreamLost, message: other.why.clone() };
                shared.refuse(&chunk.replies, chunk.chunk, chunk.attempt, refusal);
                continue;
            }
            shared.counters.delivered(chunk.bytes, entries);
            // A broken stream: the sender finds the chunk DELIVERED in the table.
            let _ = chunk.replies.send(&Frame::Ack { chunk: chunk.chunk, attempt: chunk.attempt });
        }
    }
    shared.verified.settle(chunks, entries);
}

/// Tries until the table takes the results or the process is told to stop: the bytes are safe, so nothing is to be undone.
/// What the table has otherwise is returned.
fn checkpoint(shared: &Shared, deliveries: &[Delivery]) -> Option<Vec<Undelivered>> {
    let _call = shared.asked.enter();
    let mut pause = Duration::from_millis(500);
    loop {
        match shared.control.deliver(deliveries) {
            Ok(undelivered) => return Some(undelivered),
            Err(error) => tracing::warn!(%error, chunks = deliveries.len(), "checkpoint"),
        }
        if shared.stop.sleep(pause) {
            return None;
        }
        pause = (pause * 2).min(Duration::from_secs(10));
    }
}

fn delivery(chunk: &Verified) -> Option<Delivery> {
    Some(Delivery {
        chunk: chunk.chunk,
        attempt: chunk.attempt,
        digest: HexDigest::new(to_hex(&chunk.digest)).ok()?,
        path_id: chunk.path.to_string(),
        lane: chunk.lane,
        started_at: chunk.started_at,
        delivered_at: unix_now(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_refuses_all_and_another_error_one_chunk() {
        let full = Refusal::of(&io::Error::from_raw_os_error(rustix::io::Errno::NOSPC.raw_os_error()), "sync: ");
        assert!(matches!(full, Refusal::Full(message) if message.starts_with("sync: ")));
        let other = Refusal::of(&io::Error::other("odd"), "");
        assert!(matches!(other, Refusal::Failed { reason: FailureReason::DestinationError, .. }));
    }
}
