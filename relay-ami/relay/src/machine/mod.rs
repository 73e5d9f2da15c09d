//! What the machine and its service manager give this process, and what they hear of it.

pub mod descriptors;
pub mod memory;
pub mod ready;
pub mod watchdog;
