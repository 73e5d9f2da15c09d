//! The two ends of a transfer as ports: what any kind of source or destination must be able to do.
//!
//! Each kind is a folder, here the directory tree of a machine. Nothing outside of this module knows how a kind does it, and
//! only the command line chooses one.

mod destination;
mod mirrored;
pub mod posix;
pub mod problem;
mod source;

pub use destination::{
    Basis, Capabilities, Destination, Heard, Hole, Identity, KEPT_MODE, LargeFile, Left, OWNERS_MODE, OpenDestination, Placed, Seen,
    SmallFile, View, read, take_bytes, zeros,
};
pub use mirrored::{FileId, Found, Removal, Remover, Stop, Tour};
pub use source::{Each, Listed, Source, SourceFailure, SourceFile};
