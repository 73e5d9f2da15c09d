//! Files at the destination, from their first bytes on.

pub mod basis;
pub mod large;
pub mod refusal;
pub mod site;
pub mod target;
