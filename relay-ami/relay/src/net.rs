//! Sockets: listening where we can, dialling with a deadline, noticing dead peers, pacing what goes out.

use std::io::{self, Write};
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4, TcpListener, TcpStream};
use std::sync::Arc;
use std::time::Instant;

use rustix::net::sockopt;

use crate::defaults;
use crate::rate::{Bucket, RateRules};
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

/// Connects within the deadline.
pub fn dial(address: SocketAddrV4) -> io::Result<TcpStream> {
    let started = Instant::now();
    let socket = TcpStream::connect_timeout(&SocketAddr::V4(address), defaults::CONNECT_TIMEOUT)?;
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

/// The IPv4 address of the other side.
#[must_use]
pub fn peer_ip(socket: &TcpStream) -> Ipv4Addr {
    match socket.peer_addr() {
        Ok(SocketAddr::V4(peer)) => *peer.ip(),
        Ok(SocketAddr::V6(peer)) => peer.ip().to_ipv4_mapped().unwrap_or(Ipv4Addr::UNSPECIFIED),
        Err(_) => Ipv4Addr::UNSPECIFIED,
    }
}

/// The writing side of a socket, behind its caps.
#[derive(Clone, Debug)]
pub struct Outlet {
    socket: Arc<TcpStream>,
    caps: Vec<Arc<Bucket>>,
}

/// Bytes between two looks at the caps: at 160 MB/s 0.4 ms, so that sleeping costs no CPU worth naming, at 1 MB/s 65 ms.
const PACE_BYTES: usize = 64 << 10;

impl Outlet {
    /// Caps by the rules for the peer's address, and by `limit`.
    #[must_use]
    pub fn new(socket: TcpStream, rules: &RateRules, limit: Option<&Arc<Bucket>>) -> Self {
        let caps = rules.bucket(peer_ip(&socket)).into_iter().chain(limit.cloned()).collect();
        Self { socket: Arc::new(socket), caps }
    }

    #[must_use]
    pub fn socket(&self) -> Arc<TcpStream> {
        Arc::clone(&self.socket)
    }

    /// Waits until `bytes` may go.
    pub fn pace(&self, bytes: usize) {
        for cap in &self.caps {
            cap.take(bytes);
        }
    }

    /// Writes all, as fast as the caps allow.
    pub fn write_paced(&mut self, bytes: &[u8]) -> io::Result<()> {
        if self.caps.iter().all(|cap| cap.is_unlimited()) {
            return (&*self.socket).write_all(bytes);
        }
        for piece in bytes.chunks(PACE_BYTES) {
            self.pace(piece.len());
            (&*self.socket).write_all(piece)?;
        }
        Ok(())
    }
}

impl Write for Outlet {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.pace(bytes.len());
        (&*self.socket).write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
