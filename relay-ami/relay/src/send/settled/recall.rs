//! Digests of what an earlier sender had delivered, read from the source again: nothing is sent for them. Where digests do not tell content,
//! it is sent again.

use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::Receiver;

use super::chunks::Chunks;
use crate::control::Control;
use crate::defaults::{CONTROL_PAUSE, RECALL_CHUNKS};
use crate::documents::chunk::Chunk;
use crate::send::error::SendError;
use crate::send::manifests::{Manifests, adjacent};
use crate::send::reading::{Digester, Reading};
use crate::send::work::Work;
use crate::stop::Stop;

/// The loop that reads again.
pub struct Recall {
    pub control: Arc<dyn Control>,
    pub manifests: Manifests,
    pub reading: Reading,
    pub chunks: Arc<Chunks>,
    pub stop: Stop,
}

impl Recall {
    /// Runs until the end closes `asked` or is told to stop.
    pub fn run(&self, asked: &Receiver<Vec<u64>>) {
        let mut digester = Digester::new(self.reading.clone());
        while let Ok(chunks) = asked.recv() {
            // What the source is by now would only have to fit what was sent.
            if !self.reading.proof.tells_content() {
                tracing::warn!(chunks = chunks.len(), "delivered, and not noted: sent again in the end");
                chunks.iter().for_each(|chunk| self.chunks.unknown(*chunk));
                continue;
            }
            for some in chunks.chunks(RECALL_CHUNKS) {
                while let Err(error) = self.recall(&mut digester, some) {
                    tracing::warn!(%error, "recall");
                    if self.stop.sleep(CONTROL_PAUSE) || self.chunks.queue.is_over() {
                        return;
                    }
                }
            }
        }
    }

    /// Fails before anything is read of the source, or not at all.
    fn recall(&self, digester: &mut Digester, chunks: &[u64]) -> Result<(), SendError> {
        let mut items = all_of(self.control.chunks(chunks)?, chunks)?;
        items.sort_unstable_by_key(|item| item.chunk);
        let runs: Result<Vec<_>, _> = adjacent(items.iter()).iter().map(|run| self.manifests.read(run)).collect();
        for (_, work) in runs?.into_iter().flatten() {
            if self.stop.is_requested() {
                return Ok(());
            }
            self.settle(digester, &work);
        }
        Ok(())
    }

    /// Files that are not what was listed any more are left out, by name; their neighbours count. The chunk's own digest is not looked at:
    /// of a chunk with files left out it cannot be had again, and where a file's bytes are others the two ends find it when they compare.
    fn settle(&self, digester: &mut Digester, work: &Work) {
        let read = |bytes| {
            self.chunks.counters.reread.fetch_add(bytes, Ordering::Relaxed);
        };
        match digester.digest(work, &read, self.chunks.is_doubtful(work.chunk)) {
            Ok(sent) => self.chunks.recalled(work.chunk, sent),
            Err(why) => self.chunks.lost(work, why),
        }
    }
}

/// A table that is throttled leaves some out, and each has been counted as one that is to come.
fn all_of(items: Vec<Chunk>, wanted: &[u64]) -> io::Result<Vec<Chunk>> {
    if items.len() == wanted.len() {
        return Ok(items);
    }
    Err(io::Error::other(format!("the table gave {} of {} items", items.len(), wanted.len())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_that_the_table_left_out_are_asked_for_again() {
        assert!(all_of(Vec::new(), &[1]).is_err());
        assert!(all_of(Vec::new(), &[]).is_ok());
    }
}
