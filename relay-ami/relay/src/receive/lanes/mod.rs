//! The streams of the sender's lanes, and the chunks that arrive on them.

pub mod alive;
mod gate;
mod incoming;
mod lane;

pub use alive::Listeners;
pub use gate::Gate;
pub use incoming::Intake;
pub use lane::Lanes;
