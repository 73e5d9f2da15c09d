//! Where the segments of a chunk go, and whom their reading asks and tells.

use crate::documents::entry::Segment;
use crate::secure::record::Sealer;
use crate::transport::packing::Packer;
use crate::transport::stream::StreamError;
use crate::wire::frame::Frame;

/// Whoever sends a chunk, as far as its writing asks and tells.
pub trait Caller {
    /// So many bytes of a file went out, as so many on the wire.
    fn moved(&self, bytes: u64, wire: u64);
    /// So many bytes were read that do not go out for it.
    fn reread(&self, bytes: u64);
    /// Whether the rest of the chunk is still wanted.
    fn goes_on(&self) -> bool;
    /// Whether a part may be there already, and asking is worth it.
    fn offers(&self, segment: &Segment) -> bool;
    /// Whether the receiver has the bytes of a whole file, and is to take these.
    fn copies(&self, segment: &Segment) -> bool;
    /// Waits for what the receiver says of the part that it was offered; none where nobody answers any more.
    fn has(&self, segment: &Segment) -> Option<Vec<u8>>;
}

/// The target of a chunk's segments.
pub trait Sink {
    /// A segment's header, as a frame.
    fn header(&mut self, frame: &[u8]);
    /// Bytes of the file. Returns how many went out for them.
    fn data(&mut self, bytes: &[u8]) -> Result<u64, StreamError>;
    /// So many bytes that are a hole.
    fn hole(&mut self, length: u64);
    /// So many bytes that the receiver has.
    fn copy(&mut self, length: u64);
    /// A frame that is answered, and goes out at once.
    fn ask(&mut self, frame: &Frame) -> Result<(), StreamError>;
}

/// A lane's stream.
pub struct Stream<'a> {
    pub sealer: &'a mut Sealer,
    pub packer: Option<&'a mut Packer>,
}

impl Sink for Stream<'_> {
    fn header(&mut self, frame: &[u8]) {
        self.sealer.frames().extend_from_slice(frame);
    }

    fn data(&mut self, bytes: &[u8]) -> Result<u64, StreamError> {
        if let Some(packer) = &mut self.packer {
            return packer.send(self.sealer, bytes);
        }
        Frame::Data(bytes.len()).encode(self.sealer.frames());
        self.sealer.write(bytes)?;
        Ok(bytes.len() as u64)
    }

    fn hole(&mut self, length: u64) {
        Frame::Hole(length).encode(self.sealer.frames());
    }

    fn copy(&mut self, length: u64) {
        Frame::Copy(length).encode(self.sealer.frames());
    }

    fn ask(&mut self, frame: &Frame) -> Result<(), StreamError> {
        frame.encode(self.sealer.frames());
        Ok(self.sealer.flush()?)
    }
}

/// Only the digests are wanted.
pub struct Nowhere;

impl Sink for Nowhere {
    fn header(&mut self, _frame: &[u8]) {}

    fn data(&mut self, bytes: &[u8]) -> Result<u64, StreamError> {
        Ok(bytes.len() as u64)
    }

    fn hole(&mut self, _length: u64) {}

    fn copy(&mut self, _length: u64) {}

    fn ask(&mut self, _frame: &Frame) -> Result<(), StreamError> {
        Ok(())
    }
}

/// Whoever digests alone: everything is wanted, and nobody is asked.
pub struct Reread<'a>(pub &'a dyn Fn(u64));

impl Caller for Reread<'_> {
    fn moved(&self, bytes: u64, _wire: u64) {
        (self.0)(bytes);
    }

    fn reread(&self, bytes: u64) {
        (self.0)(bytes);
    }

    fn goes_on(&self) -> bool {
        true
    }

    fn offers(&self, _segment: &Segment) -> bool {
        false
    }

    fn copies(&self, _segment: &Segment) -> bool {
        false
    }

    fn has(&self, _segment: &Segment) -> Option<Vec<u8>> {
        None
    }
}
