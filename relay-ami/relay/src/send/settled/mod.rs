//! What becomes of chunks that a lane has sent: delivered, failed, read or sent again.

pub mod chunks;
pub mod failures;
mod ledger;
pub mod outcome;
pub mod recall;
pub mod repair;
