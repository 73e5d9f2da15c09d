//! Whether a file system answers from memory, or from far.

use std::time::{Duration, Instant};

use crate::defaults::SLOW_FILE;

/// Weight of the newest call in what is known of them all.
const NEWEST: f64 = 1.0 / 16.0;

/// How long the calls for one file take. Where they are slow, several at once take no longer than one; where they are not, handing them
/// to other threads would cost more than they do.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tempo {
    seconds: f64,
}

impl Tempo {
    /// Of a file system that is far, as long as its calls do not show otherwise.
    #[must_use]
    pub const fn of(is_far: bool) -> Self {
        Self { seconds: if is_far { 4.0 * SLOW_FILE.as_nanos() as f64 / 1e9 } else { 0.0 } }
    }

    /// One file says little, however long it took: a thread may have waited for a processor. Five slow ones in a row decide.
    pub fn note(&mut self, time: Duration) {
        self.seconds += NEWEST * (time.min(4 * SLOW_FILE).as_secs_f64() - self.seconds);
    }

    pub fn is_slow(self) -> bool {
        self.seconds > SLOW_FILE.as_secs_f64()
    }
}

/// What a call gave, and how long it took.
pub fn timed<T>(call: impl FnOnce() -> T) -> (T, Duration) {
    let began = Instant::now();
    let result = call();
    (result, began.elapsed())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn five_slow_files_decide_and_fast_ones_take_it_back() {
        let mut tempo = Tempo::default();
        tempo.note(Duration::from_secs(1));
        assert!(!tempo.is_slow(), "one may have waited for a processor");
        for _ in 0..4 {
            tempo.note(Duration::from_millis(4));
        }
        assert!(tempo.is_slow());
        for _ in 0..24 {
            tempo.note(Duration::from_micros(20));
        }
        assert!(!tempo.is_slow());
        assert!(Tempo::of(true).is_slow());
    }
}
