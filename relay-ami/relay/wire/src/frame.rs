//! Frames inside TLS: `type:1 length:4 payload`.
//!
//! Sender: `Hello`, then per chunk `Chunk`, for each segment `Segment` and its bytes as `Data`, `Packed`, `Hole` and `Copy`, then `Digest`
//! or `Abort`; a part may begin with `Offer`. `Pause` when it has nothing more to send for now, `Drain` before it leaves, or `Finish` on one
//! lane; where that shows that files differ, `Forget` for each of them before they come again. Receiver: `Welcome`, then `Ack` and `Nack` as
//! chunks end, `Has` after an offer, `Finished`, `Forgotten`; and each second, unasked, `Alive`.
//!
//! A file with a problem of its own does not fail its chunk. The sender says `Skip` in place of its segment, amid the segment's data, or
//! right after it; and for each entry left out once more before `Finish`. The receiver says `Refused` before it acknowledges the chunk.
//! `Full` takes the place of `Nack`, at once, where the destination as a whole takes nothing: the chunk is not to blame.

use super::codes::{flag, kind, kind_byte, proof, proof_byte, reason, reason_byte, skip_byte, skip_reason};
use super::{Fields, WireError, put16};
use crate::digest::{Digest, Proof};
use crate::documents::entry::Kind;
use crate::documents::event::{FailureReason, SkipReason};
use crate::documents::seat::{Role, Seat};

/// Version of the frames; both ends must have the same.
pub const VERSION: u16 = 12;
/// Another version has other fields: its first frame is refused by name, before they are read.
fn version(theirs: u16) -> Result<u16, WireError> {
    if theirs == VERSION { Ok(theirs) } else { Err(WireError::Version { theirs, ours: VERSION }) }
}

/// `type` and `length`.
pub const HEADER_BYTES: usize = 5;

pub const DATA: u8 = 0x04;
pub const PACKED: u8 = 0x0d;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Frame {
    Hello {
        version: u16,
        transfer: String,
        /// The sender's.
        seat: Seat,
        epoch: u64,
        path: String,
        generation: u64,
        lane: u32,
        /// What files are digested with: both ends need the same.
        proof: Proof,
    },
    Chunk {
        chunk: u64,
        attempt: u32,
        segments: u32,
        phase: u8,
    },
    Segment(SegmentHeader),
    /// Length of the data that follows the frame's header.
    Data(usize),
    /// The same, packed: one frame of zstd (RFC 8878), of at least one byte and at most a data frame's. Who reads frames unpacks it.
    Packed(usize),
    /// So many bytes of a sparse file that are zeros and no blocks.
    Hole(u64),
    /// Of the part whose segment has just come: digests of its blocks of `block` bytes. `Has` is the answer.
    Offer {
        block: u32,
        digests: Vec<u8>,
    },
    /// So many bytes are those of a block that the receiver has said it has.
    Copy(u64),
    Digest(Digest),
    Abort {
        reason: FailureReason,
        message: String,
    },
    Drain,
    /// The other receivers write nothing any more: this one takes over what came to them.
    Gather,
    /// Nothing follows before something changes: what has come may be synced and acknowledged at once.
    Pause,
    /// The sender has nothing more to send. `complete`: no chunk was given up, so the receiver looks whether all entries of the
    /// listing but `skipped` are there; `entries` and `tree`: how many digests the sender has, and the digest of them all.
    Finish {
        complete: bool,
        skipped: u64,
        entries: u64,
        tree: Digest,
    },
    /// What came of an entry does not count: it comes again. The last one is answered.
    Forget {
        entry: u64,
        last: bool,
    },
    /// The entry is left out: what came of it, on this stream or another, does not count and goes. Part of the chunk's digest.
    Skip {
        entry: u64,
        reason: SkipReason,
        message: String,
    },
    /// The files that came in parts to several receivers are in their places; bytes of those that were copied for it.
    Gathered {
        files: u64,
        copied: u64,
    },
    Welcome {
        version: u16,
        epoch: u64,
        proof: Proof,
    },
    Ack {
        chunk: u64,
        attempt: u32,
    },
    Nack {
        chunk: u64,
        attempt: u32,
        reason: FailureReason,
        message: String,
    },
    /// `entries`: how many digests the receiver has uploaded. `received`: payload bytes that it has counted since the start that both
    /// ends are of, repeats included; 0 where they are of different ones. `kept`: entries that are kept of what the transfer has replaced or
    /// removed.
    Finished {
        agreed: bool,
        entries: u64,
        received: u64,
        kept: u64,
        message: String,
    },
    Forgotten,
    /// The blocks of an offer that are there already: a bit for each, the lowest first; none where nothing is.
    Has {
        chunk: u64,
        attempt: u32,
        blocks: Vec<u8>,
    },
    /// The receiver lives, and the stream brings its words. `is_busy`: chunks that have come wait for its disk, its work on them, or the
    /// table.
    Alive {
        is_busy: bool,
    },
    /// An entry of this attempt could not be placed, for a reason of its own; the others of the chunk can.
    Refused {
        chunk: u64,
        attempt: u32,
        entry: u64,
        reason: SkipReason,
        message: String,
    },
    /// The destination has no room, or its file system fails: nothing else would be taken either.
    Full {
        chunk: u64,
        attempt: u32,
        message: String,
    },
}

/// A segment's metadata; paths as plain bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SegmentHeader {
    pub entry: u64,
    pub kind: Kind,
    pub mode: u16,
    pub mtime_ns: i64,
    pub size: u64,
    pub offset: u64,
    pub length: u64,
    pub path: Vec<u8>,
    /// Target of a symlink, first name of a hard link, else empty.
    pub target: Vec<u8>,
    /// [`Attributes`](crate::documents::attributes::Attributes) as they are encoded; empty where none are kept.
    pub attributes: Vec<u8>,
}

impl Frame {
    const fn type_byte(&self) -> u8 {
        match self {
            Self::Hello { .. } => 0x01,
            Self::Chunk { .. } => 0x02,
            Self::Segment(_) => 0x03,
            Self::Data(_) => DATA,
            Self::Digest(_) => 0x05,
            Self::Abort { .. } => 0x06,
            Self::Drain => 0x07,
            Self::Finish { .. } => 0x08,
            Self::Pause => 0x09,
            Self::Forget { .. } => 0x0a,
            Self::Skip { .. } => 0x0b,
            Self::Hole(_) => 0x0c,
            Self::Packed(_) => PACKED,
            Self::Offer { .. } => 0x0e,
            Self::Copy(_) => 0x0f,
            Self::Gather => 0x10,
            Self::Welcome { .. } => 0x81,
            Self::Ack { .. } => 0x82,
            Self::Nack { .. } => 0x83,
            Self::Finished { .. } => 0x84,
            Self::Forgotten => 0x85,
            Self::Refused { .. } => 0x86,
            Self::Full { .. } => 0x87,
            Self::Alive { .. } => 0x88,
            Self::Has { .. } => 0x89,
            Self::Gathered { .. } => 0x8a,
        }
    }

    /// Appends the frame; of `Data` and `Packed` only the header, the bytes are the caller's.
    #[inline]
    pub fn encode(&self, out: &mut Vec<u8>) {
        let start = out.len();
        out.extend_from_slice(&[self.type_byte(), 0, 0, 0, 0]);
        match self {
            Self::Hello { version, transfer, seat, epoch, path, generation, lane, proof } => {
                out.extend_from_slice(&version.to_be_bytes());
                put16(out, transfer.as_bytes());
                put16(out, seat.to_string().as_bytes());
                out.extend_from_slice(&epoch.to_be_bytes());
                put16(out, path.as_bytes());
                out.extend_from_slice(&generation.to_be_bytes());
                out.extend_from_slice(&lane.to_be_bytes());
                out.push(proof_byte(*proof));
            }
            Self::Chunk { chunk, attempt, segments, phase } => {
                out.extend_from_slice(&chunk.to_be_bytes());
                out.extend_from_slice(&attempt.to_be_bytes());
                out.extend_from_slice(&segments.to_be_bytes());
                out.push(*phase);
            }
            Self::Segment(segment) => {
                out.extend_from_slice(&segment.entry.to_be_bytes());
                out.push(kind_byte(segment.kind));
                out.extend_from_slice(&segment.mode.to_be_bytes());
                out.extend_from_slice(&segment.mtime_ns.to_be_bytes());
                out.extend_from_slice(&segment.size.to_be_bytes());
                out.extend_from_slice(&segment.offset.to_be_bytes());
                out.extend_from_slice(&segment.length.to_be_bytes());
                put16(out, &segment.path);
                put16(out, &segment.target);
                put16(out, &segment.attributes);
            }
            Self::Data(_) | Self::Packed(_) | Self::Drain | Self::Gather | Self::Pause | Self::Forgotten => {}
            Self::Offer { block, digests } => {
                out.extend_from_slice(&block.to_be_bytes());
                put16(out, digests);
            }
            Self::Hole(length) | Self::Copy(length) => out.extend_from_slice(&length.to_be_bytes()),
            Self::Digest(digest) => out.extend_from_slice(digest),
            Self::Alive { is_busy } => out.push(u8::from(*is_busy)),
            Self::Abort { reason, message } => {
                out.push(reason_byte(*reason));
                put16(out, message.as_bytes());
            }
            Self::Finish { complete, skipped, entries, tree } => {
                out.push(u8::from(*complete));
                out.extend_from_slice(&skipped.to_be_bytes());
                out.extend_from_slice(&entries.to_be_bytes());
                out.extend_from_slice(tree);
            }
            Self::Forget { entry, last } => {
                out.extend_from_slice(&entry.to_be_bytes());
                out.push(u8::from(*last));
            }
            Self::Skip { entry, reason, message } => {
                out.extend_from_slice(&entry.to_be_bytes());
                out.push(skip_byte(*reason));
                put16(out, message.as_bytes());
            }
            Self::Welcome { version, epoch, proof } => {
                out.extend_from_slice(&version.to_be_bytes());
                out.extend_from_slice(&epoch.to_be_bytes());
                out.push(proof_byte(*proof));
            }
            Self::Gathered { files, copied } => {
                out.extend_from_slice(&files.to_be_bytes());
                out.extend_from_slice(&copied.to_be_bytes());
            }
            Self::Ack { chunk, attempt } => {
                out.extend_from_slice(&chunk.to_be_bytes());
                out.extend_from_slice(&attempt.to_be_bytes());
            }
            Self::Has { chunk, attempt, blocks } => {
                out.extend_from_slice(&chunk.to_be_bytes());
                out.extend_from_slice(&attempt.to_be_bytes());
                put16(out, blocks);
            }
            Self::Nack { chunk, attempt, reason, message } => {
                out.extend_from_slice(&chunk.to_be_bytes());
                out.extend_from_slice(&attempt.to_be_bytes());
                out.push(reason_byte(*reason));
                put16(out, message.as_bytes());
            }
            Self::Finished { agreed, entries, received, kept, message } => {
                out.push(u8::from(*agreed));
                out.extend_from_slice(&entries.to_be_bytes());
                out.extend_from_slice(&received.to_be_bytes());
                out.extend_from_slice(&kept.to_be_bytes());
                put16(out, message.as_bytes());
            }
            Self::Refused { chunk, attempt, entry, reason, message } => {
                out.extend_from_slice(&chunk.to_be_bytes());
                out.extend_from_slice(&attempt.to_be_bytes());
                out.extend_from_slice(&entry.to_be_bytes());
                out.push(skip_byte(*reason));
                put16(out, message.as_bytes());
            }
            Self::Full { chunk, attempt, message } => {
                out.extend_from_slice(&chunk.to_be_bytes());
                out.extend_from_slice(&attempt.to_be_bytes());
                put16(out, message.as_bytes());
            }
        }
        let length = if let Self::Data(length) | Self::Packed(length) = self { *length } else { out.len() - start - HEADER_BYTES };
        let length = u32::try_from(length).unwrap_or(u32::MAX);
        out[start + 1..start + HEADER_BYTES].copy_from_slice(&length.to_be_bytes());
    }

    /// Reads a frame other than `Data` and `Packed`.
    #[inline]
    pub fn decode(type_byte: u8, payload: &[u8]) -> Result<Self, WireError> {
        let mut fields = Fields::new("frame", payload);
        let frame = match type_byte {
            0x01 => Self::Hello {
                version: version(fields.u16()?)?,
                transfer: fields.text16()?,
                seat: seat(&fields.text16()?)?,
                epoch: fields.u64()?,
                path: fields.text16()?,
                generation: fields.u64()?,
                lane: fields.u32()?,
                proof: proof(fields.u8()?)?,
            },
            0x02 => Self::Chunk { chunk: fields.u64()?, attempt: fields.u32()?, segments: fields.u32()?, phase: fields.u8()? },
            0x03 => Self::Segment(SegmentHeader {
                entry: fields.u64()?,
                kind: kind(fields.u8()?)?,
                mode: fields.u16()?,
                mtime_ns: i64::from_be_bytes(fields.array()?),
                size: fields.u64()?,
                offset: fields.u64()?,
                length: fields.u64()?,
                path: fields.bytes16()?.to_vec(),
                target: fields.bytes16()?.to_vec(),
                attributes: fields.bytes16()?.to_vec(),
            }),
            0x05 => Self::Digest(fields.array()?),
            0x06 => Self::Abort { reason: reason(fields.u8()?)?, message: fields.text16()? },
            0x07 => Self::Drain,
            0x08 => Self::Finish { complete: flag(fields.u8()?)?, skipped: fields.u64()?, entries: fields.u64()?, tree: fields.array()? },
            0x09 => Self::Pause,
            0x0a => Self::Forget { entry: fields.u64()?, last: flag(fields.u8()?)? },
            0x0b => Self::Skip { entry: fields.u64()?, reason: skip_reason(fields.u8()?)?, message: fields.text16()? },
            0x0c => Self::Hole(fields.u64()?),
            0x0e => Self::Offer { block: fields.u32()?, digests: fields.bytes16()?.to_vec() },
            0x0f => Self::Copy(fields.u64()?),
            0x10 => Self::Gather,
            0x81 => Self::Welcome { version: version(fields.u16()?)?, epoch: fields.u64()?, proof: proof(fields.u8()?)? },
            0x82 => Self::Ack { chunk: fields.u64()?, attempt: fields.u32()? },
            0x83 => Self::Nack { chunk: fields.u64()?, attempt: fields.u32()?, reason: reason(fields.u8()?)?, message: fields.text16()? },
            0x84 => Self::Finished {
                agreed: flag(fields.u8()?)?,
                entries: fields.u64()?,
                received: fields.u64()?,
                kept: fields.u64()?,
                message: fields.text16()?,
            },
            0x85 => Self::Forgotten,
            0x86 => Self::Refused {
                chunk: fields.u64()?,
                attempt: fields.u32()?,
                entry: fields.u64()?,
                reason: skip_reason(fields.u8()?)?,
                message: fields.text16()?,
            },
            0x87 => Self::Full { chunk: fields.u64()?, attempt: fields.u32()?, message: fields.text16()? },
            0x88 => Self::Alive { is_busy: flag(fields.u8()?)? },
            0x89 => Self::Has { chunk: fields.u64()?, attempt: fields.u32()?, blocks: fields.bytes16()?.to_vec() },
            0x8a => Self::Gathered { files: fields.u64()?, copied: fields.u64()? },
            other => return Err(WireError::Unknown { what: "frame type", value: other.into() }),
        };
        fields.end()?;
        Ok(frame)
    }
}

/// A sender's seat.
fn seat(text: &str) -> Result<Seat, WireError> {
    let seat = Seat::new(text).ok().filter(|seat| seat.role == Role::Sender);
    seat.ok_or(WireError::Unknown { what: "seat", value: 0 })
}

#[cfg(test)]
#[path = "frame_tests.rs"]
mod tests;
