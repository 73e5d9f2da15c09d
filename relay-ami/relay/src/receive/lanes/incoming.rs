//! A chunk that is arriving on a stream.

use std::convert::Infallible;
use std::io;
use std::sync::Arc;

use crate::control::unix_now;
use crate::digest::{ContentHasher, Digest, Proof};
use crate::documents::attributes::{Attributes, Preserve};
use crate::documents::entry::Kind;
use crate::documents::event::FailureReason;
use crate::documents::percent;
use crate::ends::problem::{Reach, reach};
use crate::ends::{Basis, Heard, read, zeros};
use crate::receive::commit::verified::{let_go, memory_of};
use crate::receive::commit::{CommitQueue, Landed, Verified};
use crate::receive::files::basis::copy_whole;
use crate::receive::files::target::is_part;
use crate::receive::files::{Large, Offer, Refusal, Site, Target};
use crate::transport::had::{Had, LEAST_BYTES};
use crate::transport::stream::{FrameReader, Replies, StreamError};
use crate::under_way::Caller;
use crate::wire::frame::{Frame, SegmentHeader};

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
        let reason = match reach(&error) {
            Reach::Entry(reason) => reason,
            Reach::Destination => return self.fail(error),
            Reach::Chunk => return self.fail(io::Error::other(format!("{}: {error}", percent::encode(&header.path)))),
        };
        let Ticket { chunk, attempt, replies, .. } = self.ticket;
        if let Err(error) = self.intake.site.leave_out(replies, (chunk, attempt), header.entry, reason, &error) {
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

    fn segment(&mut self, reader: &mut FrameReader, header: SegmentHeader) -> Result<bool, StreamError> {
        let is_part = is_part(&header, self.intake.total_bytes)?;
        self.memory += memory_of(&header);
        // What cannot be read is refused with the entry.
        let attributes = Attributes::parse(&header.attributes).unwrap_or_default();
        if let Err(what) = self.intake.preserve.check(header.kind, &attributes) {
            return Err(StreamError::Protocol(format!("entry {} brings {what}, which this transfer does not keep", header.entry)));
        }
        let mut hasher = if is_part { self.intake.proof.part(header.offset) } else { self.intake.proof.whole() };
        self.last = None;
        let call = self.disk.enter();
        let mut target = self.target(&header, is_part);
        drop(call);
        let (mut left, mut had) = (header.length, None);
        // Of a whole file: it is taken from what is in its place.
        let (mut copies, mut there) = (false, None);
        // Where an entry is refused under way, what is copied is digested all the same.
        let large = target.part().map(|part| Arc::clone(&part.file));
        while left > 0 {
            let mut frame = match reader.expect()? {
                Frame::Data(length) if length as u64 <= left && !copies => length,
                Frame::Offer { block, digests } if is_part && left == header.length && had.is_none() => {
                    let answer = self.answer_offer(&header, block, &digests, &target)?;
                    hasher.with_copies(answer.has_any());
                    had = Some(answer);
                    continue;
                }
                Frame::Copy(length)
                    if length <= left
                        && match &had {
                            Some(had) => had.has(header.length - left, length),
                            // All of a file or nothing of it: after bytes of his own a sender could guess the next one.
                            None => copies || (left == header.length && self.may_copy(&header, is_part)),
                        } =>
                {
                    let at = header.length - left;
                    copies = !is_part;
                    hasher.with_copies(copies);
                    let taken = if is_part {
                        self.copy(&target, large.as_deref(), &mut hasher, header.offset + at, length)
                    } else {
                        let there = there.get_or_insert_with(|| self.in_its_place(&header));
                        let call = self.disk.enter();
                        copy_whole(&mut target, there.as_deref(), &mut hasher, (at, length), &call)
                    };
                    if let Err(error) = taken {
                        target = Target::Nowhere;
                        self.fail(error);
                    }
                    left -= length;
                    self.bytes += length;
                    self.intake.site.counters.moved(length);
                    continue;
                }
                Frame::Hole(length) if length <= left && !copies => {
                    let Ok(()) = zeros(length, |bytes, _| {
                        hasher.update(bytes);
                        Ok::<(), Infallible>(())
                    });
                    let call = self.disk.enter();
                    let made = target.hole(header.offset + header.length - left, length);
                    drop(call);
                    if let Err(error) = made {
                        target = Target::Nowhere;
                        self.refused(&header, error);
                    }
                    left -= length;
                    self.bytes += length;
                    self.intake.site.counters.moved(length);
                    continue;
                }
                Frame::Abort { .. } => return Ok(false),
                Frame::Skip { entry, reason, message } if entry == header.entry => {
                    self.digest_frame(&Frame::Skip { entry, reason, message });
                    drop(target);
                    self.skip(entry);
                    return Ok(true);
                }
                other => return Err(StreamError::Protocol(format!("{other:?} where data should be"))),
            };
            while frame > 0 {
                let bytes = reader.data(frame)?;
                hasher.update(bytes);
                let count = bytes.len();
                let call = self.disk.enter();
                let written = target.write(header.offset + header.length - left, bytes);
                drop(call);
                if let Err(error) = written {
                    target = Target::Nowhere;
                    self.refused(&header, error);
                }
                frame -= count;
                left -= count as u64;
                self.bytes += count as u64;
                self.intake.site.counters.moved(count as u64);
            }
        }
        self.last = Some(header.entry);
        if matches!(header.kind, Kind::Symlink | Kind::Hardlink) {
            hasher.update(&header.target);
        }
        let digest = hasher.end(&mut self.digest);
        if is_part {
            if let Target::Part(part) = target {
                match part.file.prepare_sync() {
                    Ok(()) => self.landed.push(Landed::Part(part, digest)),
                    Err(error) => self.refused(&header, error),
                }
            }
        } else {
            self.land(target, header, digest);
        }
        Ok(true)
    }

    /// Returns what was answered.
    fn answer_offer(&self, header: &SegmentHeader, block: u32, digests: &[u8], target: &Target) -> Result<Had, StreamError> {
        let answer = |heard: Heard<'_>| {
            let offer = Offer { header, block, digests, heard };
            offer.check()?;
            // What cannot be looked at is not there.
            Ok::<_, StreamError>(offer.answer(target.part(), &*self.intake.site.destination).unwrap_or_default())
        };
        let blocks = self.intake.site.reading().during(answer)?;
        let Ticket { chunk, attempt, replies, .. } = self.ticket;
        replies.send(&Frame::Has { chunk, attempt, blocks: blocks.clone() })?;
        Ok(Had::new(header.length, blocks))
    }

    /// Returns whether a sender may have a file taken from what is in its place.
    fn may_copy(&self, header: &SegmentHeader, is_part: bool) -> bool {
        !is_part && header.kind == Kind::File && header.length >= LEAST_BYTES
    }

    /// The file in the place of a whole one, if it may have the same bytes.
    fn in_its_place(&self, header: &SegmentHeader) -> Option<Box<dyn Basis>> {
        let _call = self.disk.enter();
        let found = self.intake.site.destination.in_place(header).ok().flatten();
        found.filter(|basis| basis.size() == Some(header.size))
    }

    /// Takes bytes of the earlier version. They are digested as they are stored, so whoever changes it meanwhile makes the chunk fail.
    /// So much is digested in any case: of nothing, and of more than a part, there is no digest of a part.
    fn copy(&self, target: &Target, large: Option<&Large>, hasher: &mut ContentHasher, offset: u64, length: u64) -> io::Result<()> {
        let call = self.disk.enter();
        let mut left = length;
        let mut digest = |bytes: &[u8]| {
            hasher.update(bytes);
            left = left.saturating_sub(bytes.len() as u64);
            call.goes_on();
        };
        let taken = match (target.part(), large.and_then(Large::known_basis)) {
            (_, None) => Err(io::Error::other("a copy of what was not offered")),
            (Some(part), Some(basis)) => part.file.take(part.index, part.token, &*basis, (offset, length), &mut digest),
            (None, Some(basis)) => read(&*basis, offset, length, |bytes, _| {
                digest(bytes);
                Ok(())
            }),
        };
        drop(call);
        let Ok(()) = zeros(left, |bytes, _| {
            hasher.update(bytes);
            Ok::<(), Infallible>(())
        });
        taken
    }

    /// Returns where a segment's bytes go; nowhere once the chunk has failed.
    fn target(&mut self, header: &SegmentHeader, is_part: bool) -> Target {
        if self.failure.is_some() || self.answered {
            return Target::Nowhere;
        }
        let made = self.intake.site.target(header, is_part);
        made.unwrap_or_else(|error| {
            self.refused(header, error);
            Target::Nowhere
        })
    }

    fn land(&mut self, target: Target, header: SegmentHeader, digest: Digest) {
        let (entry, kind) = (header.entry, header.kind);
        let _call = self.disk.enter();
        match target {
            Target::Whole(mut file) => match file.finish() {
                Ok(()) => self.landed.push(Landed::Whole { entry, kind, file, path: header.path, digest }),
                Err(error) => {
                    drop(file);
                    self.refused(&header, error);
                }
            },
            Target::Directory => self.landed.push(Landed::Directory { header, digest }),
            Target::Part(_) | Target::Nowhere => {}
        }
    }

    /// Hands the chunk on for its sync, or refuses it.
    pub fn settle(mut self) {
        if self.answered {
            return;
        }
        let Ticket { chunk, attempt, path, lane, replies } = self.ticket;
        let digest = *self.digest.finalize().as_bytes();
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
