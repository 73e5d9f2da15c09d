//! The segments that a chunk's lines of the manifest name.

use crate::documents::entry::{Kind, Segment};
use crate::documents::event::SkipReason;
use crate::documents::percent;
use crate::ends::SourceFailure;
use crate::send::work::Work;
use crate::wire::frame::SegmentHeader;

/// The metadata that goes before a segment's bytes.
pub fn header(segment: &Segment) -> Result<SegmentHeader, SourceFailure> {
    let decode = |text: &str| {
        let message = |why| format!("{}: {why}", segment.source);
        percent::decode(text).map_err(|why| SourceFailure { reason: SkipReason::SourceChanged, message: message(why), transient: false })
    };
    Ok(SegmentHeader {
        entry: segment.entry,
        kind: segment.kind,
        mode: u16::try_from(segment.mode).unwrap_or(0o7777),
        mtime_ns: segment.mtime_ns,
        size: if segment.kind == Kind::File { segment.size } else { 0 },
        offset: segment.offset,
        length: segment.length,
        path: decode(&segment.path)?,
        target: decode(segment.target.as_deref().unwrap_or_default())?,
        attributes: segment.attributes.as_ref().map(|attributes| attributes.encode()).unwrap_or_default(),
    })
}

/// Returns whether a segment is a part of a file.
pub fn is_part(segment: &Segment) -> bool {
    segment.kind == Kind::File && segment.is_part()
}

/// Returns the failure of a file that is left out already: the problem that was noted first counts.
pub const fn given_up() -> SourceFailure {
    SourceFailure { reason: SkipReason::SourceChanged, message: String::new(), transient: false }
}

/// The segment of an entry that a chunk holds something of.
pub fn segment_of(work: &Work, entry: u64) -> Option<Segment> {
    parse(work).ok()?.into_iter().find(|segment| segment.entry == entry)
}

/// The entries that a chunk holds something of.
pub fn entries(work: &Work) -> impl Iterator<Item = u64> {
    parse(work).unwrap_or_default().into_iter().map(|segment| segment.entry)
}

pub fn parse(work: &Work) -> Result<Vec<Segment>, String> {
    let lines = work.manifest.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    lines.map(Segment::parse).collect::<Result<_, _>>().map_err(|why| format!("manifest of chunk {}: {why}", work.chunk))
}
