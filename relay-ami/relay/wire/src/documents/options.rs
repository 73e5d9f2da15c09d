//! What a person may choose of a transfer, in a word each.

use serde::{Deserialize, Serialize};

/// The receiver's check before a chunk counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Verify {
    /// The digest of what came.
    #[default]
    Digest,
    /// That, and the digest of what the disk gives back after the sync.
    Readback,
}

/// Whether data goes out packed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Compress {
    /// As it is.
    #[default]
    Never,
    /// Where that takes less time.
    Auto,
}

/// The condition on which a file at the destination is the same as the source's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Compare {
    /// With the same size and modification time.
    SizeTime,
    /// With the same content.
    Digest,
}

/// Which files and links of the destination are replaced by others of the source.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Overwrite {
    #[default]
    Always,
    /// Files whose modification time at the destination is an earlier one; all else as with `Always`.
    IfNewer,
    /// None.
    Never,
}
