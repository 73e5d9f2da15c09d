//! The data plane of Cloud Parallel Transfer. `wire` and `documents` are what crosses a border, `control` is the control
//! plane behind one trait, `secure` is TLS; `send`, `relay` and `receive` are the three ends of a stream.

#![deny(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used))]

#[cfg(test)]
mod builders;
pub mod defaults;
pub mod epoch;
pub mod look;
pub mod machine;
pub mod mirror;
mod objects;
pub mod probe;
pub mod progress;
pub mod receive;
pub mod relay;
pub mod send;
pub mod sockets;
pub mod survey;
pub mod transport;
pub mod under_way;

pub use cpt_control as control;
pub use cpt_ends::{self as ends, entry_table, select};
use cpt_ends::{above, tempo};
pub use cpt_process::{stop, thread};
pub use cpt_record::{self as secure, deadline, rate};
pub use cpt_wire::{self as wire, VERSION, digest, documents};
