//! Streams to the receiver and to relays, and what they say of the network.

pub mod blame;
mod greeting;
mod handle;
pub mod hearing;
mod keepalive;
mod pace;
mod peer_keys;
mod pretest;

pub use blame::Blame;
pub use greeting::{LaneError, Streams};
pub use handle::Handle;
pub use hearing::Hearing;
pub use keepalive::Keepalives;
pub use pace::{Pace, Rest, Speed};
pub use peer_keys::PeerKeys;
pub use pretest::Pretests;
