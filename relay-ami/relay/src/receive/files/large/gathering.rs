//! Files that came to several receivers.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::atomic::Ordering;
use std::sync::{Arc, OnceLock, PoisonError, RwLock};

use super::{Files, Large, State};
use crate::digest::Digest;
use crate::ends::{Begun, Gathered};
use crate::thread::lock;

impl Files {
    /// Takes over what has come to all receivers, in place of what came to this one; what is in doubt is a copy. Returns the
    /// files whose parts are all there.
    pub fn take_over(&self, gathered: Gathered, part_size: u64) -> Vec<Arc<Large>> {
        self.let_go();
        for (entry, placed) in gathered.placed.iter() {
            if !self.placed.contains(entry) {
                self.placed.insert(entry, &placed);
            }
        }
        self.has_others.store(false, Ordering::SeqCst);
        let mut large = lock(&self.large);
        let mut whole = Vec::new();
        for Begun { header, file, parts } in gathered.begun {
            if lock(&self.skipped).contains(&header.entry) {
                continue;
            }
            let (entry, state) = (header.entry, state(header.size, part_size, parts));
            let is_whole = state.missing == 0;
            let file = Large { header, part_size, proof: self.proof, file, state: RwLock::new(state), basis: OnceLock::new() };
            let file = Arc::new(file);
            large.insert(entry, Arc::clone(&file));
            whole.extend(is_whole.then_some(file));
        }
        whole
    }

    /// Nothing is written any more into a file that is not in its place.
    pub fn let_go(&self) {
        for file in std::mem::take(&mut *lock(&self.large)).into_values() {
            file.state.write().unwrap_or_else(PoisonError::into_inner).forsaken = true;
        }
        lock(&self.kept).clear();
    }
}

/// That of a file of which these parts are there.
pub(super) fn state(size: u64, part_size: u64, parts: BTreeMap<u64, Digest>) -> State {
    let count = usize::try_from(size.div_ceil(part_size.max(1))).unwrap_or_default();
    let (mut synced, mut kept) = (vec![None; count], HashSet::new());
    for (part, digest) in parts {
        let part = usize::try_from(part).unwrap_or(usize::MAX);
        if let Some(slot) = synced.get_mut(part) {
            *slot = Some(digest);
            kept.insert(part);
        }
    }
    let missing = count - kept.len();
    State { writers: HashMap::new(), synced, kept, missing, done: false, forsaken: false, skipped: false }
}
