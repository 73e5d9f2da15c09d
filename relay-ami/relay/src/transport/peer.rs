//! The peer's TLS key, pinned from its record in the control plane.

use std::collections::BTreeSet;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use crate::control::{self, Control, KeyRecord, Seat};
use crate::defaults::{HANDSHAKE_TIMEOUT, KEY_REFRESH_INTERVAL};
use crate::secure::handshake::KeyCheck;
use crate::thread::lock;

#[derive(Default)]
struct Known {
    keys: Vec<Vec<u8>>,
    /// Reads of the record that began and that ended; one at a time.
    begun: u64,
    ended: u64,
    begun_at: Option<Instant>,
}

impl Known {
    fn is(&self, key: &[u8]) -> bool {
        self.keys.iter().any(|known| known == key)
    }

    /// Until the record may be read again; none while it is being read.
    fn pause(&self, interval: Duration) -> Option<Duration> {
        let since = self.begun_at.map_or(interval, |at| at.elapsed());
        (self.begun == self.ended).then(|| interval.saturating_sub(since))
    }
}

struct Peer<R> {
    record: R,
    interval: Duration,
    patience: Duration,
    known: Mutex<Known>,
    read: Condvar,
}

/// Accepts the key of the peer's record. Another key may be that of a peer that has started anew: the record is read again,
/// at most once a second and by one thread, so that unauthenticated peers cannot make this end flood the control plane. A key that is
/// known waits for nothing; another waits for a read that began after it came.
pub fn pinned(control: Arc<dyn Control>, seat: Seat) -> Arc<KeyCheck> {
    let peer = Peer::new(move || Ok(control.key(seat)?.into_iter().collect()), KEY_REFRESH_INTERVAL, HANDSHAKE_TIMEOUT);
    Arc::new(move |key: &[u8]| peer.accepts(key))
}

/// The same of all senders from which a path leads to a receiver.
pub fn pinned_senders(control: Arc<dyn Control>, receiver: Seat) -> Arc<KeyCheck> {
    let records = move || {
        let paths = control.membership()?.map(|membership| membership.paths).unwrap_or_default();
        let senders: BTreeSet<Seat> = paths.iter().filter(|path| path.to == receiver).map(|path| path.from).collect();
        senders.into_iter().filter_map(|seat| control.key(seat).transpose()).collect()
    };
    let peer = Peer::new(records, KEY_REFRESH_INTERVAL, HANDSHAKE_TIMEOUT);
    Arc::new(move |key: &[u8]| peer.accepts(key))
}

impl<R: Fn() -> control::Result<Vec<KeyRecord>>> Peer<R> {
    fn new(record: R, interval: Duration, patience: Duration) -> Self {
        Self { record, interval, patience, known: Mutex::default(), read: Condvar::new() }
    }

    fn accepts(&self, key: &[u8]) -> bool {
        let patience = Instant::now() + self.patience;
        let mut known = lock(&self.known);
        let enough = known.begun + 1;
        while !known.is(key) && known.ended < enough {
            let left = patience.saturating_duration_since(Instant::now());
            known = match known.pause(self.interval) {
                _ if left.is_zero() => return false,
                Some(Duration::ZERO) => {
                    known.begun += 1;
                    known.begun_at = Some(Instant::now());
                    drop(known);
                    self.refresh()
                }
                pause => {
                    let waited = self.read.wait_timeout(known, pause.map_or(left, |pause| pause.min(left)));
                    waited.unwrap_or_else(PoisonError::into_inner).0
                }
            };
        }
        known.is(key)
    }

    /// Reads without the lock.
    fn refresh(&self) -> MutexGuard<'_, Known> {
        // A read that panics is over too, or nobody would ever read again.
        let record = std::panic::catch_unwind(AssertUnwindSafe(&self.record));
        let mut known = lock(&self.known);
        match record {
            Ok(Ok(records)) => {
                known.keys = records.into_iter().filter_map(|record| URL_SAFE_NO_PAD.decode(record.tls_public_key).ok()).collect();
            }
            Ok(Err(error)) => tracing::warn!(%error, "key of the peer"),
            Err(_) => tracing::error!("reading the key of the peer panicked"),
        }
        known.ended = known.begun;
        self.read.notify_all();
        known
    }
}

/// Base64url without padding, as records carry keys.
#[must_use]
pub fn to_text(key: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(key)
}

/// 32 bytes from base64url without padding.
#[must_use]
pub fn route_key_from_text(text: &str) -> Option<[u8; 32]> {
    URL_SAFE_NO_PAD.decode(text).ok()?.try_into().ok()
}

#[cfg(test)]
#[path = "peer_tests.rs"]
mod tests;
