//! The peer's TLS key, pinned from its record in the control plane.

use std::sync::{Arc, Mutex};
use std::time::Instant;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use crate::control::{Control, Side};
use crate::defaults::KEY_REFRESH_INTERVAL;
use crate::secure::handshake::KeyCheck;
use crate::thread::lock;

#[derive(Default)]
struct Known {
    key: Option<Vec<u8>>,
    read_at: Option<Instant>,
}

impl Known {
    fn is(&self, key: &[u8]) -> bool {
        self.key.as_deref() == Some(key)
    }
}

/// Accepts the key of the peer's record. Another key may be that of a peer that has started anew: the record is read again,
/// at most once a second, so that strangers cannot make this end flood the control plane; who comes in between waits.
pub fn pinned(control: Arc<dyn Control>, side: Side) -> Arc<KeyCheck> {
    let known = Mutex::new(Known::default());
    Arc::new(move |key: &[u8]| {
        let wait = {
            let known = lock(&known);
            if known.is(key) {
                return true;
            }
            known.read_at.and_then(|at| KEY_REFRESH_INTERVAL.checked_sub(at.elapsed()))
        };
        std::thread::sleep(wait.unwrap_or_default());
        let mut known = lock(&known);
        if !known.is(key) && known.read_at.is_none_or(|at| at.elapsed() >= KEY_REFRESH_INTERVAL) {
            known.read_at = Some(Instant::now());
            match control.key(side) {
                Ok(record) => known.key = record.and_then(|record| URL_SAFE_NO_PAD.decode(record.tls_public_key).ok()),
                Err(error) => tracing::warn!(%error, "key of the {}", side.as_str()),
            }
        }
        known.is(key)
    })
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
