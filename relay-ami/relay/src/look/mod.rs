//! Whether what is at the destination is what was listed.

mod equal_entry;
mod found;
mod judge;
mod last;
mod lines;
mod reading;
pub mod same;
mod stored;

pub use equal_entry::EqualEntry;
pub use found::Found;
pub use last::Look;
pub use reading::Reading;
