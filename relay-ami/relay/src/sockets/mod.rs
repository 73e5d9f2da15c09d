//! TCP sockets: taken, dialled, tuned, and joined.

pub mod acceptor;
pub mod net;
pub(crate) mod socket_options;
pub mod splice;
