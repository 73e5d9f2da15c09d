//! A chunk that is arriving on a stream.

use std::io;
use std::sync::Arc;

use crate::control::unix_now;
use crate::digest::{Digest, Proof};
use crate::documents::attributes::Preserve;
use crate::documents::event::FailureReason;
use crate::documents::percent;
use crate::ends::problem::{Reach, reach};
use crate::receive::commit::verified::let_go;
use crate::receive::commit::{CommitQueue, Landed, Verified};
use crate::receive::files::{Refusal, Site};
use crate::transport::stream::{FrameReader, Replies, StreamError};
use crate::under_way::Caller;
use crate::wire::frame::{Frame, SegmentHeader};

mod segment;

/// What chunks that arrive have in common.
pub struct Intake {
    pub site: Arc<Site>,
    /// Where they go once they have come whole.
    pub verified: Arc<CommitQueue<Verified>>,
    pub proof: Proof,
    /// What entries may carry beyond the default. A sender that sends more is none of this transfer.
    pub preserve: Preserve,
    /// What the plan holds.
    pub total_bytes: u64,
}

/// Whose chunk it is.
#[derive(Clone, Copy)]
pub struct Ticket<'a> {
    pub chunk: u64,
    pub attempt: u32,
    pub path: &'a Arc<str>,
    pub lane: u32,
    pub replies: &'a Arc<Replies>,
}

/// A chunk that is arriving. Dropped before it is settled, it leaves nothing behind but bytes in partial files.
pub struct Incoming<'a> {
    intake: &'a Intake,
    disk: &'a Caller,
    ticket: Ticket<'a>,
    landed: Vec<Landed>,
    /// Digest over the segments in order: each one's header as it is on the stream, then its digest.
    digest: blake3::Hasher,
    scratch: Vec<u8>,
    bytes: u64,
    /// Of all that has landed.
    memory: usize,
    started_at: f64,
    failures_at_start: u64,
    /// Set once the destination refused something: the rest is read and dropped.
    failure: Option<io::Error>,
    /// The destination takes nothing, and the sender has been told: the rest is dropped as far as it still comes.
    answered: bool,
    /// The entry that came last, whole: the sender may take it back.
    last: Option<u64>,
    sent: Option<Digest>,
}

impl<'a> Incoming<'a> {
    pub fn new(intake: &'a Intake, disk: &'a Caller, ticket: Ticket<'a>) -> Self {
        Self {
            intake,
            disk,
            ticket,
            landed: Vec::new(),
            digest: blake3::Hasher::new(),
            scratch: Vec::new(),
            bytes: 0,
            memory: 0,
            started_at: unix_now(),
            failures_at_start: intake.verified.sync_failures(),
            failure: None,
            answered: false,
            last: None,
            sent: None,
        }
    }

    /// Reads to the chunk's end; `false` when the sender aborted it.
    pub fn receive(&mut self, reader: &mut FrameReader, segments: u32) -> Result<bool, StreamError> {
        let mut left = segments;
        loop {
            let frame = reader.expect()?;
            if matches!(frame, Frame::Segment(_) | Frame::Skip { .. }) {
                self.digest_frame(&frame);
            }
            match frame {
                Frame::Segment(header) if left > 0 => {
                    left -= 1;
                    if !self.segment(reader, header)? {
                        return Ok(false);
                    }
                }
                Frame::Skip { entry, .. } if left > 0 || self.last == Some(entry) => {
                    if self.last.take() == Some(entry) {
                        self.take_back(entry);
                    } else {
                        left -= 1;
                    }
                    self.skip(entry);
                }
                Frame::Digest(digest) if left == 0 => {
                    self.sent = Some(digest);
                    return Ok(true);
                }
                Frame::Abort { .. } => return Ok(false),
                other => return Err(StreamError::Protocol(format!("{other:?} with {left} of {segments} segments to come"))),
            }
        }
    }

    fn digest_frame(&mut self, frame: &Frame) {
        self.scratch.clear();
        frame.encode(&mut self.scratch);
        self.digest.update(&self.scratch);
    }

    /// The file changed before the sender had looked at it for the last time.
    fn take_back(&mut self, entry: u64) {
        if self.landed.last().is_some_and(|landed| landed.entry() == entry) {
            self.landed.pop();
        }
    }

    /// The sender leaves the entry out.
    fn skip(&mut self, entry: u64) {
        let call = self.disk.enter();
        let skipped = self.intake.site.files.skip(&*self.intake.site.destination, entry);
        drop(call);
        if let Err(error) = skipped {
            self.fail(error);
        }
    }

    /// The destination refused something of an entry.
    fn refused(&mut self, header: &SegmentHeader, error: io::Error) {
        self.refused_at(header.entry, &header.path, error);
    }

    fn refused_at(&mut self, entry: u64, path: &[u8], error: io::Error) {
        let reason = match reach(&error) {
            Reach::Entry(reason) => reason,
            Reach::Destination => return self.fail(error),
            Reach::Chunk => return self.fail(io::Error::other(format!("{}: {error}", percent::encode(path)))),
        };
        let Ticket { chunk, attempt, replies, .. } = self.ticket;
        if let Err(error) = self.intake.site.leave_out(replies, (chunk, attempt), entry, reason, &error) {
            self.fail(error);
        }
    }

    /// The chunk does not count. Where the destination takes nothing at all the sender hears it at once, and the room is given back.
    fn fail(&mut self, error: io::Error) {
        if self.answered || reach(&error) != Reach::Destination {
            self.failure.get_or_insert(error);
            return;
        }
        self.answered = true;
        let_go(&mut self.landed, &self.disk.enter());
        self.intake.site.refuse(self.ticket.replies, self.ticket.chunk, self.ticket.attempt, Refusal::Full(error.to_string()));
    }

    /// Lets go of the parts of large files, now that all that came is what was sent: a kind that has no offsets sends them on as a whole.
    fn prepare_parts(&mut self) {
        for item in std::mem::take(&mut self.landed) {
            let prepared = match &item {
                Landed::Part(part, _) => {
                    let _call = self.disk.enter();
                    part.file.prepare_sync(part.index, part.token)
                }
                Landed::Whole { .. } | Landed::Directory { .. } => Ok(()),
            };
            match prepared {
                Ok(()) => self.landed.push(item),
                Err(error) => self.refused_at(item.entry(), item.path(), error),
            }
        }
        for item in &self.landed {
            if let Landed::Part(part, _) = item {
                part.file.arrive(part.index);
            }
        }
    }

    /// Hands the chunk on for its sync, or refuses it.
    pub fn settle(mut self) {
        if self.answered {
            return;
        }
        let Ticket { chunk, attempt, path, lane, replies } = self.ticket;
        let digest = *self.digest.finalize().as_bytes();
        if self.failure.is_none() && self.sent == Some(digest) {
            self.prepare_parts();
        }
        // It takes nothing, and the sender has heard so.
        if self.answered {
            return;
        }
        // What the destination refused explains a digest, and not the other way round.
        let refusal = match self.failure.take() {
            Some(error) => Some(Refusal::destination(error)),
            None if self.sent != Some(digest) => {
                let message = "the digest of what came is not the sender's".to_owned();
                Some(Refusal::Failed { reason: FailureReason::ChecksumMismatch, message })
            }
            None => None,
        };
        if let Some(refusal) = refusal {
            self.intake.site.refuse(replies, chunk, attempt, refusal);
            return;
        }
        let verified = Verified {
            chunk,
            attempt,
            digest,
            memory: self.memory,
            landed: std::mem::take(&mut self.landed),
            bytes: self.bytes,
            path: Arc::clone(path),
            lane,
            started_at: self.started_at,
            failures_at_start: self.failures_at_start,
            replies: Arc::clone(replies),
        };
        let (memory, bytes) = (verified.memory, verified.bytes);
        self.intake.verified.push(verified, memory, bytes);
    }
}

impl Drop for Incoming<'_> {
    /// What has not been handed on is removed.
    fn drop(&mut self) {
        if !self.landed.is_empty() {
            let_go(&mut self.landed, &self.disk.enter());
        }
    }
}

#[cfg(test)]
#[path = "incoming_tests.rs"]
mod tests;
