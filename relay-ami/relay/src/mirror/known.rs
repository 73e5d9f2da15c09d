//! What a walk over a destination must know before it begins, found by the walk before.

use std::collections::{HashMap, HashSet};

use crate::ends::FileId;

/// Nothing before the first walk.
#[derive(Debug, Default)]
pub struct Known {
    /// By directory: entries that the file system finds there by names which the source has and the directory does not. What folds names
    /// has `File` where the source has `file`.
    spelt: HashMap<Vec<u8>, HashSet<FileId>>,
    /// Directories in the place of something of another kind that hold what stays: they stay too.
    held: HashSet<Vec<u8>>,
}

impl Known {
    /// Entries of a directory that have another name at the source.
    pub fn spelt_in(&self, directory: &[u8]) -> impl Iterator<Item = &FileId> {
        self.spelt.get(directory).into_iter().flatten()
    }

    pub fn is_held(&self, directory: &[u8]) -> bool {
        self.held.contains(directory)
    }

    /// The file system finds this entry by another name.
    pub fn note_spelling(&mut self, directory: &[u8], id: FileId) {
        self.spelt.entry(directory.to_vec()).or_default().insert(id);
    }

    /// This directory stays.
    pub fn note_held(&mut self, directory: Vec<u8>) {
        self.held.insert(directory);
    }

    /// Returns whether all of `found` was known.
    pub fn has_all(&self, found: &Self) -> bool {
        let has = |(directory, ids): (&Vec<u8>, &HashSet<FileId>)| self.spelt.get(directory).is_some_and(|known| ids.is_subset(known));
        found.held.is_subset(&self.held) && found.spelt.iter().all(has)
    }

    pub fn add(&mut self, found: Self) {
        self.held.extend(found.held);
        found.spelt.into_iter().for_each(|(directory, ids)| self.spelt.entry(directory).or_default().extend(ids));
    }
}
