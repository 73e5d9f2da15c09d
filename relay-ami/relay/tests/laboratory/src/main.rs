//! `cpt-laboratory`: `cpt-relay`, and its roles by hand.

mod by_hand;
mod long_path;
mod mirror;
mod options;
mod unsynced;

use std::ffi::OsString;
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    if let Some((command, rest)) = arguments.split_first()
        && command == "long-path"
    {
        cpt_command_line::run(|| long_path::run(rest), by_hand::USAGE)
    } else if options::are_by_hand(&arguments) {
        cpt_command_line::run(|| by_hand::run(arguments), by_hand::USAGE)
    } else {
        cpt_command_line::main(arguments.into_iter())
    }
}
