//! One lane: a thread that holds one stream, pulls chunks and sends them; a second reads the acknowledgements.

mod taking;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use super::sending::Sending;
use super::unacknowledged::Unacknowledged;
use crate::defaults::{COMES_BACK_LOOK, COMES_BACK_WITHIN, RECONNECT_PAUSE, RECONNECT_PAUSE_MAX, STACK_BYTES};
use crate::documents::command::Compress;
use crate::documents::event::FailureReason;
use crate::documents::membership::Path;
use crate::send::queue::taker::Next;
use crate::send::reading::chunk_error::ChunkError;
use crate::send::reading::chunk_writer::ChunkWriter;
use crate::send::reading::packing::Packer;
use crate::send::reading::segments;
use crate::send::settled::repair::{self, Repair};
use crate::send::streams::blame;
use crate::send::streams::greeting::LaneError;
pub use crate::send::streams::handle::Handle;
use crate::send::streams::pace::Speed;
use crate::send::work::{Verdict, Work};
use crate::send::{SendError, Shared};
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

/// State that the two threads of one stream share.
struct Link<'a> {
    lane: &'a Lane,
    waiting: &'a Unacknowledged,
    /// Set when the lane has to stop pulling: it was told to, or the stream broke.
    over: AtomicBool,
    broken: Mutex<Option<StreamError>>,
    /// The receiver has acknowledged a chunk, or spoken for longer than it takes to come back.
    worked: AtomicBool,
    began: Instant,
    /// The receiver's answers to what this lane asked to finish the transfer; with the verdict, how many digests it has uploaded.
    verdict: Mutex<Option<(Verdict, u64)>>,
    forgotten: Mutex<Option<()>>,
    /// Of the chunk that is under way in this attempt: what the receiver has of the part that it was offered.
    had: Mutex<Option<(u64, u32, Vec<u8>)>>,
    speed: Arc<Speed>,
    /// Since when chunks are left to others, and how long at most.
    leaving_since: Mutex<Option<(Instant, Duration)>>,
}

impl Lane {
    /// Runs until the transfer is over or the lane is told to leave.
    pub fn run(&self) {
        let waiting = Unacknowledged::default();
        let (mut failures, mut failing_since, mut was_silent) = (0, None, false);
        let mut pause = RECONNECT_PAUSE;
        loop {
            let mut worked = false;
            let error = match self.converse(&waiting, &mut worked) {
                Ok(()) => break,
                Err(error) => error,
            };
            if self.handle.leave.load(Ordering::SeqCst) || self.shared.chunks.queue.verdict().is_some() {
                break;
            }
            // A stream that worked starts the count anew.
            if worked {
                (failures, pause, failing_since) = (0, RECONNECT_PAUSE, None);
            }
            was_silent = if failures == 0 { matches!(error, LaneError::Silent) } else { was_silent };
            failures += 1;
            let since = *failing_since.get_or_insert_with(Instant::now);
            tracing::warn!(path = %self.path.path_id, lane = self.number, failures, %error, "lane broken");
            if failures == 1 || since.elapsed() < COMES_BACK_WITHIN {
                if failures > 1 && self.shared.stop.sleep(COMES_BACK_LOOK) {
                    break;
                }
            } else {
                self.give_up(&waiting, &error, since, was_silent);
                if self.shared.stop.sleep(pause) || self.handle.leave.load(Ordering::SeqCst) {
                    break;
                }
                pause = (pause * 2).min(RECONNECT_PAUSE_MAX);
            }
        }
        for (work, _) in waiting.take_all() {
            self.shared.chunks.queue.give_back(work, &self.handle);
        }
        tracing::info!(path = %self.path.path_id, lane = self.number, "lane ends");
    }

    /// The path does not come back. Where the receiver is heard nowhere, be it for a moment, it is not the path that is lost, and the
    /// chunks wait. A chunk may have broken the stream, so that costs it the attempt; no chunk silences a path.
    fn give_up(&self, waiting: &Unacknowledged, error: &LaneError, failing_since: Instant, was_silent: bool) {
        let hearing = &self.shared.hearing;
        let suspect = blame::suspect(hearing, &self.path, error, failing_since);
        if suspect.is_some() || hearing.anywhere(failing_since) {
            for (work, sent) in waiting.take_all() {
                if was_silent {
                    self.shared.chunks.queue.give_back(work, &self.handle);
                } else {
                    self.shared.chunks.unacknowledged(work, sent, &self.handle, error.to_string());
                }
            }
        }
        if let Some(node) = suspect {
            self.shared.relay_lost(&self.path, node, error.to_string());
        }
    }

    /// One stream from connecting to leaving.
    fn converse(&self, waiting: &Unacknowledged, worked: &mut bool) -> Result<(), LaneError> {
        let shared = &self.shared;
        let opened = shared.streams.open(&self.path, self.number, &self.handle).inspect_err(|error| {
            if let LaneError::OtherProof(theirs) = error {
                let (ours, theirs) = (shared.reading.proof.as_str(), theirs.as_str());
                lock(&shared.trouble).get_or_insert(SendError::OtherProof { ours, theirs });
            }
        });
        let (sealer, reader) = opened?;
        let now = Instant::now();
        shared.hearing.heard(&self.handle, now);
        let packer = (shared.compress == Compress::Auto).then(Packer::new).transpose().map_err(StreamError::from)?;
        let mut writer = ChunkWriter::new(sealer, packer, shared.reading.clone());
        tracing::info!(path = %self.path.path_id, generation = self.path.generation, lane = self.number, "lane begins");
        let speed = self.shared.pace.begins(now);
        self.handle.begins(Arc::clone(&speed), now);
        // Its path may want others.
        shared.chunks.queue.wake();
        let link = Link {
            lane: self,
            waiting,
            over: AtomicBool::new(false),
            broken: Mutex::new(None),
            worked: AtomicBool::new(false),
            began: now,
            verdict: Mutex::default(),
            forgotten: Mutex::default(),
            had: Mutex::default(),
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
        self.handle.ends();
        self.shared.pace.ends(&link.speed);
        *worked = link.worked.load(Ordering::SeqCst);
        match (result, lock(&link.broken).take()) {
            (Ok(()), _) => Ok(()),
            (Err(_), _) if self.handle.was_silent() => Err(LaneError::Silent),
            // What the listener saw is the cause; that writing failed is its consequence.
            (Err(_), Some(cause)) => Err(cause.into()),
            (Err(error), None) => Err(error.into()),
        }
    }
}

impl Link<'_> {
    fn speak(&self, writer: &mut ChunkWriter) -> Result<(), StreamError> {
        let work_queue = &self.lane.shared.chunks.queue;
        for work in self.waiting.again() {
            self.until_affordable(writer, work.bytes)?;
            self.send(writer, work)?;
        }
        loop {
            if writer.sealer.is_worn() {
                writer.frame(&Frame::Drain)?;
                self.wait_for_acknowledgements()?;
                return Err(StreamError::Secure(crate::secure::SecureError::Exhausted));
            }
            if self.lane.handle.leave.load(Ordering::SeqCst) {
                self.over.store(true, Ordering::SeqCst);
            }
            let next = match work_queue.try_next(self) {
                Some(next) => next,
                None => {
                    writer.frame(&Frame::Pause)?;
                    work_queue.next(self)
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

    /// Sends a chunk for which [`Taker::affords`] has set money aside.
    fn send(&self, writer: &mut ChunkWriter, work: Work) -> Result<(), StreamError> {
        let bytes = work.bytes;
        let result = self.write(writer, work);
        // What went out is counted by now.
        self.lane.shared.lease.give_back(bytes);
        result
    }

    fn write(&self, writer: &mut ChunkWriter, work: Work) -> Result<(), StreamError> {
        let (lane, shared) = (self.lane, &self.lane.shared);
        *lock(&self.leaving_since) = None;
        self.speed.takes(work.bytes);
        self.waiting.begin(work.clone());
        let has = || self.has(&work);
        match writer.send(&work, &Sending { shared, handle: &lane.handle, waiting: self.waiting, work: &work, has: &has }) {
            Ok((digest, sent)) => {
                shared.chunks.sent_journal.note(work.chunk, &sent);
                // Before the digest goes out: its acknowledgement may come at once.
                if !self.waiting.sent(work.chunk, sent) {
                    return writer.refused();
                }
                work.flight.goes_out();
                writer.finish(digest)
            }
            Err(ChunkError::Plan(why)) => {
                if let Some((work, _)) = self.waiting.answered(work.chunk, work.attempt) {
                    self.speed.drops(work.bytes);
                    shared.chunks.failed(work, &lane.handle, FailureReason::SourceUnreadable, why);
                }
                Ok(())
            }
            // Whoever heard the answer has dealt with it, on this lane or another; a file's own problem does not end the chunk.
            Err(ChunkError::Answered | ChunkError::Source(_)) => {
                if let Some((work, _)) = self.waiting.answered(work.chunk, work.attempt) {
                    self.speed.drops(work.bytes);
                }
                Ok(())
            }
            Err(ChunkError::Stream(error)) => Err(error),
        }
    }

    /// Compares both ends; `false` where chunks are to be sent again.
    fn finish(&self, writer: &mut ChunkWriter) -> Result<bool, StreamError> {
        let shared = &self.lane.shared;
        let complete = shared.chunks.is_complete();
        let (entries, tree) = shared.upload().ok_or(StreamError::Ended)?;
        // Another lane may have delivered one before its problem was found.
        writer.name_skipped()?;
        writer.frame(&Frame::Finish { complete, skipped: shared.chunks.skipped.sum().entries, entries, tree })?;
        // The receiver looks at the destination first, which may take as long as it takes.
        let (verdict, theirs) = self.wait_for(&self.verdict)?;
        if complete
            && !verdict.agreed
            && let Some(Repair { entries, works }) =
                shared.or_trouble(repair::plan(shared, theirs, &verdict.message)).ok_or(StreamError::Ended)?
        {
            for (number, entry) in entries.iter().enumerate() {
                Frame::Forget { entry: *entry, last: number + 1 == entries.len() }.encode(writer.sealer.frames());
            }
            writer.sealer.flush()?;
            self.wait_for(&self.forgotten)?;
            shared.chunks.forget(works.iter().map(|work| work.chunk), &entries);
            shared.chunks.queue.send_again(works);
            return Ok(false);
        }
        shared.chunks.queue.finish(verdict);
        // The receiver ends once it knows that its answer was heard. Without that the control plane ends it.
        let _ = writer.frame(&Frame::Drain);
        Ok(true)
    }

    /// Waits for what the receiver has of a part.
    fn has(&self, work: &Work) -> Option<Vec<u8>> {
        loop {
            match self.wait_for(&self.had).ok()? {
                (chunk, attempt, blocks) if (chunk, attempt) == (work.chunk, work.attempt) => return Some(blocks),
                _ => {}
            }
        }
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
            let is_there = || lock(answer).is_some() || lock(&self.broken).is_some();
            self.lane.shared.chunks.queue.wait_unless(Duration::from_secs(1), is_there);
        }
    }

    /// However long they take: a receiver that is heard may wait for its disk, and a lane on which it is not heard is cut.
    fn wait_for_acknowledgements(&self) -> Result<(), StreamError> {
        while self.waiting.is_wanted() {
            if lock(&self.broken).is_some() {
                return Err(StreamError::Ended);
            }
            let is_there = || !self.waiting.is_wanted() || lock(&self.broken).is_some();
            self.lane.shared.chunks.queue.wait_unless(Duration::from_secs(1), is_there);
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
        let now = Instant::now();
        shared.hearing.heard(&lane.handle, now);
        if now.duration_since(self.began) >= COMES_BACK_WITHIN {
            self.worked.store(true, Ordering::SeqCst);
        }
        match frame {
            Frame::Alive { is_busy } => shared.hearing.says(is_busy),
            Frame::Ack { chunk, attempt } => {
                let Some((work, sent)) = self.waiting.answered(chunk, attempt) else { return Ok(()) };
                self.worked.store(true, Ordering::SeqCst);
                lane.handle.delivered.fetch_add(work.bytes, Ordering::Relaxed);
                self.speed.brought(work.bytes);
                shared.chunks.delivered(&work, sent);
            }
            Frame::Nack { chunk, attempt, reason, message } => {
                if let Some((work, _)) = self.waiting.answered(chunk, attempt) {
                    self.speed.drops(work.bytes);
                    shared.chunks.failed(work, &lane.handle, reason, message);
                }
            }
            Frame::Refused { chunk, attempt, entry, reason, message } => {
                let work = self.waiting.look(chunk, attempt);
                if let Some(segment) = work.and_then(|work| segments::segment_of(&work, entry)) {
                    shared.chunks.skipped.note(&segment, reason, &message);
                }
            }
            Frame::Full { chunk, attempt, message } => {
                if let Some((work, _)) = self.waiting.answered(chunk, attempt) {
                    self.speed.drops(work.bytes);
                    shared.chunks.queue.full(work, &lane.handle, message);
                }
            }
            Frame::Finished { agreed, entries, received, kept, message } => {
                // A sender that was killed has not counted what it sent after its last report.
                shared.chunks.counters.moved.fetch_max(received, Ordering::Relaxed);
                shared.chunks.counters.kept.store(kept, Ordering::Relaxed);
                *lock(&self.verdict) = Some((Verdict { agreed, message }, entries));
                shared.chunks.queue.wake();
            }
            Frame::Has { chunk, attempt, blocks } => {
                *lock(&self.had) = Some((chunk, attempt, blocks));
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
