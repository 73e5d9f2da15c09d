//! The holes that a file on its way may have. Any other is what somebody has cut off.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;

use rustix::fs::{SeekFrom, seek};
use rustix::io::Errno;

/// Ranges that are remembered of one file, 3 MiB: of a file with more all holes are in doubt, and its bytes decide.
const MOST: usize = 1 << 16;

/// Ranges of a file that the source has as holes, none overlapping another.
#[derive(Debug, Default)]
pub struct Holes(BTreeMap<u64, u64>);

impl Holes {
    /// `length` bytes from `offset` are a hole.
    pub fn note(&mut self, offset: u64, length: u64) {
        self.fill(offset, length);
        if self.0.len() >= MOST {
            self.0.clear();
        }
        self.0.insert(offset, offset.saturating_add(length));
    }

    /// There is data from `offset` on. A hole that it reaches into is in doubt altogether.
    pub fn fill(&mut self, offset: u64, length: u64) {
        let end = offset.saturating_add(length);
        while let Some((start, _)) = self.0.range(..end).next_back().map(|(start, end)| (*start, *end)).filter(|(_, end)| *end > offset) {
            self.0.remove(&start);
        }
    }

    /// Returns whether a file has the size that it should have, and holes only where they may be.
    pub fn are_all_of(&self, file: &File, size: u64) -> io::Result<bool> {
        if file.metadata()?.len() != size {
            return Ok(false);
        }
        let mut at = 0;
        while at < size {
            let hole = match seek(file, SeekFrom::Hole(at)) {
                Ok(hole) => hole,
                // Cut short this moment.
                Err(Errno::NXIO) => return Ok(false),
                Err(error) => return Err(error.into()),
            };
            at = match seek(file, SeekFrom::Data(hole)) {
                Ok(data) => data,
                // Nothing follows but a hole, or the end.
                Err(Errno::NXIO) => size,
                Err(error) => return Err(error.into()),
            };
            if !self.cover(hole, at) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn cover(&self, mut offset: u64, end: u64) -> bool {
        while offset < end {
            match self.0.range(..=offset).next_back() {
                Some((_, known)) if *known > offset => offset = *known,
                _ => return false,
            }
        }
        true
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::os::unix::fs::FileExt as _;

    use super::*;

    const MIB: u64 = 1 << 20;

    /// Data in the first and the third MiB of five.
    fn file() -> File {
        let file = tempfile::tempfile().unwrap();
        file.set_len(5 * MIB).unwrap();
        for at in [0, 2 * MIB] {
            file.write_all_at(&vec![1; usize::try_from(MIB).unwrap()], at).unwrap();
        }
        file
    }

    #[test]
    fn a_hole_that_none_was_told_of_shows() {
        let (file, mut holes) = (file(), Holes::default());
        assert!(!holes.are_all_of(&file, 5 * MIB).unwrap());
        holes.note(MIB, MIB);
        assert!(!holes.are_all_of(&file, 5 * MIB).unwrap());
        // Each part tells of its own.
        holes.note(4 * MIB, MIB);
        holes.note(3 * MIB, MIB);
        assert!(holes.are_all_of(&file, 5 * MIB).unwrap());
        file.set_len(4 * MIB).unwrap();
        assert!(!holes.are_all_of(&file, 5 * MIB).unwrap(), "cut short in a hole");
        file.set_len(MIB).unwrap();
        file.set_len(5 * MIB).unwrap();
        assert!(!holes.are_all_of(&file, 5 * MIB).unwrap(), "cut short, and longer again");
        file.set_len(0).unwrap();
        assert!(!holes.are_all_of(&file, 5 * MIB).unwrap(), "empty");
    }

    #[test]
    fn where_data_came_after_a_hole_none_may_be() {
        let mut holes = Holes::default();
        holes.note(0, 10);
        holes.note(20, 10);
        holes.fill(25, 1);
        assert!(holes.cover(0, 10) && !holes.cover(20, 30));
        holes.note(5, 30);
        assert!(holes.cover(5, 35) && !holes.cover(0, 10), "of two that overlap the later one counts");
    }

    #[test]
    fn so_many_holes_that_they_are_not_remembered_are_in_doubt() {
        let mut holes = Holes::default();
        for at in 0..=MOST as u64 {
            holes.note(2 * at, 1);
        }
        assert!(holes.0.len() <= MOST && !holes.cover(0, 1));
    }
}
