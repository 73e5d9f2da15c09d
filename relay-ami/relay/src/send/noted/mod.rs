//! What a sender keeps of what it has sent, and of what it left out.

mod left_out;
pub mod sent;
pub mod sent_journal;
pub mod skipped;
pub mod states;
