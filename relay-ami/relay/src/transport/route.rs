//! The sender's side of the route protocol: through the relays to the receiver.

use std::io::{self, Read, Write};
use std::net::{SocketAddrV4, TcpStream};
use std::time::Duration;

use aws_lc_rs::signature::Ed25519KeyPair;

use crate::deadline::Deadline;
use crate::defaults::HANDSHAKE_TIMEOUT;
use crate::documents::membership::{Hop, Path};
use crate::documents::text::{Address, TransferId};
use crate::sockets::net::dial;
use crate::wire::route::{Action, Challenge, RESULT_BYTES, RouteHeader, STATUS_OK, STATUS_UNREACHABLE};

/// No stream could be opened; `suspect` is the relay that did not do its part, none when it is the receiver.
#[derive(Debug, thiserror::Error)]
#[error("{what}: {source}")]
pub struct RouteError {
    pub suspect: Option<String>,
    pub what: String,
    pub source: io::Error,
}

impl RouteError {
    /// Returns whether a machine has answered that something is not so; else nobody was heard.
    #[must_use]
    pub fn was_answered(&self) -> bool {
        !matches!(self.source.kind(), io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock | io::ErrorKind::NetworkUnreachable)
    }
}

/// Signs this transfer's headers.
pub struct Router {
    pub transfer: TransferId,
    pub key: Ed25519KeyPair,
}

impl Router {
    /// Opens a stream that ends at the receiver, where TLS begins.
    pub fn open(&self, path: &Path) -> Result<TcpStream, RouteError> {
        self.through(path.between_ends(), path.receiver)
    }

    /// Opens a stream that ends at this address, which the last of these relays dials.
    pub fn through(&self, hops: &[Hop], last: Address) -> Result<TcpStream, RouteError> {
        let first = hops.first();
        let socket = connect(first, first.map_or(last, |hop| hop.address))?;
        for (at, hop) in hops.iter().enumerate() {
            let next = hops.get(at + 1);
            let address = next.map_or(last, |next| next.address);
            self.ask(&socket, hop, next, Action::Forward(address.0))?;
        }
        Ok(socket)
    }

    /// Begins the time-to-live of the last of these relays anew; the others are the way to it.
    pub fn keep_alive(&self, hops: &[Hop]) -> Result<(), RouteError> {
        self.tell(hops, Action::Keepalive)
    }

    /// Powers the machine of the last of these relays off.
    pub fn power_off(&self, hops: &[Hop]) -> Result<(), RouteError> {
        self.tell(hops, Action::PowerOff)
    }

    /// Says `what` to the last of these relays.
    fn tell(&self, hops: &[Hop], what: Action) -> Result<(), RouteError> {
        let Some(first) = hops.first() else { return Ok(()) };
        let socket = connect(Some(first), first.address)?;
        for (at, hop) in hops.iter().enumerate() {
            let next = hops.get(at + 1);
            self.ask(&socket, hop, next, next.map_or(what, |next| Action::Forward(next.address.0)))?;
        }
        Ok(())
    }

    /// Answers the hop's challenge and reads its status.
    fn ask(&self, socket: &TcpStream, hop: &Hop, next: Option<&Hop>, action: Action) -> Result<(), RouteError> {
        let status = self
            .exchange(&mut Deadline::after(HANDSHAKE_TIMEOUT).on(socket), hop.address.0, action)
            .map_err(|source| fail(Some(hop), format!("relay {} at {}", hop.node_id, hop.address.0), source))?;
        match status {
            STATUS_OK => Ok(()),
            STATUS_UNREACHABLE => {
                let what = format!("relay {} cannot reach {}", hop.node_id, next.map_or("the receiver", |next| next.node_id.as_str()));
                Err(fail(next, what, io::ErrorKind::HostUnreachable.into()))
            }
            other => Err(fail(Some(hop), format!("relay {} answered status {other}", hop.node_id), io::ErrorKind::InvalidData.into())),
        }
    }

    /// The sender's half of the exchange with one relay, which was dialled at `relay`.
    pub fn exchange(&self, stream: &mut (impl Read + Write), relay: SocketAddrV4, action: Action) -> io::Result<u8> {
        let mut challenge: Challenge = [0; 32];
        stream.read_exact(&mut challenge)?;
        let header = RouteHeader { transfer: self.transfer.to_string(), relay, action };
        stream.write_all(&header.sign(&challenge, &self.key))?;
        let mut status = [0];
        stream.read_exact(&mut status)?;
        Ok(status[0])
    }

    /// Rate in MB/s from the relay `from` to `to`, which counts for `milliseconds`; `way` are the relays before them.
    pub fn measure_between(&self, way: &[Hop], from: &Hop, to: &Hop, milliseconds: u32) -> Result<f64, RouteError> {
        let first = way.first().unwrap_or(from);
        let socket = connect(Some(first), first.address)?;
        for (at, hop) in way.iter().enumerate() {
            let next = way.get(at + 1).unwrap_or(from);
            self.ask(&socket, hop, Some(next), Action::Forward(next.address.0))?;
        }
        self.ask(&socket, from, Some(to), Action::Source { next: to.address.0, milliseconds })?;
        self.ask(&socket, to, None, Action::Sink { milliseconds })?;
        result(&socket, milliseconds).map_err(|source| fail(Some(to), format!("result of relay {}", to.node_id), source))
    }

    /// Rate in MB/s from here to a relay, sending what `filler` gives for `milliseconds`.
    pub fn measure_to(&self, to: &Hop, milliseconds: u32, send: impl FnOnce(TcpStream) -> io::Result<()>) -> Result<f64, RouteError> {
        let failed = |what: &str, source| fail(Some(to), format!("{what} {}", to.address.0), source);
        let socket = connect(Some(to), to.address)?;
        self.ask(&socket, to, None, Action::Sink { milliseconds })?;
        let outgoing = socket.try_clone().map_err(|source| failed("socket to", source))?;
        send(outgoing).map_err(|source| failed("send to", source))?;
        result(&socket, 0).map_err(|source| failed("result of", source))
    }
}

/// Dials `to`, which is none when the receiver is dialled.
fn connect(to: Option<&Hop>, address: Address) -> Result<TcpStream, RouteError> {
    dial(address.0).map_err(|source| fail(to, format!("connect to {}", address.0), source))
}

/// A result comes when the measurement, which takes so long from now on, is over.
fn result(socket: &TcpStream, milliseconds: u32) -> io::Result<f64> {
    let mut result = [0; RESULT_BYTES];
    let time = HANDSHAKE_TIMEOUT + Duration::from_millis(milliseconds.into());
    Deadline::after(time).on(socket).read_exact(&mut result)?;
    rate(&result)
}

/// MB/s from a sink's answer.
pub fn rate(result: &[u8; RESULT_BYTES]) -> io::Result<f64> {
    let (bytes, nanoseconds) = result.split_at(8);
    let number = |bytes: &[u8]| bytes.iter().fold(0u64, |sum, byte| sum << 8 | u64::from(*byte));
    match number(nanoseconds) {
        0 => Err(io::Error::other("the sink saw no bytes")),
        // Bytes per nanosecond × 1000 = bytes per microsecond = MB/s.
        time => Ok(number(bytes) as f64 / time as f64 * 1000.0),
    }
}

fn fail(suspect: Option<&Hop>, what: String, source: io::Error) -> RouteError {
    RouteError { suspect: suspect.map(|hop| hop.node_id.clone()), what, source }
}
