//! Lanes: as many as paths need, each of which pulls chunks and sends them.

#[cfg(test)]
mod builders;
mod common;
mod common_limit;
mod growth;
mod lane;
mod lease;
mod link;
mod paths;
mod sending;
mod taking;
mod unacknowledged;

pub use common::Common;
pub use lease::Lease;
pub use paths::Lanes;
