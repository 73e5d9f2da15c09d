//! From verified to delivered: sync, rename, note in the journal, checkpoint, acknowledge, in batches.
//!
//! One thread. While it syncs, verified chunks gather and make up the next batch, so a slow disk or a distant table makes
//! batches larger instead of streams slower, until `COMMIT_QUEUE` chunks wait.

use std::collections::HashMap;
use std::fmt::Display;
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::Receiver as Queue;
use std::time::{Duration, Instant};

use super::Shared;
use super::large::Part;
use super::readback;
use crate::control::{Delivery, Undelivered, unix_now};
use crate::defaults::{COMMIT_QUEUE, READBACK_BATCH, SYNC_INTERVAL};
use crate::digest::{Digest, to_hex};
use crate::documents::command::Verify;
use crate::documents::event::FailureReason;
use crate::documents::text::HexDigest;
use crate::ends::posix::identity::Placed;
use crate::ends::problem::{Reach, reach};
use crate::stream::Replies;
use crate::wire::frame::Frame;

/// What a chunk brought.
pub enum Landed {
    /// A part of a large file and its chaining value.
    Part(Part, Digest),
    /// A whole file or link under its partial name; `inode` is a file's.
    Whole {
        entry: u64,
        name: String,
        path: Vec<u8>,
        digest: Digest,
        inode: Option<u64>,
    },
    Directory {
        entry: u64,
        digest: Digest,
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

impl Landed {
    fn entry(&self) -> u64 {
        match self {
            Self::Part(part, _) => part.file.entry(),
            Self::Whole { entry, .. } | Self::Directory { entry, .. } => *entry,
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

/// Runs until all streams have let go of the queue.
pub fn run(shared: &Shared, queue: &Queue<Verified>) {
    let limit = if shared.verify == Verify::Readback { READBACK_BATCH } else { COMMIT_QUEUE };
    let mut last_sync = None::<Instant>;
    while let Ok(first) = queue.recv() {
        if let Some(last) = last_sync {
            shared.sending.wait_for_none(last + SYNC_INTERVAL);
        }
        let mut batch = vec![first];
        batch.extend(queue.try_iter().take(limit - 1));
        last_sync = Some(Instant::now());
        commit(shared, batch);
    }
}

fn commit(shared: &Shared, batch: Vec<Verified>) {
    let (chunks, entries) = (batch.len() as u64, batch.iter().map(|chunk| chunk.landed.len()).sum());
    let disk = shared.disk.enter();
    shared.tree.forget();
    let synced = shared.tree.sync();
    if synced.is_err() {
        shared.sync_failures.fetch_add(1, Ordering::SeqCst);
    }
    let failures = shared.sync_failures.load(Ordering::SeqCst);
    let mut checked = match &synced {
        Ok(()) if shared.verify == Verify::Readback => {
            let landed: Vec<&[Landed]> = batch.iter().map(|chunk| &*chunk.landed).collect();
            readback::check(&shared.tree, &landed)
        }
        _ => HashMap::new(),
    };
    let mut deliveries = Vec::with_capacity(batch.len());
    let mut acknowledged = Vec::with_capacity(batch.len());
    for (index, mut chunk) in batch.into_iter().enumerate() {
        let mut landed = std::mem::take(&mut chunk.landed);
        let placed = match &synced {
            // The kernel tells of a failed write-back once, to whichever sync comes first: chunks under way then may have lost bytes.
            Ok(()) if chunk.failures_at_start != failures => Err(Refusal::Full("a sync failed while the chunk was arriving".to_owned())),
            Ok(()) => match checked.remove(&index) {
                Some(refusal) => Err(refusal),
                None => place_all(shared, &chunk, &mut landed).map_err(|error| Refusal::of(&error, "")),
            },
            Err(error) => Err(Refusal::of(error, "sync: ")),
        };
        match placed {
            Ok(entries) => {
                deliveries.extend(delivery(&chunk));
                acknowledged.push((chunk, entries));
            }
            Err(refusal) => {
                // A whole file has no use without its chunk; a part's bytes are written over by the next attempt.
                for item in landed {
                    if let Landed::Whole { name, .. } = item {
                        shared.tree.discard(&name);
                    }
                }
                shared.refuse(&chunk.replies, chunk.chunk, chunk.attempt, refusal);
            }
        }
    }
    let settled = shared.tree.journal.sync();
    drop(disk);
    if let Err(error) = settled {
        let refusal = Refusal::of(&error, "journal: ");
        for (chunk, _) in acknowledged {
            shared.refuse(&chunk.replies, chunk.chunk, chunk.attempt, refusal.clone());
        }
    } else if let Some(moved_on) = checkpoint(shared, &deliveries) {
        for (chunk, entries) in acknowledged {
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
    shared.settled(chunks, entries);
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

/// Number of entries that are complete by it. One that cannot be placed for a reason of its own is left out. What could not be placed
/// otherwise stays in `landed`.
fn place_all(shared: &Shared, chunk: &Verified, landed: &mut Vec<Landed>) -> io::Result<u64> {
    let mut complete = 0;
    landed.reverse();
    while let Some(item) = landed.last() {
        match place(shared, item) {
            Ok(entries) => complete += entries,
            Err(error) => {
                let Reach::Entry(reason) = reach(&error) else { return Err(error) };
                shared.leave_out(&chunk.replies, (chunk.chunk, chunk.attempt), item.entry(), reason, &error)?;
                if let Landed::Whole { name, .. } = item {
                    shared.tree.discard(name);
                }
            }
        }
        landed.pop();
    }
    Ok(complete)
}

fn place(shared: &Shared, item: &Landed) -> io::Result<u64> {
    let (entry, placed) = match item {
        Landed::Part(part, digest) => match part.file.synced(part.index, part.token, *digest, &shared.tree)? {
            // Its parts are in the journal; which file they have become is noted too, so that it need not be read again.
            Some(placed) => (part.file.entry(), placed),
            None => return Ok(0),
        },
        // It came on another stream before. Renamed again it would change its directory's time, which may be set by now.
        Landed::Whole { entry, name, digest, .. } if shared.files.is_placed(*entry, digest) => {
            shared.tree.discard(name);
            return Ok(1);
        }
        Landed::Whole { entry, name, path, digest, inode } => {
            (*entry, Placed { digest: *digest, identity: shared.tree.place(name, path, *inode)? })
        }
        Landed::Directory { entry, digest, path, mode, mtime_ns } => {
            shared.tree.directory(path, *mode, *mtime_ns)?;
            (*entry, Placed { digest: *digest, identity: None })
        }
    };
    shared.tree.journal.whole(entry, &placed)?;
    shared.files.complete(entry, placed);
    Ok(1)
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
