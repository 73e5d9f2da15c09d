//! One stream at a relay: challenge, header, action.

use std::io::{self, Write};
use std::net::{SocketAddr, SocketAddrV4, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};

use super::{Lifetime, Relay, probe};
use crate::deadline::Deadline;
use crate::secure::keys::random;
use crate::secure::outlet::Outlet;
use crate::sockets::acceptor::Unauthenticated;
use crate::sockets::net::{dial, tune};
use crate::sockets::splice::both_ways;
use crate::wire::WireError;
use crate::wire::route::{Action, Challenge, RouteHeader, STATUS_FAILED, STATUS_OK, STATUS_UNREACHABLE, read_signed};

/// A stream that was not served.
#[derive(Debug, thiserror::Error)]
enum StreamError {
    #[error("refused: {0}")]
    Refused(#[from] WireError),
    #[error("refused: the header names transfer {0:?}")]
    OtherTransfer(String),
    #[error("refused: the header is for relay {0}; an address behind NAT must be in this relay's list")]
    OtherRelay(SocketAddrV4),
    #[error("next hop {0}: {1}")]
    Unreachable(SocketAddrV4, io::Error),
    #[error("the power-off was not armed: {0}")]
    NotArmed(io::Error),
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// A stream that runs, counted while it lives.
struct Running<'a>(&'a AtomicUsize);

impl<'a> Running<'a> {
    fn new(streams: &'a AtomicUsize) -> Self {
        streams.fetch_add(1, Ordering::SeqCst);
        Self(streams)
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

pub fn serve(relay: &Relay, unauthenticated: Unauthenticated, socket: TcpStream) {
    let peer = socket.peer_addr().map_or_else(|_| "gone".to_owned(), |peer| peer.to_string());
    let action = match authenticate(relay, &socket, unauthenticated.deadline()) {
        Ok(action) => action,
        Err(error) => return unauthenticated.turn_away(&error),
    };
    // A relay that is kept alive and does nothing is idle.
    let _running = (!matches!(action, Action::Keepalive | Action::PowerOff)).then(|| Running::new(&relay.streams));
    drop(unauthenticated);
    tracing::info!(peer, ?action, "stream begins");
    match act(relay, socket, action) {
        Ok(()) => tracing::info!(peer, "stream ends"),
        Err(error) => tracing::warn!(peer, %error, "stream ends"),
    }
}

/// Nothing but the challenge goes out before the header's signature is checked.
fn authenticate(relay: &Relay, socket: &TcpStream, deadline: Deadline) -> Result<Action, StreamError> {
    tune(socket)?;
    let mut timed = deadline.on(socket);
    let challenge: Challenge = random().map_err(io::Error::other)?;
    timed.write_all(&challenge)?;
    let signed = read_signed(&mut timed)?;
    let header = RouteHeader::verify(&signed, &challenge, &relay.config.route_keys)?;
    if header.transfer != relay.config.transfer.as_str() {
        return Err(StreamError::OtherTransfer(header.transfer));
    }
    // What was dialled is this socket's own address, unless there is NAT in between.
    if socket.local_addr()? != SocketAddr::V4(header.relay) && !relay.config.known_as.contains(&header.relay) {
        return Err(StreamError::OtherRelay(header.relay));
    }
    socket.set_read_timeout(None)?;
    socket.set_write_timeout(None)?;
    Ok(header.action)
}

fn act(relay: &Relay, mut socket: TcpStream, action: Action) -> Result<(), StreamError> {
    match action {
        Action::Forward(next) => {
            let onward = dial_next(&mut socket, next)?;
            socket.write_all(&[STATUS_OK])?;
            both_ways(&outlet(relay, socket), &outlet(relay, onward), &relay.moved).map_err(StreamError::Io)
        }
        Action::Sink { milliseconds } => {
            socket.write_all(&[STATUS_OK])?;
            probe::sink(&socket, milliseconds).map_err(StreamError::Io)
        }
        Action::Source { next, milliseconds } => {
            let onward = dial_next(&mut socket, next)?;
            socket.write_all(&[STATUS_OK])?;
            probe::source(&socket, outlet(relay, onward), milliseconds).map_err(StreamError::Io)
        }
        Action::Keepalive => arm(relay, &mut socket, Lifetime::renew),
        Action::PowerOff => arm(relay, &mut socket, Lifetime::end),
    }
}

/// On a machine that is not to be powered off nothing is done.
fn arm(relay: &Relay, socket: &mut TcpStream, how: impl Fn(&Lifetime) -> io::Result<()>) -> Result<(), StreamError> {
    let armed = relay.config.lifetime.as_ref().map_or(Ok(()), how);
    socket.write_all(&[if armed.is_ok() { STATUS_OK } else { STATUS_FAILED }])?;
    armed.map_err(StreamError::NotArmed)
}

fn outlet(relay: &Relay, socket: TcpStream) -> Outlet {
    Outlet::new(socket, &relay.config.rules, relay.config.bandwidth.as_ref())
}

fn dial_next(socket: &mut TcpStream, next: SocketAddrV4) -> Result<TcpStream, StreamError> {
    dial(next).map_err(|error| {
        // The sender learns which hop is to blame; that it may be gone itself changes nothing.
        let _ = socket.write_all(&[STATUS_UNREACHABLE]);
        StreamError::Unreachable(next, error)
    })
}
