//! Lanes: as many as paths need, each of which pulls chunks and sends them.

pub mod common;
mod growth;
mod lane;
pub mod lease;
mod link;
pub mod paths;
mod sending;
mod taking;
mod unacknowledged;
