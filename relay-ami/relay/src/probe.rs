//! Reachability: one side listens for a while, the other connects.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, SocketAddrV4, TcpListener, TcpStream};
use std::time::{Duration, Instant};

use serde::Serialize;

use crate::defaults::{CONNECT_TIMEOUT, PROBE_BYTES};
use crate::sockets::net;
use crate::stop::Stop;

/// Says that a CPT probe answered, not some other server.
const GREETING: &[u8; 8] = b"CPTPROBE";

/// The output of a probe.
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
    pub fn refused(error: &crate::sockets::net::ListenError) -> Self {
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

/// Answers until the first connection that brings all of its bytes, or the end of the time.
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
            Ok(Some(mut socket)) => match greet(&mut socket) {
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

/// Tries until the listener has answered, or the time is over. Where the machine refuses the connection, its listener is still to start:
/// then the time is `refused` at least.
pub fn connect(address: SocketAddrV4, time: Duration, refused: Duration, stop: &Stop) -> Report {
    let started = Instant::now();
    let mut deadline = started + time;
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
            Err(why) => {
                if why.kind() == io::ErrorKind::ConnectionRefused {
                    deadline = deadline.max(started + refused);
                }
                error = why.to_string();
            }
        }
        stop.sleep(Duration::from_millis(200).min(deadline.saturating_duration_since(Instant::now())));
    }
}

/// The listener's part: it reads as many bytes as it sends.
fn greet(socket: &mut TcpStream) -> io::Result<()> {
    limit(socket)?;
    socket.write_all(GREETING)?;
    swallow(socket)?;
    socket.write_all(&vec![0; PROBE_BYTES])
}

fn greeted(address: SocketAddrV4, time: Duration) -> io::Result<()> {
    let mut socket = net::connect(address, time.min(CONNECT_TIMEOUT))?;
    limit(&socket)?;
    let mut greeting = [0; GREETING.len()];
    socket.read_exact(&mut greeting)?;
    if &greeting != GREETING {
        return Err(io::Error::other("something answers there that is no CPT probe"));
    }
    socket.write_all(&vec![0; PROBE_BYTES]).and_then(|()| swallow(&mut socket)).map_err(|error| {
        if !matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) {
            return error;
        }
        let largest = net::largest_segment(*address.ip()).map_or_else(String::new, |bytes| format!(" of {bytes} bytes"));
        io::Error::new(error.kind(), format!("small packets arrive and full ones do not: does the network drop segments{largest}?"))
    })
}

fn limit(socket: &TcpStream) -> io::Result<()> {
    socket.set_read_timeout(Some(CONNECT_TIMEOUT))?;
    socket.set_write_timeout(Some(CONNECT_TIMEOUT))
}

fn swallow(socket: &mut TcpStream) -> io::Result<()> {
    let copied = io::copy(&mut socket.take(PROBE_BYTES as u64), &mut io::sink())?;
    if copied == PROBE_BYTES as u64 { Ok(()) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, SocketAddr};
    use std::thread;

    use super::*;

    const SECONDS: Duration = Duration::from_secs(20);

    fn listener() -> (TcpListener, SocketAddrV4) {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let SocketAddr::V4(address) = listener.local_addr().unwrap() else { panic!("not IPv4") };
        (listener, address)
    }

    #[test]
    fn both_say_that_they_have_met() {
        let (listener, address) = listener();
        let stop = Stop::new().unwrap();
        let (listened, connected) = thread::scope(|scope| {
            let listening = scope.spawn(|| listen(&[listener], SECONDS, &stop));
            (connect(address, SECONDS, SECONDS, &stop), listening.join().unwrap())
        });
        assert_eq!((listened.reachable, connected.reachable), (true, true));
    }

    #[test]
    fn a_listener_that_starts_after_the_time_is_waited_for_where_the_machine_refuses() {
        let (taken, address) = listener();
        drop(taken);
        let stop = Stop::new().unwrap();
        let connected = thread::scope(|scope| {
            let connecting = scope.spawn(|| connect(address, Duration::from_millis(1), SECONDS, &stop));
            thread::sleep(Duration::from_millis(300));
            assert!(!connecting.is_finished());
            let listening = scope.spawn(|| listen(&[TcpListener::bind(address).unwrap()], SECONDS, &stop));
            assert!(listening.join().unwrap().reachable);
            connecting.join().unwrap()
        });
        assert!(connected.reachable);
    }

    #[test]
    fn a_path_that_carries_small_packets_alone_is_named() {
        let (listener, address) = listener();
        let stop = Stop::new().unwrap();
        let connected = thread::scope(|scope| {
            let listening = scope.spawn(move || {
                let (mut socket, _) = listener.accept().unwrap();
                socket.write_all(GREETING).unwrap();
                // What comes is lost, and so is the answer.
                swallow(&mut socket).unwrap();
                (listener, socket)
            });
            let connected = connect(address, Duration::from_secs(1), SECONDS, &stop);
            drop(listening.join().unwrap());
            connected
        });
        assert!(connected.error.unwrap().contains("full ones do not"), "the reason is said");
    }
}
