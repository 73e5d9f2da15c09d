//! Lines of notes, and what they add up to.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use serde::{Deserialize, Serialize};

use cpt_ends::entry_table::EntryTable;
use cpt_ends::{Placed, Version};

use crate::checksum::OfEntry;

/// One line.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Line {
    Placed {
        entry: u64,
        digest: String,
        version: Option<String>,
        /// CRC-32C of a file's bytes, where that is known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        crc32c: Option<u32>,
    },
    /// It is not in its place any more.
    Forgotten { entry: u64 },
}

impl Line {
    pub fn placed(entry: u64, placed: &Placed, sum: Option<OfEntry>) -> Self {
        let version = placed.version.map(|version| STANDARD_NO_PAD.encode(version.bytes()));
        Self::Placed { entry, digest: STANDARD_NO_PAD.encode(placed.digest), version, crc32c: sum.map(|OfEntry(crc)| crc) }
    }
}

fn bytes_of<const N: usize>(text: &str) -> Option<[u8; N]> {
    STANDARD_NO_PAD.decode(text).ok()?.try_into().ok()
}

/// What earlier receivers of a plan have noted.
#[derive(Default)]
pub struct Known {
    pub placed: EntryTable<Placed>,
    /// CRC-32C of files among these.
    pub sums: EntryTable<OfEntry>,
}

impl Known {
    pub fn note(&mut self, line: Line) {
        match line {
            Line::Placed { entry, digest, version, crc32c } => {
                let Some(digest) = bytes_of(&digest) else { return };
                let version = version.as_deref().and_then(bytes_of).map(Version::new);
                self.placed.insert(entry, &Placed { digest, version });
                self.sums.remove(entry);
                crc32c.iter().for_each(|crc| self.sums.insert(entry, &OfEntry(*crc)));
            }
            Line::Forgotten { entry } => {
                self.placed.remove(entry);
                self.sums.remove(entry);
            }
        }
    }
}
