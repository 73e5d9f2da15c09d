//! Whose the ranges of the plan are, as far as this sender knows.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use crate::control::Seat;
use crate::control::leases::Leased;
use crate::documents::membership::Retired;

/// The ranges that hold data.
pub struct Ranges {
    seat: Seat,
    /// All that are planned whole.
    planned: Range<u64>,
    /// Nobody is known to have them.
    free: BTreeSet<u64>,
    /// Another seat has them, or another process of this one, and has not settled them.
    held: BTreeMap<u64, Leased>,
    /// This process has fed them.
    fed: BTreeSet<u64>,
    settled: BTreeSet<u64>,
}

/// A range that this process may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// Lease it; where it is a retired seat's, from that.
    Lease(u64, Option<Retired>),
    /// An earlier process of this seat has settled it: what it noted counts here.
    Adopt(u64),
}

impl Ranges {
    pub const fn new(seat: Seat, first: u64) -> Self {
        Self { seat, planned: first..first, free: BTreeSet::new(), held: BTreeMap::new(), fed: BTreeSet::new(), settled: BTreeSet::new() }
    }

    /// The plan has so many ranges by now.
    pub fn planned_to(&mut self, end: u64) {
        self.free.extend(self.planned.end..end);
        self.planned.end = self.planned.end.max(end);
    }

    /// The first ones that nobody is known to have.
    pub fn free(&self, count: usize) -> Vec<u64> {
        self.free.iter().copied().take(count).collect()
    }

    /// Those that somebody else has and has not settled.
    pub fn held(&self) -> Vec<u64> {
        self.held.keys().copied().collect()
    }

    /// The table's word on a lease.
    pub fn note(&mut self, range: u64, lease: Option<Leased>) {
        let Some(lease) = lease else { return };
        if self.fed.contains(&range) {
            return;
        }
        self.free.remove(&range);
        if lease.is_settled {
            self.held.remove(&range);
            self.settled.insert(range);
            if lease.seat == self.seat {
                self.held.insert(range, lease);
            }
        } else {
            self.held.insert(range, lease);
        }
    }

    /// The next one to take: of the own seat, of one that is retired, else the first free one where that `is_wanted`.
    pub fn next(&self, retired: &[Retired], is_wanted: bool) -> Option<Choice> {
        let of = |lease: &Leased| retired.iter().find(|retired| retired.seat_id == lease.seat && lease.epoch <= retired.epoch);
        let own = self.held.iter().find(|(_, lease)| lease.seat == self.seat);
        if let Some((range, lease)) = own {
            return Some(if lease.is_settled { Choice::Adopt(*range) } else { Choice::Lease(*range, None) });
        }
        if !is_wanted {
            return None;
        }
        let left = self.held.iter().find_map(|(range, lease)| Some(Choice::Lease(*range, Some(*of(lease)?))));
        left.or_else(|| self.free.first().map(|range| Choice::Lease(*range, None)))
    }

    /// This process feeds it from now on.
    pub fn feeds(&mut self, range: u64) {
        self.free.remove(&range);
        self.held.remove(&range);
        self.fed.insert(range);
    }

    /// What this process fed of it is settled, and noted.
    pub fn is_settled(&mut self, range: u64) {
        self.settled.insert(range);
    }

    /// Returns whether this process has fed it.
    pub fn is_fed(&self, range: u64) -> bool {
        self.fed.contains(&range)
    }

    /// Returns whether all that are planned are settled.
    pub fn are_settled(&self) -> bool {
        self.settled.len() as u64 == self.planned.end - self.planned.start
    }

    /// Returns whether somebody has each of them.
    pub fn are_taken(&self) -> bool {
        self.free.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OTHER: &str = "s1";

    fn held(seat: &str, epoch: u64, is_settled: bool) -> Option<Leased> {
        Some(Leased { seat: Seat::new(seat).unwrap(), epoch, is_settled })
    }

    fn ranges(count: u64) -> Ranges {
        let mut ranges = Ranges::new(Seat::SENDER, 10);
        ranges.planned_to(10 + count);
        ranges
    }

    fn retired(epoch: u64) -> Retired {
        Retired { seat_id: Seat::new(OTHER).unwrap(), epoch, is_gone: true }
    }

    #[test]
    fn free_ranges_are_taken_in_order_and_only_where_more_is_wanted() {
        let mut ranges = ranges(2);
        assert_eq!(ranges.next(&[], false), None);
        assert_eq!(ranges.next(&[], true), Some(Choice::Lease(10, None)));
        ranges.note(10, held(OTHER, 1, false));
        assert_eq!(ranges.next(&[], true), Some(Choice::Lease(11, None)));
        ranges.feeds(11);
        assert_eq!(ranges.next(&[], true), None);
        ranges.planned_to(13);
        assert_eq!(ranges.next(&[], true), Some(Choice::Lease(12, None)));
    }

    #[test]
    fn a_retired_seats_ranges_come_before_free_ones_unless_a_later_process_of_it_has_them() {
        let mut ranges = ranges(3);
        ranges.note(11, held(OTHER, 5, false));
        assert_eq!(ranges.next(&[retired(4)], true), Some(Choice::Lease(10, None)));
        assert_eq!(ranges.next(&[retired(5)], true), Some(Choice::Lease(11, Some(retired(5)))));
        ranges.note(11, held(OTHER, 5, true));
        assert_eq!(ranges.next(&[retired(5)], true), Some(Choice::Lease(10, None)), "it was settled");
    }

    #[test]
    fn what_an_earlier_process_of_the_seat_has_left_is_taken_at_once() {
        let mut ranges = ranges(3);
        ranges.note(11, held("s0", 1, false));
        ranges.note(12, held("s0", 1, true));
        assert_eq!(ranges.next(&[], false), Some(Choice::Lease(11, None)));
        ranges.feeds(11);
        assert_eq!(ranges.next(&[], false), Some(Choice::Adopt(12)));
        ranges.feeds(12);
        assert_eq!(ranges.next(&[], false), None);
    }

    #[test]
    fn all_are_settled_once_this_process_and_the_others_have_settled_theirs() {
        let mut ranges = ranges(3);
        ranges.feeds(10);
        ranges.note(10, held(OTHER, 1, true));
        ranges.note(11, held(OTHER, 1, false));
        ranges.note(12, held("s0", 1, true));
        ranges.is_settled(10);
        assert!(!ranges.are_settled() && ranges.are_taken());
        assert_eq!(ranges.held(), [11, 12]);
        ranges.note(11, held(OTHER, 1, true));
        assert!(ranges.are_settled());
    }
}
