//! A segment's header as text, for notes that another receiver reads: the frame as the wire has it, in base64.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;

use crate::frame::{Frame, HEADER_BYTES, SegmentHeader};

/// A header as text.
#[must_use]
pub fn encode(header: &SegmentHeader) -> String {
    let mut frame = Vec::new();
    Frame::Segment(header.clone()).encode(&mut frame);
    STANDARD_NO_PAD.encode(frame)
}

/// A header that was encoded; none where the text is none, or another frame.
#[must_use]
pub fn decode(text: &str) -> Option<SegmentHeader> {
    let frame = STANDARD_NO_PAD.decode(text).ok()?;
    match Frame::decode(*frame.first()?, frame.get(HEADER_BYTES..)?) {
        Ok(Frame::Segment(header)) => Some(header),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::documents::entry::Kind;

    #[test]
    fn a_header_is_the_same_after_it_was_text() {
        let header = SegmentHeader {
            entry: 7,
            kind: Kind::File,
            mode: 0o640,
            mtime_ns: -1,
            size: 3,
            offset: 0,
            length: 3,
            path: b"d/\xff".to_vec(),
            target: Vec::new(),
            attributes: b"{}".to_vec(),
        };
        assert_eq!(decode(&encode(&header)), Some(header));
    }

    #[test]
    fn what_is_no_header_is_none() {
        let mut drain = Vec::new();
        Frame::Drain.encode(&mut drain);
        for text in ["", "?", &STANDARD_NO_PAD.encode(drain)] {
            assert_eq!(decode(text), None, "{text}");
        }
    }
}
