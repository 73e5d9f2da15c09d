//! What a sender asks for once all has been sent.

use super::beside::{Beside, Here};
use crate::digest::Digest;
use crate::transport::stream::Replies;

/// The sender's statement about the whole.
pub struct Claim {
    pub complete: bool,
    /// Entries that it has left out.
    pub skipped: u64,
    /// The number of digests that it has uploaded, and the digest of them all.
    pub entries: u64,
    pub tree: Digest,
}

/// A lane on which a sender waits for an answer.
#[derive(Clone, Copy)]
pub struct Asked<'a> {
    pub replies: &'a Replies,
    /// None where the transfer has one sender and one receiver.
    pub beside: Option<&'a Beside>,
    pub here: Option<&'a Here<'a>>,
}
