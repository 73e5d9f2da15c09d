//! What the owner of the machine lets a command reach.

use std::io;

use cpt_ends_posix::{self as posix, Access};
use cpt_relay::documents::command::Command;

/// Lets this process reach only what the owner allows for the command. To be called while it is the user who started it.
pub fn enforce(command: &Command) -> io::Result<()> {
    let access = match command {
        Command::ScanSource(_) | Command::ScanDigests(_) | Command::ScanMarked(_) | Command::Send(_) => Access::Read,
        Command::ScanDestination(_)
        | Command::ScanComparison(_)
        | Command::ScanExtras(_)
        | Command::ScanMark(_)
        | Command::Delete(_)
        | Command::Receive(_) => Access::Write,
        Command::Relay(_) | Command::ProbeListen(_) | Command::ProbeConnect(_) => return Ok(()),
    };
    posix::enforce(access)
}
