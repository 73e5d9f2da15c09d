//! Follows the membership: lanes come, go and are replaced as paths do.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::common::Common;
use super::common_limit::CommonLimit;
use super::growth::{Growth, Sight, send_buffer};
use super::lane::Lane;
use super::lease::Hold;
use crate::control::{Seat, unix_now};
use crate::defaults::{DRAIN_TIMEOUT, GROWTH_LOOK, HANDSHAKE_TIMEOUT, LANES_AT_START, LEISURE};
use crate::documents::event::LaneProgress;
use crate::documents::event::round;
use crate::documents::membership::{Membership, Path};
use crate::documents::text::PathId;
use crate::machine::{descriptors, memory};
use crate::send::sharing::Sharing;
use crate::send::streams::{Handle, Pretests};
use crate::sockets::socket_options::Counters;

struct Running {
    path: Arc<Path>,
    number: u32,
    handle: Arc<Handle>,
    thread: JoinHandle<()>,
    /// Time at which a lane that was told to leave is cut off.
    until: Option<Instant>,
    moved: u64,
}

/// The lanes of the sender.
pub struct Lanes {
    common: Arc<Common>,
    pretests: Arc<Pretests>,
    /// None where there is one sender and one receiver.
    sharing: Option<Arc<Sharing>>,
    running: Vec<Running>,
    /// As the membership has them.
    paths: Vec<Path>,
    /// Mbit/s of the transfer's own limit, beside its share of one over several transfers.
    own_limit: Option<f64>,
    common_limit: CommonLimit,
    is_paused: bool,
    /// Lanes that paths need beyond what the membership says; a path that was made anew begins anew.
    growth: HashMap<(PathId, u64), Growth>,
    /// When that is looked at next, and how many lanes had a stream the last time.
    look_at: Option<Instant>,
    connected: usize,
    /// Generations of pre-tests that have begun.
    probed: HashMap<PathId, u64>,
    send_buffer: u64,
    /// Paths have what the membership gives them, and no more.
    are_fixed: bool,
    /// A lane was left out for want of memory or of open files.
    short_of_room: bool,
}

impl Lanes {
    #[must_use]
    pub fn new(common: Arc<Common>, pretests: Arc<Pretests>, are_fixed: bool, sharing: Option<Arc<Sharing>>) -> Self {
        Self {
            common,
            pretests,
            sharing,
            running: Vec::new(),
            paths: Vec::new(),
            own_limit: None,
            common_limit: CommonLimit::default(),
            is_paused: false,
            growth: HashMap::new(),
            look_at: None,
            connected: 0,
            probed: HashMap::new(),
            send_buffer: send_buffer(),
            are_fixed,
            short_of_room: false,
        }
    }

    /// Makes the lanes what the membership says.
    pub fn follow(&mut self, membership: &Membership) -> std::io::Result<()> {
        let seat = self.common.streams.seat;
        let (bounds, now) = (membership.bounds(seat), Instant::now());
        (self.own_limit, self.is_paused) = (bounds.mbps, membership.paused);
        self.common_limit.renew(bounds.common, now);
        self.hold_bounds(now);
        self.common.lease.renew(bounds.budget, now, unix_now());
        let follows = |path: &Path| self.sharing.as_ref().is_none_or(|sharing| sharing.follows(path));
        self.paths = membership.paths.iter().filter(|path| path.from == seat && follows(path)).cloned().collect();
        self.growth
            .retain(|(path, generation), _| membership.paths.iter().any(|now| (&now.path_id, now.generation) == (path, *generation)));
        self.adjust()?;
        let fresh: Vec<_> = membership
            .probes
            .iter()
            .filter(|probe| probe.path.from == seat && self.probed.get(&probe.path.path_id) != Some(&probe.path.generation))
            .cloned()
            .collect();
        if !fresh.is_empty() {
            self.probed.extend(fresh.iter().map(|probe| (probe.path.path_id.clone(), probe.path.generation)));
            let pretests = Arc::clone(&self.pretests);
            crate::thread::spawn("pretests", move || pretests.run(&fresh))?;
        }
        Ok(())
    }

    /// Sends no more than is allowed now: a share of a limit ends by itself where nobody is heard.
    pub fn hold_bounds(&self, now: Instant) {
        self.common.streams.limit.set_megabits(self.common_limit.bound(self.own_limit, now));
        self.common.lease.hold(match (self.is_paused, self.common_limit.is_without_share(now)) {
            (true, _) => Some(Hold::Paused),
            (false, true) => Some(Hold::NoShare),
            (false, false) => None,
        });
    }

    /// Gives each path the lanes that it needs by now: where some have a stream that had none, and from time to time.
    pub fn grow(&mut self) -> std::io::Result<()> {
        let connected = self.running.iter().filter(|lane| lane.handle.is_connected()).count();
        if connected > self.connected || self.look_at.is_none_or(|at| Instant::now() >= at) {
            self.adjust()?;
        }
        self.connected = connected;
        Ok(())
    }

    /// Until it is time to look again.
    #[must_use]
    pub fn rests_for(&self, now: Instant) -> Duration {
        self.look_at.map_or(Duration::ZERO, |at| at.saturating_duration_since(now))
    }

    fn adjust(&mut self) -> std::io::Result<()> {
        self.look_at = Some(Instant::now() + GROWTH_LOOK);
        let paths = std::mem::take(&mut self.paths);
        let wanted: HashMap<&PathId, u32> = paths.iter().map(|path| (&path.path_id, self.wanted(path, paths.len()))).collect();
        let lanes_of = |path: &Path| wanted.get(&path.path_id).copied().unwrap_or(path.lanes);
        for lane in &mut self.running {
            let now = paths.iter().find(|path| path.path_id == lane.path.path_id);
            if let Some(time) = time_to_leave(&lane.path, lane.number, now.map(|path| (path, lanes_of(path)))) {
                lane.leave(time);
            }
        }
        let there: HashSet<(PathId, u32)> =
            self.running.iter().filter(|lane| lane.until.is_none()).map(|lane| (lane.path.path_id.clone(), lane.number)).collect();
        for path in &paths {
            for number in 0..lanes_of(path) {
                if !there.contains(&(path.path_id.clone(), number)) {
                    if let Err(error) = room_for_lane(self.running.len()) {
                        if !std::mem::replace(&mut self.short_of_room, true) {
                            tracing::warn!(path = %path.path_id, %error, "no more lanes");
                        }
                        break;
                    }
                    self.running.push(Running::start(&self.common, path, number)?);
                }
            }
        }
        drop(wanted);
        self.paths = paths;
        Ok(())
    }

    /// Lanes for one of so many paths: at least what the membership says.
    fn wanted(&mut self, path: &Path, paths: usize) -> u32 {
        if self.are_fixed {
            return path.lanes;
        }
        let lanes = || self.running.iter().filter(|lane| lane.until.is_none() && lane.path.path_id == path.path_id);
        let connected = || lanes().filter(|lane| lane.handle.is_connected());
        // Through relays the kernel tells of the first hop alone. Of a direct lane it knows the round trip before any greeting.
        let is_direct = path.between_ends().is_empty();
        let counters = |lane: &Running| lane.handle.counters().filter(|_| is_direct);
        let seen = lanes().filter_map(|lane| counters(lane)?.round_trip());
        let said = connected().map(|lane| Duration::from_micros(lane.handle.round_trip.load(Ordering::Relaxed)));
        let chunks = self.common.chunks.queue.waiting_or_under_way();
        let sight = Sight {
            lanes: u32::try_from(connected().count()).unwrap_or(u32::MAX),
            moved: lanes().map(|lane| lane.handle.moved.load(Ordering::Relaxed)).sum(),
            round_trip: seen.chain(said).min(),
            send_buffer: self.send_buffer,
            counters: connected().filter_map(counters).reduce(Counters::and),
            limit: self.common.streams.limit.bytes_per_second(),
            is_held_back: self.common.streams.limit.holds_back(),
            least: path.lanes,
            most_at_start: u32::try_from(LANES_AT_START / paths.max(1)).unwrap_or(u32::MAX),
            chunks: u32::try_from(chunks).unwrap_or(u32::MAX),
        };
        let growth = self.growth.entry((path.path_id.clone(), path.generation)).or_default();
        let before = growth.lanes();
        let wanted = growth.look(Instant::now(), sight);
        if wanted != before {
            tracing::info!(path = %path.path_id, before, lanes = wanted, round_trip = ?sight.round_trip, "other number of lanes");
        }
        wanted
    }

    /// Returns whether nothing can be sent before somebody else does something: without a path, money or share, while paused, or while the receiver works on
    /// what it has.
    #[must_use]
    pub fn wait_for_others(&self, now: Instant) -> bool {
        self.paths.is_empty() || self.common.lease.is_waited_for() || self.common.hearing.is_at_work(now)
    }

    /// Returns whether the next chunk has waited for money, or for the end of a pause, for at least `time`.
    #[must_use]
    pub fn need_no_relays(&self, now: Instant, time: Duration) -> bool {
        self.common.lease.is_used_up(now, time)
    }

    /// Cuts off lanes whose time to leave is over, forgets those that have ended.
    pub fn reap(&mut self) {
        for lane in &self.running {
            if lane.until.is_some_and(|until| Instant::now() >= until) {
                lane.handle.cut();
            }
        }
        self.running.retain(|lane| !lane.thread.is_finished());
    }

    /// Tells all lanes to leave and waits for those with a stream, at most for `time`. One that is still connecting has nobody to part
    /// from.
    pub fn end(&mut self, time: Duration) {
        let deadline = Instant::now() + time;
        for lane in &mut self.running {
            lane.leave(time);
        }
        self.common.chunks.queue.wake();
        while self.running.iter().any(|lane| lane.handle.is_connected()) && Instant::now() < deadline + Duration::from_secs(1) {
            self.reap();
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// The receivers of connected lanes, one for each lane.
    pub fn reached(&self) -> impl Iterator<Item = Seat> + '_ {
        self.running.iter().filter(|lane| lane.until.is_none() && lane.handle.is_connected()).map(|lane| lane.path.to)
    }

    /// Connected lanes, with the rates of what they moved in the last `seconds`.
    pub fn progress(&mut self, seconds: f64) -> Vec<LaneProgress> {
        let mut lanes: Vec<LaneProgress> = Vec::new();
        for lane in self.running.iter_mut().filter(|lane| lane.handle.is_connected()) {
            let moved = lane.handle.moved.load(Ordering::Relaxed);
            lanes.push(LaneProgress {
                path_id: lane.path.path_id.to_string(),
                lane: lane.number,
                bytes: lane.handle.delivered.load(Ordering::Relaxed),
                rate_mb_s: round((moved - lane.moved) as f64 / 1e6 / seconds.max(1e-3)),
            });
            lane.moved = moved;
        }
        lanes
    }
}

impl Running {
    fn start(common: &Arc<Common>, path: &Path, number: u32) -> std::io::Result<Self> {
        let (path, handle) = (Arc::new(path.clone()), Arc::new(Handle::towards(path.path_id.clone(), path.to).going_on(path.store)));
        common.hearing.add(&handle);
        let lane = Lane { common: Arc::clone(common), path: Arc::clone(&path), number, handle: Arc::clone(&handle) };
        let thread = crate::thread::spawn("lane", move || lane.run())?;
        Ok(Self { path, number, handle, thread, until: None, moved: 0 })
    }

    fn leave(&mut self, time: Duration) {
        self.until.get_or_insert_with(|| Instant::now() + time);
        self.handle.leave.store(true, Ordering::SeqCst);
    }
}

/// Returns whether the machine bears one more lane beside so many; the text says what is missing.
fn room_for_lane(lanes: usize) -> Result<(), String> {
    memory::check_lane(lanes).map_err(|error| error.to_string())?;
    descriptors::check_lane(lanes).map_err(|error| error.to_string())
}

/// Returns how long a lane may take for its last acknowledgements where its path is now another, has fewer lanes or is gone; none where it
/// stays.
fn time_to_leave(was: &Path, number: u32, now: Option<(&Path, u32)>) -> Option<Duration> {
    match now {
        // Nothing is wrong with the path: what it has under way may take its time.
        Some((path, lanes)) if is_same(was, path) => (number >= lanes).then_some(LEISURE),
        // Its hop was replaced, so it is probably dead: no long wait for its last words.
        Some(_) => Some(HANDSHAKE_TIMEOUT),
        None => Some(DRAIN_TIMEOUT),
    }
}

fn is_same(one: &Path, other: &Path) -> bool {
    (one.generation, &one.hops, one.receiver, one.to) == (other.generation, &other.hops, other.receiver, other.to)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::documents::membership::Hop;
    use crate::documents::text::Address;

    fn path(generation: u64, port: u16) -> Path {
        let address = |port: u16| Address(std::net::SocketAddrV4::new([10, 0, 0, 1].into(), port));
        let hops = vec![Hop { node_id: format!("node-{port}"), address: address(port) }];
        Path {
            path_id: PathId::new("pair-1").unwrap(),
            generation,
            hops,
            receiver: address(9),
            lanes: 2,
            store: false,
            from: Seat::SENDER,
            to: Seat::RECEIVER,
        }
    }

    #[test]
    fn a_lane_stays_while_its_path_is_the_same_and_has_a_place_for_it() {
        assert_eq!(time_to_leave(&path(1, 1), 1, Some((&path(1, 1), 2))), None);
        assert_eq!(time_to_leave(&path(1, 1), 2, Some((&path(1, 1), 2))), Some(LEISURE));
    }

    #[test]
    fn lanes_of_a_path_that_is_gone_may_still_be_answered_and_those_of_a_replaced_relay_hardly() {
        assert_eq!(time_to_leave(&path(1, 1), 0, None), Some(DRAIN_TIMEOUT));
        assert_eq!(time_to_leave(&path(1, 1), 0, Some((&path(2, 1), 2))), Some(HANDSHAKE_TIMEOUT), "started anew");
        assert_eq!(time_to_leave(&path(1, 1), 0, Some((&path(1, 2), 2))), Some(HANDSHAKE_TIMEOUT), "another machine");
    }
}
