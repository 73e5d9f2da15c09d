//! The output of a scan.

use std::collections::BTreeMap;

use serde::Serialize;

use super::extras::{Mostly, Spared};
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
    /// The same without the holes of files whose holes are kept.
    pub stored_bytes: u64,
    /// Files of `files` that are further names of others, which need no inode.
    pub further_names: u64,
    pub largest_file_bytes: u64,
    pub parts: u64,
    /// BLAKE3 of the lines in these objects.
    pub listing_digest: String,
    pub problem_count: u64,
    /// Nothing follows.
    pub complete: bool,
    /// As in the survey.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kernel: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub places: Vec<Place>,
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
    /// When each directory was made, nanoseconds since 1970; 0 where the file system does not say. With the inode it tells a directory
    /// that two machines see from others.
    pub births: Vec<i64>,
    #[serde(rename = "fileSystem", skip_serializing_if = "Option::is_none")]
    pub file_system: Option<FileSystem>,
}

/// What a path is on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FileSystem {
    /// As the system calls it, `ext4` say.
    pub kind: String,
    /// What it is mounted at, percent-encoded.
    pub mount_point: String,
    /// UUID of the disk, or the server's or pool's own name for what is mounted, percent-encoded; none where there is no such thing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The path as its server names it, percent-encoded; none of a file system without a server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub location: Option<String>,
}

/// Where a path of the source is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Place {
    /// As in the request, percent-encoded.
    pub path: String,
    pub ways: Vec<Way>,
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
        /// Extended attributes that the request speaks of and that are not kept, percent-encoded, and how many entries have them.
        #[serde(skip_serializing_if = "BTreeMap::is_empty")]
        unkept: BTreeMap<String, u64>,
        /// Objects of their list.
        #[serde(skip_serializing_if = "is_zero")]
        unselected_parts: u64,
        /// Digest of those objects, one after the other: what they name is never removed at a destination.
        #[serde(skip_serializing_if = "Option::is_none")]
        unselected_digest: Option<String>,
        bytes: u64,
        /// The same without the holes of files whose holes are kept.
        stored_bytes: u64,
        /// Files of `files` that are further names of others, which need no inode.
        further_names: u64,
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
        /// Which kernel says so: what the same one says of directories can be compared as it is.
        #[serde(skip_serializing_if = "Option::is_none")]
        kernel: Option<String>,
        /// Where the paths are, of the first ones.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        places: Vec<Place>,
        problems: Vec<Problem>,
        problem_count: u64,
    },
    Destination {
        schema_version: SchemaVersion1,
        daemon_version: &'static str,
        free_bytes: u64,
        free_inodes: u64,
        /// The directory, percent-encoded, whose quota leaves so many bytes or inodes and no more.
        #[serde(skip_serializing_if = "Option::is_none")]
        bytes_quota_of: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        inodes_quota_of: Option<String>,
        /// Something else than partial files is there.
        occupied: bool,
        /// The directory, by every way that leads to it.
        ways: Vec<Way>,
        /// As of the source.
        #[serde(skip_serializing_if = "Option::is_none")]
        kernel: Option<String>,
        /// Rate of the disk, by a short trial.
        #[serde(rename = "writeMBps", skip_serializing_if = "Option::is_none")]
        write_mb_s: Option<f64>,
        problems: Vec<Problem>,
        problem_count: u64,
    },
    /// Whether the destination's mark is there now.
    Mark { schema_version: SchemaVersion1, daemon_version: &'static str, present: bool },
    /// Whether the source's machine sees it.
    Marked { schema_version: SchemaVersion1, daemon_version: &'static str, seen: bool },
    /// The source's digests for a comparison.
    Digests { schema_version: SchemaVersion1, daemon_version: &'static str, files: u64, bytes: u64 },
    /// The part of the listing that is to be sent, of it in files that are not there (`new_…`); `same_…`: the part that is there already;
    /// `left_alone_…`: the part in whose place there is something else that is not to be replaced.
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
        /// Files and links.
        #[serde(skip_serializing_if = "is_zero")]
        left_alone_entries: u64,
        /// Sizes of those files at the source.
        #[serde(skip_serializing_if = "is_zero")]
        left_alone_bytes: u64,
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
        /// Of all of these, how many are in the way of what the source has, and go first.
        #[serde(skip_serializing_if = "is_zero")]
        in_the_way: u64,
        /// Source paths of whose mirror more than half would go, or that have nothing.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        mostly: Vec<Mostly>,
    },
}
