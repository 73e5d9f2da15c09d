//! Chunks that lanes have, and which of them another lane sends as well so that nobody waits for one lane.
//!
//! At most two lanes have a chunk, in the same attempt. The first acknowledgement settles it; an attempt has failed once the last
//! lane has.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::defaults::{LATE_FACTOR, SILENT_AFTER};
use crate::send::streams::Handle;
use crate::send::work::Work;

struct Carried {
    work: Work,
    since: Instant,
    lanes: Vec<Arc<Handle>>,
}

/// The chunks that lanes have and that are not settled.
#[derive(Default)]
pub struct InFlight {
    chunks: HashMap<u64, Carried>,
    /// Bytes of their lines of the manifest.
    manifest_bytes: usize,
}

/// A copy for a lane that has nothing else to do.
pub struct Hedge {
    pub work: Work,
    /// The other lane is not cut off, but late.
    pub is_late: bool,
}

impl InFlight {
    pub fn len(&self) -> u64 {
        self.chunks.len() as u64
    }

    pub fn is_empty(&self) -> bool {
        self.chunks.is_empty()
    }

    /// Bytes of the manifest lines of all of them.
    pub const fn manifest_bytes(&self) -> usize {
        self.manifest_bytes
    }

    /// A lane takes a chunk.
    pub fn take(&mut self, work: &Work, lane: &Arc<Handle>, now: Instant) {
        let carried = self.chunks.entry(work.chunk).or_insert_with(|| {
            self.manifest_bytes += work.manifest.len();
            Carried { work: work.clone(), since: now, lanes: Vec::new() }
        });
        carried.lanes.push(Arc::clone(lane));
    }

    /// A lane has the chunk no longer; whether no other one has it.
    pub fn leave(&mut self, chunk: u64, lane: &Arc<Handle>) -> bool {
        let Some(carried) = self.chunks.get_mut(&chunk) else { return true };
        carried.lanes.retain(|other| !Arc::ptr_eq(other, lane));
        let is_last = carried.lanes.is_empty();
        if is_last {
            self.remove(chunk);
        }
        is_last
    }

    /// The chunk is settled, or goes back to those that no lane has.
    pub fn remove(&mut self, chunk: u64) {
        if let Some(carried) = self.chunks.remove(&chunk) {
            self.manifest_bytes -= carried.work.manifest.len();
        }
    }

    /// A chunk that an idle lane sends as well: the oldest of lanes that are cut off, else the one that is latest. `time_for`: how
    /// long the idle lane would take for so many bytes; none where nothing that is merely late may be sent twice.
    pub fn hedge(&self, lane: &Arc<Handle>, now: Instant, time_for: impl Fn(u64) -> Option<Duration>) -> Option<Hedge> {
        let alone = || {
            self.chunks.values().filter_map(|carried| match &*carried.lanes {
                [other] if !Arc::ptr_eq(other, lane) => Some((carried, other)),
                _ => None,
            })
        };
        // A receiver that is heard nowhere may be frozen; another one takes the chunk as well.
        let is_frozen = |other: &Handle| other.to != lane.to && other.silence(now) >= SILENT_AFTER;
        let cut_off = alone().filter(|(_, other)| other.is_cut_off(now) || is_frozen(other)).min_by_key(|(carried, _)| carried.since);
        if let Some((carried, _)) = cut_off {
            return Some(Hedge { work: carried.work.clone(), is_late: false });
        }
        let left = |carried: &Carried, other: &Handle| {
            let own = time_for(carried.work.bytes)?;
            // What has gone out waits for the receiver, not for the lane, unless its way goes on behind that. Directories go one at a time,
            // in order.
            let is_on_the_way = carried.work.phase == 0 && (other.to_store || !carried.work.flight.is_out());
            let left = other.time_left(now).filter(|_| is_on_the_way)?;
            (left > own * LATE_FACTOR).then_some(left)
        };
        let late = alone().filter_map(|(carried, other)| Some((left(carried, other)?, carried))).max_by_key(|(left, _)| *left)?;
        Some(Hedge { work: late.1.work.clone(), is_late: true })
    }
}

#[cfg(test)]
#[path = "hedge_tests.rs"]
mod tests;
