//! The ranges that this process has leased, until all that they hold is settled.

use std::collections::{HashMap, HashSet};
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, Sender, channel};

use crate::send::noted::Sent;
use crate::thread::lock;

/// A range of which every chunk of data is delivered or given up.
#[derive(Debug)]
pub struct SettledRange {
    pub range: u64,
    /// What its delivered chunks stood for, as far as that is known.
    pub sent: Vec<(u64, Sent)>,
}

/// Ranges in which chunks are not settled yet.
pub struct Own {
    range_size: u64,
    ranges: Mutex<HashMap<u64, Open>>,
    settled: Mutex<Option<Sender<SettledRange>>>,
}

struct Open {
    chunks: HashSet<u64>,
    sent: Vec<(u64, Sent)>,
}

impl Own {
    /// None yet; ranges come out of the receiver as they are settled.
    pub fn new(range_size: u64) -> (Self, Receiver<SettledRange>) {
        let (sender, receiver) = channel();
        (Self { range_size: range_size.max(1), ranges: Mutex::default(), settled: Mutex::new(Some(sender)) }, receiver)
    }

    /// A range is leased. Called before any of its chunks is fed.
    pub fn begin(&self, range: u64, chunks: impl Iterator<Item = u64>) {
        let open = Open { chunks: chunks.collect(), sent: Vec::new() };
        if open.chunks.is_empty() {
            self.is_settled(range, open);
        } else {
            lock(&self.ranges).insert(range, open);
        }
    }

    /// A chunk is settled; what it stood for where it is delivered and that is known. Only the first word on it counts.
    pub fn chunk_settled(&self, chunk: u64, sent: Option<&Sent>) {
        let range = chunk / self.range_size;
        let mut ranges = lock(&self.ranges);
        let Some(open) = ranges.get_mut(&range) else { return };
        if !open.chunks.remove(&chunk) {
            return;
        }
        open.sent.extend(sent.map(|sent| (chunk, sent.clone())));
        if open.chunks.is_empty()
            && let Some(open) = ranges.remove(&range)
        {
            drop(ranges);
            self.is_settled(range, open);
        }
    }

    /// Nothing is settled any more.
    pub fn close(&self) {
        lock(&self.settled).take();
    }

    fn is_settled(&self, range: u64, open: Open) {
        if let Some(sender) = &*lock(&self.settled) {
            let _ = sender.send(SettledRange { range, sent: open.sent });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent() -> Sent {
        Sent::Whole(vec![(1, [1; 32])])
    }

    #[test]
    fn a_range_is_settled_with_its_last_chunk_and_has_what_is_known_of_each() {
        let (own, settled) = Own::new(4);
        own.begin(2, 8..11);
        own.begin(3, 12..13);
        own.chunk_settled(9, Some(&sent()));
        own.chunk_settled(9, Some(&sent()));
        own.chunk_settled(8, None);
        own.chunk_settled(11, Some(&sent()));
        own.chunk_settled(5, Some(&sent()));
        assert!(settled.try_recv().is_err(), "10 is not settled");
        own.chunk_settled(10, Some(&sent()));
        let range = settled.try_recv().unwrap();
        assert_eq!((range.range, range.sent.iter().map(|(chunk, _)| *chunk).collect::<Vec<_>>()), (2, vec![9, 10]));
        assert!(settled.try_recv().is_err());
    }

    #[test]
    fn a_range_without_data_is_settled_at_once_and_none_after_the_end() {
        let (own, settled) = Own::new(4);
        own.begin(0, std::iter::empty());
        assert_eq!(settled.try_recv().unwrap().range, 0);
        own.close();
        own.begin(1, std::iter::empty());
        assert!(settled.recv().is_err());
    }
}
