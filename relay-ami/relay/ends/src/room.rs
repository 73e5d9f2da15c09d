//! The room at a destination.

use cpt_wire::VERSION;
use cpt_wire::documents::survey::{Problem, Survey, Way};
use cpt_wire::documents::text::SchemaVersion1;

/// What a destination can take, and what keeps it from taking anything.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Room {
    /// Free bytes; none without a limit.
    pub bytes: Option<u64>,
    /// Entries that can be made, where their number is limited.
    pub entries: Option<u64>,
    /// The directory, percent-encoded, whose quota leaves no more bytes or entries than these; none where no quota decides.
    pub bytes_quota_of: Option<String>,
    pub entries_quota_of: Option<String>,
    /// Something else than partial files is there.
    pub occupied: bool,
    /// Where it is on its machine, and the kernel that says so.
    pub ways: Vec<Way>,
    pub kernel: Option<String>,
    /// MB/s of writing, by a short trial.
    pub write_mb_s: Option<f64>,
    pub problem: Option<Problem>,
}

impl Room {
    /// The document that tells it.
    #[must_use]
    pub fn survey(self) -> Survey {
        let Self { bytes, entries, bytes_quota_of, entries_quota_of, occupied, ways, kernel, write_mb_s, problem } = self;
        let limit = |limit: Option<u64>| limit.unwrap_or(i64::MAX as u64);
        Survey::Destination {
            schema_version: SchemaVersion1,
            daemon_version: VERSION,
            free_bytes: limit(bytes),
            free_inodes: limit(entries),
            bytes_quota_of,
            inodes_quota_of: entries_quota_of,
            occupied,
            ways,
            kernel,
            write_mb_s,
            problem_count: u64::from(problem.is_some()),
            problems: problem.into_iter().collect(),
        }
    }
}
