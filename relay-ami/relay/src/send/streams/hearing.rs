//! Where the receiver is heard: it speaks on each lane once a second, so a lane that is silent while others are not is cut off.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::time::Instant;

use super::handle::Handle;
use crate::defaults::{ALIVE_INTERVAL, HEARD_WITHIN, SILENT_AFTER};
use crate::documents::text::PathId;
use crate::stop::Stop;
use crate::thread::lock;

/// The receiver's words, by path and by lane.
#[derive(Default)]
pub struct Hearing {
    paths: Mutex<HashMap<PathId, Instant>>,
    lanes: Mutex<Vec<Weak<Handle>>>,
    is_busy: AtomicBool,
}

impl Hearing {
    /// A lane begins; it is forgotten when it ends.
    pub fn add(&self, lane: &Arc<Handle>) {
        let mut lanes = lock(&self.lanes);
        lanes.retain(|lane| lane.strong_count() > 0);
        lanes.push(Arc::downgrade(lane));
    }

    /// The receiver has spoken on this lane.
    pub fn heard(&self, lane: &Handle, now: Instant) {
        lane.heard(now);
        lock(&self.paths).insert(lane.path.clone(), now);
    }

    /// It has said whether chunks wait for its disk or its table.
    pub fn says(&self, is_busy: bool) {
        self.is_busy.store(is_busy, Ordering::Relaxed);
    }

    #[must_use]
    pub fn is_busy(&self) -> bool {
        self.is_busy.load(Ordering::Relaxed)
    }

    /// Returns whether it is at work: it was heard a moment ago, and said so.
    #[must_use]
    pub fn is_at_work(&self, now: Instant) -> bool {
        self.is_busy() && now.checked_sub(HEARD_WITHIN).is_some_and(|since| self.anywhere(since))
    }

    /// Returns whether it has spoken on another path since then.
    #[must_use]
    pub fn elsewhere(&self, path: &PathId, since: Instant) -> bool {
        lock(&self.paths).iter().any(|(other, at)| other != path && *at > since)
    }

    /// Returns whether it has spoken on any path since then.
    #[must_use]
    pub fn anywhere(&self, since: Instant) -> bool {
        lock(&self.paths).values().any(|at| *at > since)
    }

    /// Returns whether another path has ever brought its words.
    #[must_use]
    pub fn has_another(&self, path: &PathId) -> bool {
        lock(&self.paths).keys().any(|other| other != path)
    }

    /// Open lanes that bring nothing while another path does. Where none does it is the receiver that is silent, or this machine's
    /// own network.
    fn silent(&self, now: Instant) -> Vec<Arc<Handle>> {
        let lanes: Vec<Arc<Handle>> = lock(&self.lanes).iter().filter_map(Weak::upgrade).collect();
        let recently = now.checked_sub(HEARD_WITHIN);
        let is_silent = |lane: &Handle| {
            lane.is_connected() && lane.silence(now) >= SILENT_AFTER && recently.is_some_and(|at| self.elsewhere(&lane.path, at))
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
