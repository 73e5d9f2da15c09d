//! What the tests of both ends are made of.

pub mod control;
pub mod stream;
