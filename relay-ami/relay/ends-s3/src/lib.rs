//! A bucket of S3 as an end of a transfer: what lies below one prefix of it, by keys.

#![deny(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used))]

mod calls;
pub mod checksum;
pub mod client;
pub mod destination;
pub mod fault;
pub mod keys;
pub mod metadata;
pub mod objects;
mod persistence;
pub mod source;
pub mod uploads;
pub mod ways;
pub mod written;
