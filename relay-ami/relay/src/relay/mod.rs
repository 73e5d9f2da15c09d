//! A relay: passes on streams whose route header this transfer's sender signed, and sees only ciphertext.

mod lifetime;
pub(crate) mod probe;
pub mod steering;
mod stream;

use std::io;
use std::net::{SocketAddrV4, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

pub use lifetime::Lifetime;
pub use steering::Steering;

use crate::defaults;
use crate::documents::text::TransferId;
use crate::rate::{Bucket, RateRules};
use crate::sockets::acceptor::{Acceptor, Limits};
use crate::stop::Stop;

/// The input of a relay.
#[derive(Debug)]
pub struct Config {
    pub transfer: TransferId,
    /// Ed25519 public keys of the senders whose streams it passes on.
    pub route_keys: Vec<[u8; 32]>,
    /// Addresses that others dial to reach it, beside those that it listens on: behind EC2's NAT its public one.
    pub known_as: Vec<SocketAddrV4>,
    /// Ends itself after so long without a stream.
    pub idle: Duration,
    /// None on a machine that is not to be powered off.
    pub lifetime: Option<Lifetime>,
    pub rules: RateRules,
    /// The limit of all that is sent, on a machine that does other work too.
    pub bandwidth: Option<Arc<Bucket>>,
    /// Where whoever has started it tells that limit, and reads what it has moved.
    pub steering: Option<Steering>,
    pub limits: Limits,
}

struct Relay {
    config: Config,
    streams: AtomicUsize,
    moved: AtomicU64,
}

/// Serves until idle for too long or told to stop; then lets streams end within the deadline.
pub fn run(mut config: Config, listeners: &[TcpListener], stop: &Stop) -> io::Result<()> {
    let acceptor = Acceptor::new(config.limits);
    let mut steering = config.steering.take();
    let relay = Arc::new(Relay { config, streams: AtomicUsize::new(0), moved: AtomicU64::new(0) });
    let mut busy_at = Instant::now();
    while !stop.is_requested() {
        let here = Arc::clone(&relay);
        acceptor.answer(listeners, stop, "stream", move |unauthenticated, socket| stream::serve(&here, unauthenticated, socket));
        if let (Some(steering), Some(bandwidth)) = (&mut steering, &relay.config.bandwidth) {
            steering.look(bandwidth, relay.moved.load(Ordering::Relaxed));
        }
        if relay.streams.load(Ordering::SeqCst) > 0 {
            busy_at = Instant::now();
        } else if busy_at.elapsed() >= relay.config.idle {
            tracing::info!(seconds = relay.config.idle.as_secs(), "idle; ending");
            break;
        }
    }
    let deadline = Instant::now() + defaults::STOP_TIMEOUT;
    while relay.streams.load(Ordering::SeqCst) > 0 && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(50));
    }
    tracing::info!(bytes = relay.moved.load(Ordering::Relaxed), "relay ends");
    Ok(())
}
