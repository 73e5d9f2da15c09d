//! Large files of which something is in doubt though all parts have come: holes that nobody has told of.

use std::io;
use std::sync::PoisonError;

use super::{Large, State, Synced};
use crate::ends::Heard;
use crate::look::Reading;

/// Holes that are looked at while other chunks wait, a call or two each.
const HOLES_AT_ONCE: usize = 64;

impl Large {
    /// Returns whether a short look shows that nothing is in doubt.
    pub(super) fn is_plain(&self) -> io::Result<bool> {
        let mut at = 0;
        for _ in 0..HOLES_AT_ONCE {
            match self.file.next_hole(at)? {
                None => return Ok(true),
                Some(hole) if hole.is_told => at = hole.range.end,
                Some(_) => return Ok(false),
            }
        }
        Ok(false)
    }

    /// Reads the parts that have a hole which nobody has told of, however long that takes, and puts the file into its place. None where
    /// that is not wanted any more.
    pub fn check(&self, reading: &Reading<'_>, is_wanted: &dyn Fn() -> bool) -> io::Result<Option<Synced>> {
        let read = reading.during(|heard| self.read_doubtful(heard, is_wanted));
        if matches!(read, Ok(false)) {
            return Ok(None);
        }
        let mut state = self.state.write().unwrap_or_else(PoisonError::into_inner);
        // Another copy of the chunk has come before, the file was left out or comes again, or a part is dropped that an earlier receiver left:
        // what was read meanwhile says nothing.
        if state.done || state.skipped || state.forsaken || state.missing > 0 {
            return Ok(Some(Synced::Part));
        }
        let placed = match read {
            Ok(_) => self.place(&mut state),
            Err(error) => spoiled(&mut state, error),
        };
        placed.map(Some)
    }

    /// `false` where it was ended before.
    fn read_doubtful(&self, heard: Heard<'_>, is_wanted: &dyn Fn() -> bool) -> io::Result<bool> {
        let mut at = 0;
        while let Some(hole) = self.file.next_hole(at)? {
            heard(0);
            at = hole.range.end;
            let parts = if hole.is_told { 0..0 } else { hole.range.start / self.part_size..hole.range.end.div_ceil(self.part_size) };
            for part in parts {
                let part = usize::try_from(part).map_err(io::Error::other)?;
                let state = self.state.read().unwrap_or_else(PoisonError::into_inner);
                let digest = state.synced.get(part).copied().flatten().filter(|_| !state.done && !state.skipped);
                drop(state);
                let Some(digest) = digest else { return Ok(true) };
                if !is_wanted() {
                    return Ok(false);
                }
                self.read_back(part, &digest, heard)?;
                at = at.max(self.range(part).end);
            }
            if !is_wanted() {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// The file is given up where the error says that it holds other bytes than those that came.
pub(super) fn spoiled(state: &mut State, error: io::Error) -> io::Result<Synced> {
    if error.kind() != io::ErrorKind::InvalidData {
        return Err(error);
    }
    state.skipped = true;
    Ok(Synced::Spoiled)
}

#[cfg(test)]
#[path = "doubt_tests.rs"]
mod tests;
