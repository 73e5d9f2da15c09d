//! The source, read chunk by chunk.

mod ahead;
mod chunk_error;
mod chunk_writer;
mod offers;
mod second_look;
pub mod segments;
mod sink;

pub use chunk_error::ChunkError;
pub use chunk_writer::{ChunkWriter, Digester, Reading};
pub use offers::Offers;
pub use sink::Caller;
