//! Frames over TLS: a reading half and a writing half.

use std::io;
use std::sync::Mutex;

use zstd::bulk::Decompressor;

use crate::defaults::MAX_FRAME_BYTES;
use crate::secure::SecureError;
use crate::secure::record::DATA_BYTES;
use crate::secure::record::{Opener, PLAIN_BYTES, Sealer};
use crate::thread::lock;
use crate::wire::WireError;
use crate::wire::frame::{DATA, Frame, HEADER_BYTES, PACKED};

/// The stream between sender and receiver cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum StreamError {
    #[error(transparent)]
    Secure(#[from] SecureError),
    #[error("protocol: {0}")]
    Wire(#[from] WireError),
    #[error("protocol: {0}")]
    Protocol(String),
    #[error("the peer ended the stream")]
    Ended,
}

impl From<std::io::Error> for StreamError {
    fn from(error: std::io::Error) -> Self {
        Self::Secure(error.into())
    }
}

/// Reads frames.
pub struct FrameReader {
    opener: Opener,
    /// Plaintext that is not taken yet: `start..end`.
    plain: Vec<u8>,
    start: usize,
    end: usize,
    /// None before the first packed frame.
    unpacked: Option<Unpacked>,
}

/// What the last packed frame had, as far as it is not taken yet: from `start` on.
struct Unpacked {
    decompressor: Decompressor<'static>,
    bytes: Vec<u8>,
    start: usize,
}

impl Unpacked {
    fn new() -> io::Result<Self> {
        Ok(Self { decompressor: Decompressor::new()?, bytes: Vec::with_capacity(DATA_BYTES), start: 0 })
    }

    /// Nothing is unpacked beyond a data frame's length, whatever the packed bytes say of themselves.
    fn unpack(&mut self, packed: &[u8]) -> Result<usize, StreamError> {
        self.bytes.clear();
        self.start = 0;
        let unpacked = self.decompressor.decompress_to_buffer(packed, &mut self.bytes);
        let count = unpacked.map_err(|why| StreamError::Protocol(format!("a packed frame of {} bytes: {why}", packed.len())))?;
        if count == 0 {
            return Err(StreamError::Protocol("a packed frame of nothing".to_owned()));
        }
        Ok(count)
    }

    fn take(&mut self, limit: usize) -> &[u8] {
        let count = limit.min(self.bytes.len() - self.start);
        self.start += count;
        &self.bytes[self.start - count..self.start]
    }
}

impl FrameReader {
    #[must_use]
    pub fn new(opener: Opener) -> Self {
        Self { opener, plain: vec![0; MAX_FRAME_BYTES + PLAIN_BYTES], start: 0, end: 0, unpacked: None }
    }

    fn available(&self) -> usize {
        self.end - self.start
    }

    /// Makes `bytes` available, at most `MAX_FRAME_BYTES`; `false` when the stream ended before.
    fn fill(&mut self, bytes: usize) -> Result<bool, StreamError> {
        while self.available() < bytes {
            if self.start > 0 {
                self.plain.copy_within(self.start..self.end, 0);
                (self.start, self.end) = (0, self.available());
            }
            let count = self.opener.read(&mut self.plain[self.end..])?;
            if count == 0 {
                return Ok(false);
            }
            self.end += count;
        }
        Ok(true)
    }

    /// The next frame; none when the peer ended the stream between frames. After `Data` its bytes follow by [`data`](Self::data),
    /// whether they came packed or not.
    pub fn frame(&mut self) -> Result<Option<Frame>, StreamError> {
        if !self.fill(HEADER_BYTES)? {
            return if self.available() == 0 { Ok(None) } else { Err(StreamError::Ended) };
        }
        let header = &self.plain[self.start..self.start + HEADER_BYTES];
        let kind = header[0];
        let length = header[1..].iter().fold(0usize, |sum, byte| sum << 8 | usize::from(*byte));
        let most = if matches!(kind, DATA | PACKED) { DATA_BYTES } else { MAX_FRAME_BYTES };
        if length > most {
            return Err(StreamError::Protocol(format!("frame of type {kind} has {length} bytes; at most {most} are allowed")));
        }
        self.start += HEADER_BYTES;
        if kind == DATA {
            return Ok(Some(Frame::Data(length)));
        }
        if !self.fill(length)? {
            return Err(StreamError::Ended);
        }
        let payload = &self.plain[self.start..self.start + length];
        self.start += length;
        if kind == PACKED {
            let unpacked = match &mut self.unpacked {
                Some(unpacked) => unpacked,
                none => none.insert(Unpacked::new()?),
            };
            return Ok(Some(Frame::Data(unpacked.unpack(payload)?)));
        }
        Ok(Some(Frame::decode(kind, payload)?))
    }

    /// The next frame, which must come.
    pub fn expect(&mut self) -> Result<Frame, StreamError> {
        self.frame()?.ok_or(StreamError::Ended)
    }

    /// Returns the next of a data frame's bytes, of which `limit` are left: all of them, or what has been unpacked. To wait for the rest of
    /// a frame costs less than a second write, which begins in the middle of a page.
    pub fn data(&mut self, limit: usize) -> Result<&[u8], StreamError> {
        if self.unpacked.as_ref().is_some_and(|unpacked| unpacked.start < unpacked.bytes.len()) {
            return Ok(self.unpacked.as_mut().map_or(&[], |unpacked| unpacked.take(limit)));
        }
        let count = limit.min(DATA_BYTES);
        if !self.fill(count)? {
            return Err(StreamError::Ended);
        }
        self.start += count;
        Ok(&self.plain[self.start - count..self.start])
    }
}

/// The writing half where several threads answer.
pub struct Replies(Mutex<Sealer>);

impl Replies {
    #[must_use]
    pub const fn new(sealer: Sealer) -> Self {
        Self(Mutex::new(sealer))
    }

    /// Sends one frame at once.
    pub fn send(&self, frame: &Frame) -> Result<(), StreamError> {
        let mut sealer = lock(&self.0);
        frame.encode(sealer.frames());
        Ok(sealer.flush()?)
    }

    /// As [`send`](Self::send), but never waits for another thread that answers: then nothing is sent.
    pub fn send_unless_busy(&self, frame: &Frame) -> Result<(), StreamError> {
        let Ok(mut sealer) = self.0.try_lock() else { return Ok(()) };
        frame.encode(sealer.frames());
        Ok(sealer.flush()?)
    }
}
