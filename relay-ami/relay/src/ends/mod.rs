//! The two ends of a transfer: where data lies, and where it goes. Each kind of end is a folder.

pub mod posix;
pub mod problem;
