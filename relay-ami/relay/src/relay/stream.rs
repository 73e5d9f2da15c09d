//! One stream at a relay: challenge, header, action.

use std::io::{self, Read, Write};
use std::net::{SocketAddrV4, TcpStream};

use super::{Counted, Relay, probe};
use crate::defaults::HEADER_TIMEOUT;
use crate::net::{Outlet, dial, tune};
use crate::secure::keys::random;
use crate::splice::pump;
use crate::wire::WireError;
use crate::wire::route::{Action, Challenge, MAX_HEADER_BYTES, RouteHeader, STATUS_OK, STATUS_UNREACHABLE};

/// A stream that was not served.
#[derive(Debug, thiserror::Error)]
enum StreamError {
    #[error("refused: {0}")]
    Refused(#[from] WireError),
    #[error("refused: header of {0} bytes")]
    TooLong(usize),
    #[error("refused: the header names transfer {0:?}")]
    OtherTransfer(String),
    #[error("next hop {0}: {1}")]
    Unreachable(SocketAddrV4, io::Error),
    #[error(transparent)]
    Io(#[from] io::Error),
}

pub fn serve(relay: &Relay, unauthenticated: Counted, mut socket: TcpStream) {
    let peer = socket.peer_addr().map_or_else(|_| "gone".to_owned(), |peer| peer.to_string());
    let action = authenticate(relay, &mut socket);
    drop(unauthenticated);
    let result = action.and_then(|action| {
        let _counted = Counted::new(&relay.streams);
        tracing::info!(peer, ?action, "stream begins");
        act(relay, socket, action)
    });
    match result {
        Ok(()) => tracing::info!(peer, "stream ends"),
        Err(error) => tracing::warn!(peer, %error, "stream ends"),
    }
}

/// Nothing but the challenge goes out before the header's signature is checked.
fn authenticate(relay: &Relay, socket: &mut TcpStream) -> Result<Action, StreamError> {
    tune(socket)?;
    socket.set_read_timeout(Some(HEADER_TIMEOUT))?;
    socket.set_write_timeout(Some(HEADER_TIMEOUT))?;
    let challenge: Challenge = random().map_err(io::Error::other)?;
    socket.write_all(&challenge)?;
    let mut length = [0; 2];
    socket.read_exact(&mut length)?;
    let length = usize::from(u16::from_be_bytes(length));
    if length > MAX_HEADER_BYTES {
        return Err(StreamError::TooLong(length));
    }
    let mut signed = vec![0; length];
    socket.read_exact(&mut signed)?;
    let header = RouteHeader::verify(&signed, &challenge, &relay.config.route_key)?;
    if header.transfer != relay.config.transfer.as_str() {
        return Err(StreamError::OtherTransfer(header.transfer));
    }
    socket.set_write_timeout(None)?;
    Ok(header.action)
}

fn act(relay: &Relay, mut socket: TcpStream, action: Action) -> Result<(), StreamError> {
    match action {
        Action::Forward(next) => {
            let onward = dial_next(&mut socket, next)?;
            socket.write_all(&[STATUS_OK])?;
            forward(relay, socket, onward).map_err(StreamError::Io)
        }
        Action::Sink { milliseconds } => {
            socket.write_all(&[STATUS_OK])?;
            probe::sink(&mut socket, milliseconds).map_err(StreamError::Io)
        }
        Action::Source { next, milliseconds } => {
            let onward = dial_next(&mut socket, next)?;
            socket.write_all(&[STATUS_OK])?;
            probe::source(&mut socket, Outlet::new(onward, &relay.config.rules, None), milliseconds).map_err(StreamError::Io)
        }
    }
}

fn dial_next(socket: &mut TcpStream, next: SocketAddrV4) -> Result<TcpStream, StreamError> {
    dial(next).map_err(|error| {
        // The sender learns which hop is to blame; that it may be gone itself changes nothing.
        let _ = socket.write_all(&[STATUS_UNREACHABLE]);
        StreamError::Unreachable(next, error)
    })
}

fn forward(relay: &Relay, socket: TcpStream, onward: TcpStream) -> io::Result<()> {
    socket.set_read_timeout(None)?;
    let rules = &relay.config.rules;
    let (here, there) = (Outlet::new(socket, rules, None), Outlet::new(onward, rules, None));
    std::thread::scope(|scope| {
        let back = std::thread::Builder::new()
            .stack_size(crate::defaults::STACK_BYTES)
            .spawn_scoped(scope, || pump(&there.socket(), &here, &relay.moved))?;
        let forth = pump(&here.socket(), &there, &relay.moved);
        let back = back.join().unwrap_or_else(|_| Err(io::Error::other("the stream's way back panicked")));
        forth.and(back)
    })
}
