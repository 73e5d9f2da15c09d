//! What the loops of a sender tell each other where it is not alone.

use std::collections::BTreeSet;
use std::sync::Mutex;
use std::time::Instant;

use super::appetite::Appetite;
use crate::control::{Control, Seat};
use crate::documents::membership::{Membership, Path};
use crate::thread::lock;

/// The receivers that lanes lead to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Target {
    #[default]
    All,
    /// The one that finishes.
    Only(Seat),
    /// None: another sender finishes.
    Nobody,
}

/// Shared by the loop that follows the membership, the lanes and the loop that feeds them.
pub struct Sharing {
    pub seat: Seat,
    pub epoch: u64,
    pub many_receivers: bool,
    appetite: Mutex<Appetite>,
    members: Mutex<Option<Membership>>,
    /// Receivers to which a lane has a stream.
    reached: Mutex<BTreeSet<Seat>>,
    target: Mutex<Target>,
}

impl Sharing {
    #[must_use]
    pub fn new(seat: Seat, epoch: u64, many_receivers: bool) -> Self {
        let (appetite, members, reached, target) = Default::default();
        Self { seat, epoch, many_receivers, appetite, members, reached, target }
    }

    /// Takes the membership's word.
    pub fn follow(&self, membership: &Membership) {
        *lock(&self.members) = Some(membership.clone());
    }

    /// The membership as it was last read; none before.
    pub fn members(&self) -> Option<Membership> {
        lock(&self.members).clone()
    }

    /// Returns whether the membership counts this process no more.
    pub fn is_retired(&self) -> bool {
        let members = lock(&self.members);
        members.as_ref().and_then(|members| members.retired(self.seat)).is_some_and(|retired| self.epoch <= retired.epoch)
    }

    /// Returns whether another sender has a path.
    pub fn has_others(&self) -> bool {
        lock(&self.members).as_ref().is_some_and(|members| members.paths.iter().any(|path| path.from != self.seat))
    }

    /// Lanes have streams to these receivers, and have moved so much so far.
    pub fn look(&self, now: Instant, connected: impl Iterator<Item = Seat>, moved: u64) {
        let (mut lanes, mut reached) = (0, BTreeSet::new());
        connected.for_each(|seat| {
            lanes += 1;
            reached.insert(seat);
        });
        lock(&self.appetite).look(now, lanes, moved);
        *lock(&self.reached) = reached;
    }

    /// Receivers to which a lane has a stream, ascending.
    pub fn reached(&self) -> Vec<Seat> {
        lock(&self.reached).iter().copied().collect()
    }

    /// Returns whether so many chunks of so many bytes are little for the lanes.
    pub fn is_low(&self, (chunks, bytes): (usize, u64)) -> bool {
        lock(&self.appetite).is_low(chunks, bytes)
    }

    pub fn aim(&self, target: Target) {
        *lock(&self.target) = target;
    }

    /// Returns whether lanes follow a path.
    pub fn follows(&self, path: &Path) -> bool {
        match *lock(&self.target) {
            Target::All => true,
            Target::Only(seat) => seat == path.to,
            Target::Nobody => false,
        }
    }

    /// Returns whether another sender finishes. Asked when the transfer has ended: this one may not have seen yet who it is.
    pub fn is_left_to_another(&self, control: &dyn Control) -> bool {
        *lock(&self.target) == Target::Nobody || control.finish().is_ok_and(|held| held.is_some_and(|held| held.seat != self.seat))
    }
}
