//! From verified to delivered: sync, rename, note in the journal, checkpoint, acknowledge, in batches.
//!
//! One thread has the disk, one the table, so that the next sync goes on while the table answers. While either is at work, verified
//! chunks gather and make up the next batch, so a slow disk or a distant table makes batches larger instead of streams slower, until as
//! much waits as `CommitQueue` takes. What has to be read again before a chunk counts is read by others ([`super::checking`]).

use std::collections::HashMap;
use std::fmt::Display;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver as Queue, sync_channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use super::checking::{self, Waiting};
use super::large::Part;
use super::placing::{Come, Placing, Tries};
use super::{Shared, readback};
use crate::control::{Delivery, Undelivered, unix_now};
use crate::defaults::{
    CHECK_QUEUE, CHECKPOINT_QUEUE, COMMIT_QUEUE, ENTRY_MEMORY, READBACK_BATCH, READBACK_THREADS, STACK_BYTES, SYNC_INTERVAL, SYNC_PAUSES,
};
use crate::digest::{Digest, to_hex};
use crate::documents::command::Verify;
use crate::documents::entry::Kind;
use crate::documents::event::FailureReason;
use crate::documents::text::HexDigest;
use crate::ends::SmallFile;
use crate::ends::problem::{Reach, is_superseded, reach};
use crate::stream::Replies;
use crate::under_way::Call;
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
    /// Bytes of memory that its entries take, about.
    pub memory: usize,
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

    /// Where it lands.
    pub fn path(&self) -> &[u8] {
        match self {
            Self::Part(part, _) => part.file.path(),
            Self::Whole { path, .. } => path,
            Self::Directory { header, .. } => &header.path,
        }
    }
}

/// Bytes of memory that an entry takes from its header until it is acknowledged, about.
pub const fn memory_of(header: &SegmentHeader) -> usize {
    ENTRY_MEMORY + header.path.len() + header.target.len() + header.attributes.len()
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
        if is_superseded(error) {
            return Self::Failed { reason: FailureReason::StreamLost, message };
        }
        if reach(error) == Reach::Destination { Self::Full(message) } else { Self::destination(message) }
    }
}

/// A batch that is on the disk and that the table has yet to take.
pub struct OnDisk {
    pub deliveries: Vec<Delivery>,
    /// Each with the entries that are complete by it.
    pub placed: Vec<(Verified, u64)>,
    /// Chunks that are settled by it, and the memory of all of them.
    pub chunks: u64,
    pub memory: usize,
}

/// Runs until all streams have let go of the queue.
pub fn run(shared: &Shared, queue: &Queue<Verified>) -> io::Result<()> {
    let limit = if shared.verify == Verify::Readback { READBACK_BATCH } else { COMMIT_QUEUE };
    let (tries, (doubtful, waiting)) = (Tries::default(), sync_channel(CHECK_QUEUE));
    // Microseconds that the table took for its last batch.
    let (waiting, table) = (Mutex::new(waiting), AtomicU64::new(0));
    std::thread::scope(|scope| {
        // The others end when this closure has let go of its halves.
        let doubtful = doubtful;
        let (on_disk, synced) = sync_channel(CHECKPOINT_QUEUE);
        let start = |name: &str| std::thread::Builder::new().name(name.to_owned()).stack_size(STACK_BYTES);
        let table = &table;
        start("checkpoint").spawn_scoped(scope, move || {
            for batch in synced {
                let began = Instant::now();
                acknowledge(shared, batch);
                table.store(u64::try_from(began.elapsed().as_micros()).unwrap_or(u64::MAX), Ordering::Relaxed);
            }
        })?;
        for _ in 0..READBACK_THREADS {
            let (on_disk, tries, waiting) = (on_disk.clone(), &tries, &waiting);
            start("check").spawn_scoped(scope, move || checking::run(shared, tries, waiting, &on_disk))?;
        }
        let (mut next_sync, mut placing) = (None::<Instant>, Placing::new(shared.placing_threads, &tries, &shared.disk));
        while let Ok(first) = queue.recv() {
            if let Some(next) = next_sync {
                shared.sending.wait_for_none(next);
            }
            let mut batch = vec![first];
            batch.extend(queue.try_iter().take(limit - 1));
            let began = Instant::now();
            let (batch, in_doubt, took) = sync(shared, &mut placing, batch);
            next_sync = Some(began + pause_after(took, Duration::from_micros(table.load(Ordering::Relaxed))));
            let _ = on_disk.send(batch);
            in_doubt.into_iter().for_each(|chunk| drop(doubtful.send(chunk)));
        }
        Ok(())
    })
}

/// From the beginning of a sync that took so long to the next one's, where the table takes so long for a batch: it takes one at a time,
/// and each chunk of one at once.
fn pause_after(sync: Duration, table: Duration) -> Duration {
    (sync * SYNC_PAUSES).max(table).clamp(*SYNC_INTERVAL.start(), *SYNC_INTERVAL.end())
}

/// Syncs and places; returns how long the sync itself took too.
fn sync(shared: &Shared, placing: &mut Placing<'_>, batch: Vec<Verified>) -> (OnDisk, Vec<Waiting>, Duration) {
    let (mut chunks, mut memory) = (batch.len() as u64, batch.iter().map(|chunk| chunk.memory).sum::<usize>());
    let call = shared.disk.enter();
    let began = Instant::now();
    let synced = shared.destination.sync();
    call.goes_on();
    drop(call);
    let took = began.elapsed();
    shared.verified.synced(batch.iter().map(|chunk| chunk.bytes).sum(), took);
    if synced.is_err() {
        shared.verified.sync_failed();
    }
    let failures = shared.verified.sync_failures();
    let mut checked = match &synced {
        Ok(()) if shared.verify == Verify::Readback => {
            let landed: Vec<&[Landed]> = batch.iter().map(|chunk| &*chunk.landed).collect();
            readback::check(shared.reading(), &landed)
        }
        _ => HashMap::new(),
    };
    let call = shared.disk.enter();
    let mut deliveries = Vec::with_capacity(batch.len());
    let (mut all_placed, mut in_doubt) = (Vec::with_capacity(batch.len()), Vec::new());
    for (index, mut chunk) in batch.into_iter().enumerate() {
        let come = match &synced {
            Ok(()) if chunk.failures_at_start != failures => Err(Refusal::Full("a sync failed while the chunk was arriving".to_owned())),
            Ok(()) => match checked.remove(&index) {
                Some(refusal) => Err(refusal),
                None => placing.place_all(shared, &mut chunk, &call).map_err(Refusal::from),
            },
            Err(error) => Err(Refusal::of(error, "sync: ")),
        };
        match come {
            Ok(Come { complete, in_doubt: files }) if files.is_empty() => {
                deliveries.extend(delivery(&chunk));
                all_placed.push((chunk, complete));
            }
            Ok(Come { complete, in_doubt: files }) => {
                (chunks, memory) = (chunks - 1, memory - chunk.memory);
                in_doubt.push(Waiting { chunk, complete, files });
            }
            Err(refusal) => {
                let_go(&mut chunk.landed, &call);
                shared.refuse(&chunk.replies, chunk.chunk, chunk.attempt, refusal);
            }
        }
    }
    let noted = shared.destination.sync_notes();
    drop(call);
    if let Err(error) = noted {
        let refusal = Refusal::of(&error, "journal: ");
        deliveries.clear();
        for (chunk, _) in all_placed.drain(..) {
            shared.refuse(&chunk.replies, chunk.chunk, chunk.attempt, refusal.clone());
        }
    }
    (OnDisk { deliveries, placed: all_placed, chunks, memory }, in_doubt, took)
}

/// What has landed goes again. Each file that is removed is a call.
pub fn let_go(landed: &mut Vec<Landed>, call: &Call) {
    for item in landed.drain(..) {
        drop(item);
        call.goes_on();
    }
}

fn acknowledge(shared: &Shared, batch: OnDisk) {
    let OnDisk { deliveries, placed, chunks, memory } = batch;
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
    shared.verified.settle(chunks, memory);
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

pub fn delivery(chunk: &Verified) -> Option<Delivery> {
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

    #[test]
    fn the_next_sync_comes_after_ten_times_the_last_one_within_bounds() {
        let milliseconds = |(sync, table)| pause_after(Duration::from_micros(sync), Duration::from_micros(table)).as_millis();
        assert_eq!([(0, 0), (100, 0), (2_500, 0), (7_000, 0), (5_000_000, 0)].map(milliseconds), [20, 20, 25, 70, 200]);
        assert_eq!([(100, 15_000), (7_000, 60_000), (100, 150_000)].map(milliseconds), [20, 70, 150], "or once the table is done");
    }

    #[test]
    fn the_memory_of_an_entry_is_that_of_its_attributes_too() {
        let header = |attributes: Vec<u8>| SegmentHeader {
            entry: 0,
            kind: Kind::File,
            mode: 0,
            mtime_ns: 0,
            size: 0,
            offset: 0,
            length: 0,
            path: b"file".to_vec(),
            target: Vec::new(),
            attributes,
        };
        assert_eq!(memory_of(&header(Vec::new())), ENTRY_MEMORY + 4);
        assert_eq!(memory_of(&header(vec![b' '; 48 << 10])), ENTRY_MEMORY + 4 + (48 << 10));
    }
}
