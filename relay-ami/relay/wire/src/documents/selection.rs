//! What of the source paths is moved.

use serde::{Deserialize, Serialize};

use super::text::AbsolutePath;

/// Rules and limits of a request. Without any, everything is moved.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Selection {
    /// Lines as in a gitignore file, of paths as they land.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub exclude: Vec<String>,
    /// Likewise. Where there is one, only what matches is moved.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub include: Vec<String>,
    /// Of regular files.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_size_bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_size_bytes: Option<u64>,
    /// Of all but directories: at this moment, nanoseconds since 1970, or later.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub modified_from_ns: Option<i64>,
    /// Before this moment.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub modified_until_ns: Option<i64>,
    /// A file of the source's machine that lists what is moved.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub paths_from: Option<AbsolutePath>,
    /// Directories of other file systems arrive empty.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub one_file_system: bool,
    #[serde(skip_serializing_if = "Links::are_kept")]
    pub links: Links,
}

/// What becomes of symbolic links.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Links {
    /// They arrive as links.
    #[default]
    Keep,
    /// They are left out.
    Skip,
    /// What they lead to arrives in their place, where that lies beneath a source path.
    Follow,
}

impl Links {
    #[allow(clippy::trivially_copy_pass_by_ref, reason = "serde hands over a reference")]
    fn are_kept(&self) -> bool {
        *self == Self::Keep
    }
}

/// Why something below the source paths is not moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reason {
    /// A rule of `exclude` matches it. What a directory holds is not looked at then.
    Excluded,
    /// There are rules of `include`, and none matches it.
    NotIncluded,
    TooSmall,
    TooLarge,
    TooOld,
    TooNew,
    /// It is a symbolic link, and those are left out.
    Link,
    /// It is a link, those are followed, and it leads to nothing beneath a source path.
    LinkOutside,
    /// The same, and there is nothing where it leads.
    LinkDangling,
    /// The same, and it leads to a directory that it lies in, or to itself.
    LinkLoop,
    /// What a directory holds on which another file system is mounted.
    OtherFileSystem,
    /// Sockets, devices, pipes.
    Special,
    /// Partial files of an earlier transfer to here, at the top.
    Leftover,
    /// It vanished while the source was listed.
    Gone,
    /// It cannot be looked at.
    Unreadable,
    /// A key of a bucket that can be no path of a file system, or has others below it.
    NoPath,
    /// An object that would have to be restored first.
    Archived,
}

/// A line of the list of what is not selected, in the order of the listing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Unselected {
    /// As it would land, percent-encoded.
    pub path: String,
    pub reason: Reason,
    /// How many entries of the listing come before it.
    pub before: u64,
}
