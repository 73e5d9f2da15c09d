//! The mark of a destination, by which a source's machine knows a directory that both see.

use std::process::ExitCode;

use cpt_ends_hdfs::mark as hdfs;
use cpt_ends_posix as posix;

use super::roles::print_json;
use super::{CliError, Failure, kinds};
use cpt_relay::VERSION;
use cpt_relay::documents::command::{ScanMark, ScanMarked};
use cpt_relay::documents::end::{DestinationEnd, SourceEnd};
use cpt_relay::documents::percent;
use cpt_relay::documents::survey::Survey;
use cpt_relay::documents::text::SchemaVersion1;

/// Puts it there, or takes it away.
pub fn mark(scan: &ScanMark) -> Result<ExitCode, CliError> {
    let name = scan.name.as_str();
    let (path, put) = match &scan.end {
        DestinationEnd::Machine(end) => (&end.path, posix::mark(end.path.as_str().as_bytes(), name, scan.present)),
        DestinationEnd::Hdfs(end) => (
            &end.path,
            hdfs::mark(&kinds::cluster(&end.user, Failure::DestinationError)?, end.path.as_str().as_bytes(), name, scan.present),
        ),
        DestinationEnd::Bucket(_) => return Err(CliError::Usage("end.kind is bucket, which has no directories for marks".to_owned())),
    };
    put.map_err(|error| CliError::failed(Failure::DestinationError, format!("{path}: {error}")))?;
    print_json(&Survey::Mark { schema_version: SchemaVersion1, daemon_version: VERSION, present: scan.present })
}

/// Looks for it.
pub fn marked(scan: &ScanMarked) -> Result<ExitCode, CliError> {
    let cluster = if let SourceEnd::Hdfs(end) = &scan.end { Some(kinds::cluster(&end.user, Failure::SurveyProblem)?) } else { None };
    let look = |path: &[u8], name: &str| match &cluster {
        Some(cluster) => hdfs::is_marked(cluster, path, name),
        None => posix::is_marked(path, name),
    };
    let mut seen = false;
    for directory in &scan.directories {
        let failed = |why| CliError::failed(Failure::SurveyProblem, format!("{directory}: {why}"));
        let path = percent::decode(directory).map_err(failed)?;
        seen |= look(&path, scan.name.as_str()).map_err(|error| failed(error.to_string()))?;
    }
    print_json(&Survey::Marked { schema_version: SchemaVersion1, daemon_version: VERSION, seen })
}
