//! Digests of what an earlier sender had delivered, read from the source again: nothing is sent for them. Where digests do not tell content,
//! it is sent again.

use std::io;
use std::sync::atomic::Ordering;
use std::sync::mpsc::Receiver;

use crate::defaults::{CONTROL_PAUSE, RECALL_CHUNKS};
use crate::documents::chunk::Chunk;
use crate::send::feeder;
use crate::send::reading::chunk_writer::Digester;
use crate::send::work::Work;
use crate::send::{SendError, Shared};

/// Runs until the end closes `asked` or is told to stop.
pub fn run(shared: &Shared, asked: &Receiver<Vec<u64>>) {
    let mut digester = Digester::new(shared.reading.clone());
    while let Ok(chunks) = asked.recv() {
        // What the source is by now would only have to fit what was sent.
        if !shared.reading.proof.tells_content() {
            tracing::warn!(chunks = chunks.len(), "delivered, and not noted: sent again in the end");
            chunks.iter().for_each(|_| shared.chunks.unknown());
            continue;
        }
        for some in chunks.chunks(RECALL_CHUNKS) {
            while let Err(error) = recall(shared, &mut digester, some) {
                tracing::warn!(%error, "recall");
                if shared.stop.sleep(CONTROL_PAUSE) || shared.chunks.queue.is_over() {
                    return;
                }
            }
        }
    }
}

/// Fails before anything is read of the source, or not at all.
fn recall(shared: &Shared, digester: &mut Digester, chunks: &[u64]) -> Result<(), SendError> {
    let mut items = all_of(shared.control.chunks(chunks)?, chunks)?;
    items.sort_unstable_by_key(|item| item.chunk);
    let runs: Result<Vec<_>, _> = feeder::adjacent(items.iter()).iter().map(|run| feeder::read(shared, run)).collect();
    for (_, work) in runs?.into_iter().flatten() {
        if shared.stop.is_requested() {
            return Ok(());
        }
        settle(shared, digester, &work);
    }
    Ok(())
}

/// A table that is throttled leaves some out, and each has been counted as one that is to come.
fn all_of(items: Vec<Chunk>, wanted: &[u64]) -> io::Result<Vec<Chunk>> {
    if items.len() == wanted.len() {
        return Ok(items);
    }
    Err(io::Error::other(format!("the table gave {} of {} items", items.len(), wanted.len())))
}

/// Files that are not what was listed any more are left out, by name; their neighbours count. The chunk's own digest is not looked at:
/// of a chunk with files left out it cannot be had again, and where a file's bytes are others the two ends find it when they compare.
fn settle(shared: &Shared, digester: &mut Digester, work: &Work) {
    let read = |bytes| {
        shared.chunks.counters.reread.fetch_add(bytes, Ordering::Relaxed);
    };
    match digester.digest(work, &read) {
        Ok(sent) => shared.chunks.recalled(sent),
        Err(why) => shared.chunks.queue.lost(work, why),
    }
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
