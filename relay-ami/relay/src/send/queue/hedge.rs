//! Chunks that lanes have, and which of them another lane sends as well so that nobody waits for one lane.
//!
//! At most two lanes have a chunk, in the same attempt. The first acknowledgement settles it; an attempt has failed once the last
//! lane has.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::defaults::LATE_FACTOR;
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
        let cut_off = alone().filter(|(_, other)| other.is_cut_off(now)).min_by_key(|(carried, _)| carried.since);
        if let Some((carried, _)) = cut_off {
            return Some(Hedge { work: carried.work.clone(), is_late: false });
        }
        let left = |carried: &Carried, other: &Handle| {
            let own = time_for(carried.work.bytes)?;
            // What has gone out waits for the receiver, not for the lane. Directories go one at a time, in order.
            let is_on_the_way = carried.work.phase == 0 && !carried.work.flight.is_out();
            let left = other.time_left(now).filter(|_| is_on_the_way)?;
            (left > own * LATE_FACTOR).then_some(left)
        };
        let late = alone().filter_map(|(carried, other)| Some((left(carried, other)?, carried))).max_by_key(|(left, _)| *left)?;
        Some(Hedge { work: late.1.work.clone(), is_late: true })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::documents::text::PathId;
    use crate::send::builders::work;
    use crate::send::streams::Pace;

    const MB: u64 = 1_000_000;

    fn lane() -> Arc<Handle> {
        Arc::new(Handle::new(PathId::new("pair-1").unwrap()))
    }

    fn data(chunk: u64) -> Work {
        Work { phase: 0, bytes: 8 * MB, ..work(chunk) }
    }

    /// A lane that has brought over and owes so many megabytes, ten seconds after it began.
    fn paced(brought: u64, owed: u64, now: Instant) -> Arc<Handle> {
        let (lane, speed) = (lane(), Pace::default().begins(now - Duration::from_secs(10)));
        speed.takes((brought + owed) * MB);
        speed.brought(brought * MB);
        lane.begins(speed, now);
        lane
    }

    fn chunk(hedge: Option<Hedge>) -> Option<(u64, bool)> {
        hedge.map(|hedge| (hedge.work.chunk, hedge.is_late))
    }

    #[test]
    fn the_oldest_chunk_of_a_lane_that_is_cut_off_goes_first_and_to_one_other_lane_only() {
        let (mut chunks, now) = (InFlight::default(), Instant::now());
        let (idle, third, gone) = (lane(), lane(), paced(100, 8, now));
        chunks.take(&data(5), &gone, now);
        chunks.take(&data(4), &gone, now + Duration::from_secs(1));
        assert_eq!(chunk(chunks.hedge(&idle, now, |_| None)), None, "it may still come");
        gone.ends();
        let later = now + Duration::from_secs(5);
        assert_eq!(chunk(chunks.hedge(&idle, later, |_| None)), Some((5, false)));
        assert_eq!(chunk(chunks.hedge(&gone, later, |_| None)), None, "its own");
        chunks.take(&data(5), &idle, later);
        assert_eq!(chunk(chunks.hedge(&third, later, |_| None)), Some((4, false)));
    }

    #[test]
    fn a_late_chunk_is_sent_twice_where_that_is_twice_as_fast_and_only_while_it_is_on_its_way() {
        let (mut chunks, now) = (InFlight::default(), Instant::now());
        // 1 MB/s and 8 MB to bring over: 8 s.
        let (idle, slow) = (lane(), paced(10, 8, now));
        chunks.take(&data(1), &slow, now);
        let within = |seconds| move |_| Some(Duration::from_secs(seconds));
        assert_eq!(chunk(chunks.hedge(&idle, now, within(3))), Some((1, true)));
        assert_eq!(chunk(chunks.hedge(&idle, now, within(5))), None, "hardly faster");
        assert_eq!(chunk(chunks.hedge(&idle, now, |_| None)), None, "not allowed");
        chunks.chunks.values().for_each(|carried| carried.work.flight.goes_out());
        assert_eq!(chunk(chunks.hedge(&idle, now, within(3))), None, "it waits for the receiver");
    }

    #[test]
    fn an_attempt_is_over_with_the_last_lane_that_has_it() {
        let (mut chunks, now) = (InFlight::default(), Instant::now());
        let (one, other) = (lane(), lane());
        chunks.take(&data(1), &one, now);
        chunks.take(&data(1), &other, now);
        assert!(!chunks.leave(1, &one) && chunks.len() == 1);
        assert!(chunks.leave(1, &other) && chunks.is_empty());
    }

    #[test]
    fn the_first_acknowledgement_settles() {
        let copy = data(1);
        let other = copy.clone();
        assert!(copy.flight.settle() && !other.flight.settle() && other.flight.is_settled());
        assert!(!data(1).flight.is_settled(), "another attempt");
    }
}
