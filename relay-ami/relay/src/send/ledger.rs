//! Digests of the entries that are delivered.

use std::collections::{BTreeMap, HashMap};

use super::chunk::Sent;
use crate::digest::{Digest, merge_parts};

/// Digests of whole entries, and of the parts of files that are not complete yet.
#[derive(Default)]
pub struct Ledger {
    whole: BTreeMap<u64, Digest>,
    parts: HashMap<u64, Vec<Option<Digest>>>,
    /// Of chunks whose acknowledgement was lost; they count if the table says that the chunk is delivered.
    held: HashMap<u64, Sent>,
}

impl Ledger {
    /// Notes a delivered chunk.
    pub fn note(&mut self, sent: Sent, part_size: u64) {
        match sent {
            Sent::Whole(entries) => self.whole.extend(entries),
            Sent::Part { entry, size, offset, digest } => {
                let count = usize::try_from(size.div_ceil(part_size.max(1))).unwrap_or(0);
                let parts = self.parts.entry(entry).or_insert_with(|| vec![None; count]);
                let index = usize::try_from(offset / part_size.max(1)).unwrap_or(usize::MAX);
                if let Some(slot) = parts.get_mut(index) {
                    *slot = Some(digest);
                }
                let known: Option<Vec<Digest>> = parts.iter().copied().collect();
                if let Some(merged) = known.and_then(|parts| merge_parts(&parts, size, part_size)) {
                    self.whole.insert(entry, merged);
                    self.parts.remove(&entry);
                }
            }
        }
    }

    /// Keeps what an unacknowledged chunk stands for.
    pub fn hold(&mut self, chunk: u64, sent: Sent) {
        self.held.insert(chunk, sent);
    }

    /// The table says that the chunk is delivered; `false` where an earlier process sent it.
    pub fn settle(&mut self, chunk: u64, part_size: u64) -> bool {
        let sent = self.held.remove(&chunk);
        let held = sent.is_some();
        sent.into_iter().for_each(|sent| self.note(sent, part_size));
        held
    }

    pub const fn whole(&self) -> &BTreeMap<u64, Digest> {
        &self.whole
    }
}
