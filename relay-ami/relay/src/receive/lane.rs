//! One stream at the receiver.

use std::convert::Infallible;
use std::io;
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::Shared;
use super::commit::{Landed, Refusal, Verified};
use super::finish::{Claim, finish};
use super::target::{Target, is_part};
use crate::acceptor::Unauthenticated;
use crate::control::unix_now;
use crate::deadline::Deadline;
use crate::digest::{Digest, part_digest, part_hasher};
use crate::documents::attributes::Attributes;
use crate::documents::entry::Kind;
use crate::documents::event::FailureReason;
use crate::ends::problem::{Reach, reach};
use crate::ends::zeros;
use crate::net::tune;
use crate::secure::outlet::Outlet;
use crate::secure::record::{Opener, Sealer};
use crate::secure::{SecureError, handshake};
use crate::stream::{FrameReader, Replies, StreamError};
use crate::under_way::Caller;
use crate::wire::frame::{Frame, SegmentHeader, VERSION};

/// Serves a connection until it ends.
pub fn serve(shared: &Arc<Shared>, unauthenticated: Unauthenticated, socket: TcpStream) {
    let peer = socket.peer_addr().map_or_else(|_| "gone".to_owned(), |peer| peer.to_string());
    let (socket, sealer, opener) = match authenticate(shared, unauthenticated.deadline(), socket) {
        Ok(stream) => stream,
        Err(error) => return unauthenticated.turn_away(&error),
    };
    drop(unauthenticated);
    match converse(shared, &socket, sealer, opener) {
        Ok(()) => tracing::info!(peer, "lane ends"),
        Err(error) => tracing::warn!(peer, %error, "lane ends"),
    }
}

/// Nothing but TLS goes out before the peer has proved that it is this transfer's sender.
fn authenticate(shared: &Shared, deadline: Deadline, socket: TcpStream) -> Result<(Arc<TcpStream>, Sealer, Opener), SecureError> {
    tune(&socket)?;
    let outlet = Outlet::new(socket, &shared.rules, None);
    let socket = outlet.socket();
    let (sealer, opener) = handshake::accept(outlet, &shared.identity, Arc::clone(&shared.peer_key), deadline)?;
    Ok((socket, sealer, opener))
}

fn converse(shared: &Arc<Shared>, socket: &TcpStream, sealer: Sealer, opener: Opener) -> Result<(), StreamError> {
    let mut reader = FrameReader::new(opener);
    let Frame::Hello { version, transfer, epoch, path, generation, lane } = reader.expect()? else {
        return Err(StreamError::Protocol("the first frame is not Hello".to_owned()));
    };
    if version != VERSION || transfer != shared.transfer.as_str() {
        return Err(StreamError::Protocol(format!(
            "Hello has version {version} and transfer {transfer:?}; {VERSION} and {:?} are right",
            shared.transfer.as_str()
        )));
    }
    // A sender of an earlier epoch that still runs was replaced.
    if shared.sender_epoch.fetch_max(epoch, Ordering::SeqCst) > epoch {
        return Err(StreamError::Protocol(format!("a later sender than epoch {epoch} is known")));
    }
    let replies = Arc::new(Replies::new(sealer));
    replies.send(&Frame::Welcome { version: VERSION, epoch: shared.epoch })?;
    shared.listeners.add(&replies);
    socket.set_read_timeout(None)?;
    tracing::info!(path, generation, lane, "lane begins");
    let path: Arc<str> = path.into();
    let (mut sending, disk) = (shared.sending.lane(), shared.disk.caller());
    // What a finish came to; it holds once the sender has heard it, else it asks again on another stream.
    let mut answered = None;
    loop {
        match reader.frame()? {
            Some(Frame::Pause) => sending.set(false),
            Some(Frame::Chunk { chunk, attempt, segments, phase: _ }) => {
                sending.set(true);
                let mut incoming = Incoming::new(shared, &disk, Ticket { chunk, attempt, path: &path, lane, replies: &replies });
                if incoming.receive(&mut reader, segments)? {
                    incoming.settle();
                } else {
                    tracing::info!(chunk, attempt, "the sender gave the chunk up");
                }
            }
            Some(Frame::Finish { complete, skipped, entries, tree }) => {
                sending.set(false);
                answered = Some(finish(shared, &replies, &Claim { complete, skipped, entries, tree })?);
            }
            Some(Frame::Forget { entry, last }) => {
                answered = None;
                let _call = disk.enter();
                shared.files.forget(&*shared.destination, entry)?;
                if last {
                    // On the disk before the first of them is begun anew.
                    shared.destination.sync_notes()?;
                    replies.send(&Frame::Forgotten)?;
                }
            }
            Some(Frame::Skip { entry, .. }) => shared.files.skip(&*shared.destination, entry)?,
            Some(Frame::Drain) => {
                answered.into_iter().for_each(|outcome| shared.finished(Ok(outcome)));
                return Ok(());
            }
            // Acknowledgements that are due still go out: they hold the stream open.
            None => return if answered.is_some() { Err(StreamError::Ended) } else { Ok(()) },
            Some(other) => return Err(StreamError::Protocol(format!("{other:?} is out of place"))),
        }
    }
}

/// Whose chunk it is.
#[derive(Clone, Copy)]
struct Ticket<'a> {
    chunk: u64,
    attempt: u32,
    path: &'a Arc<str>,
    lane: u32,
    replies: &'a Arc<Replies>,
}

/// A chunk that is arriving. Dropped before it is settled, it leaves nothing behind but bytes in partial files.
struct Incoming<'a> {
    shared: &'a Shared,
    disk: &'a Caller,
    ticket: Ticket<'a>,
    landed: Vec<Landed>,
    /// Digest over the segments in order: each one's header as it is on the stream, then its digest.
    digest: blake3::Hasher,
    scratch: Vec<u8>,
    bytes: u64,
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
    fn new(shared: &'a Shared, disk: &'a Caller, ticket: Ticket<'a>) -> Self {
        Self {
            shared,
            disk,
            ticket,
            landed: Vec::new(),
            digest: blake3::Hasher::new(),
            scratch: Vec::new(),
            bytes: 0,
            started_at: unix_now(),
            failures_at_start: shared.verified.sync_failures(),
            failure: None,
            answered: false,
            last: None,
            sent: None,
        }
    }

    /// Reads to the chunk's end; `false` when the sender aborted it.
    fn receive(&mut self, reader: &mut FrameReader, segments: u32) -> Result<bool, StreamError> {
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
        if let Err(error) = self.shared.files.skip(&*self.shared.destination, entry) {
            self.fail(error);
        }
    }

    /// The destination refused something of an entry.
    fn refused(&mut self, entry: u64, error: io::Error) {
        let Reach::Entry(reason) = reach(&error) else { return self.fail(error) };
        let Ticket { chunk, attempt, replies, .. } = self.ticket;
        if let Err(error) = self.shared.leave_out(replies, (chunk, attempt), entry, reason, &error) {
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
        self.landed.clear();
        self.shared.refuse(self.ticket.replies, self.ticket.chunk, self.ticket.attempt, Refusal::Full(error.to_string()));
    }

    fn segment(&mut self, reader: &mut FrameReader, header: SegmentHeader) -> Result<bool, StreamError> {
        let is_part = is_part(&header, self.shared.plan.total_bytes())?;
        // What cannot be read is refused with the entry.
        let attributes = Attributes::parse(&header.attributes).unwrap_or_default();
        if let Err(what) = self.shared.preserve.check(header.kind, &attributes) {
            return Err(StreamError::Protocol(format!("entry {} brings {what}, which this transfer does not keep", header.entry)));
        }
        let mut hasher = if is_part { part_hasher(header.offset) } else { blake3::Hasher::new() };
        self.last = None;
        let call = self.disk.enter();
        let mut target = self.target(&header, is_part);
        drop(call);
        let mut left = header.length;
        while left > 0 {
            let mut frame = match reader.expect()? {
                Frame::Data(length) if length as u64 <= left => length,
                Frame::Hole(length) if length <= left => {
                    let Ok(()) = zeros(length, |bytes, _| {
                        hasher.update(bytes);
                        Ok::<(), Infallible>(())
                    });
                    let call = self.disk.enter();
                    let made = target.hole(header.offset + header.length - left, length);
                    drop(call);
                    if let Err(error) = made {
                        target = Target::Nowhere;
                        self.refused(header.entry, error);
                    }
                    left -= length;
                    self.bytes += length;
                    self.shared.counters.moved(length);
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
                    self.refused(header.entry, error);
                }
                frame -= count;
                left -= count as u64;
                self.bytes += count as u64;
                self.shared.counters.moved(count as u64);
            }
        }
        self.last = Some(header.entry);
        if matches!(header.kind, Kind::Symlink | Kind::Hardlink) {
            hasher.update(&header.target);
        }
        if is_part {
            let digest = part_digest(&hasher);
            self.digest.update(&digest);
            if let Target::Part(part) = target {
                match part.file.prepare_sync() {
                    Ok(()) => self.landed.push(Landed::Part(part, digest)),
                    Err(error) => self.refused(header.entry, error),
                }
            }
        } else {
            let digest = *hasher.finalize().as_bytes();
            self.digest.update(&digest);
            self.land(target, header, digest);
        }
        Ok(true)
    }

    /// Returns where a segment's bytes go; nowhere once the chunk has failed.
    fn target(&mut self, header: &SegmentHeader, is_part: bool) -> Target {
        if self.failure.is_some() || self.answered {
            return Target::Nowhere;
        }
        let made = self.make_target(header, is_part);
        made.unwrap_or_else(|error| {
            self.refused(header.entry, error);
            Target::Nowhere
        })
    }

    fn make_target(&self, header: &SegmentHeader, is_part: bool) -> io::Result<Target> {
        let Shared { destination, capabilities, files, plan, .. } = self.shared;
        let cannot = |what: &str| Err(io::Error::new(io::ErrorKind::InvalidInput, format!("the destination does not take {what}")));
        match header.kind {
            Kind::File if is_part && !capabilities.parts => cannot("files in parts"),
            Kind::Symlink if !capabilities.links => cannot("symbolic links"),
            Kind::Hardlink if !capabilities.hard_links => cannot("hard links"),
            Kind::Special if !capabilities.special_files => cannot("special files"),
            Kind::File if is_part => Ok(files.part(&**destination, header, plan.chunk_size_bytes)?.map_or(Target::Nowhere, Target::Part)),
            Kind::File | Kind::Symlink | Kind::Hardlink | Kind::Special => Ok(Target::Whole(destination.small(header)?)),
            Kind::Directory => Ok(Target::Directory),
        }
    }

    fn land(&mut self, target: Target, header: SegmentHeader, digest: Digest) {
        let SegmentHeader { entry, kind, .. } = header;
        let _call = self.disk.enter();
        match target {
            Target::Whole(mut file) => match file.finish() {
                Ok(()) => self.landed.push(Landed::Whole { entry, kind, file, path: header.path, digest }),
                Err(error) => {
                    drop(file);
                    self.refused(entry, error);
                }
            },
            Target::Directory => self.landed.push(Landed::Directory { header, digest }),
            Target::Part(_) | Target::Nowhere => {}
        }
    }

    /// Hands the chunk on for its sync, or refuses it.
    fn settle(mut self) {
        if self.answered {
            return;
        }
        let Ticket { chunk, attempt, path, lane, replies } = self.ticket;
        let digest = *self.digest.finalize().as_bytes();
        let refusal = if self.sent != Some(digest) {
            let message = "the digest of what came is not the sender's".to_owned();
            Some(Refusal::Failed { reason: FailureReason::ChecksumMismatch, message })
        } else {
            self.failure.take().map(Refusal::destination)
        };
        if let Some(refusal) = refusal {
            self.shared.refuse(replies, chunk, attempt, refusal);
            return;
        }
        let verified = Verified {
            chunk,
            attempt,
            digest,
            landed: std::mem::take(&mut self.landed),
            bytes: self.bytes,
            path: Arc::clone(path),
            lane,
            started_at: self.started_at,
            failures_at_start: self.failures_at_start,
            replies: Arc::clone(replies),
        };
        let (entries, bytes) = (verified.landed.len(), verified.bytes);
        self.shared.verified.push(verified, entries, bytes);
    }
}
