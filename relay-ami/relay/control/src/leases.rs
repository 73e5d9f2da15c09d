//! Who sends what, where several send: ranges of chunks, and the finish.

use cpt_wire::documents::seat::{ClosedFor, Seat};

/// A process that asks for leases.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owner {
    pub seat: Seat,
    pub epoch: u64,
    /// Names the process among those of its epoch.
    pub process: String,
}

/// A lease that is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Leased {
    pub seat: Seat,
    pub epoch: u64,
    /// All chunks of the range that carry data are settled, and what they stood for is written.
    pub is_settled: bool,
}

/// The lease of the finish.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Finish {
    /// The sender that finishes.
    pub seat: Seat,
    pub epoch: u64,
    /// The receiver that it finishes with.
    pub receiver: Seat,
}

impl From<Finish> for ClosedFor {
    fn from(Finish { seat, epoch, receiver }: Finish) -> Self {
        Self { seat, epoch, receiver }
    }
}
