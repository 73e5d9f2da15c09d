//! Files at the destination, from their first bytes on.

pub mod basis;
mod large;
mod refusal;
mod site;
pub mod target;

pub use basis::Offer;
pub use large::{Files, Large, Part, Synced};
pub use refusal::Refusal;
pub use site::Site;
pub use target::Target;
