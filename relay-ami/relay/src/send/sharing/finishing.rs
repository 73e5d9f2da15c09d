//! Who finishes a transfer of several senders or receivers, and with which receiver: the rules, without any call.

use crate::control::Seat;
use crate::control::leases::Finish;
use crate::documents::membership::Retired;

/// All that the rules look at.
#[derive(Clone, Debug)]
pub struct Sight<'a> {
    pub seat: Seat,
    pub epoch: u64,
    pub many_receivers: bool,
    /// The lease of the finish.
    pub held: Option<Finish>,
    /// Seats that were given up, as every living receiver knows.
    pub retired: &'a [Retired],
    /// Receivers to which a lane has a stream.
    pub reached: &'a [Seat],
    /// Living receivers to which a path of this sender leads.
    pub paths: &'a [Seat],
    /// The receiver that has taken over what came to the others.
    pub gathered: Option<Seat>,
    /// All living receivers but the named one write nothing any more, for this epoch.
    pub are_closed: bool,
    /// This sender could not read something, and another may: that one is to finish, if it comes.
    pub yields: bool,
}

/// What comes next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Take the lease, or name another receiver in it.
    Take(Finish, Option<Retired>),
    /// Another sender finishes.
    LeaveIt,
    /// Nobody is reached with whom to finish.
    AwaitReceiver,
    /// The other receivers are to close first.
    AwaitClosed(Seat),
    /// The receiver is to take over what came to the others.
    Gather(Seat),
    /// All that is left goes to this receiver.
    Finish(Seat),
}

impl Sight<'_> {
    pub fn step(&self) -> Step {
        let Some(held) = self.held else { return if self.yields { Step::LeaveIt } else { self.take(None, None) } };
        if held.seat != self.seat {
            let retired = self.retired.iter().find(|retired| retired.seat_id == held.seat && held.epoch <= retired.epoch);
            return retired.map_or(Step::LeaveIt, |retired| self.take(Some(held.receiver), Some(*retired)));
        }
        if held.epoch > self.epoch {
            return Step::LeaveIt;
        }
        if held.epoch < self.epoch {
            return self.take(Some(held.receiver), None);
        }
        if !self.many_receivers {
            return Step::Finish(held.receiver);
        }
        // Without any path this end waits for one, not for another receiver.
        if !self.paths.contains(&held.receiver) && !self.paths.is_empty() {
            return self.take(Some(held.receiver), None);
        }
        match self.gathered {
            Some(receiver) if receiver == held.receiver => Step::Finish(receiver),
            _ if self.are_closed => Step::Gather(held.receiver),
            _ => Step::AwaitClosed(held.receiver),
        }
    }

    /// Takes the lease: with the receiver of the holder before, where it is reached. Where no path leads to that one, none may be reached:
    /// the others have closed for it, and turn every lane away until one of them is named.
    fn take(&self, before: Option<Seat>, retired: Option<Retired>) -> Step {
        let may_be = |seat: &&Seat| self.paths.contains(seat);
        let same = self.reached.iter().filter(may_be).find(|seat| before == Some(**seat));
        let closed = || self.paths.first().filter(|_| before.is_some_and(|before| !self.paths.contains(&before)));
        match same.or_else(|| self.reached.iter().find(may_be)).or_else(closed) {
            Some(receiver) => Step::Take(Finish { seat: self.seat, epoch: self.epoch, receiver: *receiver }, retired),
            None => Step::AwaitReceiver,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seat(text: &str) -> Seat {
        Seat::new(text).unwrap()
    }

    fn held(by: &str, epoch: u64, receiver: &str) -> Option<Finish> {
        Some(Finish { seat: seat(by), epoch, receiver: seat(receiver) })
    }

    fn gone(of: &str, epoch: u64) -> Retired {
        Retired { seat_id: seat(of), epoch, is_gone: false }
    }

    struct Seen {
        retired: Vec<Retired>,
        reached: Vec<Seat>,
        paths: Vec<Seat>,
    }

    impl Seen {
        fn of(retired: Vec<Retired>, reached: &[&str], paths: &[&str]) -> Self {
            let seats = |of: &[&str]| of.iter().map(|text| seat(text)).collect();
            Self { retired, reached: seats(reached), paths: seats(paths) }
        }

        /// Of s1 in epoch 7.
        fn sight(&self, held: Option<Finish>) -> Sight<'_> {
            let Self { retired, reached, paths } = self;
            let (many_receivers, gathered, are_closed, yields) = (true, None, false, false);
            Sight { seat: seat("s1"), epoch: 7, many_receivers, held, retired, reached, paths, gathered, are_closed, yields }
        }
    }

    fn take(receiver: &str, retired: Option<Retired>) -> Step {
        Step::Take(Finish { seat: seat("s1"), epoch: 7, receiver: seat(receiver) }, retired)
    }

    #[test]
    fn who_comes_first_finishes_with_a_receiver_that_it_reaches() {
        let seen = Seen::of(vec![], &["r1", "r2"], &["r0", "r1", "r2"]);
        assert_eq!(seen.sight(None).step(), take("r1", None));
        assert_eq!(seen.sight(held("s0", 9, "r0")).step(), Step::LeaveIt);
        assert_eq!(Seen::of(vec![], &[], &["r0"]).sight(None).step(), Step::AwaitReceiver);
        assert_eq!(Seen::of(vec![], &["r0"], &["r1"]).sight(None).step(), Step::AwaitReceiver, "the one it still reaches is given up");
    }

    #[test]
    fn who_could_not_read_something_leaves_the_finish_to_another_and_takes_it_over_all_the_same() {
        let seen = Seen::of(vec![gone("s0", 5)], &["r0"], &["r0"]);
        assert_eq!(Sight { yields: true, ..seen.sight(None) }.step(), Step::LeaveIt);
        assert_eq!(Sight { yields: true, ..seen.sight(held("s0", 5, "r0")) }.step(), take("r0", Some(gone("s0", 5))));
    }

    #[test]
    fn the_finish_of_a_retired_sender_is_taken_over_with_its_receiver_where_that_is_reached() {
        let seen = Seen::of(vec![gone("s0", 5)], &["r0", "r1"], &["r0", "r1"]);
        assert_eq!(seen.sight(held("s0", 5, "r1")).step(), take("r1", Some(gone("s0", 5))));
        assert_eq!(seen.sight(held("s0", 5, "r2")).step(), take("r0", Some(gone("s0", 5))));
        assert_eq!(seen.sight(held("s0", 6, "r1")).step(), Step::LeaveIt, "a later process of it has come back");
    }

    #[test]
    fn a_later_process_of_the_holder_goes_on_and_an_earlier_one_does_not() {
        let seen = Seen::of(vec![], &["r0", "r1"], &["r0", "r1"]);
        assert_eq!(seen.sight(held("s1", 6, "r1")).step(), take("r1", None));
        assert_eq!(seen.sight(held("s1", 8, "r1")).step(), Step::LeaveIt);
    }

    #[test]
    fn the_holder_waits_until_the_others_are_closed_then_lets_its_receiver_gather_then_finishes() {
        let seen = Seen::of(vec![], &["r1"], &["r0", "r1"]);
        let sight = seen.sight(held("s1", 7, "r1"));
        assert_eq!(sight.step(), Step::AwaitClosed(seat("r1")));
        assert_eq!(Sight { are_closed: true, ..sight.clone() }.step(), Step::Gather(seat("r1")));
        let gathered = Some(seat("r1"));
        assert_eq!(Sight { are_closed: true, gathered, ..sight.clone() }.step(), Step::Finish(seat("r1")));
        assert_eq!(Sight { gathered: Some(seat("r0")), are_closed: true, ..sight.clone() }.step(), Step::Gather(seat("r1")));
        assert_eq!(Sight { many_receivers: false, ..sight }.step(), Step::Finish(seat("r1")), "there is nothing to gather");
    }

    #[test]
    fn another_receiver_is_named_once_no_path_leads_to_the_named_one() {
        let gathered = Some(seat("r1"));
        let lost = Seen::of(vec![], &["r0"], &["r0"]);
        assert_eq!(Sight { gathered, ..lost.sight(held("s1", 7, "r1")) }.step(), take("r0", None));
        let closed = Seen::of(vec![gone("s0", 5)], &["r1"], &["r0"]);
        let why = "r0 has closed for r1, and lets nobody in before it is named";
        assert_eq!(Sight { gathered, ..closed.sight(held("s1", 7, "r1")) }.step(), take("r0", None), "{why}");
        assert_eq!(closed.sight(held("s0", 5, "r1")).step(), take("r0", Some(gone("s0", 5))), "{why}");
        let nowhere = Seen::of(vec![], &[], &[]);
        assert_eq!(
            Sight { gathered, ..nowhere.sight(held("s1", 7, "r1")) }.step(),
            Step::Finish(seat("r1")),
            "this end has lost its paths"
        );
    }
}
