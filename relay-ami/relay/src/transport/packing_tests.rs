#![allow(clippy::unwrap_used)]

use super::*;

/// A lane's path and data, with times as they are computed rather than measured.
struct Simulated {
    judge: Judge,
    /// Seconds for a byte on the wire, where nothing is queued.
    wire: f64,
    /// Seconds for which the kernel still sends what it has taken.
    queue: f64,
    /// By level: seconds for a byte, and what becomes of it.
    packs: [(f64, f64); LEVELS.len()],
    elapsed: f64,
    levels: Vec<usize>,
}

const BYTES: usize = DATA_BYTES;
/// 4 MB of a socket's buffer at 100 MB/s are 40 ms.
const QUEUE_SECONDS: f64 = 0.04;
/// Reading and hashing, for a byte: 1.2 GB/s.
const WORK: f64 = 0.8e-9;
/// Sealing and copying: 1.5 GB/s.
const SEAL: f64 = 0.66e-9;
const TEXT: [(f64, f64); 3] = [(2.2e-9, 0.4), (4e-9, 0.35), (14e-9, 0.3)];
const PHOTOS: [(f64, f64); 3] = [(1.5e-9, 1.0), (3e-9, 1.0), (10e-9, 1.0)];

impl Simulated {
    fn new(mb_s: f64, packs: [(f64, f64); 3]) -> Self {
        Self { judge: Judge::default(), wire: 1e-6 / mb_s, queue: 0.0, packs, elapsed: 0.0, levels: Vec::new() }
    }

    /// Sends so much as the judge has it; returns MB/s.
    fn send(&mut self, megabytes: usize) -> f64 {
        let began = self.elapsed;
        let pieces = (megabytes << 20) / BYTES;
        for _ in 0..pieces {
            let level = self.judge.next(BYTES);
            let (pack, ratio) = level.checked_sub(1).map_or((0.0, 1.0), |number| self.packs[number]);
            let (pack_seconds, wire) = (pack * BYTES as f64, ratio * BYTES as f64);
            self.passes(WORK * BYTES as f64 + pack_seconds);
            let waits = (self.queue + wire * self.wire - QUEUE_SECONDS).max(0.0);
            let write_seconds = SEAL * wire + waits;
            self.passes(write_seconds);
            self.queue += wire * self.wire;
            let (plain, work_seconds) = (BYTES as f64, WORK * BYTES as f64);
            self.judge.note(Piece { level, plain, wire, work_seconds, pack_seconds, write_seconds });
            self.levels.push(level);
        }
        megabytes as f64 * 1.048_576 / (self.elapsed - began)
    }

    fn passes(&mut self, seconds: f64) {
        self.elapsed += seconds;
        self.queue = (self.queue - seconds).max(0.0);
    }

    fn packed_share(&self) -> f64 {
        self.levels.iter().filter(|level| **level > 0).count() as f64 / self.levels.len() as f64
    }
}

#[test]
fn a_slow_path_gets_what_is_packed_hardest() {
    let mut lane = Simulated::new(10.0, TEXT);
    lane.send(20);
    let rate = lane.send(60);
    assert!(rate > 0.95 * 10.0 / 0.3, "{rate} MB/s of 33");
}

#[test]
fn a_path_faster_than_packing_is_never_slower_for_it() {
    for mb_s in [30.0, 100.0, 200.0, 300.0, 400.0, 600.0, 1200.0] {
        let mut lane = Simulated::new(mb_s, TEXT);
        lane.send(50);
        let rate = lane.send(1000);
        let alone = (1e-6 / (WORK + SEAL)).min(mb_s);
        assert!(rate > 0.97 * alone, "{rate} MB/s of {alone} at {mb_s}");
    }
}

#[test]
fn a_path_and_a_core_are_both_used_up() {
    // Unpacked the path brings 200 MB/s. Packed at level 1 it could bring 500, and the core packs 306.
    let mut lane = Simulated::new(200.0, TEXT);
    lane.send(50);
    let rate = lane.send(500);
    assert!(rate > 290.0, "{rate} MB/s");
}

#[test]
fn what_does_not_shrink_costs_a_hundredth_and_goes_out_as_it_is() {
    for mb_s in [10.0, 600.0] {
        let mut lane = Simulated::new(mb_s, PHOTOS);
        lane.send(20);
        let rate = lane.send(400);
        let alone = (1e-6 / (WORK + SEAL)).min(mb_s);
        assert!(rate > 0.985 * alone, "{rate} MB/s of {alone}");
        assert!(lane.packed_share() < 0.25, "{}", lane.packed_share());
        assert!(lane.levels.iter().all(|level| *level <= 1), "none above one that makes nothing smaller");
    }
}

#[test]
fn data_that_changes_is_noticed() {
    let mut lane = Simulated::new(20.0, PHOTOS);
    lane.send(50);
    lane.packs = TEXT;
    lane.send(20);
    let rate = lane.send(50);
    assert!(rate > 0.9 * 20.0 / 0.3, "{rate} MB/s of 67");
    lane.packs = PHOTOS;
    lane.send(20);
    let rate = lane.send(50);
    assert!(rate > 0.97 * 20.0, "{rate} MB/s of 20");
}

#[test]
fn small_pieces_go_out_as_they_are() {
    let lane = Lane { work: 1e-9, seconds: 1.0, waiting_seconds: 0.9, wire: 1e6 };
    let levels = [Some(Level { pack: 1e-9, ratio: 0.1 }); 3];
    let mut judge = Judge { lane: Some(lane), path: 1e-6, levels, ..Judge::default() };
    assert_eq!(judge.next(LEAST_BYTES - 1), 0);
    assert!(judge.next(LEAST_BYTES) > 0);
}
