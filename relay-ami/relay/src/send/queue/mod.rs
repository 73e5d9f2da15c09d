//! Chunks that wait for a lane, and those that lanes have.

mod hedge;
pub mod held;
mod state;
pub mod taker;
pub mod work_queue;
