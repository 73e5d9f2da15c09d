//! `cpt-laboratory`: `cpt-relay`, and its roles by hand.

mod by_hand;
mod growth;
mod list_bucket;
mod long_path;
mod mirror;
mod options;
mod seat_bucket;
mod sockets;
mod unsynced;

use std::ffi::OsString;
use std::process::ExitCode;

// Where the sender's own files that are compiled here look for them.
use cpt_relay::{defaults, documents};

fn main() -> ExitCode {
    let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    let (command, rest) = arguments.split_first().map_or((None, &[][..]), |(command, rest)| (command.to_str(), rest));
    if command == Some("long-path") {
        cpt_command_line::run(|| long_path::run(rest), by_hand::USAGE)
    } else if command == Some("growth") {
        cpt_command_line::run(|| growth::run(rest), by_hand::USAGE)
    } else if command == Some("seat-bucket") {
        cpt_command_line::run(|| seat_bucket::run(rest), by_hand::USAGE)
    } else if command == Some("list-bucket") {
        cpt_command_line::run(|| list_bucket::run(rest), by_hand::USAGE)
    } else if options::are_by_hand(&arguments) {
        cpt_command_line::run(|| by_hand::run(arguments), by_hand::USAGE)
    } else {
        cpt_command_line::main(arguments.into_iter())
    }
}
