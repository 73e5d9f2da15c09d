//! What takes the control plane's place where there is none: a planner, and a directory that both ends see.

#![deny(unsafe_code)]

pub mod directory;
mod leases;
pub mod plan;
