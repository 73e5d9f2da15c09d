//! Streams to the receiver and to relays, and what they say of the network.

pub mod blame;
pub mod greeting;
pub mod handle;
pub mod hearing;
pub mod keepalive;
pub mod pace;
pub mod pretest;
