//! What a process gives up before it works: paths, and the rights of another user.

use std::path::Path;
use std::process::ExitCode;

use cpt_ends_posix as posix;
use cpt_relay::documents::command::{self, Command};
use cpt_relay::documents::end::{DestinationEnd, HdfsDestination, MachineDestination, SourceEnd};
use cpt_relay::survey::scan;

use super::roles::print_json;
use super::{CliError, Failure, allowed_paths, hdfs_token, run_as};

/// Gives up whatever the command does not need: paths that the owner of the machine keeps back, and the rights of another user.
pub fn begin(command: &Command) -> Result<(), String> {
    allowed_paths::enforce(command).map_err(|error| error.to_string())?;
    run_as::assume(command).map_err(|why| why.to_string())
}

/// The same for what works: before it becomes another user it has a token of the HDFS that asks for one.
pub fn begin_with_token(file: &Path, command: &Command) -> Result<Option<hdfs_token::Kept>, String> {
    allowed_paths::enforce(command).map_err(|error| error.to_string())?;
    let token = hdfs_token::fetch(file, command)?;
    run_as::assume(command).map_err(|why| why.to_string())?;
    Ok(token)
}

/// A survey tells why its end cannot be looked at; of all else it is the process' own failure.
pub fn refused(command: Command, why: String) -> Result<ExitCode, CliError> {
    match command {
        Command::ScanSource(command::ScanSource { end: SourceEnd::Machine(end), .. }) => {
            print_json(&scan::refused_source(end.paths[0].path().as_str().as_ref(), why))
        }
        Command::ScanSource(command::ScanSource { end: SourceEnd::Hdfs(end), .. }) => {
            print_json(&scan::refused_source(end.paths[0].path().as_str().as_ref(), why))
        }
        Command::ScanDestination(command::ScanDestination { end: DestinationEnd::Machine(MachineDestination { path, .. }), .. })
        | Command::ScanDestination(command::ScanDestination { end: DestinationEnd::Hdfs(HdfsDestination { path, .. }), .. }) => {
            print_json(&posix::refused(path.as_str().as_ref(), why).survey())
        }
        _ => Err(CliError::failed(Failure::RunAs, why)),
    }
}
