//! The command line: one verb per role. `--command FILE` is how the control plane calls, the other options are for use by hand.

mod by_hand;
mod last_words;
mod options;
mod roles;
mod run_as;

use std::ffi::OsString;
use std::process::ExitCode;

use options::Options;

use crate::documents::event::Failure;

pub const USAGE: &str = "\
cpt-relay: the data plane of Cloud Parallel Transfer

As the control plane calls it (FILE holds a relay-command document):
  cpt-relay scan|probe            --command FILE
  cpt-relay receive|send|relay    --command FILE [--ready FILE]
  cpt-relay make-destination      --command FILE
  cpt-relay await-ready FILE      [--seconds N]

By hand, with a directory that both ends see in place of the control plane:
  cpt-relay scan                  PATH...
  cpt-relay plan    --control-dir DIR [--transfer ID] [--chunk-mib N] [--lanes N] PATH...
  cpt-relay receive --control-dir DIR [--transfer ID] [--listen IP:PORT]... [--verify digest|readback] DESTINATION
  cpt-relay send    --control-dir DIR [--transfer ID] [--lanes N] [--direct] [--via IP:PORT,IP:PORT]... [--rate-mbps N] [--attempts N] [--patience SECONDS]
                    [--route-key FILE]
  cpt-relay relay   --control-dir DIR [--transfer ID] [--listen IP:PORT]... [--idle-seconds N]
  cpt-relay probe   --listen IP:PORT... | --connect IP:PORT  [--seconds N]
";

/// The command line or the document is wrong.
const USAGE_ERROR: u8 = 2;
/// The control plane told the process to stop.
const FENCED: u8 = 3;
/// Everything is delivered but entries with a problem of their own, which `digests/{planId}/skipped/` names.
const LEFT_OUT: u8 = 4;

/// The command failed; the text is for the user.
#[derive(Debug, thiserror::Error)]
pub enum CliError {
    #[error("{0}\n\n{USAGE}")]
    Usage(String),
    #[error("{class:?}: {cause}")]
    Failed { class: Failure, cause: String },
    #[error("fenced: the control plane ended this transfer")]
    Fenced,
}

impl CliError {
    fn failed(class: Failure, cause: impl std::fmt::Display) -> Self {
        Self::Failed { class, cause: cause.to_string() }
    }
}

/// Runs one command. Exit codes: 0 done, 1 failed, 2 wrong call, 3 fenced, 4 done but for entries that were left out.
pub fn main(arguments: impl Iterator<Item = OsString>) -> ExitCode {
    start_log();
    crate::descriptors::raise();
    let arguments: Vec<OsString> = arguments.collect();
    if arguments.first().is_some_and(|first| first == "--version") {
        println!("cpt-relay {}", crate::VERSION);
        return ExitCode::SUCCESS;
    }
    match Options::parse(arguments).map_err(CliError::Usage).and_then(dispatch) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("cpt-relay: {error}");
            ExitCode::from(match error {
                CliError::Usage(_) => USAGE_ERROR,
                CliError::Failed { .. } => 1,
                CliError::Fenced => FENCED,
            })
        }
    }
}

fn dispatch(options: Options) -> Result<ExitCode, CliError> {
    if options.role == "await-ready" {
        return roles::await_ready(&options);
    }
    if options.role == "make-destination" {
        return roles::make_destination(&options);
    }
    let transfer = options.transfer_hint();
    let span = tracing::info_span!("transfer", id = transfer.as_str());
    let _entered = span.enter();
    if options.command.is_some() { roles::by_command(&options) } else { by_hand::run(&options) }
}

/// Standard error, one line an event; the crates below speak up only when something is wrong.
fn start_log() {
    use tracing_subscriber::filter::LevelFilter;
    let _ = tracing_subscriber::fmt()
        .with_writer(std::io::stderr)
        .with_ansi(false)
        .with_max_level(LevelFilter::INFO)
        .with_target(false)
        .try_init();
}
