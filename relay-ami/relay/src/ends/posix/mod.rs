//! A directory tree of this machine.

pub(crate) mod attributes;
pub mod disk;
pub mod identity;
pub(crate) mod journal;
mod room;
pub mod roots;
pub(crate) mod source;
pub(crate) mod tree;
pub mod whereabouts;

pub use room::{destination, refused_destination};
