//! The two ends of a transfer as ports: what any kind of source or destination must be able to do.
//!
//! Each kind is a crate of its own. Only the command line depends on one, so nothing else knows how a kind does it.

#![deny(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used))]

pub mod above;
pub mod defaults;
mod destination;
pub mod entry_table;
mod gathered;
mod mirrored;
pub mod problem;
mod room;
pub mod select;
mod source;
pub mod tempo;
mod version;

pub use destination::{
    Basis, Capabilities, Destination, GoesOn, Heard, Hole, InPlace, KEPT_MODE, LargeFile, Left, OWNERS_MODE, OpenDestination, Placed, Seen,
    SmallFile, View, read, take_bytes, zeros,
};
pub use gathered::{Begun, Gathered};
pub use mirrored::{FileId, Found, Removal, Remover, Stop, Tour};
pub use room::Room;
pub use source::{Each, Halted, Listed, Source, SourceFailure, SourceFile};
pub use version::Version;
