//! Seats that were given up: what is theirs may be taken once every receiver has cut their lanes, so that two senders never write one part at
//! a time.

use std::collections::{BTreeMap, BTreeSet};

use crate::control::{Control, Seat};
use crate::documents::membership::{Membership, Retired};

/// Retired seats, as the membership has named them.
#[derive(Default)]
pub struct Retirements {
    /// With the version that first named each of them here; none once it holds.
    named: BTreeMap<(Seat, u64), Option<u64>>,
    holding: Vec<Retired>,
    /// Receivers that paths have led to.
    receivers: BTreeSet<Seat>,
}

impl Retirements {
    /// Takes the membership's word.
    pub fn follow(&mut self, membership: &Membership) {
        self.receivers.extend(membership.paths.iter().map(|path| path.to));
        self.receivers.retain(|seat| membership.retired(*seat).is_none());
        for retired in &membership.retired {
            self.named.entry((retired.seat_id, retired.epoch)).or_insert(Some(membership.version));
        }
    }

    /// Receivers that live.
    pub fn receivers(&self) -> Vec<Seat> {
        self.receivers.iter().copied().collect()
    }

    /// Asks receivers for the versions that they follow, where that matters.
    pub fn ask(&mut self, control: &dyn Control) {
        if self.named.values().all(Option::is_none) || self.receivers.is_empty() {
            return;
        }
        let mut least = u64::MAX;
        for receiver in &self.receivers {
            match control.progress(*receiver) {
                Ok(progress) => least = least.min(progress.and_then(|progress| progress.membership_version).unwrap_or(0)),
                Err(error) => {
                    tracing::warn!(%receiver, %error, "progress");
                    return;
                }
            }
        }
        for ((seat_id, epoch), version) in &mut self.named {
            if version.is_some_and(|version| version <= least) {
                *version = None;
                self.holding.push(Retired { seat_id: *seat_id, epoch: *epoch, is_gone: false });
            }
        }
    }

    /// Those of which every living receiver knows.
    pub fn holding(&self) -> &[Retired] {
        &self.holding
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builders::control::InMemory;
    use crate::send::builders::{membership, report};
    use crate::thread::lock;

    fn seat(text: &str) -> Seat {
        Seat::new(text).unwrap()
    }

    fn holding(retirements: &mut Retirements, control: &InMemory) -> Vec<String> {
        retirements.ask(control);
        retirements.holding().iter().map(|retired| format!("{} {}", retired.seat_id, retired.epoch)).collect()
    }

    #[test]
    fn a_seat_is_retired_once_every_living_receiver_follows_a_version_that_names_it() {
        let (control, mut retirements) = (InMemory::default(), Retirements::default());
        let gone = |seat_id, epoch| Retired { seat_id: seat(seat_id), epoch, is_gone: false };
        retirements.follow(&membership(4, &["r0", "r1"], vec![]));
        retirements.follow(&membership(5, &["r0", "r1"], vec![gone("s1", 3)]));
        retirements.follow(&membership(6, &["r0"], vec![gone("s1", 3)]));
        assert!(holding(&mut retirements, &control).is_empty(), "no receiver has said anything");
        lock(&control.progress).insert(seat("r0"), report(Some(7)));
        lock(&control.progress).insert(seat("r1"), report(Some(4)));
        assert!(holding(&mut retirements, &control).is_empty(), "r1 may still hear s1");
        lock(&control.progress).insert(seat("r1"), report(Some(5)));
        assert_eq!(holding(&mut retirements, &control), ["s1 3"]);
        retirements.follow(&membership(8, &["r0", "r1"], vec![gone("s1", 9)]));
        assert_eq!(holding(&mut retirements, &control), ["s1 3"], "it came back, and is given up again");
        retirements.follow(&membership(9, &["r0"], vec![gone("s1", 9), gone("r1", 1)]));
        lock(&control.progress).insert(seat("r0"), report(Some(8)));
        assert_eq!(holding(&mut retirements, &control), ["s1 3", "s1 9"], "r1 is not asked any more");
    }
}
