//! What makes a destination hold nothing that the source does not have.

use std::process::ExitCode;

use super::roles::{control_error, print_json};
use super::{CliError, Failure};
use cpt_relay::control::Control;
use cpt_relay::documents::command::{Delete, ScanExtras};
use cpt_relay::ends::Destination;
use cpt_relay::mirror::{Confirmed, Extras, MirrorError};
use cpt_relay::select::Selector;

/// Lists the extras.
pub fn scan_extras(scan: &ScanExtras, destination: &dyn Destination, control: &dyn Control) -> Result<ExitCode, CliError> {
    let selector = Selector::new(&scan.select).map_err(|why| CliError::failed(Failure::SurveyProblem, why))?;
    let preserve = scan.end.preserve();
    let extras = Extras {
        control,
        prefix: &scan.control.prefix,
        listing: (scan.parts, &scan.listing_digest),
        unselected: (scan.unselected_parts, scan.unselected_digest.as_ref()),
        within: scan.within.as_deref(),
        apart: &scan.apart,
        above: &scan.above,
        selector: &selector,
        preserve,
        folder: &scan.folder,
        overwrite: scan.overwrite,
    };
    print_json(&extras.list(destination).map_err(|error| failed(destination, error))?)
}

/// Removes the extras that were listed.
pub fn delete(delete: &Delete, destination: &dyn Destination, control: &dyn Control) -> Result<ExitCode, CliError> {
    let confirmed = Confirmed {
        control,
        prefix: &delete.control.prefix,
        folder: &delete.folder,
        parts: delete.parts,
        digest: &delete.digest,
        directory: &delete.directory,
        epoch: delete.epoch,
        remaining_folder: &delete.remaining_folder,
        in_the_way: delete.in_the_way,
    };
    print_json(&confirmed.remove(destination).map_err(|error| failed(destination, error))?)
}

fn failed(destination: &dyn Destination, error: MirrorError) -> CliError {
    match error {
        MirrorError::Control(error) => control_error(error),
        MirrorError::Destination(error) => CliError::failed(Failure::DestinationError, format!("{destination}: {error}")),
        MirrorError::Void => CliError::Fenced,
    }
}
