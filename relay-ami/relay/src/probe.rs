//! Reachability: one side listens for a while, the other connects.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, SocketAddrV4, TcpListener, TcpStream};
use std::time::{Duration, Instant};

use serde::Serialize;

use crate::stop::Stop;

/// Says that a CPT probe answered, not some other server.
const GREETING: &[u8; 8] = b"CPTPROBE";

/// What a probe prints.
#[derive(Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    pub schema_version: u32,
    pub mode: &'static str,
    pub reachable: bool,
    /// The listener's own address, or the address that was tried.
    pub address: Option<SocketAddr>,
    /// Who connected.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub peer: Option<SocketAddr>,
    /// Time of the connection, milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub milliseconds: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

impl Report {
    /// No address could be listened on.
    #[must_use]
    pub fn refused(error: &crate::net::ListenError) -> Self {
        Self {
            schema_version: 1,
            mode: "listen",
            reachable: false,
            address: None,
            peer: None,
            milliseconds: None,
            error: Some(error.to_string()),
        }
    }
}

/// Greets until the first connection or the end of the time.
pub fn listen(listeners: &[TcpListener], time: Duration, stop: &Stop) -> Report {
    let deadline = Instant::now() + time;
    let mut report = Report {
        schema_version: 1,
        mode: "listen",
        reachable: false,
        address: listeners.first().and_then(|listener| listener.local_addr().ok()),
        peer: None,
        milliseconds: None,
        error: None,
    };
    while !stop.is_requested() {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            break;
        }
        match stop.accept(listeners, left) {
            Ok(Some(mut socket)) => match socket.write_all(GREETING) {
                Ok(()) => return Report { reachable: true, peer: socket.peer_addr().ok(), ..report },
                Err(error) => report.error = Some(error.to_string()),
            },
            Ok(None) => {}
            Err(error) => report.error = Some(error.to_string()),
        }
    }
    report.error.get_or_insert_with(|| format!("nobody connected within {} s", time.as_secs_f64()));
    report
}

/// Tries until the listener greets or the time is over: the listener may start later.
pub fn connect(address: SocketAddrV4, time: Duration, stop: &Stop) -> Report {
    let deadline = Instant::now() + time;
    let mut error = format!("{} s are no time to try", time.as_secs_f64());
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        let mut report = Report {
            schema_version: 1,
            mode: "connect",
            reachable: false,
            address: Some(address.into()),
            peer: None,
            milliseconds: None,
            error: None,
        };
        if left.is_zero() || stop.is_requested() {
            report.error = Some(error);
            return report;
        }
        let start = Instant::now();
        match greeted(address, left) {
            Ok(()) => {
                report.reachable = true;
                report.milliseconds = Some((start.elapsed().as_secs_f64() * 1e6).round() / 1e3);
                return report;
            }
            Err(why) => error = why.to_string(),
        }
        stop.sleep(Duration::from_millis(200).min(deadline.saturating_duration_since(Instant::now())));
    }
}

fn greeted(address: SocketAddrV4, time: Duration) -> io::Result<()> {
    let mut socket = TcpStream::connect_timeout(&address.into(), time.min(crate::defaults::CONNECT_TIMEOUT))?;
    socket.set_read_timeout(Some(time))?;
    let mut greeting = [0; GREETING.len()];
    socket.read_exact(&mut greeting)?;
    if &greeting == GREETING { Ok(()) } else { Err(io::Error::other("something answers there that is no CPT probe")) }
}
