//! How many lanes a path needs. A TCP stream carries at most its send buffer per round trip, so a long path takes more of
//! them than its plan begins with: 4 MiB over 100 ms are 40 MB/s. A queue on the way lengthens the round trip that was
//! measured, so lanes that brought nothing go again: more lanes than needed make the end of a transfer uneven.

use std::time::{Duration, Instant};

use crate::defaults::{GROWTH_GAIN, GROWTH_INTERVAL, GROWTH_TRIAL};
use crate::documents::membership::MAX_LANES_PER_PATH;

/// Bytes of one stream's send buffer when the kernel has grown it as far as it may (`tcp_wmem`, its third figure).
#[must_use]
pub fn send_buffer() -> u64 {
    let text = std::fs::read_to_string("/proc/sys/net/ipv4/tcp_wmem").unwrap_or_default();
    text.split_whitespace().nth(2).and_then(|figure| figure.parse().ok()).unwrap_or(4 << 20)
}

/// Growth of one path's lanes.
pub struct Growth {
    lanes: u32,
    looked_at: Instant,
    moved: u64,
    /// Lanes and rate before they last grew, and looks since.
    before: Option<(u32, f64, u32)>,
    /// Growing did not help.
    settled: bool,
}

/// One look at a path's lanes.
#[derive(Clone, Copy)]
pub struct Sight {
    /// Connected ones.
    pub lanes: u32,
    /// Bytes that they sent since they began.
    pub moved: u64,
    /// Least round trip that one of them saw before it was loaded.
    pub round_trip: Duration,
    pub send_buffer: u64,
}

impl Growth {
    #[must_use]
    pub const fn new(lanes: u32, now: Instant) -> Self {
        Self { lanes, looked_at: now, moved: 0, before: None, settled: false }
    }

    /// Lanes that the path should have: as many as leave each with a third of its buffer per round trip (it carries about
    /// half), at most twice as many as there were, and no more than help. Looks at most once per interval, and only when all
    /// lanes that it asked for are connected.
    pub fn look(&mut self, now: Instant, sight: Sight) -> u32 {
        let time = now.saturating_duration_since(self.looked_at);
        if sight.lanes < self.lanes || sight.moved < self.moved {
            (self.looked_at, self.moved) = (now, sight.moved);
        } else if time >= GROWTH_INTERVAL {
            let rate = (sight.moved - self.moved) as f64 / time.as_secs_f64();
            match self.before.take() {
                Some((lanes, less, looks)) if looks + 1 < GROWTH_TRIAL => self.before = Some((lanes, less, looks + 1)),
                Some((lanes, less, _)) if rate < less * GROWTH_GAIN => (self.lanes, self.settled) = (lanes, true),
                _ if self.settled => {}
                _ => {
                    let comfortable = sight.send_buffer as f64 / 3.0 / sight.round_trip.as_secs_f64().max(1e-6);
                    let wanted = (rate / comfortable).ceil().clamp(1.0, f64::from(MAX_LANES_PER_PATH)) as u32;
                    let wanted = wanted.min(2 * self.lanes).max(self.lanes);
                    self.before = (wanted > self.lanes).then_some((self.lanes, rate, 0));
                    self.lanes = wanted;
                }
            }
            (self.looked_at, self.moved) = (now, sight.moved);
        }
        self.lanes
    }

    #[must_use]
    pub const fn lanes(&self) -> u32 {
        self.lanes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lanes after `seconds` on a path of `rate` MB/s whose lanes carry `each` MB/s, from two on.
    fn grown(seconds: u64, rate: f64, each: f64, round_trip_ms: u64, send_buffer: u64) -> u32 {
        let start = Instant::now();
        let mut growth = Growth::new(2, start);
        let mut moved = 0.0;
        for second in 1..=seconds {
            moved += rate.min(f64::from(growth.lanes()) * each) * 1e6;
            let round_trip = Duration::from_millis(round_trip_ms);
            let sight = Sight { lanes: growth.lanes(), moved: moved as u64, round_trip, send_buffer };
            growth.look(start + Duration::from_secs(second), sight);
        }
        growth.lanes()
    }

    #[test]
    fn a_short_path_keeps_its_lanes() {
        // Looked at after each second: more that were tried meanwhile would be two again at the end.
        for seconds in 1..=10 {
            assert_eq!(grown(seconds, 1000.0, 1000.0, 1, 4 << 20), 2, "after {seconds} s");
        }
    }

    #[test]
    fn a_long_path_gets_lanes_as_long_as_they_help() {
        // 212 KB in 100 ms: a lane carries 2.1 MB/s at most, a third of that comfortably; 16 are more than 25 MB/s need.
        assert_eq!(grown(20, 25.0, 2.1, 100, 212_992), 16);
        assert_eq!(grown(1, 25.0, 2.1, 100, 212_992), 4, "they double at most");
        assert_eq!(grown(30, 1000.0, 2.1, 100, 212_992), MAX_LANES_PER_PATH);
    }

    #[test]
    fn a_queue_that_looks_like_a_long_path_costs_one_trial() {
        // 40 MB/s behind a queue of 150 ms: two lanes fill it already.
        assert_eq!(grown(1, 40.0, 40.0, 150, 4 << 20), 4);
        assert_eq!(grown(4, 40.0, 40.0, 150, 4 << 20), 2);
        assert_eq!(grown(20, 40.0, 40.0, 150, 4 << 20), 2);
    }

    #[test]
    fn nothing_is_concluded_while_lanes_are_still_connecting() {
        let start = Instant::now();
        let mut growth = Growth::new(2, start);
        let sight = Sight { lanes: 1, moved: 1 << 30, round_trip: Duration::from_millis(100), send_buffer: 212_992 };
        assert_eq!(growth.look(start + Duration::from_secs(5), sight), 2);
    }
}
