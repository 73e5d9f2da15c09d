//! A line that a comparison leaves to the last look.

use serde::{Deserialize, Serialize};

use crate::documents::text::HexDigest;
use crate::ends::Version;

/// A line of a comparison: what it found equal, by its number in the listing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct EqualEntry {
    pub entry: u64,
    /// With the next number the version of what was found.
    pub inode: u64,
    pub changed_ns: i64,
    /// Of a file that was compared by its content, which has the modification time that it had there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<HexDigest>,
    /// It is something else than what is listed, and is not to be replaced.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub left_alone: bool,
}

impl EqualEntry {
    #[must_use]
    pub const fn new(entry: u64, version: Version, digest: Option<HexDigest>, left_alone: bool) -> Self {
        let (inode, changed_ns) = version.numbers();
        Self { entry, inode, changed_ns, digest, left_alone }
    }
}
