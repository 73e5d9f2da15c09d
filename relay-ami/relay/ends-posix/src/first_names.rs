//! The first names of files that have several, while a source is listed.

use std::collections::HashMap;
use std::fs::File;
use std::io;

use super::file_map::{FileMap, Key, Value};

/// Memory for them; the rest is in a file. Of 300 000 files with names of 100 bytes.
const MEMORY: usize = 64 << 20;
/// What one takes beside its name.
const ENTRY: usize = 112;

/// By device and inode. A file of which some names are not listed is never forgotten.
pub struct FirstNames {
    memory: HashMap<(u64, u64), (String, u64)>,
    bytes: usize,
    most: usize,
    /// What has no room in memory goes here, once there is such.
    spare: Option<File>,
    spilled: Option<FileMap>,
}

impl FirstNames {
    /// Without a file all of them stay in memory.
    pub fn new(file: Option<File>) -> Self {
        Self { memory: HashMap::new(), bytes: 0, most: MEMORY, spare: file, spilled: None }
    }

    /// A file of so many `names` has this one. Returns its first name, if that is another one. What has been seen by all of its names is
    /// forgotten.
    pub fn first(&mut self, file: (u64, u64), names: u64, name: &str) -> Option<String> {
        if let Some((first, left)) = self.memory.get_mut(&file) {
            *left -= 1;
            if *left > 0 {
                return Some(first.clone());
            }
            let (first, _) = self.memory.remove(&file)?;
            self.bytes -= ENTRY + first.len();
            return Some(first);
        }
        // A name that is lost costs its file's bytes once more: the next name is a first one.
        let found = self.take_spilled(file).inspect_err(|error| tracing::error!(%error, "the first name of a file is lost"));
        if let Ok(Some(first)) = found {
            return Some(first);
        }
        self.bytes += ENTRY + name.len();
        self.memory.insert(file, (name.to_owned(), names - 1));
        if self.bytes > self.most
            && let Err(error) = self.spill()
        {
            tracing::warn!(%error, "first names of files stay in memory");
            self.most = usize::MAX;
        }
        None
    }

    fn take_spilled(&mut self, file: (u64, u64)) -> io::Result<Option<String>> {
        let (Some(map), key) = (&mut self.spilled, key(file)) else { return Ok(None) };
        let Some((at, length, left)) = map.get(&key)?.map(decode) else { return Ok(None) };
        let name = String::from_utf8(map.read(at, length as usize)?).map_err(io::Error::other)?;
        if left > 1 {
            map.insert(&key, &encode(at, length, left - 1))?;
        } else {
            map.remove(&key)?;
        }
        Ok(Some(name))
    }

    /// What is in memory goes into the file.
    fn spill(&mut self) -> io::Result<()> {
        if let Some(file) = self.spare.take() {
            self.spilled = Some(FileMap::new(file)?);
        }
        let Some(map) = &mut self.spilled else { return Err(io::Error::other("there is no file for them")) };
        for (file, (name, left)) in &self.memory {
            let at = map.append(name.as_bytes())?;
            let length = u32::try_from(name.len()).map_err(io::Error::other)?;
            map.insert(&key(*file), &encode(at, length, u32::try_from(*left).unwrap_or(u32::MAX)))?;
        }
        self.memory = HashMap::new();
        self.bytes = 0;
        Ok(())
    }
}

fn key((device, inode): (u64, u64)) -> Key {
    (u128::from(device) << 64 | u128::from(inode)).to_be_bytes()
}

/// Where the name is, how long it is, and how many names are still to come.
fn encode(at: u64, length: u32, left: u32) -> Value {
    (u128::from(at) << 64 | u128::from(length) << 32 | u128::from(left)).to_be_bytes()
}

fn decode(value: Value) -> (u64, u32, u32) {
    let all = u128::from_be_bytes(value);
    ((all >> 64) as u64, (all >> 32) as u32, all as u32)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    /// Names of `files` files, of which each has three, one after the other.
    fn listed(names: &mut FirstNames, files: u64) {
        for round in 0..3 {
            for file in 0..files {
                let first = names.first((1, file), 3, &format!("{round}/{file}"));
                assert_eq!(first, (round > 0).then(|| format!("0/{file}")), "name {round} of file {file}");
            }
        }
    }

    #[test]
    fn names_that_have_no_room_in_memory_are_known_all_the_same_and_forgotten_with_the_last() {
        for most in [MEMORY, 10 * ENTRY] {
            let mut names = FirstNames { most, ..FirstNames::new(Some(tempfile::tempfile().unwrap())) };
            listed(&mut names, 500);
            assert!(names.memory.is_empty() && names.bytes == 0 || names.spilled.is_some());
            // All were seen: an inode that comes again is another file.
            listed(&mut names, 500);
        }
    }

    #[test]
    fn files_whose_other_names_are_elsewhere_take_no_more_memory_than_they_may() {
        let most = 100 * ENTRY;
        let mut names = FirstNames { most, ..FirstNames::new(Some(tempfile::tempfile().unwrap())) };
        for file in 0..20_000 {
            assert_eq!(names.first((1, file), 2, "name"), None);
            assert!(names.bytes <= most && names.memory.len() <= 100);
        }
        assert_eq!(names.first((1, 7), 2, "other"), Some("name".to_owned()));
        assert_eq!(names.first((2, 7), 2, "other"), None, "on another device");
    }

    #[test]
    fn without_a_file_all_of_them_stay_in_memory() {
        let mut names = FirstNames { most: 10 * ENTRY, ..FirstNames::new(None) };
        listed(&mut names, 500);
        assert!(names.memory.is_empty());
    }
}
