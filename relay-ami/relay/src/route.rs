//! The sender's side of the route protocol: through the relays to the receiver.

use std::io::{self, Read, Write};
use std::net::{SocketAddrV4, TcpStream};

use aws_lc_rs::signature::Ed25519KeyPair;

use crate::defaults::HANDSHAKE_TIMEOUT;
use crate::documents::membership::{Hop, Path};
use crate::documents::text::TransferId;
use crate::net::dial;
use crate::wire::route::{Action, Challenge, RESULT_BYTES, RouteHeader, STATUS_OK, STATUS_UNREACHABLE};

/// No stream could be opened; `suspect` is the relay that did not do its part, none when it is the receiver.
#[derive(Debug, thiserror::Error)]
#[error("{what}: {source}")]
pub struct RouteError {
    pub suspect: Option<String>,
    pub what: String,
    pub source: io::Error,
}

/// Signs this transfer's headers.
pub struct Router {
    pub transfer: TransferId,
    pub key: Ed25519KeyPair,
}

impl Router {
    /// Opens a stream that ends at the receiver, where TLS begins.
    pub fn open(&self, path: &Path) -> Result<TcpStream, RouteError> {
        let first = path.hops.first();
        let address = first.map_or(path.receiver, |hop| hop.address);
        let mut socket = dial(address.0).map_err(|source| fail(first, format!("connect to {}", address.0), source))?;
        socket.set_read_timeout(Some(HANDSHAKE_TIMEOUT)).map_err(|source| fail(first, "socket".to_owned(), source))?;
        for (at, hop) in path.hops.iter().enumerate() {
            let next = path.hops.get(at + 1);
            let address = next.map_or(path.receiver, |next| next.address);
            self.ask(&mut socket, hop, next, Action::Forward(address.0))?;
        }
        Ok(socket)
    }

    /// Answers the hop's challenge and reads its status.
    fn ask(&self, socket: &mut TcpStream, hop: &Hop, next: Option<&Hop>, action: Action) -> Result<(), RouteError> {
        let status = self
            .exchange(socket, action)
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

    fn exchange(&self, socket: &mut TcpStream, action: Action) -> io::Result<u8> {
        let mut challenge: Challenge = [0; 32];
        socket.read_exact(&mut challenge)?;
        let header = RouteHeader { transfer: self.transfer.to_string(), action };
        socket.write_all(&header.sign(&challenge, &self.key))?;
        let mut status = [0];
        socket.read_exact(&mut status)?;
        Ok(status[0])
    }

    /// Rate in MB/s from one relay to the next, which counts for `milliseconds`.
    pub fn measure_between(&self, from: &Hop, to: &Hop, milliseconds: u32) -> Result<f64, RouteError> {
        let mut socket = dial(from.address.0).map_err(|source| fail(Some(from), format!("connect to {}", from.address.0), source))?;
        patience(&socket, milliseconds).map_err(|source| fail(Some(from), "socket".to_owned(), source))?;
        self.ask(&mut socket, from, Some(to), Action::Source { next: to.address.0, milliseconds })?;
        self.ask(&mut socket, to, None, Action::Sink { milliseconds })?;
        result(&mut socket).map_err(|source| fail(Some(to), format!("result of relay {}", to.node_id), source))
    }

    /// Rate in MB/s from here to a relay, sending what `filler` gives for `milliseconds`.
    pub fn measure_to(&self, to: &Hop, milliseconds: u32, send: impl FnOnce(TcpStream) -> io::Result<()>) -> Result<f64, RouteError> {
        let failed = |what: &str, source| fail(Some(to), format!("{what} {}", to.address.0), source);
        let mut socket = dial(to.address.0).map_err(|source| failed("connect to", source))?;
        patience(&socket, milliseconds).map_err(|source| failed("socket to", source))?;
        self.ask(&mut socket, to, None, Action::Sink { milliseconds })?;
        let outgoing = socket.try_clone().map_err(|source| failed("socket to", source))?;
        send(outgoing).map_err(|source| failed("send to", source))?;
        result(&mut socket).map_err(|source| failed("result of", source))
    }
}

/// A result comes when the measurement is over.
fn patience(socket: &TcpStream, milliseconds: u32) -> io::Result<()> {
    socket.set_read_timeout(Some(HANDSHAKE_TIMEOUT + std::time::Duration::from_millis(milliseconds.into())))
}

fn result(socket: &mut TcpStream) -> io::Result<f64> {
    let mut result = [0; RESULT_BYTES];
    socket.read_exact(&mut result)?;
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

/// Whether `address` is one that a route may name: not 0.0.0.0 and not port 0.
#[must_use]
pub fn is_dialable(address: SocketAddrV4) -> bool {
    !address.ip().is_unspecified() && address.port() != 0
}
