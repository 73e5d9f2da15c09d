//! `cpt-relay`: see `cpt_command_line::USAGE`.

use std::process::ExitCode;

fn main() -> ExitCode {
    cpt_command_line::main(std::env::args_os().skip(1))
}
