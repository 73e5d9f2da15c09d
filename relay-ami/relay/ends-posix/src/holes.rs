//! The holes that a file on its way may have. Any other is what somebody has cut off.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};

use rustix::fs::{SeekFrom, seek};
use rustix::io::Errno;

use crate::defaults::HOLES_OF_ALL;
use cpt_ends::Hole;

/// Ranges that are remembered of one file, 3 MiB: of a file with more the smallest are in doubt, and the bytes decide.
pub const MOST: usize = 1 << 16;
/// Of a file that comes while those of all files are more than `HOLES_OF_ALL`.
const FEW: usize = 64;
/// Nearly all file systems keep holes as multiples of this.
const BLOCK: u64 = 4096;

/// Ranges that this process remembers of all files.
static OF_ALL: AtomicUsize = AtomicUsize::new(0);

/// Ranges of a file that the source has as holes. No two of them touch: a hole of many parts is one of them.
#[derive(Debug, Default)]
pub struct Holes {
    known: BTreeMap<u64, u64>,
    /// Shorter ones are not remembered, since there were too many.
    least: u64,
    /// The file was cut short: what is zero where data was is no hole.
    is_in_doubt: bool,
    /// So many are in `OF_ALL`.
    counted: usize,
}

impl Holes {
    /// These bytes are a hole.
    pub fn note(&mut self, range: Range<u64>) {
        let Range { mut start, mut end } = range;
        if start >= end {
            return;
        }
        while let Some((other, other_end)) = self.last_up_to(end).filter(|(_, other_end)| *other_end >= start) {
            self.known.remove(&other);
            (start, end) = (start.min(other), end.max(other_end));
        }
        if end - start >= self.least {
            self.known.insert(start, end);
        }
        let most = if OF_ALL.load(Ordering::Relaxed) < HOLES_OF_ALL { MOST } else { FEW };
        while self.known.len() > most {
            self.least = (2 * self.least).max(2 * BLOCK);
            let least = self.least;
            self.known.retain(|start, end| *end - *start >= least);
        }
        self.count();
    }

    fn count(&mut self) {
        let now = self.known.len();
        if now >= self.counted {
            OF_ALL.fetch_add(now - self.counted, Ordering::Relaxed);
        } else {
            OF_ALL.fetch_sub(self.counted - now, Ordering::Relaxed);
        }
        self.counted = now;
    }

    /// From now on the bytes decide.
    pub fn doubt(&mut self) {
        self.is_in_doubt = true;
    }

    /// There is data in this range.
    pub fn fill(&mut self, range: Range<u64>) {
        let Range { start, end } = range;
        while let Some((other, other_end)) = end.checked_sub(1).and_then(|last| self.last_up_to(last)).filter(|(_, end)| *end > start) {
            self.known.remove(&other);
            for (start, end) in [(other, start), (end, other_end)] {
                if start < end {
                    self.known.insert(start, end);
                }
            }
        }
        self.count();
    }

    /// The remembered ones of a range, cut to it.
    pub fn within(&self, range: Range<u64>) -> Vec<Range<u64>> {
        let Range { start, end } = range;
        if self.is_in_doubt || start >= end {
            return Vec::new();
        }
        let before = self.last_up_to(start).filter(|(other, other_end)| *other < start && *other_end > start);
        let others = self.known.range(start..end).map(|(start, end)| (*start, *end));
        before.into_iter().chain(others).map(|(other, other_end)| other.max(start)..other_end.min(end)).collect()
    }

    /// The first hole of a file of this size at an offset or behind it, as far as all of it is known, or none of it.
    pub fn next(&self, file: &File, size: u64, from: u64) -> io::Result<Option<Hole>> {
        let cut_short = || io::Error::new(io::ErrorKind::InvalidData, "somebody has cut the file short");
        if file.metadata()?.len() != size {
            return Err(cut_short());
        }
        if from >= size {
            return Ok(None);
        }
        if self.is_in_doubt {
            return Ok(Some(Hole { range: from..size, is_told: false }));
        }
        let start = match seek(file, SeekFrom::Hole(from)) {
            Ok(start) if start >= size => return Ok(None),
            Ok(start) => start,
            // This moment.
            Err(Errno::NXIO) => return Err(cut_short()),
            Err(error) => return Err(error.into()),
        };
        let end = match seek(file, SeekFrom::Data(start)) {
            Ok(data) => data.min(size),
            // Nothing follows but a hole.
            Err(Errno::NXIO) => size,
            Err(error) => return Err(error.into()),
        };
        Ok(Some(self.cut(start, end)))
    }

    /// The first piece of a hole of which all or nothing is known.
    fn cut(&self, start: u64, end: u64) -> Hole {
        if let Some((_, known)) = self.last_up_to(start).filter(|(_, known)| *known > start) {
            return Hole { range: start..known.min(end), is_told: true };
        }
        let next = self.known.range(start..end).next().map_or(end, |(next, _)| *next);
        Hole { range: start..next, is_told: false }
    }

    /// The last one that begins at an offset or before it.
    fn last_up_to(&self, offset: u64) -> Option<(u64, u64)> {
        self.known.range(..=offset).next_back().map(|(start, end)| (*start, *end))
    }
}

impl Drop for Holes {
    fn drop(&mut self) {
        self.known.clear();
        self.count();
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

    /// All holes of the file in MiB, and whether each is known.
    fn all(holes: &Holes, file: &File) -> Vec<(u64, u64, bool)> {
        let (mut all, mut at) = (Vec::new(), 0);
        while let Some(Hole { range, is_told }) = holes.next(file, 5 * MIB, at).unwrap() {
            at = range.end;
            all.push((range.start / MIB, range.end / MIB, is_told));
        }
        all
    }

    /// Where those of a range begin and end.
    fn within(holes: &Holes, range: Range<u64>) -> Vec<(u64, u64)> {
        holes.within(range).into_iter().map(|hole| (hole.start, hole.end)).collect()
    }

    #[test]
    fn a_hole_that_none_was_told_of_shows_and_no_other() {
        let (file, mut holes) = (file(), Holes::default());
        assert_eq!(all(&holes, &file), [(1, 2, false), (3, 5, false)]);
        holes.note(MIB..2 * MIB);
        assert_eq!(all(&holes, &file), [(1, 2, true), (3, 5, false)]);
        // Each part tells of its own.
        holes.note(4 * MIB..5 * MIB);
        assert_eq!(all(&holes, &file), [(1, 2, true), (3, 4, false), (4, 5, true)]);
        holes.note(3 * MIB..4 * MIB);
        assert_eq!(all(&holes, &file), [(1, 2, true), (3, 5, true)]);
        for cut in [4 * MIB, MIB, 0] {
            file.set_len(cut).unwrap();
            assert_eq!(holes.next(&file, 5 * MIB, 0).unwrap_err().kind(), io::ErrorKind::InvalidData, "cut to {cut}");
        }
        file.set_len(5 * MIB).unwrap();
        assert!(!all(&holes, &file)[0].2, "cut short, and longer again");
        holes.note(0..5 * MIB);
        holes.doubt();
        assert_eq!(all(&holes, &file), [(0, 5, false)]);
    }

    #[test]
    fn where_data_came_after_a_hole_none_may_be() {
        let mut holes = Holes::default();
        holes.note(0..10);
        holes.note(20..30);
        holes.fill(25..26);
        assert_eq!(within(&holes, 0..40), [(0, 10), (20, 25), (26, 30)]);
        holes.note(5..35);
        assert_eq!(within(&holes, 0..40), [(0, 35)]);
        holes.fill(0..0);
        holes.fill(0..40);
        assert_eq!(within(&holes, 0..40), []);
    }

    #[test]
    fn holes_that_touch_are_one_and_each_part_has_its_piece() {
        let mut holes = Holes::default();
        [10..20, 30..40, 20..30].into_iter().for_each(|range| holes.note(range));
        assert_eq!(holes.known.len(), 1);
        assert_eq!([0..15, 15..35, 35..99].map(|range| within(&holes, range)), [[(10, 15)], [(15, 35)], [(35, 40)]]);
        holes.doubt();
        assert_eq!(within(&holes, 0..99), []);
    }

    #[test]
    fn of_so_many_holes_that_they_are_not_remembered_the_large_ones_are() {
        let mut holes = Holes::default();
        holes.note(0..MIB);
        for at in 0..2 * MOST as u64 {
            let start = MIB + (2 * at + 1) * BLOCK;
            holes.note(start..start + BLOCK);
            assert!(holes.known.len() <= MOST);
        }
        holes.note(900 * MIB * 1024..901 * MIB * 1024);
        assert_eq!(within(&holes, 0..u64::MAX), [(0, MIB), (900 * MIB * 1024, 901 * MIB * 1024)]);
    }

    #[test]
    fn of_many_files_with_many_holes_together_no_more_are_remembered_than_may_be() {
        let files = HOLES_OF_ALL / MOST + 8;
        let mut all: Vec<Holes> = Vec::new();
        for _ in 0..files {
            let mut holes = Holes::default();
            (0..MOST as u64).for_each(|at| holes.note(2 * at * BLOCK..(2 * at + 1) * BLOCK));
            all.push(holes);
            assert!(all.iter().map(|holes| holes.known.len()).sum::<usize>() <= HOLES_OF_ALL + MOST + files * FEW);
        }
        assert!(all[files - 1].known.len() <= FEW);
        drop(all);
        let mut holes = Holes::default();
        (0..1000).for_each(|at| holes.note(2 * at * BLOCK..(2 * at + 1) * BLOCK));
        assert_eq!(holes.known.len(), 1000, "those of files that are in their places are forgotten");
    }
}
