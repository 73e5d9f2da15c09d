//! From verified to delivered: sync, rename, checkpoint, acknowledge, in batches.
//!
//! One thread. While it syncs, verified chunks gather and make up the next batch, so a slow disk or a distant table makes
//! batches larger instead of streams slower, until `COMMIT_QUEUE` chunks wait.

use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::Receiver as Queue;
use std::time::{Duration, Instant};

use super::Shared;
use super::large::Part;
use crate::control::{Delivery, unix_now};
use crate::defaults::{COMMIT_QUEUE, SYNC_INTERVAL};
use crate::digest::{Digest, to_hex};
use crate::documents::event::FailureReason;
use crate::documents::text::HexDigest;
use crate::stream::Replies;
use crate::wire::frame::Frame;

/// What a chunk brought.
pub enum Landed {
    /// A part of a large file and its chaining value.
    Part(Part, Digest),
    /// A whole file or link under its partial name; a file has a digest that is reported.
    Whole {
        entry: u64,
        name: String,
        path: Vec<u8>,
        digest: Option<Digest>,
    },
    Directory {
        path: Vec<u8>,
        mode: u16,
        mtime_ns: i64,
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

/// Runs until all streams have let go of the queue.
pub fn run(shared: &Shared, queue: &Queue<Verified>) {
    let mut last_sync = None::<Instant>;
    while let Ok(first) = queue.recv() {
        if let Some(pause) = last_sync.and_then(|last| SYNC_INTERVAL.checked_sub(last.elapsed())) {
            std::thread::sleep(pause);
        }
        let mut batch = vec![first];
        batch.extend(queue.try_iter().take(COMMIT_QUEUE));
        last_sync = Some(Instant::now());
        commit(shared, batch);
    }
}

fn commit(shared: &Shared, batch: Vec<Verified>) {
    let taken = batch.len() as u64;
    let synced = shared.tree.sync();
    if synced.is_err() {
        shared.sync_failures.fetch_add(1, Ordering::SeqCst);
    }
    let failures = shared.sync_failures.load(Ordering::SeqCst);
    let mut deliveries = Vec::with_capacity(batch.len());
    let mut acknowledged = Vec::with_capacity(batch.len());
    for mut chunk in batch {
        let landed = std::mem::take(&mut chunk.landed);
        let placed = match &synced {
            // The kernel tells of a failed write-back once, to whichever sync comes first: chunks under way then may have lost bytes.
            Ok(()) if chunk.failures_at_start != failures => Err(io::Error::other("a sync failed while the chunk was arriving")),
            Ok(()) => place_all(shared, landed),
            Err(error) => Err(io::Error::new(error.kind(), format!("sync: {error}"))),
        };
        match placed {
            Ok(entries) => {
                deliveries.extend(delivery(&chunk));
                acknowledged.push((chunk, entries));
            }
            Err(error) => {
                tracing::warn!(chunk = chunk.chunk, attempt = chunk.attempt, %error, "not delivered");
                shared.refuse(&chunk.replies, chunk.chunk, chunk.attempt, FailureReason::DestinationError, error.to_string());
            }
        }
    }
    if checkpoint(shared, &deliveries) {
        for (chunk, entries) in acknowledged {
            shared.counters.delivered(chunk.bytes, entries);
            // A broken stream: the sender finds the chunk DELIVERED in the table.
            let _ = chunk.replies.send(&Frame::Ack { chunk: chunk.chunk, attempt: chunk.attempt });
        }
    }
    shared.settled(taken);
}

/// Tries until the table takes the results or the process is told to stop: the bytes are safe, so nothing is to be undone.
fn checkpoint(shared: &Shared, deliveries: &[Delivery]) -> bool {
    let mut pause = Duration::from_millis(500);
    while let Err(error) = shared.control.deliver(deliveries) {
        tracing::warn!(%error, chunks = deliveries.len(), "checkpoint");
        if shared.stop.sleep(pause) {
            return false;
        }
        pause = (pause * 2).min(Duration::from_secs(10));
    }
    true
}

/// Number of entries that are complete by it.
fn place_all(shared: &Shared, landed: Vec<Landed>) -> io::Result<u64> {
    let mut complete = 0;
    for item in landed {
        complete += 1;
        match item {
            Landed::Part(part, digest) => match part.file.synced(part.index, part.token, digest, &shared.tree)? {
                Some(whole) => shared.files.complete(part.file.entry(), whole),
                None => complete -= 1,
            },
            Landed::Whole { entry, name, path, digest } => {
                shared.tree.place(&name, &path).inspect_err(|_| shared.tree.discard(&name))?;
                if let Some(digest) = digest {
                    shared.files.complete(entry, digest);
                }
            }
            Landed::Directory { path, mode, mtime_ns } => shared.tree.directory(&path, mode, mtime_ns)?,
        }
    }
    Ok(complete)
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
