//! Files beside a command: what an end leaves for its successor on the same machine, and what has no room in memory.

use std::fs::File;
use std::path::Path;

use aws_lc_rs::signature::Ed25519KeyPair;

use super::CliError;
use super::end_roles::route_key;
use cpt_ends_posix as posix;
use cpt_relay::documents::command::Command;
use cpt_relay::documents::end::DestinationEnd;
use cpt_relay::send::sent_journal;

/// Those that a command needs; none of what it does not.
pub struct KeptFiles {
    /// By which relays know an end that dials them: a sender, and a receiver that writes to a bucket.
    pub route_key: Option<Result<Ed25519KeyPair, CliError>>,
    /// Of a sender. Without it, what has arrived is read from the source again.
    pub journal: Option<File>,
    /// None where the file system of the command makes no files without a name.
    pub overflow: Option<File>,
}

impl KeptFiles {
    /// Opens them. What stops the transfer's units removes them with the command.
    pub fn beside(file: &Path, command: &Command) -> Self {
        let is_sender = matches!(command, Command::Send(_));
        let dials = is_sender || matches!(command, Command::Receive(receive) if matches!(receive.end, DestinationEnd::Bucket(_)));
        let spills = is_sender || matches!(command, Command::ScanSource(_));
        Self {
            route_key: dials.then(|| route_key(Some(&file.with_extension("key")))),
            journal: is_sender.then(|| journal_beside(file)).flatten(),
            overflow: spills.then(|| overflow_beside(file)).flatten(),
        }
    }
}

fn journal_beside(file: &Path) -> Option<File> {
    let journal = sent_journal::open(&file.with_extension("sent"));
    journal.inspect_err(|error| tracing::warn!(%error, "journal of what was sent")).ok()
}

fn overflow_beside(file: &Path) -> Option<File> {
    let directory = file.parent().filter(|directory| !directory.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let overflow = File::open(directory).and_then(posix::nameless);
    overflow.inspect_err(|error| tracing::warn!(%error, "file for what has no room in memory")).ok()
}
