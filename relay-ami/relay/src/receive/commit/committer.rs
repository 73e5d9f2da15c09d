//! From verified to delivered: sync, rename, note in the journal, checkpoint, acknowledge, in batches.
//!
//! One thread has the disk, one the table, so that the next sync goes on while the table answers. While either is at work, verified
//! chunks gather and make up the next batch, so a slow disk or a distant table makes batches larger instead of streams slower, until as
//! much waits as `CommitQueue` takes. What has to be read again before a chunk counts is read by others ([`super::checking`]).

use std::collections::HashMap;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver as Queue, sync_channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use super::checking::{self, Waiting};
use super::checkpoint::{Checkpoint, OnDisk};
use super::placing::{Come, Placing, Tries};
use super::queue::CommitQueue;
use super::readback;
use super::sending::Sending;
use super::verified::{Landed, Verified, let_go};
use crate::defaults::{
    CHECK_QUEUE, CHECKPOINT_QUEUE, COMMIT_QUEUE, READBACK_BATCH, READBACK_THREADS, STACK_BYTES, SYNC_INTERVAL, SYNC_PAUSES,
};
use crate::documents::command::Verify;
use crate::receive::files::{Refusal, Site};
use crate::receive::outcome::End;

/// The loop that has the disk.
pub struct Committer {
    pub site: Arc<Site>,
    pub verified: Arc<CommitQueue<Verified>>,
    pub checkpoint: Checkpoint,
    pub sending: Arc<Sending>,
    pub end: Arc<End>,
    pub verify: Verify,
    pub placing_threads: usize,
}

impl Committer {
    /// Runs until all streams have let go of the queue.
    pub fn run(&self, queue: &Queue<Verified>) -> io::Result<()> {
        let limit = if self.verify == Verify::Readback { READBACK_BATCH } else { COMMIT_QUEUE };
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
                    self.checkpoint.acknowledge(batch);
                    table.store(u64::try_from(began.elapsed().as_micros()).unwrap_or(u64::MAX), Ordering::Relaxed);
                }
            })?;
            for _ in 0..READBACK_THREADS {
                let (on_disk, tries, waiting) = (on_disk.clone(), &tries, &waiting);
                start("check").spawn_scoped(scope, move || checking::run(&self.site, &self.end, tries, waiting, &on_disk))?;
            }
            let (mut next_sync, mut placing) =
                (None::<Instant>, Placing::new(self.placing_threads, self.site.destination.is_far(), &tries, &self.site.disk));
            while let Ok(first) = queue.recv() {
                if let Some(next) = next_sync {
                    self.sending.wait_for_none(next);
                }
                let mut batch = vec![first];
                batch.extend(queue.try_iter().take(limit - 1));
                let began = Instant::now();
                let (batch, in_doubt, took) = self.sync(&mut placing, batch);
                let pause = pause_after(took, Duration::from_micros(table.load(Ordering::Relaxed)));
                next_sync = Some(began + pause.max(self.site.destination.pause()));
                let _ = on_disk.send(batch);
                in_doubt.into_iter().for_each(|chunk| drop(doubtful.send(chunk)));
            }
            Ok(())
        })
    }

    /// Syncs and places; returns how long the sync itself took too.
    fn sync(&self, placing: &mut Placing<'_>, mut batch: Vec<Verified>) -> (OnDisk, Vec<Waiting>, Duration) {
        let (mut chunks, mut memory) = (batch.len() as u64, batch.iter().map(|chunk| chunk.memory).sum::<usize>());
        let call = self.site.disk.enter();
        let began = Instant::now();
        let synced = self.site.destination.sync();
        call.goes_on();
        drop(call);
        let took = began.elapsed();
        self.verified.synced(batch.iter().map(|chunk| chunk.bytes).sum(), took);
        if synced.is_err() {
            self.verified.sync_failed();
        }
        let failures = self.verified.sync_failures();
        let mut checked = match &synced {
            Ok(()) if self.verify == Verify::Readback => {
                let landed: Vec<&[Landed]> = batch.iter().map(|chunk| &*chunk.landed).collect();
                readback::check(self.site.reading(), &landed)
            }
            _ => HashMap::new(),
        };
        let call = self.site.disk.enter();
        let mut deliveries = Vec::with_capacity(batch.len());
        let (mut all_placed, mut in_doubt) = (Vec::with_capacity(batch.len()), Vec::new());
        let refused = |(index, chunk): (usize, &Verified)| match &synced {
            Ok(()) if chunk.failures_at_start != failures => Some(Refusal::Full("a sync failed while the chunk was arriving".to_owned())),
            Ok(()) => checked.remove(&index),
            Err(error) => Some(Refusal::of(error, "sync: ")),
        };
        let refused: Vec<Option<Refusal>> = batch.iter().enumerate().map(refused).collect();
        let mut unrefused: Vec<&mut Verified> =
            batch.iter_mut().zip(&refused).filter(|(_, refusal)| refusal.is_none()).map(|(chunk, _)| chunk).collect();
        let mut placed = placing.place_all(&self.site, &self.end, &mut unrefused, &call).into_iter();
        for (mut chunk, refusal) in batch.into_iter().zip(refused) {
            let come = match refusal {
                Some(refusal) => Err(refusal),
                None => placed.next().unwrap_or_else(|| Err(io::Error::other("not placed").into())).map_err(Refusal::from),
            };
            match come {
                Ok(Come { complete, in_doubt: files }) if files.is_empty() => {
                    deliveries.extend(chunk.delivery());
                    all_placed.push((chunk, complete));
                }
                Ok(Come { complete, in_doubt: files }) => {
                    (chunks, memory) = (chunks - 1, memory - chunk.memory);
                    in_doubt.push(Waiting { chunk, complete, files });
                }
                Err(refusal) => {
                    let_go(&mut chunk.landed, &call);
                    self.site.refuse(&chunk.replies, chunk.chunk, chunk.attempt, refusal);
                }
            }
        }
        let noted = self.site.destination.sync_notes();
        drop(call);
        if let Err(error) = noted {
            let refusal = Refusal::of(&error, "journal: ");
            deliveries.clear();
            for (chunk, _) in all_placed.drain(..) {
                self.site.refuse(&chunk.replies, chunk.chunk, chunk.attempt, refusal.clone());
            }
        }
        (OnDisk { deliveries, placed: all_placed, chunks, memory }, in_doubt, took)
    }
}

/// From the beginning of a sync that took so long to the next one's, where the table takes so long for a batch: it takes one at a time,
/// and each chunk of one at once.
fn pause_after(sync: Duration, table: Duration) -> Duration {
    (sync * SYNC_PAUSES).max(table).clamp(*SYNC_INTERVAL.start(), *SYNC_INTERVAL.end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_sync_comes_after_ten_times_the_last_one_within_bounds() {
        let milliseconds = |(sync, table)| pause_after(Duration::from_micros(sync), Duration::from_micros(table)).as_millis();
        assert_eq!([(0, 0), (100, 0), (2_500, 0), (7_000, 0), (5_000_000, 0)].map(milliseconds), [20, 20, 25, 70, 200]);
        assert_eq!([(100, 15_000), (7_000, 60_000), (100, 150_000)].map(milliseconds), [20, 70, 150], "or once the table is done");
    }
}
