//! A chunk that has come whole.

use std::sync::Arc;

use crate::control::{Delivery, unix_now};
use crate::defaults::ENTRY_MEMORY;
use crate::digest::{Digest, to_hex};
use crate::documents::entry::Kind;
use crate::documents::text::HexDigest;
use crate::ends::SmallFile;
use crate::receive::files::Part;
use crate::transport::stream::Replies;
use crate::under_way::Call;
use crate::wire::frame::SegmentHeader;

/// The content of a chunk. A whole file that is dropped leaves nothing; a part's bytes are overwritten by the next attempt.
pub enum Landed {
    /// A part of a large file and its chaining value.
    Part(Part, Digest),
    /// A whole file or link.
    Whole {
        entry: u64,
        kind: Kind,
        file: Box<dyn SmallFile>,
        path: Vec<u8>,
        digest: Digest,
    },
    Directory {
        header: SegmentHeader,
        digest: Digest,
    },
}

/// A chunk whose digest is the sender's.
pub struct Verified {
    pub chunk: u64,
    pub attempt: u32,
    pub digest: Digest,
    pub landed: Vec<Landed>,
    pub bytes: u64,
    /// Bytes of memory that its entries take, about.
    pub memory: usize,
    pub path: Arc<str>,
    pub lane: u32,
    pub started_at: f64,
    /// Failed syncs when it began.
    pub failures_at_start: u64,
    pub replies: Arc<Replies>,
}

impl Landed {
    pub fn entry(&self) -> u64 {
        match self {
            Self::Part(part, _) => part.file.entry(),
            Self::Whole { entry, .. } => *entry,
            Self::Directory { header, .. } => header.entry,
        }
    }

    /// Where it lands.
    pub fn path(&self) -> &[u8] {
        match self {
            Self::Part(part, _) => part.file.path(),
            Self::Whole { path, .. } => path,
            Self::Directory { header, .. } => &header.path,
        }
    }
}

impl Verified {
    /// What the table is told of it.
    pub fn delivery(&self) -> Option<Delivery> {
        Some(Delivery {
            chunk: self.chunk,
            attempt: self.attempt,
            digest: HexDigest::new(to_hex(&self.digest)).ok()?,
            path_id: self.path.to_string(),
            lane: self.lane,
            started_at: self.started_at,
            delivered_at: unix_now(),
        })
    }
}

/// Bytes of memory that an entry takes from its header until it is acknowledged, about.
pub const fn memory_of(header: &SegmentHeader) -> usize {
    ENTRY_MEMORY + header.path.len() + header.target.len() + header.attributes.len()
}

/// What has landed goes again. Each file that is removed is a call.
pub fn let_go(landed: &mut Vec<Landed>, call: &Call) {
    for item in landed.drain(..) {
        drop(item);
        call.goes_on();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_memory_of_an_entry_is_that_of_its_attributes_too() {
        let header = |attributes: Vec<u8>| SegmentHeader {
            entry: 0,
            kind: Kind::File,
            mode: 0,
            mtime_ns: 0,
            size: 0,
            offset: 0,
            length: 0,
            path: b"file".to_vec(),
            target: Vec::new(),
            attributes,
        };
        assert_eq!(memory_of(&header(Vec::new())), ENTRY_MEMORY + 4);
        assert_eq!(memory_of(&header(vec![b' '; 48 << 10])), ENTRY_MEMORY + 4 + (48 << 10));
    }
}
