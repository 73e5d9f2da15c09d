//! Shared file systems as they are: caches that are old, answers that are lost, locks that are not there, clients that hang.

pub mod client;
mod itself;
mod lost_answers;
mod untrue;
