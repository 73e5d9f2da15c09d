//! Takes the connections of a relay and of a receiver, and bounds those that are not authenticated yet.

use std::collections::BTreeMap;
use std::fmt;
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crate::deadline::Deadline;
use crate::defaults::{HANDSHAKE_TIMEOUT, HEADER_TIMEOUT, MAX_UNAUTHENTICATED, MAX_UNAUTHENTICATED_PER_ADDRESS};
use crate::secure::outlet::peer_ip;
use crate::stop::Stop;
use crate::thread::lock;

/// The number of unauthenticated connections at a time, and how long each may stay one.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    pub unauthenticated: usize,
    pub per_address: usize,
    pub time: Duration,
}

impl Limits {
    pub const RELAY: Self =
        Self { unauthenticated: MAX_UNAUTHENTICATED, per_address: MAX_UNAUTHENTICATED_PER_ADDRESS, time: HEADER_TIMEOUT };
    pub const RECEIVER: Self = Self { time: HANDSHAKE_TIMEOUT, ..Self::RELAY };
}

/// Longest wait of [`Acceptor::answer`], so that its caller can look around.
const LOOK_AROUND: Duration = Duration::from_secs(1);
/// Out of descriptors or threads: connections must end before another can come.
const PAUSE: Duration = Duration::from_millis(100);
/// Whoever can reach the port could otherwise fill the log.
const COMPLAINT_INTERVAL: Duration = Duration::from_secs(1);

pub struct Acceptor {
    limits: Limits,
    /// Strangers by address.
    unauthenticated: Mutex<BTreeMap<Ipv4Addr, usize>>,
    complaints: Mutex<Complaints>,
}

#[derive(Default)]
struct Complaints {
    said_at: Option<Instant>,
    unsaid: u64,
}

impl Acceptor {
    #[must_use]
    pub fn new(limits: Limits) -> Arc<Self> {
        Arc::new(Self { limits, unauthenticated: Mutex::default(), complaints: Mutex::default() })
    }

    /// Waits a moment for a connection and gives it a thread. One that is too many is closed at once.
    pub fn answer(
        self: &Arc<Self>,
        listeners: &[TcpListener],
        stop: &Stop,
        thread: &str,
        serve: impl FnOnce(Unauthenticated, TcpStream) + Send + 'static,
    ) {
        match stop.accept(listeners, LOOK_AROUND) {
            Ok(Some(socket)) => match self.admit(peer_ip(&socket)) {
                Ok(unauthenticated) => {
                    if let Err(error) = crate::thread::spawn(thread, move || serve(unauthenticated, socket)) {
                        tracing::warn!(%error, "no thread for a connection");
                        stop.sleep(PAUSE);
                    }
                }
                Err(full) => self.complain(&full),
            },
            Ok(None) => {}
            Err(error) => {
                tracing::warn!(%error, "accept");
                stop.sleep(PAUSE);
            }
        }
    }

    /// Counts from here on, not from when the thread begins.
    fn admit(self: &Arc<Self>, address: Ipv4Addr) -> Result<Unauthenticated, Full> {
        let mut unauthenticated = lock(&self.unauthenticated);
        let (all, here) = (unauthenticated.values().sum::<usize>(), unauthenticated.get(&address).copied().unwrap_or(0));
        if all >= self.limits.unauthenticated || here >= self.limits.per_address {
            return Err(Full { all, here, address });
        }
        unauthenticated.insert(address, here + 1);
        Ok(Unauthenticated { acceptor: Arc::clone(self), address, deadline: Deadline::after(self.limits.time) })
    }

    fn leave(&self, address: Ipv4Addr) {
        let mut unauthenticated = lock(&self.unauthenticated);
        match unauthenticated.get_mut(&address) {
            Some(count) if *count > 1 => *count -= 1,
            _ => drop(unauthenticated.remove(&address)),
        }
    }

    fn complain(&self, why: &dyn fmt::Display) {
        let mut complaints = lock(&self.complaints);
        if complaints.said_at.is_some_and(|at| at.elapsed() < COMPLAINT_INTERVAL) {
            complaints.unsaid += 1;
            return;
        }
        let unsaid = std::mem::take(&mut complaints.unsaid);
        complaints.said_at = Some(Instant::now());
        tracing::warn!(unsaid, "turned away: {why}");
    }
}

/// A connection that has not shown who it is. Dropped when it has, or when it is turned away.
pub struct Unauthenticated {
    acceptor: Arc<Acceptor>,
    address: Ipv4Addr,
    deadline: Deadline,
}

impl Unauthenticated {
    /// By when it must have shown who it is.
    #[must_use]
    pub const fn deadline(&self) -> Deadline {
        self.deadline
    }

    /// It has not.
    pub fn turn_away(self, why: &dyn fmt::Display) {
        self.acceptor.complain(&format_args!("{}: {why}", self.address));
    }
}

impl Drop for Unauthenticated {
    fn drop(&mut self) {
        self.acceptor.leave(self.address);
    }
}

/// Too many unauthenticated connections.
struct Full {
    all: usize,
    here: usize,
    address: Ipv4Addr,
}

impl fmt::Display for Full {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} connections have not shown who they are, {} of them from {}", self.all, self.here, self.address)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HERE: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
    const THERE: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);

    #[test]
    fn one_address_cannot_take_the_places_of_others() {
        let acceptor = Acceptor::new(Limits { unauthenticated: 5, per_address: 3, time: Duration::from_secs(1) });
        let held: Vec<Unauthenticated> = (0..3).map_while(|_| acceptor.admit(HERE).ok()).collect();
        assert_eq!(held.len(), 3);
        assert!(acceptor.admit(HERE).is_err(), "a fourth of one address");
        let others: Vec<Unauthenticated> = (0..2).map_while(|_| acceptor.admit(THERE).ok()).collect();
        assert_eq!(others.len(), 2);
        assert!(acceptor.admit(THERE).is_err(), "a sixth of all");
        drop(held);
        assert!(acceptor.admit(THERE).is_ok());
        drop(others);
        assert!(lock(&acceptor.unauthenticated).is_empty(), "places that nobody has are forgotten");
    }
}
