//! A long path, for kernels without netem: every packet comes late, at a rate, behind a queue, and some do not come.
//!
//! Standard input and standard output are its two ends, each a device (or a socket) that gives and takes whole packets and does not
//! block. What goes from the first to the second passes a line; what comes back is late, and no more.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::io;
use std::os::fd::{AsFd as _, BorrowedFd};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use cpt_command_line::CliError;
use cpt_relay::documents::event::Failure;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use serde::Deserialize;

const PACKET_BYTES: usize = 65_536;
/// Packets that one direction reads before it looks at what is due.
const BATCH: usize = 64;

/// What the path is like.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct LongPath {
    /// Each way.
    delay_ms: f64,
    /// From so many seconds after the first packet on, MB/s: `[[0, 25], [20, 100]]`.
    rates: Vec<(f64, f64)>,
    /// What may wait for the line; beyond it packets are dropped.
    queue_bytes: u64,
    /// Share of the packets that are dropped whatever waits.
    #[serde(default)]
    loss: f64,
    /// Each packet is late by up to so much more, each way; packets keep their order.
    #[serde(default)]
    jitter_ms: f64,
    /// Of the draws for `loss` and `jitter_ms`.
    #[serde(default = "one")]
    seed: u64,
}

const fn one() -> u64 {
    1
}

/// Forwards until an end is closed, or a signal comes.
pub fn run(arguments: &[OsString]) -> Result<ExitCode, CliError> {
    let text = match arguments {
        [text] => text.to_str().ok_or_else(|| CliError::Usage("the path is described in JSON".to_owned()))?,
        _ => return Err(CliError::Usage("long-path needs one argument, which describes the path".to_owned())),
    };
    let path: LongPath = serde_json::from_str(text).map_err(|error| CliError::Usage(format!("long-path {text}: {error}")))?;
    if path.jitter_ms < 0.0 || path.delay_ms < 0.0 {
        return Err(CliError::Usage(format!("long-path {text}: delayMs and jitterMs must be at least 0")));
    }
    if path.rates.iter().any(|(_, rate)| *rate <= 0.0) {
        return Err(CliError::Usage(format!("long-path {text}: rates must be more than 0 MB/s")));
    }
    let failed = |error: io::Error| CliError::failed(Failure::Output, error);
    let (one, other) = (&io::stdin(), &io::stdout());
    let delay = Duration::from_secs_f64(path.delay_ms / 1e3);
    std::thread::scope(|scope| {
        let (mut line, mut jitter_there, mut jitter_back) = (Line::new(&path), Jitter::new(&path, 1), Jitter::new(&path, 2));
        let back = scope.spawn(move || carry(other.as_fd(), one.as_fd(), |_, now| Some(now + delay + jitter_back.next())));
        let there =
            carry(one.as_fd(), other.as_fd(), |bytes, now| line.leaves(bytes, now).map(|leaves| leaves + delay + jitter_there.next()));
        there.and(back.join().unwrap_or_else(|_| Err(io::Error::other("a direction panicked"))))
    })
    .map_err(failed)?;
    Ok(ExitCode::SUCCESS)
}

/// Passes packets on, each when `due` says of its size and time of arrival; none where it is dropped. Packets keep their order.
fn carry(from: BorrowedFd<'_>, to: BorrowedFd<'_>, mut due: impl FnMut(usize, Instant) -> Option<Instant>) -> io::Result<()> {
    let mut waiting: VecDeque<(Instant, Vec<u8>)> = VecDeque::new();
    let (mut buffer, mut free) = (vec![0; PACKET_BYTES], Vec::new());
    loop {
        let timeout = waiting.front().map(|(at, _)| timespec(at.saturating_duration_since(Instant::now())));
        match poll(&mut [PollFd::from_borrowed_fd(from, PollFlags::IN)], timeout.as_ref()) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        for _ in 0..BATCH {
            let bytes = match rustix::io::read(from, buffer.as_mut_slice()) {
                Ok(0) => return Ok(()),
                Ok(bytes) => bytes,
                Err(Errno::AGAIN | Errno::INTR) => break,
                Err(error) => return Err(error.into()),
            };
            if let Some(at) = due(bytes, Instant::now()) {
                let mut packet: Vec<u8> = free.pop().unwrap_or_default();
                packet.clear();
                packet.extend_from_slice(buffer.get(..bytes).unwrap_or_default());
                waiting.push_back((at, packet));
            }
        }
        let now = Instant::now();
        while waiting.front().is_some_and(|(at, _)| *at <= now) {
            let Some((_, packet)) = waiting.pop_front() else { break };
            match rustix::io::write(to, &packet) {
                // A device that has no room drops, as a network does.
                Ok(_) | Err(Errno::AGAIN | Errno::INTR | Errno::NOBUFS) => free.push(packet),
                Err(error) => return Err(error.into()),
            }
        }
    }
}

fn timespec(time: Duration) -> Timespec {
    Timespec { tv_sec: i64::try_from(time.as_secs()).unwrap_or(i64::MAX), tv_nsec: i64::from(time.subsec_nanos()) }
}

/// One packet after the other, at a rate.
struct Line {
    path: LongPath,
    began: Option<Instant>,
    /// Until it has sent all that waits.
    busy_until: Option<Instant>,
    losses: Draws,
}

impl Line {
    fn new(path: &LongPath) -> Self {
        Self { path: path.clone(), began: None, busy_until: None, losses: Draws::new(path.seed) }
    }

    /// When a packet has left the line; none where it is dropped.
    fn leaves(&mut self, bytes: usize, now: Instant) -> Option<Instant> {
        let began = *self.began.get_or_insert(now);
        let age = now.saturating_duration_since(began).as_secs_f64();
        let rate = self.path.rates.iter().rev().find(|(from, _)| *from <= age).map_or(f64::INFINITY, |(_, rate)| rate * 1e6);
        let start = self.busy_until.unwrap_or(now).max(now);
        let waits = start.saturating_duration_since(now).as_secs_f64() * rate;
        if self.is_lost() || waits + bytes as f64 > self.path.queue_bytes as f64 {
            return None;
        }
        let leaves = start + Duration::from_secs_f64(bytes as f64 / rate);
        self.busy_until = Some(leaves);
        Some(leaves)
    }

    fn is_lost(&mut self) -> bool {
        self.path.loss > 0.0 && self.losses.next() <= self.path.loss
    }
}

/// How late a packet is beside its delay.
struct Jitter {
    most: Duration,
    draws: Draws,
}

impl Jitter {
    fn new(path: &LongPath, direction: u64) -> Self {
        Self { most: Duration::from_secs_f64(path.jitter_ms / 1e3), draws: Draws::new(path.seed.wrapping_mul(2).wrapping_add(direction)) }
    }

    fn next(&mut self) -> Duration {
        if self.most.is_zero() { self.most } else { self.most.mul_f64(self.draws.next()) }
    }
}

/// Numbers from 0 to 1 of a xorshift generator: the same seed loses the same packets.
struct Draws {
    state: u64,
}

impl Draws {
    fn new(seed: u64) -> Self {
        Self { state: seed.max(1) }
    }

    fn next(&mut self) -> f64 {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        (self.state >> 11) as f64 / (1u64 << 53) as f64
    }
}
