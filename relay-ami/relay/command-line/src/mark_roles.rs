//! The mark of a destination, by which a source's machine knows a directory that both see.

use std::io;
use std::process::ExitCode;

use super::roles::print_json;
use super::{CliError, Failure};
use cpt_relay::VERSION;
use cpt_relay::documents::command::{ScanMark, ScanMarked};
use cpt_relay::documents::end::{DestinationEnd, MachineDestination};
use cpt_relay::documents::percent;
use cpt_relay::documents::survey::Survey;
use cpt_relay::documents::text::SchemaVersion1;

/// Puts a mark into a directory, or takes it away: its path, the mark's name, and whether it is to be there.
type Put = fn(&[u8], &str, bool) -> io::Result<()>;
/// Looks whether a directory has a mark.
type Look = fn(&[u8], &str) -> io::Result<bool>;

/// Puts it there, or takes it away.
pub fn mark(scan: &ScanMark, put: Put) -> Result<ExitCode, CliError> {
    let DestinationEnd::Machine(MachineDestination { path, .. }) = &scan.end else {
        return Err(CliError::Usage("end.kind is bucket; machines put marks into directories only".to_owned()));
    };
    let failed = |error| CliError::failed(Failure::DestinationError, format!("{path}: {error}"));
    put(path.as_str().as_bytes(), scan.name.as_str(), scan.present).map_err(failed)?;
    print_json(&Survey::Mark { schema_version: SchemaVersion1, daemon_version: VERSION, present: scan.present })
}

/// Looks for it.
pub fn marked(scan: &ScanMarked, look: Look) -> Result<ExitCode, CliError> {
    let mut seen = false;
    for directory in &scan.directories {
        let failed = |why| CliError::failed(Failure::SurveyProblem, format!("{directory}: {why}"));
        let path = percent::decode(directory).map_err(failed)?;
        seen |= look(&path, scan.name.as_str()).map_err(|error| failed(error.to_string()))?;
    }
    print_json(&Survey::Marked { schema_version: SchemaVersion1, daemon_version: VERSION, seen })
}
