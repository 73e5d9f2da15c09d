//! How many lanes a path needs. A TCP stream carries at most its send buffer per round trip, so a long path takes more of
//! them than its plan begins with: 4 MiB over 100 ms are 40 MB/s. The round trip is known as soon as the first lane is
//! connected, so the path then has what the fastest machines send; while data flows the kernel says whether lanes wait for
//! room in their buffers. A queue on the way makes them wait too, so lanes that brought nothing go again: more than needed
//! make the end of a transfer uneven. No verdict is kept for good: a path may become wider. See `docs/design/054`.

use std::time::{Duration, Instant};

use crate::defaults::{
    GROWTH_BLOCKED, GROWTH_GAIN, GROWTH_INTERVAL, GROWTH_PAUSE, GROWTH_PAUSE_MAX, GROWTH_ROUND_TRIPS, GROWTH_TRIAL, HANDSHAKE_TIMEOUT,
    LONG_ROUND_TRIP, START_LANES, START_MB_S,
};
use crate::documents::membership::MAX_LANES_PER_PATH;
use crate::sockets::socket_options::Counters;

/// Bytes of one stream's send buffer when the kernel has grown it as far as it may (`tcp_wmem`, its third figure).
#[must_use]
pub fn send_buffer() -> u64 {
    let text = std::fs::read_to_string("/proc/sys/net/ipv4/tcp_wmem").unwrap_or_default();
    text.split_whitespace().nth(2).and_then(|figure| figure.parse().ok()).unwrap_or(4 << 20)
}

/// Growth of one path's lanes.
#[derive(Default)]
pub struct Growth {
    lanes: u32,
    /// They are as many as the plan says, and follow it.
    is_as_planned: bool,
    /// The least that any lane has seen: a busy end or a queue makes single ones longer.
    round_trip: Option<Duration>,
    /// What was there when the interval began.
    since: Option<Seen>,
    trial: Option<Trial>,
    rest: Option<Rest>,
}

/// One look at a path's lanes.
#[derive(Clone, Copy, Debug)]
pub struct Sight {
    /// Connected ones.
    pub lanes: u32,
    /// Bytes that they sent since they began.
    pub moved: u64,
    /// The least that a lane saw before it was loaded; none before one has.
    pub round_trip: Option<Duration>,
    pub send_buffer: u64,
    /// Of the lanes together; none where the next hop is a relay, whose own buffers the kernel does not tell here.
    pub counters: Option<Counters>,
    /// The limit on all paths together, bytes/s; infinite where there is none.
    pub limit: f64,
    /// It makes lanes wait.
    pub is_held_back: bool,
    /// Lanes that the plan gives it.
    pub least: u32,
    /// Lanes that it may begin with, by the number of paths.
    pub most_at_start: u32,
    /// Those that lanes have, or could have by now: more lanes would be for nothing.
    pub chunks: u32,
}

struct Seen {
    at: Instant,
    moved: u64,
    counters: Option<Counters>,
}

/// More lanes are there than `lanes`, which carried `rate`.
struct Trial {
    lanes: u32,
    began: Instant,
    rate: f64,
    looks: u32,
}

/// More lanes did not help at this rate.
struct Rest {
    rate: f64,
    until: Instant,
    pause: Duration,
}

impl Growth {
    /// Lanes that the path should have.
    pub fn look(&mut self, now: Instant, sight: Sight) -> u32 {
        if self.trial.is_none() && self.is_as_planned || self.lanes < sight.least {
            (self.lanes, self.is_as_planned) = (sight.least, true);
        }
        self.round_trip = self.round_trip.into_iter().chain(sight.round_trip).min();
        let Some(round_trip) = self.round_trip else { return self.lanes };
        // A lane carries about half of its buffer per round trip; a third is comfortable.
        let comfortable = sight.send_buffer as f64 / 3.0 / round_trip.as_secs_f64().max(1e-6);
        let start = start(&sight, round_trip, comfortable);
        if start > self.lanes {
            (self.lanes, self.is_as_planned, self.trial, self.since) = (start, false, None, None);
            return self.lanes;
        }
        let seen = Seen { at: now, moved: sight.moved, counters: sight.counters };
        let Some(since) = &self.since else {
            self.since = Some(seen);
            return self.lanes;
        };
        let blocked = match (sight.counters, since.counters) {
            (Some(counters), Some(before)) => counters.since(before).map(Counters::send_buffer_limited),
            _ => None,
        };
        let is_other = sight.moved < since.moved || sight.counters.is_some() && blocked.is_none();
        if sight.lanes < self.lanes || is_other {
            self.since = Some(seen);
            // Lanes that cannot connect bring nothing either.
            if let Some(trial) = self.trial.take_if(|trial| now.saturating_duration_since(trial.began) >= HANDSHAKE_TIMEOUT) {
                self.goes_back(now, trial.rate, &trial);
            }
            return self.lanes;
        }
        let time = now.saturating_duration_since(since.at);
        if time < (round_trip * GROWTH_ROUND_TRIPS).max(GROWTH_INTERVAL) {
            return self.lanes;
        }
        let rate = (sight.moved - since.moved) as f64 / time.as_secs_f64();
        self.since = Some(seen);
        // What a limit holds back says nothing of the path.
        if !sight.is_held_back {
            self.judge(now, rate, comfortable, blocked, sight.chunks);
        }
        self.lanes
    }

    /// After each interval in which all lanes were there.
    fn judge(&mut self, now: Instant, rate: f64, comfortable: f64, blocked: Option<f64>, chunks: u32) {
        let was_tried = self.trial.is_some();
        if let Some(mut trial) = self.trial.take()
            && rate < trial.rate * GROWTH_GAIN
        {
            trial.looks += 1;
            if trial.looks < GROWTH_TRIAL {
                self.trial = Some(trial);
                return;
            }
            self.goes_back(now, rate, &trial);
            return;
        }
        if was_tried {
            self.rest = None;
        }
        if self.rest.as_ref().is_some_and(|rest| now < rest.until && rate < rest.rate * GROWTH_GAIN) {
            return;
        }
        let wanted = (rate / comfortable).ceil().clamp(1.0, f64::from(MAX_LANES_PER_PATH)) as u32;
        let wanted = wanted.min(2 * self.lanes).min(chunks);
        if wanted > self.lanes && blocked.is_none_or(|blocked| blocked > GROWTH_BLOCKED) {
            self.trial = Some(Trial { lanes: self.lanes, began: now, rate, looks: 0 });
            (self.lanes, self.is_as_planned) = (wanted, false);
        }
    }

    /// The trial brought nothing; at this rate the next one comes later.
    fn goes_back(&mut self, now: Instant, rate: f64, trial: &Trial) {
        let pause = self.rest.as_ref().map_or(GROWTH_PAUSE, |rest| (rest.pause * 2).min(GROWTH_PAUSE_MAX));
        self.rest = Some(Rest { rate: rate.max(trial.rate), until: now + pause, pause });
        self.lanes = trial.lanes;
    }

    #[must_use]
    pub const fn lanes(&self) -> u32 {
        self.lanes
    }
}

/// What a path begins with: as many lanes as the fastest machines, or the limit, need over so long a way.
fn start(sight: &Sight, round_trip: Duration, comfortable: f64) -> u32 {
    if round_trip < LONG_ROUND_TRIP {
        return sight.least;
    }
    let wanted = (sight.limit.min(START_MB_S * 1e6) / comfortable).ceil() as u32;
    wanted.min(START_LANES).min(sight.most_at_start).min(sight.chunks).max(sight.least)
}

#[cfg(test)]
#[path = "growth_tests.rs"]
mod tests;
