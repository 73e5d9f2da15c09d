//! Who should take the last chunks. A slow path holds some megabytes under way, and takes long for one chunk more: while it
//! does, the fast paths have nothing left. So near the end a lane leaves a chunk to another that would be done with all the
//! rest before this one has brought that chunk over.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crate::thread::lock;

/// Data that nobody has taken yet, once everything has been read ahead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rest {
    /// Bytes of the chunk that is next.
    pub next: u64,
    /// Bytes of all of them.
    pub all: u64,
}

/// The speed of one stream, and the bytes that it still has to carry.
#[derive(Debug)]
pub struct Speed {
    began: Instant,
    acknowledged: AtomicU64,
    owed: AtomicU64,
}

impl Speed {
    /// A chunk was taken.
    pub fn takes(&self, bytes: u64) {
        self.owed.fetch_add(bytes, Ordering::Relaxed);
    }

    /// A chunk has arrived.
    pub fn brought(&self, bytes: u64) {
        self.acknowledged.fetch_add(bytes, Ordering::Relaxed);
        self.drops(bytes);
    }

    /// A chunk failed.
    pub fn drops(&self, bytes: u64) {
        self.owed.fetch_sub(bytes, Ordering::Relaxed);
    }

    /// Until so much more is over; none before anything was.
    pub fn time_for(&self, bytes: u64, now: Instant) -> Option<Duration> {
        let (acknowledged, owed) = (self.acknowledged.load(Ordering::Relaxed), self.owed.load(Ordering::Relaxed));
        let seconds = now.saturating_duration_since(self.began).as_secs_f64() * (owed + bytes) as f64 / acknowledged as f64;
        Duration::try_from_secs_f64(seconds).ok()
    }
}

/// The speeds of all streams.
#[derive(Default)]
pub struct Pace(Mutex<Vec<Arc<Speed>>>);

impl Pace {
    /// A stream begins; it is forgotten when [`Pace::ends`] is told.
    pub fn begins(&self, now: Instant) -> Arc<Speed> {
        let speed = Arc::new(Speed { began: now, acknowledged: AtomicU64::new(0), owed: AtomicU64::new(0) });
        lock(&self.0).push(Arc::clone(&speed));
        speed
    }

    pub fn ends(&self, speed: &Arc<Speed>) {
        lock(&self.0).retain(|other| !Arc::ptr_eq(other, speed));
    }

    /// Returns how long this stream would need for the next chunk, where another needs less for all the rest. Never for the stream that
    /// would be the first to bring the last chunk over.
    pub fn holds_up(&self, speed: &Arc<Speed>, rest: Rest, now: Instant) -> Option<Duration> {
        let own = speed.time_for(rest.next, now)?;
        let others = lock(&self.0);
        let faster = |other: &Arc<Speed>| !Arc::ptr_eq(other, speed) && other.time_for(rest.all, now).is_some_and(|time| time < own);
        others.iter().any(faster).then_some(own)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MB: u64 = 1_000_000;

    /// Streams that brought over and owe so many megabytes, ten seconds after they began; which of them would hold the rest up.
    fn held_up(streams: &[(u64, u64)], next: u64, all: u64) -> Vec<bool> {
        let (pace, start) = (Pace::default(), Instant::now());
        let speeds: Vec<_> = streams.iter().map(|_| pace.begins(start)).collect();
        for (speed, (acknowledged, owed)) in speeds.iter().zip(streams) {
            speed.takes((acknowledged + owed) * MB);
            speed.brought(acknowledged * MB);
        }
        let rest = Rest { next: next * MB, all: all * MB };
        speeds.iter().map(|speed| pace.holds_up(speed, rest, start + Duration::from_secs(10)).is_some()).collect()
    }

    #[test]
    fn a_slow_stream_leaves_the_last_chunks_to_a_fast_one() {
        // 100 and 10 MB/s: 8 MB more take the slow one 1.8 s, in which the fast one brings over 180 MB.
        assert_eq!(held_up(&[(1000, 10), (100, 10)], 8, 160), [false, true]);
        assert_eq!(held_up(&[(1000, 10), (100, 10)], 8, 180), [false, false], "there is work for both");
    }

    #[test]
    fn one_stream_always_takes_the_last_chunk() {
        for streams in [&[(100, 8); 4][..], &[(100, 0), (100, 8), (100, 16)], &[(1000, 64), (100, 0)], &[(5, 8)], &[(0, 8), (0, 0)]] {
            assert!(held_up(streams, 8, 8).contains(&false), "{streams:?}");
        }
    }

    #[test]
    fn a_stream_of_which_nothing_is_known_takes_what_there_is() {
        assert_eq!(held_up(&[(1000, 0), (0, 0)], 8, 8), [false, false]);
    }
}
