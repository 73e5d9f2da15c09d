//! Sockets: listening where we can, dialling with a deadline, noticing dead peers.

use std::io;
use std::net::{Ipv4Addr, SocketAddrV4, TcpListener, TcpStream};
use std::time::{Duration, Instant};

use rustix::net::sockopt;
use socket2::{Domain, Protocol, Socket, Type};

use crate::defaults;
use crate::stop::Stop;

/// No address of the list is this machine's.
#[derive(Debug, thiserror::Error)]
pub enum ListenError {
    #[error("listen {address}: {source}")]
    Refused { address: SocketAddrV4, source: io::Error },
    #[error("none of {0:?} is an address of this machine; name one of its interfaces'")]
    NoneIsOurs(Vec<SocketAddrV4>),
}

/// Listens on all addresses that are this machine's. A public IPv4 behind EC2's NAT is none of them and is skipped; a port that is in
/// use is waited for: another transfer may just prove its path.
pub fn listen(addresses: &[SocketAddrV4], stop: &Stop) -> Result<Vec<TcpListener>, ListenError> {
    let deadline = Instant::now() + defaults::PORT_WAIT;
    let mut listeners = Vec::new();
    for &address in addresses {
        match bind(address, deadline, stop) {
            Ok(listener) => listeners.push(listener),
            Err(error) if error.kind() == io::ErrorKind::AddrNotAvailable => tracing::info!(%address, "not ours; skipped"),
            Err(source) => return Err(ListenError::Refused { address, source }),
        }
    }
    if listeners.is_empty() { Err(ListenError::NoneIsOurs(addresses.to_vec())) } else { Ok(listeners) }
}

fn bind(address: SocketAddrV4, deadline: Instant, stop: &Stop) -> io::Result<TcpListener> {
    loop {
        match TcpListener::bind(address) {
            Err(error) if error.kind() == io::ErrorKind::AddrInUse && Instant::now() < deadline => {
                if stop.sleep(defaults::PORT_LOOK) {
                    return Err(error);
                }
            }
            other => return other,
        }
    }
}

/// A connection within a time, whose segments every network on the way passes on.
///
/// What is said here holds for both directions: neither end sends larger segments than the other one has announced.
pub fn connect(address: SocketAddrV4, time: Duration) -> io::Result<TcpStream> {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, Some(Protocol::TCP))?;
    if let Some(bytes) = largest_segment(*address.ip()) {
        socket.set_tcp_mss(bytes)?;
    }
    socket.connect_timeout(&address.into(), time)?;
    Ok(socket.into())
}

/// Returns what connections to this address announce; None within one machine.
pub fn largest_segment(address: Ipv4Addr) -> Option<u32> {
    match address {
        _ if address.is_loopback() => None,
        _ if address.is_private() => Some(defaults::PRIVATE_SEGMENT_BYTES),
        _ => Some(defaults::PUBLIC_SEGMENT_BYTES),
    }
}

/// Connects within the deadline.
pub fn dial(address: SocketAddrV4) -> io::Result<TcpStream> {
    let started = Instant::now();
    let socket = connect(address, defaults::CONNECT_TIMEOUT)?;
    let round_trip = started.elapsed();
    tune(&socket)?;
    if round_trip >= defaults::LONG_ROUND_TRIP
        && let Err(error) = sockopt::set_tcp_congestion(&socket, "bbr")
    {
        tracing::debug!(%address, %error, "no BBR here");
    }
    Ok(socket)
}

/// Settings of every stream. Buffers stay with the kernel's autotuning: setting them would switch it off.
pub fn tune(socket: &TcpStream) -> io::Result<()> {
    // Acknowledgements are small and must not wait for each other.
    socket.set_nodelay(true)?;
    sockopt::set_socket_keepalive(socket, true)?;
    sockopt::set_tcp_keepidle(socket, defaults::TCP_KEEPALIVE_IDLE)?;
    sockopt::set_tcp_keepintvl(socket, defaults::TCP_KEEPALIVE_INTERVAL)?;
    sockopt::set_tcp_keepcnt(socket, defaults::TCP_KEEPALIVE_PROBES)?;
    let milliseconds = u32::try_from(defaults::UNACKNOWLEDGED_TIMEOUT.as_millis()).unwrap_or(u32::MAX);
    sockopt::set_tcp_user_timeout(socket, milliseconds)?;
    Ok(())
}
