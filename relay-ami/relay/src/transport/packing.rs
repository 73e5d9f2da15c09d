//! Whether a lane's data goes out packed, and how hard: by what takes the lane's time.
//!
//! A lane reads, hashes, packs and writes one piece after the other, while the kernel sends what it has written. So a byte takes the
//! longer of two times: what the lane works on it, and what the path needs for what becomes of it. Packed harder it takes more of the
//! first and less of the second; the level with the least is taken, piece by piece. What the path needs is known while writing waits
//! for it. Where it never does the path may be faster than thought: what is known of it fades, and pieces go out as they are until
//! writing waits again. In between both the processor and the path are used up.

use std::io;
use std::time::{Duration, Instant};

use zstd::bulk::Compressor;

use crate::secure::record::{DATA_BYTES, Sealer};
use crate::transport::stream::StreamError;
use crate::wire::frame::Frame;

/// Levels of zstd; in pieces of 64 KiB a core packs about 450, 250 and 70 MB/s of text at them.
const LEVELS: [i32; 3] = [1, 3, 7];
/// Weight of the newest piece in what is known of the lane: a memory of 1 MiB.
const NEWEST: f64 = 1.0 / 16.0;
/// Weight of the newest piece in what is known of its level, of which it may be the only one for a while.
const NEWEST_OF_LEVEL: f64 = 1.0 / 4.0;
/// To seal a byte and to hand it over takes less on any machine: 500 MB/s. What is over that is waiting for the path.
const WRITE_SECONDS: f64 = 2e-9;
/// Share of a lane's time that it waits for its path, where the path is the limit.
const WAITING_SHARE: f64 = 0.05;
/// Share of what is known of a path that is forgotten with each piece for which it was not waited: half of it after 3 MiB.
const FADING: f64 = 1.0 / 64.0;
/// A longer pause before a piece is no work on it: the lane waited for a chunk, or for a slow disk.
const LONGEST_WORK: Duration = Duration::from_millis(20);
/// Share of a lane's time in which it tries what it does not do.
const TRIAL_SHARE: f64 = 0.01;
/// What a first trial is expected to take: 64 KiB at 130 MB/s.
const TRIAL_SECONDS: f64 = 0.5e-3;
/// Pieces between two trials, however cheap they are: 512 KiB.
const BETWEEN_TRIALS: u32 = 8;
/// Smaller pieces are not worth a frame of their own kind: a packed piece has a dozen bytes of its own.
const LEAST_BYTES: usize = 1 << 10;

/// What one piece cost.
#[derive(Clone, Copy, Debug)]
struct Piece {
    /// 0: as it is; else the number of the level.
    level: usize,
    plain: f64,
    wire: f64,
    /// Reading and hashing.
    work_seconds: f64,
    pack_seconds: f64,
    /// Sealing, and waiting for the path.
    write_seconds: f64,
}

/// What is known of a level.
#[derive(Clone, Copy, Debug)]
struct Level {
    /// Seconds for a byte.
    pack: f64,
    /// Bytes on the wire for a byte.
    ratio: f64,
}

/// What is known of a lane, by the newest pieces.
#[derive(Clone, Copy, Debug)]
struct Lane {
    /// Seconds of work for a byte, but for packing and writing.
    work: f64,
    seconds: f64,
    waiting_seconds: f64,
    wire: f64,
}

/// Decides for one lane.
#[derive(Debug)]
struct Judge {
    /// None where it was never tried.
    levels: [Option<Level>; LEVELS.len()],
    lane: Option<Lane>,
    /// Seconds that the path needs for a byte on the wire; 0 where it was never waited for.
    path: f64,
    /// Seconds that trials may take.
    budget: f64,
    /// The level that was tried last.
    tried: usize,
    /// Pieces since then.
    since: u32,
}

impl Default for Judge {
    fn default() -> Self {
        Self { levels: [None; LEVELS.len()], lane: None, path: 0.0, budget: TRIAL_SECONDS, tried: 0, since: BETWEEN_TRIALS }
    }
}

impl Judge {
    /// Returns the level of the next piece; 0 for none.
    fn next(&mut self, bytes: usize) -> usize {
        if bytes < LEAST_BYTES {
            return 0;
        }
        let best = self.best();
        self.since += 1;
        if self.since <= BETWEEN_TRIALS {
            return best;
        }
        let candidate = self.after(self.tried);
        // What is done is known.
        let candidate = if candidate == best { self.after(candidate) } else { candidate };
        let seconds = self.levels[candidate - 1].map_or(TRIAL_SECONDS, |level| level.pack * bytes as f64);
        if self.budget < seconds {
            return best;
        }
        self.budget -= seconds;
        (self.tried, self.since) = (candidate, 0);
        candidate
    }

    fn best(&self) -> usize {
        let Some(lane) = self.lane else { return 0 };
        let seconds = |level: Level| (lane.work + level.pack + level.ratio * WRITE_SECONDS).max(level.ratio * self.path);
        let mut best = (0, seconds(Level { pack: 0.0, ratio: 1.0 }));
        for (number, level) in self.levels.iter().enumerate() {
            if let Some(seconds) = level.map(seconds).filter(|seconds| *seconds < best.1) {
                best = (number + 1, seconds);
            }
        }
        best.0
    }

    /// The level to try after this one: each in turn, but none above one that makes nothing smaller.
    fn after(&self, level: usize) -> usize {
        let shrinks = level.checked_sub(1).and_then(|number| self.levels[number]).is_some_and(|known| known.ratio < 1.0);
        if shrinks && level < LEVELS.len() { level + 1 } else { 1 }
    }

    fn note(&mut self, piece: Piece) {
        let mix = |old: f64, new: f64, weight: f64| old + weight * (new - old);
        let seconds = piece.work_seconds + piece.pack_seconds + piece.write_seconds;
        let waiting_seconds = (piece.write_seconds - WRITE_SECONDS * piece.wire).max(0.0);
        let newest = Lane { work: piece.work_seconds / piece.plain, seconds, waiting_seconds, wire: piece.wire };
        let lane = self.lane.map_or(newest, |old| Lane {
            work: mix(old.work, newest.work, NEWEST),
            seconds: mix(old.seconds, newest.seconds, NEWEST),
            waiting_seconds: mix(old.waiting_seconds, newest.waiting_seconds, NEWEST),
            wire: mix(old.wire, newest.wire, NEWEST),
        });
        self.lane = Some(lane);
        if lane.waiting_seconds > WAITING_SHARE * lane.seconds {
            self.path = lane.seconds / lane.wire;
        } else {
            self.path -= FADING * self.path;
        }
        // What a rest without trials earned is no licence for a burst of them.
        self.budget = (self.budget + TRIAL_SHARE * seconds).min(4.0 * TRIAL_SECONDS);
        if let Some(level) = piece.level.checked_sub(1).and_then(|number| self.levels.get_mut(number)) {
            let newest = Level { pack: piece.pack_seconds / piece.plain, ratio: piece.wire / piece.plain };
            *level = Some(level.map_or(newest, |old| Level {
                pack: mix(old.pack, newest.pack, NEWEST_OF_LEVEL),
                ratio: mix(old.ratio, newest.ratio, NEWEST_OF_LEVEL),
            }));
        }
    }
}

/// Packs the data of one stream where that pays.
pub struct Packer {
    judge: Judge,
    compressor: Compressor<'static>,
    packed: Vec<u8>,
    /// Since when the next piece is worked on.
    began: Instant,
}

impl Packer {
    pub fn new() -> io::Result<Self> {
        Ok(Self {
            judge: Judge::default(),
            compressor: Compressor::new(LEVELS[0])?,
            packed: Vec::with_capacity(DATA_BYTES),
            began: Instant::now(),
        })
    }

    /// Sends at most `DATA_BYTES` of a file; returns how many went out.
    pub fn send(&mut self, sealer: &mut Sealer, bytes: &[u8]) -> Result<u64, StreamError> {
        let read_at = Instant::now();
        let level = self.judge.next(bytes.len());
        let packed = level > 0 && self.pack(level, bytes)?;
        let packed_at = Instant::now();
        let wire: &[u8] = if packed { &self.packed } else { bytes };
        if packed { Frame::Packed(wire.len()) } else { Frame::Data(wire.len()) }.encode(sealer.frames());
        sealer.write(wire)?;
        let now = Instant::now();
        let work = Some(read_at - self.began).filter(|work| *work < LONGEST_WORK).unwrap_or_default();
        if bytes.len() >= LEAST_BYTES {
            self.judge.note(Piece {
                level,
                plain: bytes.len() as f64,
                wire: wire.len() as f64,
                work_seconds: work.as_secs_f64(),
                pack_seconds: (packed_at - read_at).as_secs_f64(),
                write_seconds: (now - packed_at).as_secs_f64(),
            });
        }
        self.began = now;
        Ok(wire.len() as u64)
    }

    /// Returns how many bytes would go out for these, at the fastest level.
    pub fn trial(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let packed = bytes.len() >= LEAST_BYTES && self.pack(1, bytes)?;
        Ok(if packed { self.packed.len() } else { bytes.len() })
    }

    /// Returns whether it became smaller, by a sixteenth at least: for less nobody should unpack.
    fn pack(&mut self, level: usize, bytes: &[u8]) -> io::Result<bool> {
        self.compressor.set_compression_level(LEVELS[level - 1])?;
        self.packed.clear();
        self.packed.resize(bytes.len() - bytes.len() / 16, 0);
        // It fails where the result has no room, which is also known sooner.
        let Ok(count) = self.compressor.compress_to_buffer(bytes, self.packed.as_mut_slice()) else { return Ok(false) };
        self.packed.truncate(count);
        Ok(true)
    }
}

#[cfg(test)]
#[path = "packing_tests.rs"]
mod tests;
