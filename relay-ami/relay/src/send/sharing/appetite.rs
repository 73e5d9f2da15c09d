//! When a sender leases its next range: before its lanes run dry, and not sooner, since others could send it meanwhile.

use std::time::{Duration, Instant};

/// Time for which the chunks that are ready should last; leasing and reading a range takes some requests.
const AHEAD: Duration = Duration::from_secs(2);
/// Rates of shorter times are noise.
const RATE_TIME: Duration = Duration::from_secs(1);

/// Lanes, and the rate at which they empty the work queue.
#[derive(Default)]
pub struct Appetite {
    lanes: usize,
    rate: f64,
    since: Option<(Instant, u64)>,
}

impl Appetite {
    /// So many lanes have a stream, and have moved so many bytes so far.
    pub fn look(&mut self, now: Instant, lanes: usize, moved: u64) {
        self.lanes = lanes;
        let Some((at, before)) = self.since else {
            self.since = Some((now, moved));
            return;
        };
        let time = now.saturating_duration_since(at);
        if time >= RATE_TIME {
            self.rate = moved.saturating_sub(before) as f64 / time.as_secs_f64();
            self.since = Some((now, moved));
        }
    }

    /// Returns whether so many chunks of so many bytes are little for the lanes. Without a lane nothing is.
    pub fn is_low(&self, chunks: usize, bytes: u64) -> bool {
        self.lanes > 0 && (chunks < self.lanes || (bytes as f64) < self.rate * AHEAD.as_secs_f64())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn little_is_less_than_a_chunk_for_each_lane_or_than_two_seconds_of_work() {
        let (mut appetite, start) = (Appetite::default(), Instant::now());
        assert!(!appetite.is_low(0, 0), "nobody would send it");
        appetite.look(start, 4, 1000);
        assert!(appetite.is_low(3, 3000) && !appetite.is_low(4, 0));
        appetite.look(start + Duration::from_millis(500), 4, 9000);
        assert!(!appetite.is_low(4, 0), "that is too short a time");
        appetite.look(start + Duration::from_secs(2), 4, 21_000);
        assert!(appetite.is_low(9, 19_999) && !appetite.is_low(9, 20_000));
        appetite.look(start + Duration::from_secs(3), 0, 21_000);
        assert!(!appetite.is_low(0, 0));
    }
}
