//! Lines of notes, and what they add up to.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use serde::{Deserialize, Serialize};

use cpt_ends::entry_table::EntryTable;
use cpt_ends::{Placed, Version};
use cpt_wire::digest::Digest;
use cpt_wire::frame::SegmentHeader;
use cpt_wire::header_text::{decode, encode};

use crate::checksum::Crc;
use crate::uploads::{StoredPart, Upload};

/// One line.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Line {
    /// The first one: of which plan, and what counts of the generation before.
    Opened {
        of: String,
        after: Option<After>,
    },
    Upload {
        entry: u64,
        key: String,
        size: u64,
        id: String,
        /// What it is to become, for the receiver that completes it, where that may be another one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        header: Option<String>,
    },
    Part {
        entry: u64,
        part: u64,
        etag: String,
        crc: String,
        length: u64,
        digest: String,
    },
    /// No part of it counts.
    PartsForgotten {
        entry: u64,
    },
    /// Its upload was completed or aborted.
    UploadOver {
        entry: u64,
    },
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
    pub fn part(entry: u64, part: u64, stored: &StoredPart, digest: &Digest) -> Self {
        let (etag, crc, length) = (stored.etag.clone(), stored.crc.text(), stored.crc.length());
        Self::Part { entry, part, etag, crc, length, digest: STANDARD_NO_PAD.encode(digest) }
    }

    /// An upload of parts that also other receivers send.
    pub fn shared_upload(header: &SegmentHeader, upload: &Upload) -> Self {
        let Upload { key, id } = upload.clone();
        Self::Upload { entry: header.entry, key, size: header.size, id, header: Some(encode(header)) }
    }

    pub fn placed(entry: u64, placed: &Placed) -> Self {
        let version = placed.version.map(|version| STANDARD_NO_PAD.encode(version.bytes()));
        Self::Placed { entry, digest: STANDARD_NO_PAD.encode(placed.digest), version }
    }
}

fn bytes_of<const N: usize>(text: &str) -> Option<[u8; N]> {
    STANDARD_NO_PAD.decode(text).ok()?.try_into().ok()
}

/// How much counts of a generation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct After {
    pub generation: u64,
    pub objects: u64,
    /// Of the last one.
    pub bytes: usize,
}

/// An upload of which parts may be there.
#[derive(Clone, Debug)]
pub struct Begun {
    pub upload: Upload,
    pub size: u64,
    /// Where several receivers write.
    pub header: Option<SegmentHeader>,
    pub parts: BTreeMap<u64, (StoredPart, Digest)>,
}

/// What earlier receivers of a plan have noted.
#[derive(Default)]
pub struct Known {
    pub placed: EntryTable<Placed>,
    pub begun: BTreeMap<u64, Begun>,
}

impl Known {
    pub fn note(&mut self, line: Line) {
        match line {
            Line::Opened { .. } => {}
            Line::Upload { entry, key, size, id, header } => {
                let header = header.as_deref().and_then(decode);
                self.begun.insert(entry, Begun { upload: Upload { key, id }, size, header, parts: BTreeMap::new() });
            }
            Line::Part { entry, part, etag, crc, length, digest } => {
                let read = Crc::parse(&crc, length).zip(bytes_of(&digest));
                if let (Some(begun), Some((crc, digest))) = (self.begun.get_mut(&entry), read) {
                    begun.parts.insert(part, (StoredPart { etag, crc }, digest));
                }
            }
            Line::PartsForgotten { entry } => {
                if let Some(begun) = self.begun.get_mut(&entry) {
                    begun.parts.clear();
                }
            }
            Line::UploadOver { entry } => drop(self.begun.remove(&entry)),
            Line::Placed { entry, digest, version } => {
                if let Some(digest) = bytes_of(&digest) {
                    let version = version.and_then(|version| bytes_of(&version)).map(Version::new);
                    self.placed.insert(entry, &Placed { digest, version });
                }
            }
            Line::Forgotten { entry } => drop(self.placed.remove(entry)),
        }
    }
}
