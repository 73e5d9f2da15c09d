//! The sender's own decision about lanes, for a path that is made up: a look a line on standard input, the lanes it wants on
//! standard output.

use std::ffi::OsString;
use std::io::{self, BufRead as _, Write as _};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use cpt_command_line::CliError;
use cpt_relay::documents::event::Failure;
use serde::Deserialize;

use crate::sockets::socket_options::Counters;

// The file itself: a copy would be another program.
#[path = "../../../src/send/lanes/growth.rs"]
#[allow(dead_code, unreachable_pub)]
mod sender;

/// One look at a path's lanes.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Look {
    seconds: f64,
    lanes: u32,
    moved: u64,
    round_trip_ms: f64,
    send_buffer: u64,
    busy_us: u64,
    send_buffer_limited_us: u64,
    least: u32,
    chunks: u32,
}

/// Answers until the input ends.
pub fn run(arguments: &[OsString]) -> Result<ExitCode, CliError> {
    if !arguments.is_empty() {
        return Err(CliError::Usage("growth takes no argument, and looks on standard input".to_owned()));
    }
    let failed = |error: io::Error| CliError::failed(Failure::Output, error);
    let (mut growth, began) = (sender::Growth::default(), Instant::now());
    let mut out = io::stdout().lock();
    for line in io::stdin().lock().lines() {
        let line = line.map_err(failed)?;
        let look: Look = serde_json::from_str(&line).map_err(|error| CliError::Usage(format!("growth {line}: {error}")))?;
        let lanes = growth.look(
            began + Duration::from_secs_f64(look.seconds),
            sender::Sight {
                lanes: look.lanes,
                moved: look.moved,
                round_trip: Some(Duration::from_secs_f64(look.round_trip_ms / 1e3)),
                send_buffer: look.send_buffer,
                counters: Some(Counters { busy_us: look.busy_us, send_buffer_limited_us: look.send_buffer_limited_us }),
                limit: f64::INFINITY,
                is_held_back: false,
                least: look.least,
                most_at_start: look.chunks,
                chunks: look.chunks,
            },
        );
        writeln!(out, "{lanes}").and_then(|()| out.flush()).map_err(failed)?;
    }
    Ok(ExitCode::SUCCESS)
}
