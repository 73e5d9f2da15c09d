//! What there is to send: listed, sampled, and compared with the destination.

pub mod compare;
mod sample;
pub mod scan;
