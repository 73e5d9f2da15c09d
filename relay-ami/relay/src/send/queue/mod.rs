//! Chunks that wait for a lane, and those that lanes have.

mod gate;
mod hedge;
mod held;
mod state;
mod taker;
mod work_queue;

pub use held::Patience;
pub use taker::{Next, Taker};
pub use work_queue::WorkQueue;
