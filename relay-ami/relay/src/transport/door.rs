//! A proxy on the loopback whose streams lead through relays: clients of HTTP know nothing of these.
//!
//! The client asks by CONNECT for a host, whose address is found here, and which the last relay dials; TLS is between the client and the
//! host. Whoever else has a process on this machine lacks the secret. A client that speaks without TLS, as to an emulator, knows no such
//! request: for it the door leads to one host.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4, TcpListener, TcpStream, ToSocketAddrs};
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use aws_lc_rs::constant_time::verify_slices_are_equal;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rustix::net::sockopt::set_tcp_user_timeout;

use super::route::{RouteError, Router};
use crate::deadline::Deadline;
use crate::defaults::HANDSHAKE_TIMEOUT;
use crate::documents::membership::Hop;
use crate::documents::text::Address;
use crate::rate::RateRules;
use crate::secure::keys::random;
use crate::secure::outlet::Outlet;
use crate::sockets::net::tune;
use crate::sockets::splice::both_ways;
use crate::stop::Stop;
use crate::thread::lock;

/// Of whom a request asks for the door.
pub const USER: &str = "cpt";
/// A request line with a host, and a few headers.
const MOST_ASKED: usize = 4 << 10;
/// Longest wait for a connection, after which the thread looks whether the door is to be closed.
const LOOK: Duration = Duration::from_secs(60);

/// Bytes that a relay has not acknowledged for so long break the stream. It counts for a relay too that waits for a slow store: 8 streams
/// of it that share 1 MB/s take 2 s for what their buffers hold.
const FROZEN_MS: u32 = 30_000;

/// Whoever is told what became of each stream: it was opened, or why not.
pub type Told = dyn Fn(Result<(), &RouteError>) + Send + Sync;

/// What is behind a door.
pub struct Behind {
    pub router: Arc<Router>,
    pub hops: Vec<Hop>,
    pub rules: RateRules,
    /// `host:port` of the only host, for clients without TLS.
    pub only: Option<String>,
    pub told: Box<Told>,
}

/// It is closed when it is dropped; streams that are open stay so.
pub struct Door {
    pub address: SocketAddrV4,
    pub secret: String,
    behind: Arc<Behind>,
    /// For whom it was asked last.
    asked_for: Arc<Mutex<Option<String>>>,
    stop: Stop,
}

impl Door {
    /// # Errors
    ///
    /// If the system has no port, no thread or no random bytes for it.
    pub fn open(behind: Behind) -> io::Result<Self> {
        let listener = TcpListener::bind(SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0))?;
        let SocketAddr::V4(address) = listener.local_addr()? else { return Err(io::ErrorKind::Unsupported.into()) };
        let bytes: [u8; 32] = random().map_err(io::Error::other)?;
        let secret: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        let expected = STANDARD.encode(format!("{USER}:{secret}"));
        let (stop, behind, asked_for) = (Stop::new()?, Arc::new(behind), Arc::new(Mutex::new(None)));
        let (told, served, noted) = (stop.clone(), Arc::clone(&behind), Arc::clone(&asked_for));
        crate::thread::spawn("door", move || {
            while !told.is_requested() {
                match told.accept(std::slice::from_ref(&listener), LOOK) {
                    Ok(Some(socket)) => {
                        let (behind, expected, noted) = (Arc::clone(&served), expected.clone(), Arc::clone(&noted));
                        let served =
                            move || behind.serve(&socket, &expected, &noted).unwrap_or_else(|error| tracing::debug!(%error, "door"));
                        if let Err(error) = crate::thread::spawn("way", served) {
                            tracing::warn!(%error, "no thread for a stream");
                        }
                    }
                    Ok(None) => {}
                    Err(error) => {
                        tracing::warn!(%error, "door");
                        told.sleep(Duration::from_millis(100));
                    }
                }
            }
        })?;
        Ok(Self { address, secret, behind, asked_for, stop })
    }

    /// Opens a stream as it was asked for last, and closes it: whoever is told hears what became of it.
    pub fn look(&self) {
        let host = lock(&self.asked_for).clone();
        if let Some(host) = host {
            drop(self.behind.dial(&host));
        }
    }
}

impl Drop for Door {
    fn drop(&mut self) {
        self.stop.request();
    }
}

impl Behind {
    fn serve(&self, socket: &TcpStream, expected: &str, noted: &Mutex<Option<String>>) -> io::Result<()> {
        tune(socket)?;
        let mut timed = Deadline::after(HANDSHAKE_TIMEOUT).on(socket);
        let host = match &self.only {
            Some(host) => host.clone(),
            None => match asked(&mut timed, expected)? {
                Some(host) => host,
                None => return timed.write_all(b"HTTP/1.1 407 Proxy Authentication Required\r\ncontent-length: 0\r\n\r\n"),
            },
        };
        *lock(noted) = Some(host.clone());
        let onward = self.dial(&host);
        if self.only.is_none() {
            let answer: &[u8] =
                if onward.is_ok() { b"HTTP/1.1 200 OK\r\n\r\n" } else { b"HTTP/1.1 502 Bad Gateway\r\ncontent-length: 0\r\n\r\n" };
            timed.write_all(answer)?;
        }
        let onward = onward?;
        socket.set_read_timeout(None)?;
        socket.set_write_timeout(None)?;
        let (here, there) = (Outlet::new(socket.try_clone()?, &self.rules, None), Outlet::new(onward, &self.rules, None));
        both_ways(&here, &there, &AtomicU64::new(0))
    }

    fn dial(&self, host: &str) -> io::Result<TcpStream> {
        let mut found =
            host.to_socket_addrs()?.filter_map(|address| if let SocketAddr::V4(address) = address { Some(address) } else { None });
        let address = found.next().ok_or_else(|| io::Error::other(format!("{host} has no IPv4 address")))?;
        let opened = self.router.through(&self.hops, Address(address));
        (self.told)(opened.as_ref().map(drop));
        let socket = opened.map_err(|error| io::Error::other(error.to_string()))?;
        socket.set_read_timeout(None)?;
        socket.set_write_timeout(None)?;
        // The relay is in this machine's own network.
        set_tcp_user_timeout(&socket, FROZEN_MS)?;
        Ok(socket)
    }
}

/// The host that a CONNECT names; none where it does not have the secret.
fn asked(from: &mut impl Read, expected: &str) -> io::Result<Option<String>> {
    let refused = |why: &str| Err(io::Error::new(io::ErrorKind::InvalidData, why.to_owned()));
    let (mut head, mut byte) = (Vec::new(), [0]);
    // Nothing may be read of what follows.
    while !head.ends_with(b"\r\n\r\n") {
        if head.len() >= MOST_ASKED {
            return refused("a request that does not end");
        }
        from.read_exact(&mut byte)?;
        head.push(byte[0]);
    }
    let Ok(head) = String::from_utf8(head) else { return refused("a request that is no text") };
    let mut lines = head.split("\r\n");
    let host = lines.next().and_then(|line| line.strip_prefix("CONNECT ")?.strip_suffix(" HTTP/1.1"));
    let Some(host) = host else { return refused("no CONNECT") };
    let is_allowed = lines.filter_map(|line| line.split_once(": ")).any(|(name, value)| {
        let given = value.strip_prefix("Basic ").unwrap_or_default();
        name.eq_ignore_ascii_case("proxy-authorization") && verify_slices_are_equal(given.as_bytes(), expected.as_bytes()).is_ok()
    });
    Ok(is_allowed.then(|| host.to_owned()))
}
