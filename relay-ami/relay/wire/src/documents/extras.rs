//! What a destination has and the source does not.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::entry::Kind;
use super::percent;
use super::text::SchemaVersion1;

/// An entry of the destination that the source does not have; a directory follows what it holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Extra {
    /// Below the destination, percent-encoded.
    pub path: String,
    pub kind: Kind,
    /// Bytes of a file, length of a link's target; 0 of others.
    pub size: u64,
    /// Nanoseconds since 1970. A directory's changes with what it holds, and it is removed only when it is empty: so it has none here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mtime_ns: Option<i64>,
    /// The source has something of another kind there: this goes before that comes.
    #[serde(default, skip_serializing_if = "is_false")]
    pub in_the_way: bool,
}

// Serde gives a reference.
#[allow(clippy::trivially_copy_pass_by_ref)]
pub(super) const fn is_false(flag: &bool) -> bool {
    !*flag
}

impl Extra {
    /// Reads one line; the refusal names the field.
    pub fn parse(line: &[u8]) -> Result<Self, String> {
        let extra: Self = serde_json::from_slice(line).map_err(|error| error.to_string())?;
        if percent::decode(&extra.path).map_err(|why| format!("path: {why}"))?.is_empty() {
            return Err("path is empty; it must name something below the destination".to_owned());
        }
        match (extra.kind, extra.mtime_ns) {
            (Kind::Hardlink, _) => Err("kind is hardlink; each name of a file is a file here".to_owned()),
            (Kind::Directory, Some(time)) => Err(format!("mtimeNs is {time}; a directory has none here")),
            (Kind::File | Kind::Symlink | Kind::Special, None) => Err("mtimeNs is missing".to_owned()),
            _ => Ok(extra),
        }
    }
}

/// A source path of whose mirror more than half would go, or that has nothing, as where its disk is not mounted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Mostly {
    /// Its name at the top of the destination, percent-encoded; empty: all that paths with a slash at their end bring there.
    pub path: String,
    /// What would go, of what is there.
    pub entries: u64,
    pub of_entries: u64,
    pub bytes: u64,
    pub of_bytes: u64,
    /// The source has nothing there, but for a file that keeps a mount point, say.
    #[serde(skip_serializing_if = "is_false")]
    pub empty: bool,
}

/// Why something that the source does not have is not among the extras. What holds one of these is not either.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Spared {
    /// A rule of the request leaves it out, at the source or here.
    NotSelected,
    /// Another file system, or another directory of this one, is mounted there.
    OtherFileSystem,
    /// Partial files of a transfer that may be resumed.
    Partial,
    /// The daemon's own directory.
    Own,
    /// What this transfer and earlier ones have replaced or removed.
    Kept,
    /// A pipe, socket or device, where those are not moved.
    Special,
    /// The file system finds it by a name that the source has and its directory does not: it is what the source has.
    OtherSpelling,
    /// What it is or holds cannot be seen, here or at the source.
    Unreadable,
}

/// Why an extra was not removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stayed {
    /// It is not what was listed any more.
    Changed,
    /// The directory holds something.
    NotEmpty,
    /// The system refused it.
    Refused,
}

/// A line of the list of extras that were not removed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Remaining {
    /// As in the list of extras.
    pub path: String,
    pub reason: Stayed,
    /// What the system said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// The output of a deletion.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Deletion {
    pub schema_version: SchemaVersion1,
    pub daemon_version: &'static str,
    /// Extras that are gone, whoever has removed them.
    pub entries: u64,
    /// Of these, those that an earlier attempt or somebody else has removed.
    pub gone: u64,
    /// Sizes of the files among the gone ones, as listed.
    pub bytes: u64,
    /// How many are still there, by the reason.
    pub remaining: BTreeMap<Stayed, u64>,
    /// Objects of their list.
    pub remaining_parts: u64,
    /// How many entries are kept in all of what the transfer has replaced or removed, where that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kept: Option<u64>,
}
