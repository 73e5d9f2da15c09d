//! The ways to a bucket of an end beside it, as the membership has them: one through the relays of each path to the store.

use std::io;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use cpt_control_aws::clients::{http_client, http_client_by};
use cpt_ends_s3::client::Bucket;
use cpt_ends_s3::ways::Through;
use cpt_relay::control::{Control, Seat, tell};
use cpt_relay::defaults::WATCH_INTERVAL;
use cpt_relay::documents::event::Event;
use cpt_relay::documents::membership::{Membership, Path};
use cpt_relay::documents::text::{SchemaVersion1, TransferId};
use cpt_relay::rate::RateRules;
use cpt_relay::stop::Stop;
use cpt_relay::thread::{lock, spawn};
use cpt_relay::transport::door::{Behind, Door, USER};
use cpt_relay::transport::route::{RouteError, Router};

/// A relay that cannot be passed for so long is lost, unless it was another one's fault.
const LOST_AFTER: Duration = Duration::from_secs(3);

/// Whose ways they are.
pub struct StoreWays {
    pub transfer: TransferId,
    pub seat: Seat,
    pub epoch: u64,
    pub bucket: Bucket,
    pub router: Arc<Router>,
    pub rules: RateRules,
    pub control: Arc<dyn Control>,
}

impl StoreWays {
    /// Follows the membership until the stop is wanted.
    ///
    /// # Errors
    ///
    /// If the system has no thread for it.
    pub fn follow(self, stop: &Stop) -> io::Result<()> {
        let (stop, own) = (stop.clone(), Arc::new(self));
        spawn("ways", move || {
            let mut doors = Vec::<OpenWay>::new();
            loop {
                match own.control.membership() {
                    Ok(membership) => membership.iter().for_each(|membership| own.hold(membership, &mut doors)),
                    // Those of a moment ago still serve.
                    Err(error) => tracing::warn!(%error, "membership"),
                }
                // Data goes elsewhere meanwhile, and would not show that nobody comes back. One at a time: whoever does not answer takes seconds, and others may come or go.
                if let Some(open) =
                    doors.iter().filter(|open| lock(&open.failing).is_open()).min_by_key(|open| lock(&open.failing).looked_at)
                {
                    lock(&open.failing).looked_at = Some(Instant::now());
                    open.door.look();
                }
                if stop.sleep(WATCH_INTERVAL) {
                    return;
                }
            }
        })
        .map(drop)
    }

    /// Opens what is new, and closes what is gone.
    fn hold(self: &Arc<Self>, membership: &Membership, doors: &mut Vec<OpenWay>) {
        let wanted: Vec<&Path> =
            membership.paths.iter().filter(|path| path.store && (path.from == self.seat || path.to == self.seat)).collect();
        let same = |one: &Path, other: &Path| (&one.path_id, one.generation, &one.hops) == (&other.path_id, other.generation, &other.hops);
        let before = doors.len();
        doors.retain(|open| wanted.iter().any(|wanted| same(wanted, &open.path)));
        let fresh: Vec<&Path> = wanted.into_iter().filter(|wanted| !doors.iter().any(|open| same(wanted, &open.path))).collect();
        if doors.len() == before && fresh.is_empty() {
            return;
        }
        for path in fresh {
            match self.open(path) {
                Ok(open) => {
                    tracing::info!(path = %path.path_id, generation = path.generation, "a way to the bucket");
                    doors.push(open);
                }
                Err(error) => tracing::warn!(path = %path.path_id, %error, "no way to the bucket"),
            }
        }
        self.bucket.ways().set(doors.iter().map(|open| open.through.clone()).collect());
    }

    fn open(self: &Arc<Self>, path: &Path) -> io::Result<OpenWay> {
        let failing = Arc::default();
        let door = Door::open(self.behind(path, &failing))?;
        let is_plain = self.bucket.plain_host().is_some();
        let http = if is_plain { http_client() } else { http_client_by(door.address, USER, &door.secret) };
        let endpoint = is_plain.then(|| format!("http://{}", door.address));
        let (name, generation, http) = (path.path_id.as_str().into(), path.generation, http.map_err(io::Error::other)?);
        Ok(OpenWay { path: path.clone(), door, through: Through { path: name, generation, http, endpoint }, failing })
    }

    fn behind(self: &Arc<Self>, path: &Path, failing: &Arc<Mutex<Failing>>) -> Behind {
        let (own, of, failing) = (Arc::clone(self), path.clone(), Arc::clone(failing));
        Behind {
            router: Arc::clone(&self.router),
            hops: path.hops.clone(),
            rules: self.rules.clone(),
            only: self.bucket.plain_host().map(str::to_owned),
            told: Box::new(move |opened| {
                let last = of.hops.last().map(|hop| hop.node_id.as_str());
                let Some((node_id, message)) = lock(&failing).lost((opened, last), |since| own.bucket.ways().heard_directly_since(since))
                else {
                    return;
                };
                tracing::warn!(path = %of.path_id, node_id, message, "relay lost");
                let (transfer_id, path_id) = (own.transfer.clone(), of.path_id.to_string());
                let event = Event::RelayLost { schema_version: SchemaVersion1, transfer_id, path_id, node_id, message };
                if let Err(error) = tell(&*own.control, &event, own.epoch) {
                    tracing::warn!(%error, "event");
                    lock(&failing).is_told = false;
                }
            }),
        }
    }
}

/// A way that the membership has.
struct OpenWay {
    path: Path,
    door: Door,
    through: Through,
    failing: Arc<Mutex<Failing>>,
}

/// For how long no stream was opened.
#[derive(Default)]
struct Failing {
    since: Option<Instant>,
    looked_at: Option<Instant>,
    is_told: bool,
}

impl Failing {
    /// Streams fail, and that is not told.
    const fn is_open(&self) -> bool {
        self.since.is_some() && !self.is_told
    }

    /// The relay that is lost, and why, once: none is where S3 is not heard elsewhere either. Where the relays did their part, it is the
    /// `last` one, which does not reach the store as this machine does.
    fn lost(
        &mut self,
        (opened, last): (Result<(), &RouteError>, Option<&str>),
        is_heard_since: impl Fn(Instant) -> bool,
    ) -> Option<(String, String)> {
        let Err(error) = opened else {
            self.since = None;
            return None;
        };
        let since = *self.since.get_or_insert_with(Instant::now);
        let node_id = error.suspect.as_deref().or(last)?.to_owned();
        if self.is_told || since.elapsed() < LOST_AFTER || !is_heard_since(since) {
            return None;
        }
        self.is_told = true;
        Some((node_id, error.to_string()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unreachable(suspect: Option<&str>) -> RouteError {
        RouteError { suspect: suspect.map(str::to_owned), what: "open".to_owned(), source: io::ErrorKind::ConnectionRefused.into() }
    }

    #[test]
    fn a_relay_is_lost_once_where_the_bucket_is_heard_without_it_and_no_stream_was_opened_for_long() {
        let long_ago = || Failing { since: Instant::now().checked_sub(LOST_AFTER), ..Failing::default() };
        let (error, last) = (unreachable(Some("source-1-0")), unreachable(None));
        let mut failing = long_ago();
        assert_eq!(failing.lost((Err(&error), None), |_| true).map(|(node, _)| node).as_deref(), Some("source-1-0"));
        assert_eq!(failing.lost((Err(&error), None), |_| true), None, "once");
        assert_eq!(long_ago().lost((Err(&error), None), |_| false), None, "it may be this machine's own network, or the bucket");
        let of_last = long_ago().lost((Err(&last), Some("source-2-0")), |_| true);
        assert_eq!(of_last.map(|(node, _)| node).as_deref(), Some("source-2-0"), "it does not reach the store, and this machine does");
        assert_eq!(Failing::default().lost((Err(&error), None), |_| true), None, "a moment");
        let mut again = long_ago();
        assert_eq!(again.lost((Ok(()), None), |_| true), None);
        assert_eq!(again.lost((Err(&error), None), |_| true), None, "it was passed meanwhile");
    }
}
