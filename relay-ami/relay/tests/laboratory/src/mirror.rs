//! Extras by hand: what a directory has and its sources do not, listed, and removed where that is asked for.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use crate::by_hand::{failed, in_directory, open};
use crate::options::Options;
use cpt_command_line::CliError;
use cpt_command_line::roles::print_json;
use cpt_ends_posix::{PosixDestination, PosixSource};
use cpt_relay::documents::attributes::Preserve;
use cpt_relay::documents::command::Overwrite;
use cpt_relay::documents::event::Failure;
use cpt_relay::documents::survey::Survey;
use cpt_relay::documents::text::{DirectoryId, HexDigest, LandingPath};
use cpt_relay::mirror::{Confirmed, Extras, MirrorError};
use cpt_relay::select::Selector;
use cpt_relay::survey::scan;

const FOLDER: &str = "extras/1/";

pub fn mirror(options: &Options) -> Result<ExitCode, CliError> {
    let (Some((to, sources)), control) = (options.paths.split_last(), open(options)?) else { return Err(usage()) };
    let (to, sources) = (PosixDestination::new(in_directory(to)?), sources.iter().map(in_directory).collect::<Result<Vec<_>, _>>()?);
    let to = to.keeping(options.keep_replaced.as_ref(), &options.transfer());
    let within: Option<Vec<LandingPath>> = sources.iter().map(|path| top(path)).collect();
    let wrong = |why: String| CliError::failed(Failure::SurveyProblem, why);
    let selector = Selector::new(&options.select).map_err(wrong)?;
    let preserve = Preserve { special_files: true, ..Preserve::default() };
    let source = PosixSource::new(sources).selecting(options.select.clone()).preserving(preserve);
    let Survey::Source { parts, listing_digest, unselected_parts, unselected_digest, problems, .. } =
        scan::source(&source, &control, "", scan::Options::default()).map_err(failed)?
    else {
        return Err(usage());
    };
    if let Some(problem) = problems.first() {
        return Err(wrong(format!("{}: {}", problem.path, problem.reason)));
    }
    let listing = HexDigest::new(listing_digest).map_err(wrong)?;
    let unselected = unselected_digest.map(HexDigest::new).transpose().map_err(wrong)?;
    let extras = Extras {
        control: &control,
        prefix: "",
        listing: (parts, &listing),
        unselected: (unselected_parts, unselected.as_ref()),
        within: within.as_deref(),
        apart: within.as_deref().unwrap_or_default(),
        above: &[],
        selector: &selector,
        preserve,
        folder: FOLDER,
        overwrite: Overwrite::Always,
    };
    let survey = extras.list(&to).map_err(said)?;
    let Survey::Extras { parts, digest, directory, .. } = &survey else { return Err(usage()) };
    if !options.delete || *parts == 0 {
        return print_json(&survey);
    }
    let (digest, directory) = (HexDigest::new(digest).map_err(wrong)?, DirectoryId::new(directory).map_err(wrong)?);
    let (parts, control) = (*parts, &control);
    let removed = |in_the_way| {
        let confirmed = Confirmed {
            control,
            prefix: "",
            folder: FOLDER,
            parts,
            digest: &digest,
            directory: &directory,
            epoch: 1,
            remaining_folder: "remaining/1/",
            in_the_way,
        };
        confirmed.remove(&to).map_err(said)
    };
    // By hand nothing comes in between.
    removed(true)?;
    print_json(&removed(false)?)
}

/// The name that a path without a slash at its end brings.
fn top(path: &Path) -> Option<LandingPath> {
    let is_whole = path.as_os_str().as_bytes().ends_with(b"/");
    PathBuf::from(path).file_name().and_then(OsStr::to_str).filter(|_| !is_whole).and_then(|name| LandingPath::new(name).ok())
}

fn said(error: MirrorError) -> CliError {
    CliError::failed(Failure::DestinationError, error)
}

fn usage() -> CliError {
    CliError::Usage("mirror needs a source and a destination".to_owned())
}
