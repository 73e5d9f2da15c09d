//! Parts of a large file make up one file only if they are of one state of it.
//!
//! What tells one state from another is the file's version: of a tree of files its inode and change time, which no program sets. They move with the
//! content; but also with a name that is made elsewhere, an owner or a mode. So where a part is of another version than those before it,
//! what has gone out of them is read again, and the part counts only if all of it still is what it was.

use std::collections::{BTreeMap, HashMap};
use std::sync::Mutex;

use super::records::Sent;
use crate::digest::Digest;
use crate::documents::entry::Segment;
use crate::ends::Version;
use crate::thread::lock;

/// The files that are sent in parts.
pub struct States {
    part_bytes: u64,
    files: Mutex<HashMap<u64, Begun>>,
}

/// A file of which some parts have gone out.
#[derive(Debug, PartialEq, Eq)]
pub struct Begun {
    /// The state of which all parts are.
    version: Version,
    /// Digests of the parts that have gone out, by their offsets.
    parts: BTreeMap<u64, Digest>,
    /// Somebody reads them again.
    is_looked_at: bool,
}

/// What is to be done before a part of a file counts.
#[derive(Debug, PartialEq, Eq)]
pub enum Joins {
    /// Nothing.
    Yes,
    /// Look whether these, by offset, still are what they were, and then say so with [`States::looked_at`].
    After(Vec<(u64, Digest)>),
    /// Wait for somebody else who looks.
    Later,
}

impl States {
    /// With what earlier senders have sent, in parts of so many bytes.
    pub fn going_on_from(begun: HashMap<u64, Begun>, part_bytes: u64) -> Self {
        Self { part_bytes, files: Mutex::new(begun) }
    }

    /// The length of the part at an offset of a file of `size` bytes.
    pub fn part_length(&self, offset: u64, size: u64) -> u64 {
        self.part_bytes.min(size.saturating_sub(offset))
    }

    /// A part was read of that state.
    pub fn join(&self, part: &Segment, digest: &Digest, version: Version) -> Joins {
        let mut files = lock(&self.files);
        let begun = files.entry(part.entry).or_insert_with(|| Begun::of(version));
        if begun.version != version {
            if begun.is_looked_at {
                return Joins::Later;
            }
            // One that comes again is not compared with itself.
            let others: Vec<_> = begun.parts.iter().filter(|(at, _)| **at != part.offset).map(|(at, digest)| (*at, *digest)).collect();
            if !others.is_empty() {
                begun.is_looked_at = true;
                return Joins::After(others);
            }
            begun.version = version;
        }
        begun.parts.insert(part.offset, *digest);
        Joins::Yes
    }

    /// What another process has sent; `false` where it is a part of another state than those that are known.
    pub fn agrees(&self, sent: &Sent) -> bool {
        let Sent::Part { entry, offset, state, digest, .. } = sent else { return true };
        let mut files = lock(&self.files);
        let begun = files.entry(*entry).or_insert_with(|| Begun::of(*state));
        let agrees = begun.version == *state && !begun.is_looked_at;
        if agrees {
            begun.parts.insert(*offset, *digest);
        }
        agrees
    }

    /// Somebody has looked at parts of an entry: they are the same in the state of this version; with none they are not, or it is not
    /// known.
    pub fn looked_at(&self, entry: u64, same: Option<(Version, &[(u64, Digest)])>) {
        let mut files = lock(&self.files);
        let Some(begun) = files.get_mut(&entry) else { return };
        begun.is_looked_at = false;
        // Parts that have gone out meanwhile were not looked at.
        if let Some((version, looked_at)) = same
            && begun.parts.iter().all(|part| looked_at.contains(&(*part.0, *part.1)))
        {
            begun.version = version;
        }
    }

    /// All parts of a file have arrived, or it is to be sent anew: what comes of it from now on is of a state of its own.
    pub fn forget(&self, entry: u64) {
        lock(&self.files).remove(&entry);
    }
}

impl Begun {
    /// Nothing has gone out yet.
    pub const fn of(version: Version) -> Self {
        Self { version, parts: BTreeMap::new(), is_looked_at: false }
    }

    /// A part that an earlier sender has noted, after those that it had noted before.
    pub fn note(&mut self, offset: u64, digest: Digest, version: Version) {
        self.version = version;
        self.parts.insert(offset, digest);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::send::builders::segment;

    fn part(offset: u64) -> Segment {
        Segment { offset, ..segment(3, "f") }
    }

    const fn at(changed_ns: i64) -> Version {
        Version::of_numbers((1, changed_ns))
    }

    fn digest(of: u64) -> Digest {
        [u8::try_from(of).unwrap(); 32]
    }

    fn join(states: &States, offset: u64, version: Version) -> Joins {
        states.join(&part(offset), &digest(offset), version)
    }

    #[test]
    fn parts_of_one_state_count_and_one_of_another_state_after_all_of_them_were_looked_at() {
        let states = States::going_on_from(HashMap::new(), 8);
        assert_eq!([0, 8].map(|offset| join(&states, offset, at(1))), [Joins::Yes, Joins::Yes]);
        let both = [0, 8].map(|offset| (offset, digest(offset)));
        assert_eq!(join(&states, 16, at(2)), Joins::After(both.to_vec()));
        assert_eq!(join(&states, 24, at(2)), Joins::Later, "one looks, the others wait");
        assert_eq!(join(&states, 32, at(1)), Joins::Yes, "it was read before the change");
        states.looked_at(3, Some((at(2), &both)));
        assert_eq!(join(&states, 16, at(2)), Joins::After([0, 8, 32].map(|offset| (offset, digest(offset))).to_vec()));
        states.looked_at(3, Some((at(2), &[0, 8, 32].map(|offset| (offset, digest(offset))))));
        assert_eq!([16, 24].map(|offset| join(&states, offset, at(2))), [Joins::Yes, Joins::Yes]);
        assert!(matches!(join(&states, 40, at(1)), Joins::After(_)), "that state is over");
    }

    #[test]
    fn a_look_that_found_another_content_leaves_all_as_it_was() {
        let states = States::going_on_from(HashMap::new(), 8);
        join(&states, 0, at(1));
        for _ in 0..2 {
            assert!(matches!(join(&states, 8, at(2)), Joins::After(_)));
            states.looked_at(3, None);
        }
    }

    #[test]
    fn the_only_part_of_a_file_and_one_that_is_forgotten_are_of_whatever_state_they_are() {
        let states = States::going_on_from(HashMap::new(), 8);
        assert_eq!([at(1), at(2)].map(|state| join(&states, 0, state)), [Joins::Yes, Joins::Yes]);
        join(&states, 8, at(2));
        states.forget(3);
        assert_eq!(join(&states, 0, at(3)), Joins::Yes);
    }
}
