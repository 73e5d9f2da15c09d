//! A segment of a chunk that is arriving: its bytes go where the entry lies, as data, as holes, or from what was there before.

use std::convert::Infallible;
use std::io;
use std::sync::Arc;

use super::{Incoming, Ticket};
use crate::digest::{ContentHasher, Digest};
use crate::documents::attributes::Attributes;
use crate::documents::entry::Kind;
use crate::ends::{Basis, Heard, read, zeros};
use crate::receive::commit::Landed;
use crate::receive::commit::verified::memory_of;
use crate::receive::files::basis::copy_whole;
use crate::receive::files::target::is_part;
use crate::receive::files::{Large, Offer, Target};
use crate::transport::had::{Had, LEAST_BYTES};
use crate::transport::stream::{FrameReader, StreamError};
use crate::wire::frame::{Frame, SegmentHeader};

impl Incoming<'_> {
    /// Reads a segment to its end; `false` when the sender aborted the chunk.
    pub(super) fn segment(&mut self, reader: &mut FrameReader, header: SegmentHeader) -> Result<bool, StreamError> {
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
                self.landed.push(Landed::Part(part, digest));
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
        let made = self.intake.site.target(header, is_part, self.ticket.path);
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
}
