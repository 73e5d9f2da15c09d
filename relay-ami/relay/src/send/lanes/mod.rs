//! Lanes: as many as paths need, each of which pulls chunks and sends them.

mod growth;
mod lane;
pub mod lease;
pub mod paths;
mod sending;
mod unacknowledged;
