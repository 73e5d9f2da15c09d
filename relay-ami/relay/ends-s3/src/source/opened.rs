//! An object of the listing that is read: one request for each segment.

use super::reader::Reader;
use super::state::{tag, version};
use crate::client::Bucket;
use crate::fault::{Fault, Meaning};
use cpt_ends::{SourceFailure, SourceFile, Version};
use cpt_wire::documents::entry::Segment;
use cpt_wire::documents::event::SkipReason;

/// An object that is still the one of the listing.
pub struct Opened<'a> {
    segment: &'a Segment,
    reader: Reader<'a>,
    state: Version,
}

impl<'a> Opened<'a> {
    /// Asks for the segment.
    pub fn new(bucket: &'a Bucket, segment: &'a Segment, key: String) -> Result<Self, SourceFailure> {
        let Segment { offset, length, size, .. } = *segment;
        // An empty object has no ranges.
        let range = (length > 0).then_some((offset, offset + length));
        let reader = Reader::open(bucket, key, range).map_err(|fault| failure(segment, &fault))?;
        if reader.size != size {
            return Err(changed(segment, &format!("size was {size} when it was listed and is {} now", reader.size)));
        }
        if tag(&reader.entity_tag) != segment.inode {
            return Err(changed(segment, "was replaced after it was listed"));
        }
        let state = version(&reader.entity_tag, reader.version_id.as_deref(), reader.modified_seconds);
        Ok(Self { segment, reader, state })
    }
}

impl SourceFile for Opened<'_> {
    fn read(&self, buffer: &mut [u8], offset: u64) -> Result<usize, SourceFailure> {
        let Segment { offset: from, length, size, .. } = *self.segment;
        if offset >= size {
            return Err(changed(self.segment, &format!("ends at {offset}")));
        }
        // Of another part, whose bytes are read once more, as much as of this one.
        let end = if (from..from + length).contains(&offset) { from + length } else { size.min(offset + length.max(1)) };
        self.reader.read(buffer, offset, end).map_err(|fault| failure(self.segment, &fault))
    }

    fn state(&self) -> Version {
        self.state
    }

    /// An object does not change, it is replaced: each byte was of the one that was opened.
    fn check(&self) -> Result<Version, SourceFailure> {
        Ok(self.state)
    }
}

/// What a refusal says of the segment.
fn failure(segment: &Segment, fault: &Fault) -> SourceFailure {
    match (fault.meaning, fault.status) {
        (Meaning::Gone, _) => changed(segment, "is gone"),
        (Meaning::Condition, _) => changed(segment, "was replaced while it was read"),
        (_, Some(416)) => changed(segment, "is shorter than when it was listed"),
        _ => unreadable(segment, fault.to_string(), fault.meaning == Meaning::Passing),
    }
}

pub fn changed(segment: &Segment, what: &str) -> SourceFailure {
    SourceFailure { reason: SkipReason::SourceChanged, message: format!("{}: {what}", segment.source), transient: false }
}

pub fn unreadable(segment: &Segment, why: String, transient: bool) -> SourceFailure {
    SourceFailure { reason: SkipReason::SourceUnreadable, message: format!("{}: {why}", segment.source), transient }
}
