//! Lists in objects of the control plane, a line each.

pub mod digests;
pub mod lines;
