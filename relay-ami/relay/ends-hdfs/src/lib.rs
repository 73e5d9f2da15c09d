//! HDFS as an end: read from the data nodes that have the blocks, and written by files that are joined to one.

#![deny(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used))]

mod attributes;
mod checksum;
pub mod cluster;
pub mod configuration;
pub mod destination;
mod fault;
#[cfg(test)]
mod kerberos_tests;
pub mod mark;
mod path;
pub mod source;
pub mod token;
mod whereabouts;
