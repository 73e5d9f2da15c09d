//! The command line: one verb per role, as the control plane calls it. It alone chooses the kinds of ends and the control plane.

#![deny(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used))]

mod allowed_paths;
mod answering;
mod beginning;
pub mod end_roles;
mod hdfs_token;
mod kept_files;
pub mod kinds;
mod last_words;
mod lease_server;
mod mark_roles;
mod mirror_roles;
mod options;
pub mod roles;
mod run_as;
pub mod seat_credentials;
pub mod store_ways;

use std::ffi::OsString;
use std::process::ExitCode;

use options::Options;

use cpt_relay::documents::event::Failure;
use cpt_relay::documents::text::TransferId;

pub const USAGE: &str = "\
cpt-relay: the data plane of Cloud Parallel Transfer

As the control plane calls it (FILE holds a relay-command document):
  cpt-relay scan|probe|delete     --command FILE
  cpt-relay receive|send          --command FILE [--ready FILE]
  cpt-relay relay                 --command FILE [--ready FILE] [--steer FOLDER]
  cpt-relay answer ROLE           --command FILE --to PLACE
  cpt-relay make-destination      --command FILE
  cpt-relay await-ready FILE      [--seconds N]
  cpt-relay serve-leases SCRIPT   --to PLACE [--seconds N]
  cpt-relay hdfs-token FOLDER USER  (as a daemon starts it: a token until its standard input is closed)
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
    #[error("{0}")]
    Usage(String),
    #[error("{class:?}: {cause}")]
    Failed { class: Failure, cause: String },
    #[error("fenced: the control plane ended this transfer")]
    Fenced,
}

impl CliError {
    pub fn failed(class: Failure, cause: impl std::fmt::Display) -> Self {
        Self::Failed { class, cause: cause.to_string() }
    }
}

/// Runs what the arguments say.
pub fn main(arguments: impl Iterator<Item = OsString>) -> ExitCode {
    let arguments: Vec<OsString> = arguments.collect();
    if arguments.first().is_some_and(|first| first == "--version") {
        println!("cpt-relay {}", cpt_relay::VERSION);
        return ExitCode::SUCCESS;
    }
    run(|| dispatch(&Options::parse(arguments).map_err(CliError::Usage)?), USAGE)
}

/// Runs one command. Exit codes: 0 done, 1 failed, 2 wrong call, 3 fenced, 4 done but for entries that were left out.
pub fn run(command: impl FnOnce() -> Result<ExitCode, CliError>, usage: &str) -> ExitCode {
    start_log();
    end_with_any_thread();
    cpt_relay::machine::descriptors::raise();
    let error = match command() {
        Ok(code) => return code,
        Err(error) => error,
    };
    eprintln!("cpt-relay: {error}");
    ExitCode::from(match error {
        CliError::Usage(_) => {
            eprintln!("\n{usage}");
            USAGE_ERROR
        }
        CliError::Failed { .. } => 1,
        CliError::Fenced => FENCED,
    })
}

/// Lets a thread that panics end the process, whose unit then starts it again: the others would wait for it for ever.
pub fn end_with_any_thread() {
    let message = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        message(panic);
        std::process::abort();
    }));
}

fn dispatch(options: &Options) -> Result<ExitCode, CliError> {
    match options.role.as_str() {
        "answer" => return answering::answering(options),
        "await-ready" => return roles::await_ready(options),
        "serve-leases" => return lease_server::serve(options),
        "hdfs-token" => return hdfs_token::keeper::keep(options),
        "make-destination" => return roles::make_destination(options),
        _ => {}
    }
    let transfer = options.transfer_hint();
    let span = tracing::info_span!("transfer", id = transfer.as_ref().map(TransferId::as_str));
    let _entered = span.enter();
    roles::by_command(options)
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

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt as _;
    use std::process::Command;

    const IS_CHILD: &str = "CPT_TEST_A_THREAD_PANICS";

    #[test]
    fn a_thread_that_panics_ends_the_process() {
        if std::env::var_os(IS_CHILD).is_some() {
            super::end_with_any_thread();
            let _ = std::thread::spawn(|| panic!("on purpose")).join();
            return;
        }
        let program = std::env::current_exe().unwrap();
        let name = "tests::a_thread_that_panics_ends_the_process";
        let ended = Command::new(program).args(["--exact", name, "--nocapture"]).env(IS_CHILD, "1").output().unwrap();
        assert!(String::from_utf8_lossy(&ended.stderr).contains("on purpose"));
        assert_eq!(ended.status.signal(), Some(6), "{ended:?}");
    }
}
