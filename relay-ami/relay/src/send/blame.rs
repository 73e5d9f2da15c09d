//! Which relay is to blame for a stream that broke: by evidence, since the receiver may be what does not answer.

use std::collections::{HashMap, HashSet};
use std::sync::Mutex;
use std::time::Instant;

use super::Shared;
use crate::documents::event::Event;
use crate::documents::membership::Path;
use crate::documents::text::{PathId, SchemaVersion1};
use crate::thread::lock;

/// What is known of the receiver and of relays.
#[derive(Default)]
pub struct Blame {
    /// When the receiver last said something on each path.
    heard: Mutex<HashMap<PathId, Instant>>,
    /// Paths and generations of which a relay was reported.
    lost: Mutex<HashSet<(PathId, u64)>>,
}

impl Shared {
    pub(super) fn heard_on(&self, path: &PathId) {
        lock(&self.blame.heard).insert(path.clone(), Instant::now());
    }

    /// Whether the receiver has spoken on another path since then.
    pub(super) fn heard_elsewhere(&self, path: &PathId, since: Instant) -> bool {
        lock(&self.blame.heard).iter().any(|(other, at)| other != path && *at > since)
    }

    /// Once per path and generation.
    pub(super) fn relay_lost(&self, path: &Path, node_id: String, message: String) {
        if !lock(&self.blame.lost).insert((path.path_id.clone(), path.generation)) {
            return;
        }
        tracing::warn!(path = %path.path_id, node_id, message, "relay lost");
        let transfer_id = self.router.transfer.clone();
        let event = Event::RelayLost { schema_version: SchemaVersion1, transfer_id, path_id: path.path_id.to_string(), node_id, message };
        if let Err(error) = self.control.put_event(&event) {
            tracing::warn!(%error, "event");
        }
    }
}
