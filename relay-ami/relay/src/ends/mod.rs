//! The ports of both ends, and the kinds that there are.

pub mod posix;

pub use cpt_ends::*;
