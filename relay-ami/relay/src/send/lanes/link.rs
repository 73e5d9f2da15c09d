//! One stream of a lane: a thread pulls chunks and sends them, a second one reads what the receiver answers.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use super::common::Common;
use super::sending::Sending;
use super::unacknowledged::Unacknowledged;
use crate::defaults::COMES_BACK_WITHIN;
use crate::documents::event::FailureReason;
use crate::send::error::SendError;
use crate::send::queue::Next;
use crate::send::reading::segments;
use crate::send::reading::{ChunkError, ChunkWriter};
use crate::send::settled::Repair;
use crate::send::streams::{Handle, Speed};
use crate::send::work::{Verdict, Work};
use crate::thread::lock;
use crate::transport::stream::{FrameReader, StreamError};
use crate::wire::frame::Frame;

/// State that the two threads of one stream share.
pub struct Link<'a> {
    pub(super) common: &'a Common,
    pub(super) handle: &'a Arc<Handle>,
    pub(super) waiting: &'a Unacknowledged,
    /// Set when the lane has to stop pulling: it was told to, or the stream broke.
    pub(super) over: AtomicBool,
    pub(super) broken: Mutex<Option<StreamError>>,
    /// The receiver has acknowledged a chunk, or spoken for longer than it takes to come back.
    pub(super) worked: AtomicBool,
    began: Instant,
    /// The receiver's answers to what this lane asked to finish the transfer; with the verdict, how many digests it has uploaded.
    verdict: Mutex<Option<(Verdict, u64)>>,
    forgotten: Mutex<Option<()>>,
    /// Bytes that were copied for it.
    gathered: Mutex<Option<u64>>,
    /// Of the chunk that is under way in this attempt: what the receiver has of the part that it was offered.
    had: Mutex<Option<(u64, u32, Vec<u8>)>>,
    pub(super) speed: Arc<Speed>,
    /// Since when chunks are left to others, and how long at most.
    pub(super) leaving_since: Mutex<Option<(Instant, Duration)>>,
}

impl<'a> Link<'a> {
    pub fn new(common: &'a Common, handle: &'a Arc<Handle>, waiting: &'a Unacknowledged, speed: Arc<Speed>, now: Instant) -> Self {
        Self {
            common,
            handle,
            waiting,
            over: AtomicBool::new(false),
            broken: Mutex::new(None),
            worked: AtomicBool::new(false),
            began: now,
            verdict: Mutex::default(),
            forgotten: Mutex::default(),
            gathered: Mutex::default(),
            had: Mutex::default(),
            speed,
            leaving_since: Mutex::default(),
        }
    }

    pub fn speak(&self, writer: &mut ChunkWriter) -> Result<(), StreamError> {
        let work_queue = &self.common.chunks.queue;
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
                Next::Gather => {
                    let begun = Instant::now();
                    let result = writer.frame(&Frame::Gather).and_then(|()| self.wait_for(&self.gathered));
                    if let Ok(copied @ 1..) = result {
                        self.common.chunks.counters.copied_anew(copied, begun.elapsed());
                    }
                    work_queue.has_gathered(self.handle.to, result.is_ok());
                    result?;
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
        self.common.lease.give_back(bytes);
        result
    }

    fn write(&self, writer: &mut ChunkWriter, work: Work) -> Result<(), StreamError> {
        let common = self.common;
        *lock(&self.leaving_since) = None;
        self.speed.takes(work.bytes);
        self.waiting.begin(work.clone());
        let has = || self.has(&work);
        let (counters, offers) = (&common.chunks.counters, &*common.reading.offers);
        let sending = Sending { counters, offers, handle: self.handle, waiting: self.waiting, work: &work, has: &has };
        match writer.send(&work, &sending) {
            Ok((digest, sent)) => {
                common.chunks.sent_journal.note(work.chunk, &sent);
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
                    common.chunks.failed(work, self.handle, FailureReason::SourceUnreadable, why);
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
        let common = self.common;
        let complete = common.chunks.is_complete();
        let (entries, tree) = self.or_trouble(common.ending.upload())?.ok_or(StreamError::Ended)?;
        // Another lane may have delivered one before its problem was found.
        writer.name_skipped()?;
        writer.frame(&Frame::Finish { complete, skipped: common.chunks.skipped.sum().entries, entries, tree })?;
        // The receiver looks at the destination first, which may take as long as it takes.
        let (verdict, theirs) = self.wait_for(&self.verdict)?;
        if complete
            && !verdict.agreed
            && let Some(Repair { entries, works }) = self.or_trouble(common.ending.repair(self.handle.to, theirs, &verdict.message))?
        {
            for (number, entry) in entries.iter().enumerate() {
                Frame::Forget { entry: *entry, last: number + 1 == entries.len() }.encode(writer.sealer.frames());
            }
            writer.sealer.flush()?;
            self.wait_for(&self.forgotten)?;
            common.chunks.forget(works.iter().map(|work| work.chunk), &entries);
            common.chunks.queue.send_again(works);
            return Ok(false);
        }
        common.chunks.queue.finish(verdict);
        // The receiver ends once it knows that its answer was heard. Without that the control plane ends it.
        let _ = writer.frame(&Frame::Drain);
        Ok(true)
    }

    /// Without a result the process ends.
    fn or_trouble<T>(&self, result: Result<T, SendError>) -> Result<T, StreamError> {
        result.map_err(|error| {
            self.common.trouble.note(error);
            StreamError::Ended
        })
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
            let queue = &self.common.chunks.queue;
            if lock(&self.broken).is_some() || self.common.stop.is_requested() || queue.is_given_up(self.handle.to) {
                return Err(StreamError::Ended);
            }
            let is_there = || lock(answer).is_some() || lock(&self.broken).is_some();
            queue.wait_unless(Duration::from_secs(1), is_there);
        }
    }

    /// However long they take: a receiver that is heard may wait for its disk, and a lane on which it is not heard is cut.
    fn wait_for_acknowledgements(&self) -> Result<(), StreamError> {
        while self.waiting.is_wanted() {
            if lock(&self.broken).is_some() || self.common.chunks.queue.is_given_up(self.handle.to) {
                return Err(StreamError::Ended);
            }
            let is_there = || !self.waiting.is_wanted() || lock(&self.broken).is_some();
            self.common.chunks.queue.wait_unless(Duration::from_secs(1), is_there);
        }
        Ok(())
    }

    /// Reads answers until the stream ends.
    pub fn listen(&self, mut reader: FrameReader) {
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
        self.handle.cut();
        self.common.chunks.queue.wake();
    }

    fn answer(&self, frame: Frame) -> Result<(), StreamError> {
        let common = self.common;
        let now = Instant::now();
        common.hearing.heard(self.handle, now);
        if now.duration_since(self.began) >= COMES_BACK_WITHIN {
            self.worked.store(true, Ordering::SeqCst);
        }
        match frame {
            Frame::Alive { is_busy } => common.hearing.says(self.handle.to, is_busy),
            Frame::Ack { chunk, attempt } => {
                let Some((work, sent)) = self.waiting.answered(chunk, attempt) else { return Ok(()) };
                self.worked.store(true, Ordering::SeqCst);
                self.handle.delivered.fetch_add(work.bytes, Ordering::Relaxed);
                self.speed.brought(work.bytes);
                common.chunks.delivered(&work, sent);
            }
            Frame::Nack { chunk, attempt, reason, message } => {
                if let Some((work, _)) = self.waiting.answered(chunk, attempt) {
                    self.speed.drops(work.bytes);
                    common.chunks.failed(work, self.handle, reason, message);
                }
            }
            Frame::Refused { chunk, attempt, entry, reason, message } => {
                let work = self.waiting.look(chunk, attempt);
                if let Some(segment) = work.and_then(|work| segments::segment_of(&work, entry)) {
                    common.chunks.skipped.note(&segment, reason, &message);
                }
            }
            Frame::Full { chunk, attempt, message } => {
                if let Some((work, _)) = self.waiting.answered(chunk, attempt) {
                    self.speed.drops(work.bytes);
                    common.chunks.queue.full(work, self.handle, message);
                }
            }
            Frame::Finished { agreed, entries, received, kept, message } => {
                // A sender that was killed has not counted what it sent after its last report.
                common.chunks.counters.moved.fetch_max(received, Ordering::Relaxed);
                common.chunks.counters.kept.store(kept, Ordering::Relaxed);
                *lock(&self.verdict) = Some((Verdict { agreed, message }, entries));
                common.chunks.queue.wake();
            }
            Frame::Has { chunk, attempt, blocks } => {
                *lock(&self.had) = Some((chunk, attempt, blocks));
                common.chunks.queue.wake();
            }
            Frame::Forgotten => {
                *lock(&self.forgotten) = Some(());
                common.chunks.queue.wake();
            }
            Frame::Gathered { files, copied } => {
                tracing::info!(receiver = %self.handle.to, files, copied, "gathered");
                *lock(&self.gathered) = Some(copied);
                common.chunks.queue.wake();
            }
            other => return Err(StreamError::Protocol(format!("{other:?} is out of place"))),
        }
        Ok(())
    }
}

#[cfg(test)]
#[path = "link_tests.rs"]
mod tests;
