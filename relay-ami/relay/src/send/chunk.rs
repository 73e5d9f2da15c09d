//! One chunk onto one stream.

use std::sync::Arc;

use super::board::Work;
use super::source::{Source, SourceFailure, Witness, check_link, header};
use crate::defaults::DATA_BYTES;
use crate::digest::{Digest, is_subtree, part_digest, part_hasher};
use crate::documents::entry::{Kind, Segment};
use crate::documents::event::FailureReason;
use crate::secure::record::Sealer;
use crate::stream::StreamError;
use crate::wire::frame::Frame;

/// Digests that count once the chunk is acknowledged.
#[derive(Clone, Debug)]
pub enum Sent {
    /// One part of a large file: entry, size of the file, offset, chaining value.
    Part { entry: u64, size: u64, offset: u64, digest: Digest },
    /// Whole files, links and directories by entry.
    Whole(Vec<(u64, Digest)>),
}

/// Why a chunk was not sent to its end.
#[derive(Debug)]
pub enum ChunkError {
    /// The source's fault; the stream goes on.
    Source(SourceFailure),
    /// The stream's fault.
    Stream(StreamError),
}

impl<E: Into<StreamError>> From<E> for ChunkError {
    fn from(error: E) -> Self {
        Self::Stream(error.into())
    }
}

/// Where a chunk's segments go.
trait Sink {
    /// A segment's header, as a frame.
    fn header(&mut self, frame: &[u8]);
    /// Bytes of the file.
    fn data(&mut self, bytes: &[u8]) -> Result<(), StreamError>;
}

impl Sink for Sealer {
    fn header(&mut self, frame: &[u8]) {
        self.frames().extend_from_slice(frame);
    }

    fn data(&mut self, bytes: &[u8]) -> Result<(), StreamError> {
        Frame::Data(bytes.len()).encode(self.frames());
        Ok(self.write(bytes)?)
    }
}

/// Only the digests are wanted.
struct Nowhere;

impl Sink for Nowhere {
    fn header(&mut self, _frame: &[u8]) {}

    fn data(&mut self, _bytes: &[u8]) -> Result<(), StreamError> {
        Ok(())
    }
}

/// Reads a chunk's segments.
struct Reader<'a> {
    buffer: &'a mut [u8],
    witness: &'a Witness,
    moved: &'a dyn Fn(u64),
}

/// A lane's sending side with its read buffer.
pub struct ChunkWriter {
    pub sealer: Sealer,
    buffer: Vec<u8>,
    witness: Arc<Witness>,
}

impl ChunkWriter {
    #[must_use]
    pub fn new(sealer: Sealer, witness: Arc<Witness>) -> Self {
        Self { sealer, buffer: vec![0; DATA_BYTES], witness }
    }

    /// Sends one frame at once.
    pub fn frame(&mut self, frame: &Frame) -> Result<(), StreamError> {
        frame.encode(self.sealer.frames());
        Ok(self.sealer.flush()?)
    }

    /// Sends all but the digest, which [`Self::finish`] sends once the caller has noted what it will stand for.
    pub fn send(&mut self, work: &Work, moved: &dyn Fn(u64)) -> Result<(Digest, Sent), ChunkError> {
        let segments = parse(work).map_err(ChunkError::Source)?;
        let count = u32::try_from(segments.len()).unwrap_or(u32::MAX);
        Frame::Chunk { chunk: work.chunk, attempt: work.attempt, segments: count, phase: work.phase }.encode(self.sealer.frames());
        let mut reader = Reader { buffer: &mut self.buffer, witness: &self.witness, moved };
        let result = reader.segments(&segments, &mut self.sealer);
        if let Err(ChunkError::Source(failure)) = &result {
            self.frame(&Frame::Abort { reason: failure.reason, message: failure.message.clone() })?;
        }
        result
    }

    pub fn finish(&mut self, digest: Digest) -> Result<(), StreamError> {
        self.frame(&Frame::Digest(digest))
    }
}

/// Reads chunks for their digests alone.
pub struct Digester<'a> {
    buffer: Vec<u8>,
    witness: &'a Witness,
}

impl<'a> Digester<'a> {
    #[must_use]
    pub fn new(witness: &'a Witness) -> Self {
        Self { buffer: vec![0; DATA_BYTES], witness }
    }

    /// What sending the chunk would have come to.
    pub fn digest(&mut self, work: &Work, read: &dyn Fn(u64)) -> Result<(Digest, Sent), SourceFailure> {
        let segments = parse(work)?;
        let mut reader = Reader { buffer: &mut self.buffer, witness: self.witness, moved: read };
        reader.segments(&segments, &mut Nowhere).map_err(|error| match error {
            ChunkError::Source(failure) => failure,
            ChunkError::Stream(error) => manifest(error.to_string()),
        })
    }
}

impl Reader<'_> {
    fn segments(&mut self, segments: &[Segment], sink: &mut impl Sink) -> Result<(Digest, Sent), ChunkError> {
        let mut all = blake3::Hasher::new();
        let mut entries = Vec::new();
        for segment in segments {
            let digest = self.segment(segment, &mut all, sink)?;
            all.update(&digest);
            if segment.kind == Kind::File && segment.is_part() {
                let sent = Sent::Part { entry: segment.entry, size: segment.size, offset: segment.offset, digest };
                // A part is a chunk of its own.
                return if segments.len() == 1 {
                    Ok((*all.finalize().as_bytes(), sent))
                } else {
                    Err(ChunkError::Source(manifest(format!("a part of entry {} shares its chunk with other segments", segment.entry))))
                };
            }
            entries.push((segment.entry, digest));
        }
        Ok((*all.finalize().as_bytes(), Sent::Whole(entries)))
    }

    /// Gives the header and the bytes to the sink, the header to the chunk's digest too.
    fn segment(&mut self, segment: &Segment, all: &mut blake3::Hasher, sink: &mut impl Sink) -> Result<Digest, ChunkError> {
        if segment.is_part() && !is_subtree(segment.offset, segment.length) {
            let what = format!("{} bytes at {} of entry {} are no part", segment.length, segment.offset, segment.entry);
            return Err(ChunkError::Source(manifest(what)));
        }
        let header = header(segment).map_err(ChunkError::Source)?;
        match segment.kind {
            Kind::File => {}
            Kind::Symlink => check_link(segment, self.witness).map_err(ChunkError::Source)?,
            Kind::Directory => {}
        }
        let source = (segment.kind == Kind::File).then(|| Source::open(segment, self.witness)).transpose().map_err(ChunkError::Source)?;
        let target = header.target.clone();
        let mut frame = Vec::new();
        Frame::Segment(header).encode(&mut frame);
        sink.header(&frame);
        all.update(&frame);
        let mut hasher = if segment.is_part() { part_hasher(segment.offset) } else { blake3::Hasher::new() };
        if let Some(source) = source {
            let (mut offset, end) = (segment.offset, segment.offset + segment.length);
            while offset < end {
                let want = usize::try_from(end - offset).unwrap_or(usize::MAX).min(self.buffer.len());
                let count = source.read(&mut self.buffer[..want], offset).map_err(ChunkError::Source)?;
                let bytes = &self.buffer[..count];
                hasher.update(bytes);
                sink.data(bytes)?;
                (self.moved)(count as u64);
                offset += count as u64;
            }
            source.check().map_err(ChunkError::Source)?;
        }
        if segment.kind == Kind::File && segment.is_part() {
            return Ok(part_digest(&hasher));
        }
        hasher.update(&target);
        Ok(*hasher.finalize().as_bytes())
    }
}

/// The entries that a chunk holds something of.
pub fn entries(work: &Work) -> impl Iterator<Item = u64> {
    parse(work).unwrap_or_default().into_iter().map(|segment| segment.entry)
}

fn parse(work: &Work) -> Result<Vec<Segment>, SourceFailure> {
    let lines = work.manifest.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    lines.map(Segment::parse).collect::<Result<_, _>>().map_err(|why| SourceFailure {
        reason: FailureReason::SourceUnreadable,
        message: format!("manifest of chunk {}: {why}", work.chunk),
    })
}

/// The plan is wrong.
fn manifest(what: String) -> SourceFailure {
    SourceFailure { reason: FailureReason::SourceUnreadable, message: format!("manifest: {what}") }
}
