//! The source, read chunk by chunk.

mod ahead;
pub mod chunk_error;
pub mod chunk_writer;
pub mod offers;
pub mod packing;
mod second_look;
pub mod segments;
pub mod sink;
