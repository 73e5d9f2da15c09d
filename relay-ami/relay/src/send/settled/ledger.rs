//! Digests of the entries that are delivered.

use std::collections::HashMap;
use std::sync::Arc;

use crate::digest::{Digest, Proof};
use crate::entry_table::EntryTable;
use crate::send::noted::{Sent, States};

/// Digests of whole entries, and of the parts of files that are not complete yet.
pub struct Ledger {
    whole: Arc<EntryTable<Digest>>,
    parts: HashMap<u64, Vec<Option<Digest>>>,
    /// Bytes of chunks whose acknowledgement was lost; they count if the table says that the chunk is delivered.
    held: HashMap<u64, Sent>,
    states: Arc<States>,
    proof: Proof,
}

impl Ledger {
    /// An empty one, which notes whole entries in this table.
    pub fn new(whole: Arc<EntryTable<Digest>>, states: Arc<States>, proof: Proof) -> Self {
        Self { whole, parts: HashMap::new(), held: HashMap::new(), states, proof }
    }

    /// Notes a delivered chunk.
    pub fn note(&mut self, sent: Sent, part_size: u64) {
        match sent {
            Sent::Whole(entries) => entries.iter().for_each(|(entry, digest)| self.whole.insert(*entry, digest)),
            Sent::Part { entry, size, offset, digest, .. } => {
                let count = usize::try_from(size.div_ceil(part_size.max(1))).unwrap_or(0);
                let parts = self.parts.entry(entry).or_insert_with(|| vec![None; count]);
                let index = usize::try_from(offset / part_size.max(1)).unwrap_or(usize::MAX);
                if let Some(slot) = parts.get_mut(index) {
                    *slot = Some(digest);
                }
                let known: Option<Vec<Digest>> = parts.iter().copied().collect();
                if let Some(merged) = known.and_then(|parts| self.proof.merge(&parts, size, part_size)) {
                    self.whole.insert(entry, &merged);
                    self.parts.remove(&entry);
                    self.states.forget(entry);
                }
            }
        }
    }

    /// Keeps what an unacknowledged chunk stands for.
    pub fn hold(&mut self, chunk: u64, sent: Sent) {
        self.held.insert(chunk, sent);
    }

    /// A file comes again as a whole: parts of it that were delivered before are none of it.
    pub fn forget(&mut self, entry: u64) {
        self.parts.remove(&entry);
        self.states.forget(entry);
    }

    /// Takes what an unacknowledged chunk stands for: the table says that it is delivered.
    pub fn settle(&mut self, chunk: u64) -> Option<Sent> {
        self.held.remove(&chunk)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::digest::Proof;
    use crate::ends::Version;

    const PART: u64 = 1024;

    fn ledger() -> Ledger {
        Ledger::new(Arc::default(), Arc::new(States::going_on_from(HashMap::new(), PART)), Proof::Blake3)
    }

    fn part(offset: u64, bytes: &[u8]) -> Sent {
        let digest = Proof::Blake3.part(offset).update(bytes).digest();
        Sent::Part { entry: 7, size: 3 * PART, offset, state: Version::NONE, digest }
    }

    #[test]
    fn a_large_file_has_its_digest_once_all_parts_are_delivered_in_any_order() {
        let bytes: Vec<u8> = (0..3 * PART).map(|number| number as u8).collect();
        let mut ledger = ledger();
        for (number, bytes) in bytes.chunks(1024).enumerate().rev() {
            assert!(ledger.whole.is_empty());
            ledger.note(part(number as u64 * PART, bytes), PART);
        }
        assert_eq!(ledger.whole.iter().collect::<BTreeMap<_, _>>(), BTreeMap::from([(7, *blake3::hash(&bytes).as_bytes())]));
    }

    #[test]
    fn what_was_not_acknowledged_counts_once_the_table_says_that_it_is_delivered() {
        let mut ledger = ledger();
        ledger.hold(3, Sent::Whole(vec![(1, [1; 32])]));
        assert!(ledger.whole.is_empty());
        assert!(ledger.settle(4).is_none(), "an earlier process sent it");
        let sent = ledger.settle(3).unwrap();
        ledger.note(sent, PART);
        assert_eq!(ledger.whole.iter().collect::<BTreeMap<_, _>>(), BTreeMap::from([(1, [1; 32])]));
        assert!(ledger.settle(3).is_none(), "only once");
    }

    #[test]
    fn a_part_beyond_its_file_is_no_digest() {
        let mut ledger = ledger();
        ledger.note(part(3 * PART, b"beyond"), PART);
        assert!(ledger.whole.is_empty());
    }
}
