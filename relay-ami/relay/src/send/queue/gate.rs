//! Whether lanes may take chunks: not while it is being settled which receiver takes over what came to the others.

use crate::control::Seat;

/// Open where there is one receiver.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Gate {
    #[default]
    Open,
    Shut,
    /// A lane to this receiver is to ask it to gather; whether one does.
    Gather(Seat, bool),
    /// Open again, for this one.
    Gathered(Seat),
}

impl Gate {
    /// Returns whether chunks go out to a receiver.
    pub fn admits(self, receiver: Seat) -> bool {
        self == Self::Open || self == Self::Gathered(receiver)
    }

    /// Returns whether the receiver is still the one that everything goes to, or one of several.
    pub fn knows(self, receiver: Seat) -> bool {
        match self {
            Self::Open => true,
            Self::Shut => false,
            Self::Gather(named, _) | Self::Gathered(named) => named == receiver,
        }
    }

    /// A lane to `receiver` asks what there is to do. Returns whether it is to let that gather; then no other lane does.
    pub fn gathers(&mut self, receiver: Seat) -> bool {
        let is_wanted = *self == Self::Gather(receiver, false);
        if is_wanted {
            *self = Self::Gather(receiver, true);
        }
        is_wanted
    }

    /// The lane's answer; it counts while that receiver is still to gather.
    pub fn answered(&mut self, receiver: Seat, has_gathered: bool) {
        if *self == Self::Gather(receiver, true) {
            *self = if has_gathered { Self::Gathered(receiver) } else { Self::Gather(receiver, false) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_lane_to_the_named_receiver_lets_it_gather_and_another_one_where_that_breaks() {
        let (named, other) = (Seat::RECEIVER, Seat::new("r1").unwrap());
        let mut gate = Gate::Gather(named, false);
        assert!(gate.knows(named) && !gate.knows(other));
        assert!(!gate.gathers(other) && gate.gathers(named) && !gate.gathers(named));
        gate.answered(named, false);
        assert!(!gate.admits(named) && gate.gathers(named));
        gate.answered(named, true);
        assert!(gate.admits(named) && !gate.admits(other), "its lanes may not have left yet");
    }

    #[test]
    fn what_a_receiver_answers_that_is_not_named_any_more_counts_no_more() {
        let mut gate = Gate::Shut;
        gate.answered(Seat::RECEIVER, true);
        assert_eq!(gate, Gate::Shut);
    }
}
