//! What is kept of a chunk that has gone out, and of an entry that is left out.

use serde::{Deserialize, Serialize};

use crate::digest::Digest;
use crate::documents::entry::{Kind, Segment};
use crate::documents::event::SkipReason;
use crate::ends::Version;

/// Longest message that is kept of one entry, in characters.
const MESSAGE_CHARACTERS: usize = 300;

/// Digests that count once the chunk is acknowledged.
#[derive(Clone, Debug)]
pub enum Sent {
    /// One part of a large file: entry, size of the file, offset, state of the file that was read, chaining value.
    Part { entry: u64, size: u64, offset: u64, state: Version, digest: Digest },
    /// Whole files, links and directories by entry.
    Whole(Vec<(u64, Digest)>),
}

/// An entry that is left out, as senders note it for those that come after them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftOut {
    pub entry: u64,
    pub kind: Kind,
    /// Of a file, as the listing has it.
    pub bytes: u64,
    /// It has further names.
    pub linked: bool,
    /// At the destination, percent-encoded; empty where memory for it is used up.
    pub path: String,
    pub reason: SkipReason,
    pub message: String,
}

impl LeftOut {
    /// `message` may begin with the source's path, which is told beside it.
    pub fn of(segment: &Segment, reason: SkipReason, message: &str) -> Self {
        let message = message.strip_prefix(segment.source.as_str()).and_then(|rest| rest.strip_prefix(": ")).unwrap_or(message);
        Self {
            entry: segment.entry,
            kind: segment.kind,
            bytes: if segment.kind == Kind::File { segment.size } else { 0 },
            linked: segment.attributes.as_ref().is_some_and(|attributes| attributes.linked),
            path: segment.path.clone(),
            reason,
            message: message.chars().take(MESSAGE_CHARACTERS).collect(),
        }
    }
}
