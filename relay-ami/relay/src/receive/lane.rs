//! One stream at the receiver.

use std::fs::File;
use std::io::{self, Write as _};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::Shared;
use super::commit::{Landed, Verified};
use super::finish::{Claim, finish};
use super::large::Part;
use super::tree::{Tree, finish_file};
use crate::control::unix_now;
use crate::deadline::Deadline;
use crate::digest::{Digest, is_subtree, part_digest, part_hasher};
use crate::documents::entry::Kind;
use crate::documents::event::FailureReason;
use crate::door::Stranger;
use crate::net::{Outlet, tune};
use crate::secure::record::{Opener, Sealer};
use crate::secure::{SecureError, handshake};
use crate::stream::{FrameReader, Replies, StreamError};
use crate::wire::frame::{Frame, SegmentHeader, VERSION};

/// Serves a connection until it ends.
pub fn serve(shared: &Arc<Shared>, stranger: Stranger, socket: TcpStream) {
    let peer = socket.peer_addr().map_or_else(|_| "gone".to_owned(), |peer| peer.to_string());
    let (socket, sealer, opener) = match authenticate(shared, stranger.deadline(), socket) {
        Ok(stream) => stream,
        Err(error) => return stranger.turn_away(&error),
    };
    drop(stranger);
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
    socket.set_read_timeout(None)?;
    tracing::info!(path, generation, lane, "lane begins");
    let path: Arc<str> = path.into();
    let mut sending = shared.sending.lane();
    // What a finish came to; it holds once the sender has heard it, else it asks again on another stream.
    let mut answered = None;
    loop {
        match reader.frame()? {
            Some(Frame::Pause) => sending.set(false),
            Some(Frame::Chunk { chunk, attempt, segments, phase: _ }) => {
                sending.set(true);
                let mut incoming = Incoming::new(shared);
                if incoming.receive(&mut reader, segments)? {
                    incoming.settle(Ticket { chunk, attempt, path: &path, lane, replies: &replies });
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
                let _call = shared.disk.enter();
                shared.files.forget(&shared.tree, entry)?;
                if last {
                    // On the disk before the first of them is begun anew.
                    shared.tree.journal.sync()?;
                    replies.send(&Frame::Forgotten)?;
                }
            }
            Some(Frame::Drain) => {
                answered.into_iter().for_each(|outcome| shared.finished(outcome));
                return Ok(());
            }
            // Acknowledgements that are due still go out: they hold the stream open.
            None => return if answered.is_some() { Err(StreamError::Ended) } else { Ok(()) },
            Some(other) => return Err(StreamError::Protocol(format!("{other:?} is out of place"))),
        }
    }
}

/// Whose chunk it is.
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
    landed: Vec<Landed>,
    /// Of the segments in order: each one's header as it is on the stream, then its digest.
    digest: blake3::Hasher,
    scratch: Vec<u8>,
    bytes: u64,
    started_at: f64,
    failures_at_start: u64,
    /// Set once the destination refused something: the rest is read and dropped.
    failure: Option<io::Error>,
    sent: Option<Digest>,
}

impl<'a> Incoming<'a> {
    fn new(shared: &'a Shared) -> Self {
        Self {
            shared,
            landed: Vec::new(),
            digest: blake3::Hasher::new(),
            scratch: Vec::new(),
            bytes: 0,
            started_at: unix_now(),
            failures_at_start: shared.sync_failures.load(Ordering::SeqCst),
            failure: None,
            sent: None,
        }
    }

    /// Reads to the chunk's end; `false` when the sender aborted it.
    fn receive(&mut self, reader: &mut FrameReader, segments: u32) -> Result<bool, StreamError> {
        for _ in 0..segments {
            let frame = reader.expect()?;
            self.scratch.clear();
            frame.encode(&mut self.scratch);
            self.digest.update(&self.scratch);
            match frame {
                Frame::Segment(header) => {
                    if !self.segment(reader, header)? {
                        return Ok(false);
                    }
                }
                Frame::Abort { .. } => return Ok(false),
                other => return Err(StreamError::Protocol(format!("{other:?} where a segment should be"))),
            }
        }
        match reader.expect()? {
            Frame::Digest(digest) => {
                self.sent = Some(digest);
                Ok(true)
            }
            Frame::Abort { .. } => Ok(false),
            other => Err(StreamError::Protocol(format!("{other:?} where the digest should be"))),
        }
    }

    fn segment(&mut self, reader: &mut FrameReader, header: SegmentHeader) -> Result<bool, StreamError> {
        if header.offset.checked_add(header.length).is_none_or(|end| end > header.size) {
            return Err(StreamError::Protocol(format!("segment of entry {} goes beyond its size", header.entry)));
        }
        if header.size > self.shared.plan.total_bytes() {
            return Err(StreamError::Protocol(format!("entry {} is larger than all that the plan holds", header.entry)));
        }
        let is_part = header.kind == Kind::File && header.length < header.size;
        if is_part && !is_subtree(header.offset, header.length) {
            return Err(StreamError::Protocol(format!(
                "{} bytes at {} of entry {} are no part",
                header.length, header.offset, header.entry
            )));
        }
        let mut hasher = if is_part { part_hasher(header.offset) } else { blake3::Hasher::new() };
        let disk = &self.shared.disk;
        let mut target = {
            let _call = disk.enter();
            self.target(&header, is_part)
        };
        let mut left = header.length;
        while left > 0 {
            let mut frame = match reader.expect()? {
                Frame::Data(length) if length as u64 <= left => length,
                Frame::Abort { .. } => {
                    self.drop_target(target);
                    return Ok(false);
                }
                other => return Err(StreamError::Protocol(format!("{other:?} where data should be"))),
            };
            while frame > 0 {
                let bytes = reader.data(frame)?;
                hasher.update(bytes);
                let call = disk.enter();
                let written = target.write(header.offset + header.length - left, bytes);
                drop(call);
                if let Err(error) = written {
                    self.failure.get_or_insert(error);
                }
                frame -= bytes.len();
                left -= bytes.len() as u64;
                self.bytes += bytes.len() as u64;
                self.shared.counters.moved(bytes.len() as u64);
            }
        }
        if header.kind == Kind::Symlink {
            hasher.update(&header.target);
        }
        if is_part {
            let digest = part_digest(&hasher);
            self.digest.update(&digest);
            if let Target::Part(part) = target {
                self.landed.push(Landed::Part(part, digest));
            }
        } else {
            let digest = *hasher.finalize().as_bytes();
            self.digest.update(&digest);
            self.land(target, header, digest);
        }
        Ok(true)
    }

    /// Where a segment's bytes go; nowhere once the chunk has failed.
    fn target(&mut self, header: &SegmentHeader, is_part: bool) -> Target {
        if self.failure.is_some() {
            return Target::Nowhere;
        }
        let made = self.make_target(header, is_part);
        made.unwrap_or_else(|error| {
            self.failure = Some(error);
            Target::Nowhere
        })
    }

    fn make_target(&self, header: &SegmentHeader, is_part: bool) -> io::Result<Target> {
        let tree = &self.shared.tree;
        Tree::check(&header.path)?;
        match header.kind {
            Kind::File if is_part => {
                Ok(self.shared.files.part(tree, header, self.shared.plan.chunk_size_bytes)?.map_or(Target::Nowhere, Target::Part))
            }
            Kind::File => {
                let name = tree.unique_name(header.entry);
                Ok(Target::Whole(tree.create(&name)?, name))
            }
            Kind::Symlink => {
                let name = tree.unique_name(header.entry);
                tree.link(&name, &header.target, header.mtime_ns)?;
                Ok(Target::Link(name))
            }
            Kind::Directory => Ok(Target::Directory),
        }
    }

    fn land(&mut self, target: Target, header: SegmentHeader, digest: Digest) {
        let SegmentHeader { entry, path, mode, mtime_ns, .. } = header;
        let _call = self.shared.disk.enter();
        match target {
            Target::Whole(file, name) => {
                let inode = finish_file(&file, mode, mtime_ns).map_err(|error| self.failure.get_or_insert(error)).ok();
                self.landed.push(Landed::Whole { entry, name, path, digest, inode });
            }
            Target::Link(name) => self.landed.push(Landed::Whole { entry, name, path, digest, inode: None }),
            Target::Directory => self.landed.push(Landed::Directory { entry, digest, path, mode, mtime_ns }),
            Target::Part(_) | Target::Nowhere => {}
        }
    }

    fn drop_target(&self, target: Target) {
        if let Target::Whole(_, name) | Target::Link(name) = target {
            self.shared.tree.discard(&name);
        }
    }

    /// Hands the chunk on for its sync, or refuses it.
    fn settle(mut self, ticket: Ticket<'_>) {
        let Ticket { chunk, attempt, path, lane, replies } = ticket;
        let digest = *self.digest.finalize().as_bytes();
        let refusal = if self.sent != Some(digest) {
            Some((FailureReason::ChecksumMismatch, "the digest of what came is not the sender's".to_owned()))
        } else {
            self.failure.take().map(|error| (FailureReason::DestinationError, error.to_string()))
        };
        if let Some((reason, message)) = refusal {
            self.shared.refuse(replies, chunk, attempt, reason, message);
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
        self.shared.commit(verified);
    }
}

impl Drop for Incoming<'_> {
    fn drop(&mut self) {
        for item in self.landed.drain(..) {
            if let Landed::Whole { name, .. } = item {
                self.shared.tree.discard(&name);
            }
        }
    }
}

enum Target {
    Part(Part),
    Whole(File, String),
    Link(String),
    Directory,
    Nowhere,
}

impl Target {
    fn write(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        match self {
            Self::Part(part) => part.file.write(part.index, part.token, offset, bytes),
            Self::Whole(file, _) => file.write_all(bytes),
            Self::Link(_) | Self::Directory | Self::Nowhere => Ok(()),
        }
    }
}
