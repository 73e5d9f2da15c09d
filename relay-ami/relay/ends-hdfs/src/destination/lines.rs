//! Lines of notes, and what they add up to.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use serde::{Deserialize, Serialize};

use cpt_ends::entry_table::EntryTable;
use cpt_ends::{Placed, Version};
use cpt_wire::frame::{Frame, HEADER_BYTES, SegmentHeader};

/// One line.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Line {
    Placed {
        entry: u64,
        digest: String,
        version: Option<String>,
    },
    /// It is not in its place any more.
    Forgotten {
        entry: u64,
    },
}

impl Line {
    pub fn placed(entry: u64, placed: &Placed) -> Self {
        let version = placed.version.map(|version| STANDARD_NO_PAD.encode(version.bytes()));
        Self::Placed { entry, digest: STANDARD_NO_PAD.encode(placed.digest), version }
    }
}

fn bytes_of<const N: usize>(text: &str) -> Option<[u8; N]> {
    STANDARD_NO_PAD.decode(text).ok()?.try_into().ok()
}

/// A header as text.
pub fn encode(header: &SegmentHeader) -> String {
    let mut frame = Vec::new();
    Frame::Segment(header.clone()).encode(&mut frame);
    STANDARD_NO_PAD.encode(frame)
}

/// A header that was encoded.
pub fn decode(text: &str) -> Option<SegmentHeader> {
    let frame = STANDARD_NO_PAD.decode(text).ok()?;
    match Frame::decode(*frame.first()?, frame.get(HEADER_BYTES..)?) {
        Ok(Frame::Segment(header)) => Some(header),
        _ => None,
    }
}

/// What earlier receivers of a plan have noted.
#[derive(Default)]
pub struct Known {
    pub placed: EntryTable<Placed>,
}

impl Known {
    pub fn note(&mut self, line: Line) {
        match line {
            Line::Placed { entry, digest, version } => {
                let Some(digest) = bytes_of(&digest) else { return };
                let version = version.as_deref().and_then(bytes_of).map(Version::new);
                self.placed.insert(entry, &Placed { digest, version });
            }
            Line::Forgotten { entry } => {
                self.placed.remove(entry);
            }
        }
    }
}
