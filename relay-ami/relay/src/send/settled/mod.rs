//! What becomes of chunks that a lane has sent: delivered, failed, read or sent again.

mod chunks;
pub mod decisions;
mod ending;
pub mod failures;
mod ledger;
pub mod outcome;
mod recall;

pub use chunks::{Chunks, Inboxes, Origin};
pub use ending::{Ending, Repair, Repairs};
pub use outcome::{Outcome, Totals};
pub use recall::Recall;
