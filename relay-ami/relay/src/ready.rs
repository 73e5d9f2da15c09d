//! Readiness, signalled by a file: one JSON line, written whole.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::time::{Duration, Instant};

use serde::Serialize;

use crate::VERSION;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Ready<'a> {
    schema_version: u32,
    role: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    address: Option<SocketAddr>,
    daemon_version: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    node_id: Option<&'a str>,
}

/// Writes the ready file; `address` is the first that is listened on.
pub fn write(file: Option<&Path>, role: &str, listeners: &[TcpListener], node_id: Option<&str>) -> io::Result<()> {
    let Some(file) = file else { return Ok(()) };
    let address = listeners.first().map(TcpListener::local_addr).transpose()?;
    let ready = Ready { schema_version: 1, role, address, daemon_version: VERSION, node_id };
    let mut line = serde_json::to_vec(&ready)?;
    line.push(b'\n');
    let temporary = file.with_extension("new");
    std::fs::write(&temporary, line)?;
    std::fs::rename(&temporary, file)
}

/// Waits for a ready file; none after `time`.
pub fn wait(file: &Path, time: Duration) -> Option<String> {
    let deadline = Instant::now() + time;
    loop {
        if let Ok(line) = std::fs::read_to_string(file) {
            return Some(line.trim_end().to_owned());
        }
        if Instant::now() >= deadline {
            return None;
        }
        // The daemon takes about 100 ms to start; a directory watch would save nothing worth its code.
        std::thread::sleep(Duration::from_millis(20));
    }
}
