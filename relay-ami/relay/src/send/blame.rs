//! Which relay is to blame for a stream that broke: by evidence, since the receiver may be what does not answer.

use std::collections::{HashMap, HashSet};
use std::sync::Mutex;
use std::time::Instant;

use super::Shared;
use super::streams::LaneError;
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
    fn heard_elsewhere(&self, path: &PathId, since: Instant) -> bool {
        lock(&self.heard).iter().any(|(other, at)| other != path && *at > since)
    }

    /// The relay that has probably broken a lane of the path, which has failed since then; none where it may as well be the receiver.
    pub fn suspect(&self, path: &Path, error: &LaneError, failing_since: Instant) -> Option<String> {
        match error {
            LaneError::Route(error) => error.suspect.clone(),
            // Each relay did its part: a receiver that is frozen, or gone, costs none its place.
            LaneError::Unwelcome(_) => None,
            // The stream broke somewhere. Where the receiver was heard on another path since, it is not the receiver, and the first
            // relay is as likely as any; else it may well be, and nobody is blamed.
            LaneError::Stream(_) if self.heard_elsewhere(&path.path_id, failing_since) => path.hops.first().map(|hop| hop.node_id.clone()),
            LaneError::Stream(_) => None,
        }
    }
}

impl Shared {
    /// Once per path and generation.
    pub(super) fn relay_lost(&self, path: &Path, node_id: String, message: String) {
        if !lock(&self.blame.lost).insert((path.path_id.clone(), path.generation)) {
            return;
        }
        tracing::warn!(path = %path.path_id, node_id, message, "relay lost");
        let transfer_id = self.streams.router.transfer.clone();
        let event = Event::RelayLost { schema_version: SchemaVersion1, transfer_id, path_id: path.path_id.to_string(), node_id, message };
        if let Err(error) = tell(&*self.control, &event, self.streams.epoch) {
            tracing::warn!(%error, "event");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::documents::membership::Hop;
    use crate::documents::text::Address;
    use crate::route::RouteError;
    use crate::stream::StreamError;
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

    #[test]
    fn the_relay_that_the_route_names_is_to_blame_and_none_for_a_receiver_that_does_not_answer() {
        let (blame, since) = (Blame::default(), Instant::now());
        let address = Address(std::net::SocketAddrV4::new([10, 0, 0, 1].into(), 1));
        let hops = vec![Hop { node_id: "source-1-0".to_owned(), address }];
        let path = Path { path_id: PathId::new("pair-1").unwrap(), generation: 0, hops, receiver: address, lanes: 1 };
        let refused = RouteError {
            what: "open".to_owned(),
            suspect: Some("destination-1-0".to_owned()),
            source: std::io::ErrorKind::ConnectionRefused.into(),
        };
        assert_eq!(blame.suspect(&path, &LaneError::Route(refused), since).as_deref(), Some("destination-1-0"));
        assert_eq!(blame.suspect(&path, &LaneError::Stream(StreamError::Ended), since), None);
        std::thread::sleep(Duration::from_millis(2));
        blame.heard_on(&PathId::new("direct").unwrap());
        assert_eq!(blame.suspect(&path, &LaneError::Stream(StreamError::Ended), since).as_deref(), Some("source-1-0"));
        assert_eq!(blame.suspect(&path, &LaneError::Unwelcome(StreamError::Ended), since), None);
    }
}
