//! From verified to delivered: sync, rename, note in the journal, checkpoint, acknowledge.

mod checking;
mod checkpoint;
mod committer;
mod placing;
mod queue;
mod readback;
mod sending;
pub mod verified;

pub use checkpoint::Checkpoint;
pub use committer::Committer;
pub use placing::settled;
pub use queue::CommitQueue;
pub use sending::Sending;
pub use verified::{Landed, Verified};
