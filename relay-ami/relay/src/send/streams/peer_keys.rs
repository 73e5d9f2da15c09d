//! The keys by which receivers are known.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use crate::control::{Control, Seat};
use crate::secure::handshake::KeyCheck;
use crate::thread::lock;
use crate::transport::peer::pinned;

/// Checks of receivers' keys, one for each seat; made when a path first leads there.
pub struct PeerKeys {
    control: Arc<dyn Control>,
    checks: Mutex<HashMap<Seat, Arc<KeyCheck>>>,
}

impl PeerKeys {
    #[must_use]
    pub fn new(control: Arc<dyn Control>) -> Self {
        Self { control, checks: Mutex::default() }
    }

    /// The check of the receiver in a seat.
    pub fn of(&self, seat: Seat) -> Arc<KeyCheck> {
        Arc::clone(lock(&self.checks).entry(seat).or_insert_with(|| pinned(Arc::clone(&self.control), seat)))
    }
}
