//! `cpt-relay`: see `cpt_relay::cli::USAGE`.

use std::process::ExitCode;

fn main() -> ExitCode {
    cpt_relay::cli::main(std::env::args_os().skip(1))
}
