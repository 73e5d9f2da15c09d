//! One lane: a thread that holds one stream, pulls chunks and sends them; a second reads the acknowledgements.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use super::Shared;
use super::chunk_writer::{self, ChunkError, ChunkWriter};
pub use super::handle::Handle;
use super::pace::{Rest, Speed};
use super::repair::{self, Repair};
use super::streams::LaneError;
use super::unacknowledged::Unacknowledged;
use super::work_queue::{Next, Verdict, Work};
use crate::defaults::{DRAIN_TIMEOUT, LANE_RETRIES, LANE_WINDOW, RECONNECT_PAUSE, RECONNECT_PAUSE_MAX, STACK_BYTES};
use crate::documents::event::FailureReason;
use crate::documents::membership::Path;
use crate::stream::{FrameReader, StreamError};
use crate::thread::lock;
use crate::wire::frame::Frame;

/// One lane of one path and generation.
pub struct Lane {
    pub shared: Arc<Shared>,
    pub path: Arc<Path>,
    pub number: u32,
    pub handle: Arc<Handle>,
}

/// What the two threads of one stream share.
struct Link<'a> {
    lane: &'a Lane,
    waiting: &'a Unacknowledged,
    /// Set when the lane has to stop pulling: it was told to, or the stream broke.
    over: AtomicBool,
    broken: Mutex<Option<StreamError>>,
    acknowledged: AtomicBool,
    /// The receiver's answers to what this lane asked to finish the transfer; with the verdict, how many digests it has uploaded.
    verdict: Mutex<Option<(Verdict, u64)>>,
    forgotten: Mutex<Option<()>>,
    speed: Arc<Speed>,
    /// Since when chunks are left to others, and how long at most.
    leaving_since: Mutex<Option<(Instant, Duration)>>,
}

impl Lane {
    /// Runs until the transfer is over or the lane is told to leave.
    pub fn run(&self) {
        let waiting = Unacknowledged::default();
        let (mut failures, mut failing_since) = (0, None);
        let mut pause = RECONNECT_PAUSE;
        loop {
            let mut acknowledged = false;
            let error = match self.converse(&waiting, &mut acknowledged) {
                Ok(()) => break,
                Err(error) => error,
            };
            if self.handle.leave.load(Ordering::SeqCst) || self.shared.chunks.queue.verdict().is_some() {
                break;
            }
            // A stream that worked starts the count anew.
            if acknowledged {
                (failures, pause, failing_since) = (0, RECONNECT_PAUSE, None);
            }
            failures += 1;
            let since = *failing_since.get_or_insert_with(Instant::now);
            tracing::warn!(path = %self.path.path_id, lane = self.number, failures, %error, "lane broken");
            if failures > LANE_RETRIES {
                self.give_up(&waiting, &error, since);
                if self.shared.stop.sleep(pause) || self.handle.leave.load(Ordering::SeqCst) {
                    break;
                }
                pause = (pause * 2).min(RECONNECT_PAUSE_MAX);
            }
        }
        self.fail_all(&waiting, "the lane ended before its chunks were acknowledged");
        tracing::info!(path = %self.path.path_id, lane = self.number, "lane ends");
    }

    fn give_up(&self, waiting: &Unacknowledged, error: &LaneError, failing_since: Instant) {
        self.fail_all(waiting, &error.to_string());
        if let Some(node) = self.shared.blame.suspect(&self.path, error, failing_since) {
            self.shared.relay_lost(&self.path, node, error.to_string());
        }
    }

    fn fail_all(&self, waiting: &Unacknowledged, message: &str) {
        for (work, sent) in waiting.take_all() {
            self.shared.chunks.unacknowledged(work, sent, &self.path.path_id, message.to_owned());
        }
    }

    /// One stream from connecting to leaving.
    fn converse(&self, waiting: &Unacknowledged, acknowledged: &mut bool) -> Result<(), LaneError> {
        let shared = &self.shared;
        let (sealer, reader) = shared.streams.open(&self.path, self.number, &self.handle)?;
        shared.blame.heard_on(&self.path.path_id);
        let mut writer = ChunkWriter::new(sealer, Arc::clone(&shared.source), Arc::clone(&shared.chunks.skipped));
        tracing::info!(path = %self.path.path_id, generation = self.path.generation, lane = self.number, "lane begins");
        self.handle.connected.store(true, Ordering::SeqCst);
        let speed = self.shared.pace.begins(Instant::now());
        let link = Link {
            lane: self,
            waiting,
            over: AtomicBool::new(false),
            broken: Mutex::new(None),
            acknowledged: AtomicBool::new(false),
            verdict: Mutex::default(),
            forgotten: Mutex::default(),
            speed,
            leaving_since: Mutex::default(),
        };
        let result = std::thread::scope(|scope| {
            let listener = std::thread::Builder::new().stack_size(STACK_BYTES).spawn_scoped(scope, || link.listen(reader));
            let result = listener.map_err(StreamError::from).and_then(|_| link.speak(&mut writer));
            if result.is_ok() {
                let _ = writer.sealer.close();
            }
            self.handle.cut();
            result
        });
        self.handle.connected.store(false, Ordering::SeqCst);
        self.shared.pace.ends(&link.speed);
        *acknowledged = link.acknowledged.load(Ordering::SeqCst);
        match (result, lock(&link.broken).take()) {
            (Ok(()), _) => Ok(()),
            // What the listener saw is the cause; that writing failed is its consequence.
            (Err(_), Some(cause)) => Err(cause.into()),
            (Err(error), None) => Err(error.into()),
        }
    }
}

impl Link<'_> {
    fn speak(&self, writer: &mut ChunkWriter) -> Result<(), StreamError> {
        for work in self.waiting.again() {
            self.send(writer, work)?;
        }
        let work_queue = &self.lane.shared.chunks.queue;
        loop {
            if writer.sealer.is_worn() {
                writer.frame(&Frame::Drain)?;
                self.wait_for_acknowledgements()?;
                return Err(StreamError::Secure(crate::secure::SecureError::Exhausted));
            }
            let leave = || self.lane.handle.leave.load(Ordering::SeqCst);
            if leave() {
                self.over.store(true, Ordering::SeqCst);
            }
            let full = |rest: Option<Rest>| {
                self.waiting.len() >= LANE_WINDOW || leave() || rest.is_some_and(|rest| self.leaves_it_to_others(rest))
            };
            let next = match work_queue.try_next(&self.over, full) {
                Some(next) => next,
                None => {
                    writer.frame(&Frame::Pause)?;
                    work_queue.next(&self.over, full)
                }
            };
            match next {
                Next::Send(work) => self.send(writer, work)?,
                Next::Finish => {
                    if self.finish(writer).inspect_err(|_| work_queue.unfinished())? {
                        return Ok(());
                    }
                }
                Next::Leave if lock(&self.broken).is_some() => return Err(StreamError::Ended),
                Next::Leave => {
                    writer.frame(&Frame::Drain)?;
                    return self.wait_for_acknowledgements();
                }
            }
        }
    }

    /// Not for longer than this lane would have taken itself: what it believes of the others may have ceased to be true.
    fn leaves_it_to_others(&self, rest: Rest) -> bool {
        let now = Instant::now();
        let Some(own) = self.lane.shared.pace.holds_up(&self.speed, rest, now) else { return false };
        let (since, longest) = *lock(&self.leaving_since).get_or_insert((now, own));
        now.saturating_duration_since(since) < longest
    }

    fn send(&self, writer: &mut ChunkWriter, work: Work) -> Result<(), StreamError> {
        let (lane, shared) = (self.lane, &self.lane.shared);
        *lock(&self.leaving_since) = None;
        self.speed.takes(work.bytes);
        self.waiting.begin(work.clone());
        let moved = |bytes| {
            shared.chunks.counters.moved(bytes);
            lane.handle.moved.fetch_add(bytes, Ordering::Relaxed);
        };
        // The receiver may refuse it before its end.
        let goes_on = || self.waiting.holds(work.chunk);
        match writer.send(&work, &moved, &goes_on) {
            Ok((digest, sent)) => {
                // Before the digest goes out: its acknowledgement may come at once.
                if self.waiting.sent(work.chunk, sent) { writer.finish(digest) } else { writer.refused() }
            }
            Err(ChunkError::Plan(why)) => {
                if let Some((work, _)) = self.waiting.answered(work.chunk, work.attempt) {
                    self.speed.drops(work.bytes);
                    shared.chunks.failed(work, &lane.path.path_id, FailureReason::SourceUnreadable, why);
                }
                Ok(())
            }
            // Whoever heard the answer has dealt with it; a file's own problem does not end the chunk.
            Err(ChunkError::Answered | ChunkError::Source(_)) => Ok(()),
            Err(ChunkError::Stream(error)) => Err(error),
        }
    }

    /// Compares both ends; `false` where chunks are to be sent again.
    fn finish(&self, writer: &mut ChunkWriter) -> Result<bool, StreamError> {
        let shared = &self.lane.shared;
        let (complete, digests) = shared.chunks.totals();
        shared.upload(&digests).ok_or(StreamError::Ended)?;
        // Another lane may have delivered one before its problem was found.
        writer.name_skipped()?;
        let tree = crate::digest::tree_digest(digests.iter());
        writer.frame(&Frame::Finish { complete, skipped: shared.chunks.skipped.sum().entries, entries: digests.len() as u64, tree })?;
        // The receiver looks at the destination first, which may take as long as it takes.
        let (verdict, theirs) = self.wait_for(&self.verdict)?;
        if complete
            && !verdict.agreed
            && let Some(Repair { entries, works }) = shared.or_trouble(repair::plan(shared, theirs)).ok_or(StreamError::Ended)?
        {
            for (number, entry) in entries.iter().enumerate() {
                Frame::Forget { entry: *entry, last: number + 1 == entries.len() }.encode(writer.sealer.frames());
            }
            writer.sealer.flush()?;
            self.wait_for(&self.forgotten)?;
            shared.chunks.queue.send_again(works);
            return Ok(false);
        }
        shared.chunks.queue.finish(verdict);
        // The receiver ends once it knows that its answer was heard. Without that the control plane ends it.
        let _ = writer.frame(&Frame::Drain);
        Ok(true)
    }

    /// Waits for an answer.
    fn wait_for<T>(&self, answer: &Mutex<Option<T>>) -> Result<T, StreamError> {
        loop {
            if let Some(answer) = lock(answer).take() {
                return Ok(answer);
            }
            if lock(&self.broken).is_some() || self.lane.shared.stop.is_requested() {
                return Err(StreamError::Ended);
            }
            self.lane.shared.chunks.queue.wait(Duration::from_secs(1));
        }
    }

    fn wait_for_acknowledgements(&self) -> Result<(), StreamError> {
        let deadline = Instant::now() + DRAIN_TIMEOUT;
        while !self.waiting.is_empty() {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() || lock(&self.broken).is_some() {
                return Err(StreamError::Ended);
            }
            self.lane.shared.chunks.queue.wait(left);
        }
        Ok(())
    }

    /// Reads answers until the stream ends.
    fn listen(&self, mut reader: FrameReader) {
        let error = loop {
            match reader.frame() {
                Ok(Some(frame)) => {
                    if let Err(error) = self.answer(frame) {
                        break error;
                    }
                }
                Ok(None) => break StreamError::Ended,
                Err(error) => break error,
            }
        };
        *lock(&self.broken) = Some(error);
        self.over.store(true, Ordering::SeqCst);
        self.lane.handle.cut();
        self.lane.shared.chunks.queue.wake();
    }

    fn answer(&self, frame: Frame) -> Result<(), StreamError> {
        let (lane, shared) = (self.lane, &self.lane.shared);
        shared.blame.heard_on(&lane.path.path_id);
        match frame {
            Frame::Ack { chunk, attempt } => {
                let Some((work, sent)) = self.waiting.answered(chunk, attempt) else { return Ok(()) };
                self.acknowledged.store(true, Ordering::SeqCst);
                lane.handle.delivered.fetch_add(work.bytes, Ordering::Relaxed);
                self.speed.brought(work.bytes);
                shared.chunks.delivered(&work, sent);
            }
            Frame::Nack { chunk, attempt, reason, message } => {
                if let Some((work, _)) = self.waiting.answered(chunk, attempt) {
                    self.speed.drops(work.bytes);
                    shared.chunks.failed(work, &lane.path.path_id, reason, message);
                }
            }
            Frame::Refused { chunk, attempt, entry, reason, message } => {
                let work = self.waiting.look(chunk, attempt);
                if let Some(segment) = work.and_then(|work| chunk_writer::segment_of(&work, entry)) {
                    shared.chunks.skipped.note(&segment, reason, &message);
                }
            }
            Frame::Full { chunk, attempt, message } => {
                if let Some((work, _)) = self.waiting.answered(chunk, attempt) {
                    self.speed.drops(work.bytes);
                    shared.chunks.queue.full(work, message);
                }
            }
            Frame::Finished { agreed, entries, message } => {
                *lock(&self.verdict) = Some((Verdict { agreed, message }, entries));
                shared.chunks.queue.wake();
            }
            Frame::Forgotten => {
                *lock(&self.forgotten) = Some(());
                shared.chunks.queue.wake();
            }
            other => return Err(StreamError::Protocol(format!("{other:?} is out of place"))),
        }
        Ok(())
    }
}
