//! Readiness, signalled by a file: one JSON line, whole once its newline is there.

use std::fs::File;
use std::io::{self, Write as _};
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

/// A ready file that is open from the start on: the process may later be a user to whom its directory is closed.
#[derive(Debug, Default)]
pub struct ReadyFile(Option<File>);

impl ReadyFile {
    /// Makes `file` anew and empty; without one nothing will be written.
    pub fn open(file: Option<&Path>) -> io::Result<Self> {
        Ok(Self(file.map(File::create).transpose()?))
    }

    /// Says that the role is ready; `address` is the first that is listened on.
    pub fn write(&self, role: &str, listeners: &[TcpListener], node_id: Option<&str>) -> io::Result<()> {
        let Some(mut file) = self.0.as_ref() else { return Ok(()) };
        let address = listeners.first().map(TcpListener::local_addr).transpose()?;
        let ready = Ready { schema_version: 1, role, address, daemon_version: VERSION, node_id };
        let mut line = serde_json::to_vec(&ready)?;
        line.push(b'\n');
        file.write_all(&line)
    }
}

/// Waits for a ready file; none after `time`.
pub fn wait(file: &Path, time: Duration) -> Option<String> {
    let deadline = Instant::now() + time;
    loop {
        // It is there before it says anything.
        if let Some(line) = std::fs::read_to_string(file).ok().and_then(|text| Some(text.strip_suffix('\n')?.to_owned())) {
            return Some(line);
        }
        if Instant::now() >= deadline {
            return None;
        }
        // The daemon takes about 100 ms to start; a directory watch would save nothing worth its code.
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn a_ready_file_counts_once_its_line_is_whole() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("role.ready");
        std::fs::write(&file, "what an earlier process said\n").unwrap();
        let ready = ReadyFile::open(Some(&file)).unwrap();
        assert_eq!(wait(&file, Duration::ZERO), None);
        std::fs::write(&file, "{\"half\":").unwrap();
        assert_eq!(wait(&file, Duration::ZERO), None);
        std::fs::write(&file, "").unwrap();
        ready.write("send", &[], None).unwrap();
        assert!(wait(&file, Duration::ZERO).unwrap().contains("\"role\":\"send\""));
    }
}
