//! Where receivers are heard: each speaks on each of its lanes once a second, so a lane that is silent while others to the same receiver
//! are not is cut off.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, Weak};
use std::time::Instant;

use super::handle::Handle;
use crate::control::Seat;
use crate::defaults::{ALIVE_INTERVAL, HEARD_WITHIN, SILENT_AFTER};
use crate::documents::text::PathId;
use crate::stop::Stop;
use crate::thread::lock;

/// Receivers' words, by path and by lane.
#[derive(Default)]
pub struct Hearing {
    paths: Mutex<HashMap<(Seat, PathId), Instant>>,
    lanes: Mutex<Vec<Weak<Handle>>>,
    busy: Mutex<HashSet<Seat>>,
}

impl Hearing {
    /// A lane begins; it is forgotten when it ends.
    pub fn add(&self, lane: &Arc<Handle>) {
        let mut lanes = lock(&self.lanes);
        lanes.retain(|lane| lane.strong_count() > 0);
        lanes.push(Arc::downgrade(lane));
    }

    /// The lane's receiver has spoken on it.
    pub fn heard(&self, lane: &Handle, now: Instant) {
        lane.heard(now);
        lock(&self.paths).insert((lane.to, lane.path.clone()), now);
    }

    /// A receiver has said whether chunks wait for its disk or its table.
    pub fn says(&self, receiver: Seat, is_busy: bool) {
        let mut busy = lock(&self.busy);
        if is_busy {
            busy.insert(receiver)
        } else {
            busy.remove(&receiver)
        };
    }

    #[must_use]
    pub fn is_busy(&self, receiver: Seat) -> bool {
        lock(&self.busy).contains(&receiver)
    }

    /// Returns whether a receiver is at work: it was heard a moment ago, and said so.
    #[must_use]
    pub fn is_at_work(&self, now: Instant) -> bool {
        let Some(since) = now.checked_sub(HEARD_WITHIN) else { return false };
        let busy = lock(&self.busy).clone();
        busy.into_iter().any(|receiver| self.anywhere(receiver, since))
    }

    /// Returns whether the receiver has spoken on another path since then.
    #[must_use]
    pub fn elsewhere(&self, receiver: Seat, path: &PathId, since: Instant) -> bool {
        lock(&self.paths).iter().any(|((to, other), at)| *to == receiver && other != path && *at > since)
    }

    /// Returns whether the receiver has spoken on any path since then.
    #[must_use]
    pub fn anywhere(&self, receiver: Seat, since: Instant) -> bool {
        lock(&self.paths).iter().any(|((to, _), at)| *to == receiver && *at > since)
    }

    /// Returns whether another receiver has spoken since then.
    #[must_use]
    pub fn of_another(&self, receiver: Seat, since: Instant) -> bool {
        lock(&self.paths).iter().any(|((to, _), at)| *to != receiver && *at > since)
    }

    /// Returns whether another path has ever brought the receiver's words.
    #[must_use]
    pub fn has_another(&self, receiver: Seat, path: &PathId) -> bool {
        lock(&self.paths).keys().any(|(to, other)| *to == receiver && other != path)
    }

    /// Open lanes that bring nothing while another path to their receiver does. Where none does it is the receiver that is silent, or this machine's
    /// own network.
    fn silent(&self, now: Instant) -> Vec<Arc<Handle>> {
        let lanes: Vec<Arc<Handle>> = lock(&self.lanes).iter().filter_map(Weak::upgrade).collect();
        let recently = now.checked_sub(HEARD_WITHIN);
        let is_silent = |lane: &Handle| {
            lane.is_connected() && lane.silence(now) >= SILENT_AFTER && recently.is_some_and(|at| self.elsewhere(lane.to, &lane.path, at))
        };
        lanes.into_iter().filter(|lane| is_silent(lane)).collect()
    }
}

/// Lanes that were silent at the last look.
#[derive(Default)]
struct Suspects(Vec<Arc<Handle>>);

impl Suspects {
    /// Those that are silent at two looks in a row: after a halt of this process some lanes read what has come sooner than others.
    fn confirm(&mut self, silent: Vec<Arc<Handle>>) -> Vec<Arc<Handle>> {
        let before = std::mem::replace(&mut self.0, silent);
        self.0.iter().filter(|lane| before.iter().any(|other| Arc::ptr_eq(other, lane))).cloned().collect()
    }
}

/// Cuts silent lanes off until nothing is sent any more or the process is told to stop. A thread of its own: no call of the control plane may deafen it.
pub fn run(hearing: &Hearing, stop: &Stop, is_over: impl Fn() -> bool) {
    let mut suspects = Suspects::default();
    while !stop.sleep(ALIVE_INTERVAL / 2) && !is_over() {
        for lane in suspects.confirm(hearing.silent(Instant::now())) {
            tracing::warn!(path = %lane.path, "lane silent");
            lane.cut_for_silence();
        }
    }
}

#[cfg(test)]
#[path = "hearing_tests.rs"]
mod tests;
