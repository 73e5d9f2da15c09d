//! Epochs of an end: one for each process, so that whatever an earlier one still says counts no more.
//!
//! The control plane orders a start by the first epoch that its processes may take, a multiple of [`PROCESSES_PER_START`]. A process that
//! the service manager starts again, with the same order, claims the next one.

use std::ops::Range;

use crate::control::{Control, KeyRecord, Result, Seat};

/// More than a unit is ever started: five times in a minute for 8 days are 57 600.
pub const PROCESSES_PER_START: u64 = 1 << 16;

/// The epochs of the start that has this one.
const fn of_start(epoch: u64) -> Range<u64> {
    let first = epoch - epoch % PROCESSES_PER_START;
    first..first + PROCESSES_PER_START
}

/// Returns the start that a process of this epoch is of.
#[must_use]
pub const fn start_of(epoch: u64) -> u64 {
    epoch / PROCESSES_PER_START
}

/// Returns whether both are of processes of one start.
#[must_use]
pub const fn same_start(one: u64, other: u64) -> bool {
    start_of(one) == start_of(other)
}

/// Returns whether `one` is of a process of a later start than `other` is.
#[must_use]
pub const fn is_later_start(one: u64, other: u64) -> bool {
    start_of(one) > start_of(other)
}

/// Claims the next epoch of the start that `first` begins, and publishes the keys in it, in one write. None where a later start has
/// taken over.
pub fn claim(control: &dyn Control, seat: Seat, first: u64, keys: impl Fn(u64) -> KeyRecord) -> Result<Option<u64>> {
    loop {
        let epoch = control.key(seat)?.map_or(first, |known| first.max(known.epoch + 1));
        if !of_start(first).contains(&epoch) {
            return Ok(None);
        }
        if control.publish_key(seat, &keys(epoch))? {
            return Ok(Some(epoch));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_start_has_its_own_epochs() {
        assert_eq!(of_start(PROCESSES_PER_START + 3), PROCESSES_PER_START..2 * PROCESSES_PER_START);
        assert!(same_start(PROCESSES_PER_START, 2 * PROCESSES_PER_START - 1));
        assert!(!same_start(PROCESSES_PER_START, 2 * PROCESSES_PER_START));
        assert!(same_start(1, 2), "by hand all are of one start");
        assert!(is_later_start(2 * PROCESSES_PER_START, 2 * PROCESSES_PER_START - 1));
        assert!(!is_later_start(2 * PROCESSES_PER_START - 1, PROCESSES_PER_START));
    }
}
