use super::*;

const MB: f64 = 1e6;

/// A path of which each lane carries its buffer's half per round trip at most, and all together `rate` MB/s.
#[derive(Clone, Copy)]
struct Path {
    rate: f64,
    round_trip_ms: u64,
    send_buffer: u64,
    /// What lies in queues on the way makes each round trip as long.
    queue_ms: u64,
    limit: f64,
    chunks: u32,
    /// Its next hop is a relay.
    is_relayed: bool,
}

const LONG: Path =
    Path { rate: 1000.0, round_trip_ms: 100, send_buffer: 4 << 20, queue_ms: 0, limit: f64::INFINITY, chunks: 1000, is_relayed: false };

impl Path {
    /// MB/s of one lane that nothing else holds back.
    fn each(&self) -> f64 {
        self.send_buffer as f64 / 2.0 / MB / ((self.round_trip_ms + self.queue_ms) as f64 / 1e3)
    }
}

const SHORT: Sight = Sight {
    lanes: 1,
    moved: 0,
    round_trip: Some(Duration::from_millis(1)),
    send_buffer: 4 << 20,
    counters: None,
    limit: f64::INFINITY,
    is_held_back: false,
    least: 1,
    most_at_start: 100,
    chunks: 100,
};

struct Run {
    growth: Growth,
    now: Instant,
    moved: f64,
    busy_us: u64,
    blocked_us: u64,
}

impl Run {
    fn new() -> Self {
        Self { growth: Growth::default(), now: Instant::now(), moved: 0.0, busy_us: 0, blocked_us: 0 }
    }

    /// Looks ten times a second, with every lane connected by the next look; returns the lanes at the end, and the rate.
    fn go(&mut self, seconds: f64, path: Path) -> (u32, f64) {
        self.go_with(seconds, path, u32::MAX)
    }

    /// The same where no more lanes than this can connect.
    fn go_with(&mut self, seconds: f64, path: Path, most: u32) -> (u32, f64) {
        let mut rate = 0.0;
        for _ in 0..(seconds * 10.0) as u32 {
            let lanes = self.growth.lanes().min(most);
            let carried = f64::from(lanes) * path.each();
            rate = carried.min(path.rate).min(path.limit);
            self.moved += rate * MB / 10.0;
            self.busy_us += u64::from(lanes) * 100_000;
            // A lane waits for its buffer where nothing else limits it.
            self.blocked_us += if carried <= path.rate.min(path.limit) * 1.01 { u64::from(lanes) * 90_000 } else { 0 };
            self.now += Duration::from_millis(100);
            let counters = Counters { busy_us: self.busy_us, send_buffer_limited_us: self.blocked_us, round_trip_us: 0 };
            self.growth.look(
                self.now,
                Sight {
                    lanes,
                    moved: self.moved as u64,
                    round_trip: Some(Duration::from_millis(path.round_trip_ms)),
                    send_buffer: path.send_buffer,
                    counters: (!path.is_relayed).then_some(counters),
                    limit: path.limit * MB,
                    is_held_back: path.limit < carried.min(path.rate),
                    least: 1,
                    most_at_start: path.chunks,
                    chunks: path.chunks,
                },
            );
        }
        (self.growth.lanes(), rate)
    }
}

fn after(seconds: f64, path: Path) -> u32 {
    Run::new().go(seconds, path).0
}

#[test]
fn a_short_path_keeps_its_lanes() {
    for seconds in 1..=10 {
        assert_eq!(after(f64::from(seconds), Path { round_trip_ms: 1, ..LONG }), 1, "after {seconds} s");
    }
}

#[test]
fn a_long_path_has_its_lanes_as_soon_as_the_first_one_has_told_the_round_trip() {
    // 625 MB/s · 50 ms · 3 / 4 MiB = 22; of 20 ms they are 9, of 6 ms 3.
    for (round_trip_ms, lanes) in [(50, 16), (20, 9), (6, 3), (4, 1)] {
        assert_eq!(after(0.1, Path { round_trip_ms, ..LONG }), lanes, "{round_trip_ms} ms");
    }
}

#[test]
fn the_others_open_before_the_first_lane_has_greeted_the_receiver() {
    let sight = |round_trip| Sight {
        lanes: 0,
        moved: 0,
        round_trip,
        send_buffer: 4 << 20,
        counters: None,
        limit: f64::INFINITY,
        is_held_back: false,
        least: 1,
        most_at_start: 100,
        chunks: 100,
    };
    let (mut growth, now) = (Growth::default(), Instant::now());
    assert_eq!(growth.look(now, sight(None)), 1, "nothing is known");
    assert_eq!(growth.look(now, sight(Some(Duration::from_millis(200)))), 16);
}

#[test]
fn no_more_lanes_than_chunks_and_no_fewer_than_planned() {
    assert_eq!(after(20.0, Path { chunks: 3, rate: 10.0, ..LONG }), 3);
    assert_eq!(after(0.1, Path { chunks: 0, ..LONG }), 1);
}

#[test]
fn more_lanes_come_as_long_as_they_wait_for_their_buffers_and_help() {
    // 16 lanes carry 16 · 2.1 MB / 100 ms = 336 MB/s of 600.
    assert_eq!(after(5.0, Path { rate: 600.0, ..LONG }), 32);
    assert_eq!(after(20.0, Path { rate: 300.0, ..LONG }), 16, "they fill the path");
    assert_eq!(after(20.0, Path { rate: 600.0, is_relayed: true, ..LONG }), 32, "the kernel does not tell; the rate does");
}

#[test]
fn a_queue_that_looks_like_a_long_path_costs_trials_that_become_rare() {
    // 16 lanes carry 16 · 2.1 MB / 120 ms = 280 MB/s and wait for their buffers; a third of them over 100 ms would want 20.
    let path = Path { rate: 280.0, queue_ms: 20, ..LONG };
    let mut run = Run::new();
    let counted = (0..600).map(|_| run.go(0.1, path).0).filter(|lanes| *lanes > 16).count();
    assert!((15..120).contains(&counted), "more lanes for {counted} of 600 tenths of a second");
    assert_eq!(run.go(0.1, path).0, 16);
}

#[test]
fn a_trial_whose_lanes_cannot_connect_ends_too() {
    let mut run = Run::new();
    run.go(0.1, LONG);
    // 16 of those that would help.
    let lanes = (0..100).map(|_| run.go_with(0.1, Path { rate: 600.0, ..LONG }, 16).0).collect::<Vec<_>>();
    assert!(lanes.iter().any(|lanes| *lanes > 16) && lanes.ends_with(&[16]), "{lanes:?}");
}

#[test]
fn a_path_whose_plan_changes_follows_it() {
    let sight = |least| Sight { least, ..SHORT };
    let (mut growth, now) = (Growth::default(), Instant::now());
    assert_eq!([1, 4, 2].map(|least| growth.look(now, sight(least))), [1, 4, 2]);
}

#[test]
fn a_path_that_becomes_wider_gets_more_lanes() {
    let small = Path { send_buffer: 1 << 20, ..LONG };
    for is_relayed in [false, true] {
        let mut run = Run::new();
        let narrow = run.go(20.0, Path { rate: 50.0, is_relayed, ..small });
        let wide = run.go(10.0, Path { rate: 160.0, is_relayed, ..small });
        assert!(wide.1 >= 0.95 * 160.0, "{narrow:?}, then {wide:?}");
    }
}

#[test]
fn a_limit_wants_few_lanes_and_teaches_nothing() {
    let mut run = Run::new();
    // 20 MB/s · 100 ms · 3 / 4 MiB = 1.4.
    assert_eq!(run.go(30.0, Path { limit: 20.0, ..LONG }).0, 2);
    assert_eq!(run.go(0.1, LONG).0, 16, "without a limit the path has what it would have begun with");
    assert_eq!(run.go(5.0, LONG).0, 32);
}

#[test]
fn nothing_is_concluded_while_lanes_are_still_connecting() {
    let mut growth = Growth::default();
    let sight = Sight {
        lanes: 1,
        moved: 1 << 30,
        round_trip: Some(Duration::from_millis(1)),
        send_buffer: 4 << 20,
        counters: None,
        limit: f64::INFINITY,
        is_held_back: false,
        least: 2,
        most_at_start: 100,
        chunks: 100,
    };
    let start = Instant::now();
    for second in 0..10 {
        assert_eq!(growth.look(start + Duration::from_secs(second), sight), 2);
    }
}
