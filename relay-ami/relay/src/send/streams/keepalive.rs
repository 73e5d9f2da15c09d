//! Tells the relays of the membership that they are still wanted: each powers its machine off when it has not heard so for its
//! time-to-live. Streams do not count, since they may outlive the sender's interest.
//!
//! Whoever calls has just read the membership. A sender that the control plane does not answer any more, or whose transfer stands
//! still, keeps nobody alive: the stack may have been deleted, and with it all that would terminate relays.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::greeting::Streams;
use crate::defaults::STANDSTILL;
use crate::documents::membership::{Hop, Membership, Path};
use crate::transport::route::RouteError;

/// A relay's node id, and the ways to it: the relays to go through, itself the last.
type Ways = BTreeMap<String, Vec<Vec<Hop>>>;

/// Times at which each relay was last told or, at first, became known, and at which the transfer last advanced.
pub struct Keepalives {
    interval: Duration,
    told_at: HashMap<String, Instant>,
    /// Delivered chunks and paths, since when.
    standing: Option<((u64, Vec<Path>), Instant)>,
    /// When relays were last told to power off.
    ended_at: Option<Instant>,
}

impl Keepalives {
    #[must_use]
    pub fn new(interval: Duration) -> Self {
        Self { interval, told_at: HashMap::new(), standing: None, ended_at: None }
    }

    /// Tells each relay that was not told for an interval, all at the same time: one that is gone takes as long as a connection
    /// that nobody answers. `delivered`: chunks so far.
    pub fn follow(&mut self, streams: &Arc<Streams>, delivered: u64, membership: &Membership) {
        for (node, ways) in self.due(membership, delivered, Instant::now()) {
            let streams = Arc::clone(streams);
            let keep = move || tell("keepalive", &node, &ways, |way| streams.router.keep_alive(way));
            if let Err(error) = crate::thread::spawn("keepalive", keep) {
                tracing::warn!(%error, "no thread for a keepalive");
            }
        }
    }

    /// Powers the relays' machines off, again after an interval: they would cost more than the budget bears.
    pub fn end(&mut self, streams: &Arc<Streams>, membership: &Membership, now: Instant) {
        if self.ended_at.is_some_and(|ended_at| now.saturating_duration_since(ended_at) < self.interval) {
            return;
        }
        self.ended_at = Some(now);
        // Where other senders have money, their relays stay.
        let own = |path: &&Path| path.from == streams.seat;
        let own = membership.paths.iter().chain(membership.probes.iter().map(|probe| &probe.path)).filter(own);
        let (streams, mut ways): (_, Vec<_>) = (Arc::clone(streams), ways_along(own).into_iter().collect());
        // Those that others lead to come first.
        ways.sort_by_key(|(_, ways)| std::cmp::Reverse(ways.iter().map(Vec::len).min()));
        let end = move || {
            for (node, ways) in &ways {
                tell("power-off", node, ways, |way| streams.router.power_off(way));
            }
        };
        if let Err(error) = crate::thread::spawn("power-off", end) {
            tracing::warn!(%error, "no thread for a power-off");
        }
    }

    fn due(&mut self, membership: &Membership, delivered: u64, now: Instant) -> Ways {
        let sign = (delivered, membership.paths.clone());
        match &self.standing {
            Some((before, since)) if *before == sign && now.saturating_duration_since(*since) >= STANDSTILL => return Ways::new(),
            Some((before, _)) if *before == sign => {}
            _ => self.standing = Some((sign, now)),
        }
        let mut ways = ways_to(membership);
        self.told_at.retain(|node, _| ways.contains_key(node));
        ways.retain(|node, _| {
            let told_at = self.told_at.entry(node.clone()).or_insert(now);
            let due = now.saturating_duration_since(*told_at) >= self.interval;
            *told_at = if due { now } else { *told_at };
            due
        });
        ways
    }
}

fn ways_to(membership: &Membership) -> Ways {
    ways_along(membership.paths.iter().chain(membership.probes.iter().map(|probe| &probe.path)))
}

fn ways_along<'a>(paths: impl Iterator<Item = &'a Path>) -> Ways {
    let mut ways = Ways::new();
    for path in paths {
        for (at, hop) in path.hops.iter().enumerate() {
            ways.entry(hop.node_id.clone()).or_default().push(path.hops[..=at].to_vec());
        }
    }
    ways
}

/// The first way that leads there is enough. One that fails is tried again after the interval, of which a life has many.
fn tell(what: &str, node: &str, ways: &[Vec<Hop>], tell: impl Fn(&[Hop]) -> Result<(), RouteError>) {
    for way in ways {
        match tell(way) {
            Ok(()) => return,
            Err(error) => tracing::warn!(node, %error, "{what}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::Seat;
    use crate::documents::membership::Probe;
    use crate::documents::text::{Address, PathId, SchemaVersion1};

    fn path(name: &str, hops: &[u16]) -> Path {
        let address = |port: u16| Address(std::net::SocketAddrV4::new([10, 0, 0, 1].into(), port));
        let hops = hops.iter().map(|port| Hop { node_id: format!("node-{port}"), address: address(*port) }).collect();
        Path {
            path_id: PathId::new(name).unwrap(),
            generation: 1,
            hops,
            receiver: address(9),
            lanes: 1,
            store: false,
            from: Seat::SENDER,
            to: Seat::RECEIVER,
        }
    }

    fn membership(paths: Vec<Path>, probed: Vec<Path>) -> Membership {
        let probes = probed.into_iter().map(|path| Probe { path, seconds: 1.0, measure_from: 0 }).collect();
        Membership {
            schema_version: SchemaVersion1,
            version: 1,
            paths,
            probes,
            bandwidth_limit_mbps: None,
            budget_lease: None,
            limit_lease: None,
            paused: false,
            retired: Vec::new(),
            shares: Vec::new(),
        }
    }

    fn told(ways: &Ways) -> Vec<(&str, usize)> {
        ways.iter().map(|(node, ways)| (node.as_str(), ways.len())).collect()
    }

    #[test]
    fn every_relay_is_told_once_an_interval_whichever_paths_it_is_on() {
        let (mut keepalives, start) = (Keepalives::new(Duration::from_secs(60)), Instant::now());
        let at = |seconds| start + Duration::from_secs(seconds);
        let mesh = || vec![path("direct", &[]), path("pair-0-0", &[1, 3]), path("pair-1-0", &[2, 3])];
        let members = || membership(mesh(), vec![path("pair-7", &[4, 5])]);
        assert!(keepalives.due(&members(), 1, at(0)).is_empty() && keepalives.due(&members(), 1, at(59)).is_empty());
        let first = keepalives.due(&members(), 1, at(60));
        assert_eq!(told(&first), [("node-1", 1), ("node-2", 1), ("node-3", 2), ("node-4", 1), ("node-5", 1)]);
        let way = &first["node-3"][1];
        assert_eq!(way.iter().map(|hop| hop.node_id.as_str()).collect::<Vec<_>>(), ["node-2", "node-3"]);
        // One joins, one leaves and comes back.
        assert!(keepalives.due(&membership(vec![path("pair-0", &[1, 6])], vec![]), 1, at(119)).is_empty());
        let again = keepalives.due(&membership(mesh(), vec![]), 1, at(120));
        assert_eq!(told(&again), [("node-1", 1)]);
        assert_eq!(told(&keepalives.due(&membership(mesh(), vec![]), 1, at(180))), [("node-1", 1), ("node-2", 1), ("node-3", 2)]);
    }

    #[test]
    fn a_transfer_that_stands_still_keeps_nobody_alive_until_it_goes_on() {
        let (mut keepalives, start) = (Keepalives::new(Duration::ZERO), Instant::now());
        let mut due = |version, delivered, seconds| {
            let moved = Path { generation: version, ..path("pair-0", &[1]) };
            // That a budget's lease is renewed each minute is no advance.
            let members = Membership { version: seconds, ..membership(vec![moved], vec![]) };
            !keepalives.due(&members, delivered, start + Duration::from_secs(seconds)).is_empty()
        };
        let standstill = STANDSTILL.as_secs();
        assert!(due(1, 5, 0) && due(1, 5, standstill - 1));
        assert!(!due(1, 5, standstill) && !due(1, 5, 10 * standstill));
        assert!(due(1, 6, 10 * standstill), "a chunk was delivered");
        assert!(!due(1, 6, 11 * standstill) && due(2, 6, 11 * standstill), "a path changed");
    }
}
