//! From verified to delivered: sync, rename, note in the journal, checkpoint, acknowledge.

mod checking;
pub mod checkpoint;
pub mod committer;
mod placing;
pub mod queue;
mod readback;
pub mod sending;
pub mod verified;
