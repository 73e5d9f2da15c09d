//! Leases as files of a directory.

use serde::{Deserialize, Serialize};

use cpt_relay::control::Seat;
use cpt_relay::control::leases::{Finish, Leased, Owner};
use cpt_relay::documents::membership::Retired;

/// Of a range.
#[derive(PartialEq, Serialize, Deserialize)]
pub struct Lease {
    pub seat: Seat,
    pub epoch: u64,
    pub process: String,
    pub settled: bool,
}

impl Lease {
    pub fn of(owner: &Owner, settled: bool) -> Self {
        Self { seat: owner.seat, epoch: owner.epoch, process: owner.process.clone(), settled }
    }

    pub const fn held(&self) -> Leased {
        Leased { seat: self.seat, epoch: self.epoch, is_settled: self.settled }
    }
}

/// Of the finish.
#[derive(Serialize, Deserialize)]
pub struct FinishLease {
    pub seat: Seat,
    pub epoch: u64,
    pub receiver: Seat,
}

impl FinishLease {
    pub const fn held(&self) -> Finish {
        Finish { seat: self.seat, epoch: self.epoch, receiver: self.receiver }
    }
}

/// Returns whether a holder of a lease counts no more.
pub fn is_retired(retired: Option<&Retired>, seat: Seat, epoch: u64) -> bool {
    retired.is_some_and(|retired| retired.seat_id == seat && epoch <= retired.epoch)
}
