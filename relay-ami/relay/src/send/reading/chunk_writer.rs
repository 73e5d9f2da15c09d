//! One chunk onto one stream.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Instant;

use super::ahead::{Helpers, Opened, Window};
use super::chunk_error::ChunkError;
use super::offers::{self, Offers};
use super::second_look::SecondLook;
use super::segments::{given_up, header, is_part, parse};
use super::sink::{Caller, Nowhere, Reread, Sink, Stream};
use crate::digest::{Digest, Proof, is_subtree};
use crate::documents::entry::Segment;
use crate::documents::event::{FailureReason, SkipReason};
use crate::documents::membership::Path;
use crate::ends::{Source, SourceFailure, SourceFile, Version, zeros};
use crate::secure::record::DATA_BYTES;
use crate::secure::record::Sealer;
use crate::send::noted::{Sent, Skipped, States};
use crate::send::work::Work;
use crate::tempo::Tempo;
use crate::transport::had::Had;
use crate::transport::packing::Packer;
use crate::transport::stream::StreamError;
use crate::wire::frame::Frame;

/// What all who read the source share.
#[derive(Clone)]
pub struct Reading {
    pub source: Arc<dyn Source>,
    pub skipped: Arc<Skipped>,
    /// What files are digested with.
    pub proof: Proof,
    pub states: Arc<States>,
    /// What has come of offers so far.
    pub offers: Arc<Offers>,
    helpers: Arc<Helpers>,
}

impl Reading {
    pub fn new(source: Arc<dyn Source>, proof: Proof, skipped: Arc<Skipped>, states: Arc<States>) -> Self {
        Self { source, skipped, proof, states, offers: Arc::default(), helpers: Arc::default() }
    }

    /// The same for lanes of this path: one to a store reads its source by that way.
    #[must_use]
    pub fn by(&self, path: &Path) -> Self {
        let other = path.store.then(|| self.source.by(&path.path_id)).flatten();
        Self { source: other.unwrap_or_else(|| Arc::clone(&self.source)), ..self.clone() }
    }
}

/// Reads a chunk's segments.
struct Reader<'a> {
    of: &'a Reading,
    buffer: &'a mut [u8],
    /// The last header.
    frame: Vec<u8>,
    caller: &'a dyn Caller,
    tempo: &'a mut Tempo,
    /// Words that are added to the problem of a file.
    when: &'static str,
    /// A file with a problem is not left out for it: it comes again, and then the problem shows.
    comes_again: bool,
}

/// A lane's sending side with its read buffer.
pub struct ChunkWriter {
    pub sealer: Sealer,
    /// None where nothing is packed.
    packer: Option<Packer>,
    buffer: Vec<u8>,
    reading: Reading,
    tempo: Tempo,
}

impl ChunkWriter {
    #[must_use]
    pub fn new(sealer: Sealer, packer: Option<Packer>, reading: Reading) -> Self {
        Self { sealer, packer, buffer: vec![0; DATA_BYTES], reading, tempo: Tempo::default() }
    }

    /// Sends one frame at once.
    pub fn frame(&mut self, frame: &Frame) -> Result<(), StreamError> {
        frame.encode(self.sealer.frames());
        Ok(self.sealer.flush()?)
    }

    /// Sends all but the digest, which [`Self::finish`] sends once the caller has noted what it will stand for.
    /// Files with a problem of their own are left out. Where the chunk fails the receiver has been told to give it up.
    pub fn send(&mut self, work: &Work, caller: &dyn Caller) -> Result<(Digest, Sent), ChunkError> {
        let segments = parse(work).map_err(ChunkError::Plan)?;
        let count = u32::try_from(segments.len()).unwrap_or(u32::MAX);
        Frame::Chunk { chunk: work.chunk, attempt: work.attempt, segments: count, phase: work.phase }.encode(self.sealer.frames());
        let (of, buffer, tempo) = (&self.reading, &mut *self.buffer, &mut self.tempo);
        let mut reader = Reader { of, buffer, frame: Vec::new(), caller, tempo, when: "", comes_again: false };
        let result = reader.segments(&segments, &mut Stream { sealer: &mut self.sealer, packer: self.packer.as_mut() });
        match &result {
            Err(ChunkError::Plan(why)) => self.abort(FailureReason::SourceUnreadable, why)?,
            Err(ChunkError::Answered) => self.refused()?,
            Ok(_) | Err(ChunkError::Source(_) | ChunkError::Stream(_)) => {}
        }
        result
    }

    /// Names all that is left out, for it to count nowhere.
    pub fn name_skipped(&mut self) -> Result<(), StreamError> {
        for (entry, reason) in self.reading.skipped.entries() {
            Frame::Skip { entry, reason, message: String::new() }.encode(self.sealer.frames());
            if self.sealer.frames().len() >= DATA_BYTES {
                self.sealer.flush()?;
            }
        }
        Ok(())
    }

    /// The receiver does not want the chunk that is under way any more.
    pub fn refused(&mut self) -> Result<(), StreamError> {
        self.abort(FailureReason::DestinationError, "the receiver has refused it")
    }

    /// The chunk that is under way comes to no end.
    fn abort(&mut self, reason: FailureReason, message: &str) -> Result<(), StreamError> {
        self.frame(&Frame::Abort { reason, message: message.to_owned() })
    }

    pub fn finish(&mut self, digest: Digest) -> Result<(), StreamError> {
        self.frame(&Frame::Digest(digest))
    }
}

/// Reads chunks for their digests alone.
pub struct Digester {
    buffer: Vec<u8>,
    reading: Reading,
    tempo: Tempo,
}

impl Digester {
    #[must_use]
    pub fn new(reading: Reading) -> Self {
        Self { buffer: vec![0; DATA_BYTES], reading, tempo: Tempo::default() }
    }

    /// Returns what a delivered chunk stands for. A file that is not what the listing says any more is left out from now on, since nobody
    /// can say whether what was delivered of it is right; unless it `comes_again` then. Fails where the plan is wrong about the chunk, in words.
    pub fn digest(&mut self, work: &Work, read: &dyn Fn(u64), comes_again: bool) -> Result<Sent, String> {
        let segments = parse(work)?;
        let Self { buffer, reading: of, tempo } = self;
        let (caller, when) = (&Reread(read), ", after it was delivered");
        let mut reader = Reader { of, buffer, frame: Vec::new(), caller, tempo, when, comes_again };
        match reader.segments(&segments, &mut Nowhere) {
            Ok((_, sent)) => Ok(sent),
            Err(ChunkError::Plan(why)) => Err(why),
            Err(error) => Err(format!("chunk {}: {error:?}", work.chunk)),
        }
    }
}

impl Reader<'_> {
    fn segments(&mut self, segments: &[Segment], sink: &mut impl Sink) -> Result<(Digest, Sent), ChunkError> {
        // A part is a chunk of its own.
        if let Some(part) = segments.iter().find(|segment| is_part(segment) && segments.len() > 1) {
            return Err(ChunkError::Plan(format!("manifest: a part of entry {} shares its chunk with other segments", part.entry)));
        }
        let mut all = blake3::Hasher::new();
        let mut entries = Vec::new();
        let (window, helpers) = (Window::new(&*self.of.source, segments), &*self.of.helpers);
        std::thread::scope(|scope| {
            let mut ahead = window.begin(scope, helpers);
            for (index, segment) in segments.iter().enumerate() {
                let opened = ahead.take(index, self.tempo);
                let Some((digest, state)) = self.segment_or_skip(segment, opened, &mut all, sink)? else { continue };
                if is_part(segment) {
                    let sent = Sent::Part { entry: segment.entry, size: segment.size, offset: segment.offset, state, digest };
                    return Ok((*all.finalize().as_bytes(), sent));
                }
                entries.push((segment.entry, digest));
            }
            Ok((*all.finalize().as_bytes(), Sent::Whole(entries)))
        })
    }

    /// None where the file is left out: the receiver is told so in place of the segment, or after what went out of it.
    fn segment_or_skip(
        &mut self,
        segment: &Segment,
        opened: Option<Opened<'_>>,
        all: &mut blake3::Hasher,
        sink: &mut impl Sink,
    ) -> Result<Option<(Digest, Version)>, ChunkError> {
        if segment.is_part() && !is_subtree(segment.offset, segment.length) {
            let (length, offset, entry) = (segment.length, segment.offset, segment.entry);
            return Err(ChunkError::Plan(format!("manifest: {length} bytes at {offset} of entry {entry} are no part")));
        }
        if self.of.skipped.holds_first_of(segment) {
            self.of.skipped.note(segment, SkipReason::SourceChanged, "its first name, which brings its bytes, is left out");
        }
        if !self.of.skipped.holds(segment.entry) {
            match self.segment(segment, opened, all, sink) {
                Err(ChunkError::Source(failure)) if self.comes_again => {
                    tracing::warn!(entry = segment.entry, message = failure.message, "comes again");
                    return Ok(None);
                }
                Err(ChunkError::Source(failure)) => {
                    self.of.skipped.note(segment, failure.reason, &format!("{}{}", failure.message, self.when));
                }
                result => {
                    self.of.skipped.was_read();
                    return result.map(Some);
                }
            }
        }
        let Some(problem) = self.of.skipped.problem(segment.entry) else { return Ok(None) };
        let mut frame = Vec::new();
        Frame::Skip { entry: segment.entry, reason: problem.reason, message: problem.message }.encode(&mut frame);
        sink.header(&frame);
        all.update(&frame);
        Ok(None)
    }

    /// Asks what the receiver has of a part that may be there already. What the source is by then shows in the chunk's digest.
    fn offer(&mut self, file: &dyn SourceFile, segment: &Segment, sink: &mut impl Sink) -> Result<Had, ChunkError> {
        if !is_part(segment) || !self.caller.offers(segment) {
            return Ok(Had::default());
        }
        let caller = self.caller;
        let read = |bytes| {
            caller.reread(bytes);
            caller.goes_on()
        };
        // Nothing has gone out yet: whether the file can be read shows when it does.
        let Ok(Some(frame)) = offers::offer(file, segment, self.buffer, &read) else { return Ok(Had::default()) };
        sink.ask(&frame)?;
        let bits = self.caller.has(segment).ok_or(ChunkError::Stream(StreamError::Ended))?;
        Ok(Had::new(segment.length, bits))
    }

    /// Gives the header and the bytes to the sink, the header and the digest of the bytes to the chunk's digest. Returns that digest, and
    /// the state of the file that was read.
    fn segment(
        &mut self,
        segment: &Segment,
        opened: Option<Opened<'_>>,
        all: &mut blake3::Hasher,
        sink: &mut impl Sink,
    ) -> Result<(Digest, Version), ChunkError> {
        let header = header(segment).map_err(ChunkError::Source)?;
        let (source, began, is_ahead) = (&*self.of.source, Instant::now(), opened.is_some());
        let (mut file, mut first) = match opened {
            Some(opened) => (opened.file, opened.first),
            None => (source.open(segment).map_err(ChunkError::Source)?, Vec::new()),
        };
        let before = file.as_ref().map_or(Version::NONE, |file| file.state());
        let target = header.target.clone();
        self.frame.clear();
        Frame::Segment(header).encode(&mut self.frame);
        sink.header(&self.frame);
        all.update(&self.frame);
        let mut hasher = if segment.is_part() { self.of.proof.part(segment.offset) } else { self.of.proof.whole() };
        if let Some(file) = &mut file {
            let (mut offset, end, mut again) = (segment.offset, segment.offset + segment.length, false);
            let mut data = 0..0;
            let had = self.offer(&**file, segment, sink)?;
            let copies = self.caller.copies(segment);
            hasher.with_copies(copies || had.has_any());
            while offset < end {
                if !self.caller.goes_on() {
                    return Err(ChunkError::Answered);
                }
                // Another part of the file has a problem, or the receiver has.
                if segment.is_part() && self.of.skipped.holds(segment.entry) {
                    return Err(ChunkError::Source(given_up()));
                }
                if offset >= data.end {
                    data = file.data(offset);
                }
                let hole = data.start.min(end).saturating_sub(offset);
                if hole > 0 {
                    let Ok(()) = zeros(hole, |bytes, _| {
                        hasher.update(bytes);
                        Ok::<(), Infallible>(())
                    });
                    sink.hole(hole);
                    self.caller.moved(hole, 0);
                    offset += hole;
                    continue;
                }
                let (is_had, left) = if copies { (true, u64::MAX) } else { had.look(offset - segment.offset) };
                let want = usize::try_from(end.min(data.end).min(offset.saturating_add(left)) - offset)
                    .unwrap_or(usize::MAX)
                    .min(self.buffer.len());
                let count = match read(&**file, std::mem::take(&mut first), &mut self.buffer[..want], offset) {
                    Ok(count) => count,
                    Err(failure) if failure.transient && !again => {
                        tracing::warn!(message = failure.message, offset, "read again");
                        again = true;
                        *file = source.open(segment).map_err(ChunkError::Source)?.ok_or_else(|| ChunkError::Source(given_up()))?;
                        continue;
                    }
                    Err(failure) => return Err(ChunkError::Source(failure)),
                };
                if offset == segment.offset && !is_ahead {
                    self.tempo.note(began.elapsed());
                }
                let bytes = &self.buffer[..count];
                hasher.update(bytes);
                let sent = if is_had {
                    sink.copy(count as u64);
                    0
                } else {
                    sink.data(bytes)?
                };
                self.caller.moved(count as u64, sent);
                offset += count as u64;
            }
        }
        if !is_part(segment) {
            hasher.update(&target);
        }
        let digest = hasher.end(all);
        let Some(file) = file else { return Ok((digest, before)) };
        let Self { of, caller, buffer, .. } = self;
        let mut look = SecondLook { file: &*file, segment, states: &of.states, proof: of.proof, caller: *caller, buffer };
        let state = look.settle(&digest, before)?;
        Ok((digest, state))
    }
}

/// Reads what is not there yet.
fn read(file: &dyn SourceFile, first: Vec<u8>, buffer: &mut [u8], offset: u64) -> Result<usize, SourceFailure> {
    if first.is_empty() {
        return file.read(buffer, offset);
    }
    buffer[..first.len()].copy_from_slice(&first);
    Ok(first.len())
}
