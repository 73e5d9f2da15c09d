//! The output of a scan.

use std::collections::BTreeMap;

use serde::Serialize;

use super::extras::Spared;
use super::percent;
use super::selection::Reason;
use super::text::SchemaVersion1;

/// Folder of the source's whole listing, below the transfer's prefix.
pub const LISTING_FOLDER: &str = "listing/";

/// Key of an object of the listing, below the transfer's prefix.
#[must_use]
pub fn listing_key(part: u64) -> String {
    part_key(LISTING_FOLDER, part)
}

/// Key of an object of a folder, below the transfer's prefix.
#[must_use]
pub fn part_key(folder: &str, part: u64) -> String {
    format!("{folder}part-{part:05}.ndjson")
}

/// Folder of the list of what was left out.
pub const UNSELECTED_FOLDER: &str = "unselected/";

/// Key of an object of the list of what was left out.
#[must_use]
pub fn unselected_key(part: u64) -> String {
    part_key(UNSELECTED_FOLDER, part)
}

/// Key of an object with the digests of the source's files, for a comparison by them.
#[must_use]
pub fn compare_key(part: u64) -> String {
    part_key("compare/", part)
}

/// Totals of the listing so far: announced after each object, and at the end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Announcement {
    pub schema_version: SchemaVersion1,
    pub daemon_version: &'static str,
    pub files: u64,
    pub directories: u64,
    pub symlinks: u64,
    pub bytes: u64,
    pub largest_file_bytes: u64,
    pub parts: u64,
    /// BLAKE3 of the lines in these objects.
    pub listing_digest: String,
    pub problem_count: u64,
    /// Nothing follows.
    pub complete: bool,
}

// Serde gives a reference.
#[allow(clippy::trivially_copy_pass_by_ref)]
const fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// Something that makes the transfer impossible; `path` is percent-encoded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Problem {
    pub path: String,
    pub reason: String,
}

impl Problem {
    /// Returns the problem of a path as the system has it.
    #[must_use]
    pub fn of(path: &[u8], reason: String) -> Self {
        Self { path: percent::encode(path), reason }
    }
}

/// One way from the root. `names[i]` is looked up in `directories[i]`; names beyond the last directory do not exist yet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Way {
    pub directories: Vec<String>,
    pub names: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "side", rename_all = "lowercase", rename_all_fields = "camelCase")]
pub enum Survey {
    Source {
        schema_version: SchemaVersion1,
        daemon_version: &'static str,
        files: u64,
        directories: u64,
        symlinks: u64,
        /// Sockets, devices, pipes, and partial files of earlier transfers at the top, which are not moved.
        skipped: u64,
        /// How many are not moved, by the reason. An excluded directory is one, whatever it holds.
        #[serde(skip_serializing_if = "BTreeMap::is_empty")]
        unselected: BTreeMap<Reason, u64>,
        /// Objects of their list.
        #[serde(skip_serializing_if = "is_zero")]
        unselected_parts: u64,
        /// Digest of those objects, one after the other: what they name is never removed at a destination.
        #[serde(skip_serializing_if = "Option::is_none")]
        unselected_digest: Option<String>,
        bytes: u64,
        largest_file_bytes: u64,
        /// Rate of the disk, by a short trial with the largest file.
        #[serde(rename = "readMBps", skip_serializing_if = "Option::is_none")]
        read_mb_s: Option<f64>,
        /// Bytes on the wire for a byte of the source, by a sample; only where the transfer may pack.
        #[serde(skip_serializing_if = "Option::is_none")]
        packed_share: Option<f64>,
        /// Objects of the listing: only their number is printed, since SSM keeps 24 000 characters.
        parts: u64,
        /// Digest of those objects, one after the other.
        listing_digest: String,
        problems: Vec<Problem>,
        problem_count: u64,
    },
    Destination {
        schema_version: SchemaVersion1,
        daemon_version: &'static str,
        free_bytes: u64,
        free_inodes: u64,
        /// Something else than partial files is there.
        occupied: bool,
        /// The directory, by every way that leads to it.
        ways: Vec<Way>,
        /// Rate of the disk, by a short trial.
        #[serde(rename = "writeMBps", skip_serializing_if = "Option::is_none")]
        write_mb_s: Option<f64>,
        problems: Vec<Problem>,
        problem_count: u64,
    },
    /// The source's digests for a comparison.
    Digests { schema_version: SchemaVersion1, daemon_version: &'static str, files: u64, bytes: u64 },
    /// The part of the listing that is to be sent, of it in files that are not there (`new_…`); `same_…`: the part that is there already.
    Comparison {
        schema_version: SchemaVersion1,
        daemon_version: &'static str,
        files: u64,
        directories: u64,
        symlinks: u64,
        bytes: u64,
        largest_file_bytes: u64,
        parts: u64,
        same_files: u64,
        same_bytes: u64,
        new_files: u64,
        new_bytes: u64,
    },
    /// What the destination has and the source does not.
    Extras {
        schema_version: SchemaVersion1,
        daemon_version: &'static str,
        /// Names of files of any kind.
        files: u64,
        directories: u64,
        symlinks: u64,
        bytes: u64,
        /// Objects of their list.
        parts: u64,
        /// Digest of those objects, one after the other.
        digest: String,
        /// Which directory was looked at: nothing is removed in another one.
        directory: String,
        /// What else the source does not have, and why that stays.
        #[serde(skip_serializing_if = "BTreeMap::is_empty")]
        spared: BTreeMap<Spared, u64>,
    },
}
