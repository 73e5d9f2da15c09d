//! A relay: passes on streams whose route header this transfer's sender signed, and sees only ciphertext.

pub(crate) mod probe;
mod stream;

use std::io;
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use crate::defaults;
use crate::documents::text::TransferId;
use crate::rate::RateRules;
use crate::stop::Stop;

/// What a relay needs to know.
#[derive(Debug)]
pub struct Config {
    pub transfer: TransferId,
    /// Ed25519 public key of the sender.
    pub route_key: [u8; 32],
    /// Ends itself after so long without a stream.
    pub idle: Duration,
    pub rules: RateRules,
}

struct Relay {
    config: Config,
    unauthenticated: Arc<AtomicUsize>,
    streams: Arc<AtomicUsize>,
    moved: AtomicU64,
}

/// Counts one while it lives.
struct Counted(Arc<AtomicUsize>);

impl Counted {
    fn new(counter: &Arc<AtomicUsize>) -> Self {
        counter.fetch_add(1, Ordering::SeqCst);
        Self(Arc::clone(counter))
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Serves until idle for too long or told to stop; then lets streams end within the deadline.
pub fn run(config: Config, listeners: &[TcpListener], stop: &Stop) -> io::Result<()> {
    let relay = Arc::new(Relay { config, unauthenticated: Arc::default(), streams: Arc::default(), moved: AtomicU64::new(0) });
    let mut busy_at = Instant::now();
    while !stop.is_requested() {
        match stop.accept(listeners, Duration::from_secs(1)) {
            Ok(Some(socket)) if relay.unauthenticated.load(Ordering::SeqCst) >= defaults::MAX_UNAUTHENTICATED => {
                tracing::warn!(limit = defaults::MAX_UNAUTHENTICATED, "too many unauthenticated connections; one refused");
                drop(socket);
            }
            Ok(Some(socket)) => {
                // Counted here: a thread that has not begun yet must count too.
                let (relay, counted) = (Arc::clone(&relay), Counted::new(&relay.unauthenticated));
                if let Err(error) = crate::thread::spawn("stream", move || stream::serve(&relay, counted, socket)) {
                    tracing::warn!(%error, "no thread for a connection");
                    stop.sleep(Duration::from_millis(100));
                }
            }
            Ok(None) => {}
            Err(error) => {
                // Out of descriptors: streams must end before another can come.
                tracing::warn!(%error, "accept");
                stop.sleep(Duration::from_millis(100));
            }
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
