//! What a person may choose of a transfer, in a word each.

use serde::{Deserialize, Serialize};

use super::text::{AbsolutePath, LandingPath};
use crate::digest::Proof;

/// The receiver's check before a chunk counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Verify {
    /// The digest of what came.
    #[default]
    Digest,
    /// That, and the digest of what the disk gives back after the sync.
    Readback,
    /// A checksum of what came, which costs less and proves less.
    Crc64,
}

impl Verify {
    /// What the files of the transfer are digested with, at both ends.
    #[must_use]
    pub const fn proof(self) -> Proof {
        match self {
            Self::Digest | Self::Readback => Proof::Blake3,
            Self::Crc64 => Proof::Crc64,
        }
    }
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

/// A source path, and under which path it arrives where that is not its own name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum SourcePath {
    Own(AbsolutePath),
    As(NamedPath),
}

/// What is at `path` arrives as `as`; with a slash at its end what it holds arrives in there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NamedPath {
    pub path: AbsolutePath,
    #[serde(rename = "as")]
    pub lands_as: LandingPath,
}

impl SourcePath {
    #[must_use]
    pub const fn path(&self) -> &AbsolutePath {
        match self {
            Self::Own(path) | Self::As(NamedPath { path, .. }) => path,
        }
    }

    #[must_use]
    pub const fn lands_as(&self) -> Option<&LandingPath> {
        match self {
            Self::Own(_) => None,
            Self::As(NamedPath { lands_as, .. }) => Some(lands_as),
        }
    }
}
