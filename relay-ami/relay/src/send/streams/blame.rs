//! The relay to blame for a broken stream: by evidence, since the receiver may be what does not answer.

use std::collections::HashSet;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use super::greeting::LaneError;
use super::hearing::Hearing;
use crate::control::{Control, tell};
use crate::documents::event::Event;
use crate::documents::membership::Path;
use crate::documents::text::{PathId, SchemaVersion1, TransferId};
use crate::thread::lock;

/// Reports relays that were lost.
pub struct Blame {
    transfer: TransferId,
    epoch: u64,
    control: Arc<dyn Control>,
    /// Paths and generations of which one was reported.
    reported: Mutex<HashSet<(PathId, u64)>>,
}

/// The relay that has probably broken a lane of the path, which has failed since then; none where it may as well be the receiver, or
/// this machine's own network.
pub fn suspect(hearing: &Hearing, path: &Path, error: &LaneError, failing_since: Instant) -> Option<String> {
    let elsewhere = hearing.elsewhere(path.to, &path.path_id, failing_since);
    match error {
        // Somebody has answered, or the receiver was heard on another path: this machine's network works. Where there is no other
        // path, nothing else can tell.
        LaneError::Route(error) if error.was_answered() || elsewhere || !hearing.has_another(path.to, &path.path_id) => {
            error.suspect.clone()
        }
        // Each relay did its part: a receiver that is frozen, or gone, costs none its place.
        LaneError::Route(_) | LaneError::Unwelcome(_) | LaneError::OtherProof(_) => None,
        // The stream broke somewhere. Where the receiver was heard on another path since, it is not the receiver, and the first
        // relay is as likely as any.
        LaneError::Stream(_) | LaneError::Silent if elsewhere => path.between_ends().first().map(|hop| hop.node_id.clone()),
        LaneError::Stream(_) | LaneError::Silent => None,
    }
}

impl Blame {
    pub fn new(transfer: TransferId, epoch: u64, control: Arc<dyn Control>) -> Self {
        Self { transfer, epoch, control, reported: Mutex::default() }
    }

    /// Once per path and generation.
    pub fn relay_lost(&self, path: &Path, node_id: String, message: String) {
        if !lock(&self.reported).insert((path.path_id.clone(), path.generation)) {
            return;
        }
        tracing::warn!(path = %path.path_id, node_id, message, "relay lost");
        let transfer_id = self.transfer.clone();
        let event = Event::RelayLost { schema_version: SchemaVersion1, transfer_id, path_id: path.path_id.to_string(), node_id, message };
        if let Err(error) = tell(&*self.control, &event, self.epoch) {
            tracing::warn!(%error, "event");
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::time::Duration;

    use super::*;
    use crate::control::Seat;
    use crate::documents::membership::Hop;
    use crate::documents::text::Address;
    use crate::send::streams::handle::Handle;
    use crate::transport::route::RouteError;
    use crate::transport::stream::StreamError;

    fn refused(suspect: &str, kind: io::ErrorKind) -> LaneError {
        LaneError::Route(RouteError { what: "open".to_owned(), suspect: Some(suspect.to_owned()), source: kind.into() })
    }

    #[test]
    fn a_relay_is_to_blame_where_somebody_answered_or_the_receiver_was_heard_on_another_path_since() {
        let (hearing, since) = (Hearing::default(), Instant::now());
        let address = Address(std::net::SocketAddrV4::new([10, 0, 0, 1].into(), 1));
        let hops = vec![Hop { node_id: "source-1-0".to_owned(), address }];
        let path = Path {
            path_id: PathId::new("pair-1").unwrap(),
            generation: 0,
            hops,
            receiver: address,
            lanes: 1,
            store: false,
            from: Seat::SENDER,
            to: Seat::RECEIVER,
        };
        let to_blame = |error: &LaneError| suspect(&hearing, &path, error, since);
        let (broken, silence) = (LaneError::Stream(StreamError::Ended), refused("destination-1-0", io::ErrorKind::TimedOut));
        let handle = |path: &str| Handle::new(PathId::new(path).unwrap());
        assert_eq!(to_blame(&silence).as_deref(), Some("destination-1-0"), "there is no other path that could tell");
        hearing.heard(&handle("direct"), since);
        assert_eq!(to_blame(&silence), None, "nothing is heard anywhere");
        assert_eq!(to_blame(&refused("destination-1-0", io::ErrorKind::ConnectionRefused)).as_deref(), Some("destination-1-0"));
        let later = since + Duration::from_secs(1);
        hearing.heard(&handle("pair-1"), later);
        assert_eq!((to_blame(&broken), to_blame(&LaneError::Silent)), (None, None), "this path's own words say nothing of the others");
        hearing.heard(&handle("direct"), later);
        assert_eq!(to_blame(&silence).as_deref(), Some("destination-1-0"));
        assert_eq!((to_blame(&broken).as_deref(), to_blame(&LaneError::Silent).as_deref()), (Some("source-1-0"), Some("source-1-0")));
        assert_eq!(to_blame(&LaneError::Unwelcome(StreamError::Ended)), None, "each relay did its part");
    }
}
