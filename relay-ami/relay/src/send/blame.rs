//! Which relay is to blame for a stream that broke: by evidence, since the receiver may be what does not answer.

use std::collections::{HashMap, HashSet};
use std::sync::Mutex;
use std::time::Instant;

use super::Shared;
use crate::control::tell;
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

impl Blame {
    pub fn heard_on(&self, path: &PathId) {
        lock(&self.heard).insert(path.clone(), Instant::now());
    }

    /// Whether the receiver has spoken on another path since then.
    pub fn heard_elsewhere(&self, path: &PathId, since: Instant) -> bool {
        lock(&self.heard).iter().any(|(other, at)| other != path && *at > since)
    }
}

impl Shared {
    /// Once per path and generation.
    pub(super) fn relay_lost(&self, path: &Path, node_id: String, message: String) {
        if !lock(&self.blame.lost).insert((path.path_id.clone(), path.generation)) {
            return;
        }
        tracing::warn!(path = %path.path_id, node_id, message, "relay lost");
        let transfer_id = self.router.transfer.clone();
        let event = Event::RelayLost { schema_version: SchemaVersion1, transfer_id, path_id: path.path_id.to_string(), node_id, message };
        if let Err(error) = tell(&*self.control, &event, self.epoch) {
            tracing::warn!(%error, "event");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn a_broken_stream_is_a_relays_fault_only_where_the_receiver_was_heard_on_another_path_since() {
        let (blame, own, other) = (Blame::default(), PathId::new("pair-0").unwrap(), PathId::new("direct").unwrap());
        blame.heard_on(&own);
        blame.heard_on(&other);
        std::thread::sleep(Duration::from_millis(2));
        let broken = Instant::now();
        assert!(!blame.heard_elsewhere(&own, broken), "silent on all");
        blame.heard_on(&own);
        assert!(!blame.heard_elsewhere(&own, broken), "this path's own recovery says nothing of the others");
        blame.heard_on(&other);
        assert!(blame.heard_elsewhere(&own, broken));
    }
}
