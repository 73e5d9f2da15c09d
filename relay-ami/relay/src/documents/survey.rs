//! What a scan prints.

use serde::Serialize;

use super::text::SchemaVersion1;

/// One object of the listing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Part {
    pub key: String,
    pub entries: u64,
    pub bytes: u64,
}

/// Something that makes the transfer impossible; `path` is percent-encoded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Problem {
    pub path: String,
    pub reason: String,
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
        /// Sockets, devices and pipes, which are not moved.
        skipped: u64,
        bytes: u64,
        largest_file_bytes: u64,
        /// Of the disk, by a short trial with the largest file.
        #[serde(rename = "readMBps", skip_serializing_if = "Option::is_none")]
        read_mbps: Option<f64>,
        parts: Vec<Part>,
        problems: Vec<Problem>,
        problem_count: u64,
    },
    Destination {
        schema_version: SchemaVersion1,
        daemon_version: &'static str,
        free_bytes: u64,
        free_inodes: u64,
        /// Of the disk, by a short trial.
        #[serde(rename = "writeMBps", skip_serializing_if = "Option::is_none")]
        write_mbps: Option<f64>,
        problems: Vec<Problem>,
        problem_count: u64,
    },
}
