//! Streams between the two ends: the way through relays, the peer at their end, and the frames on them.

pub mod door;
pub(crate) mod had;
pub(crate) mod packing;
pub mod peer;
pub mod route;
pub mod stream;
