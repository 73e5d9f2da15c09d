//! What a sender keeps of what it has sent, and of what it left out.

mod records;
pub mod sent_journal;
pub mod sent_object;
mod skipped;
mod states;

pub use records::Sent;
pub use sent_journal::{Earlier, SentJournal};
pub use skipped::Skipped;
pub use states::{Joins, States};
