//! Making a destination hold nothing that the source does not have: what that is, and its removal.

mod error;
mod extras;
mod known;
mod paths;
mod removal;
mod search;
mod shares;
mod walk;

pub use crate::above::order;
pub use error::MirrorError;
pub use removal::Confirmed;
pub use search::Extras;
