//! The target of one segment's bytes.

use std::io;

use super::large::Part;
use crate::digest::is_subtree;
use crate::documents::entry::Kind;
use crate::ends::SmallFile;
use crate::transport::stream::StreamError;
use crate::wire::frame::SegmentHeader;

/// Returns whether it is a part of a file. Fails where the sender breaks the protocol; `total_bytes` is what the plan holds.
pub fn is_part(header: &SegmentHeader, total_bytes: u64) -> Result<bool, StreamError> {
    if header.offset.checked_add(header.length).is_none_or(|end| end > header.size) {
        return Err(StreamError::Protocol(format!("segment of entry {} goes beyond its size", header.entry)));
    }
    if header.size > total_bytes {
        return Err(StreamError::Protocol(format!("entry {} is larger than all that the plan holds", header.entry)));
    }
    let is_part = header.kind == Kind::File && header.length < header.size;
    if is_part && !is_subtree(header.offset, header.length) {
        return Err(StreamError::Protocol(format!("{} bytes at {} of entry {} are no part", header.length, header.offset, header.entry)));
    }
    Ok(is_part)
}

pub enum Target {
    Part(Part),
    /// A file or link.
    Whole(Box<dyn SmallFile>),
    Directory,
    Nowhere,
}

impl Target {
    pub const fn part(&self) -> Option<&Part> {
        if let Self::Part(part) = self { Some(part) } else { None }
    }

    /// Makes bytes a hole.
    pub fn hole(&mut self, offset: u64, length: u64) -> io::Result<()> {
        match self {
            Self::Part(part) => part.file.hole(part.index, part.token, offset, length),
            Self::Whole(file) => file.hole(length),
            Self::Directory | Self::Nowhere => Ok(()),
        }
    }

    pub fn write(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        match self {
            Self::Part(part) => part.file.write(part.index, part.token, offset, bytes),
            Self::Whole(file) => file.write(bytes),
            Self::Directory | Self::Nowhere => Ok(()),
        }
    }
}
