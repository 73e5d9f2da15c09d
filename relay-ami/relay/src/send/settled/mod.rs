//! What becomes of chunks that a lane has sent: delivered, failed, read or sent again.

pub mod chunks;
pub mod decisions;
pub mod ending;
pub mod failures;
mod ledger;
pub mod outcome;
pub mod recall;
