//! The streams of the sender's lanes, and the chunks that arrive on them.

pub mod alive;
pub mod gate;
pub mod incoming;
pub mod lane;
