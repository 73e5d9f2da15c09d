//! What a destination has already of a file that changes: of a part that it is offered, the sender sends what differs.

use std::collections::HashMap;
use std::sync::Mutex;

use crate::documents::entry::Segment;
use crate::ends::{SourceFailure, SourceFile};
use crate::thread::lock;
use crate::wire::block::{BLOCK_DIGEST_BYTES, block_bytes, block_digest};
use crate::wire::frame::Frame;

/// Parts of one file that are offered in vain, one after the other, before most of the others are not.
const IN_VAIN: u32 = 4;
/// Of those, the share that is still offered: what follows may be what was there before.
const STILL_OFFERED: u32 = 16;

/// What has come of the offers so far, by entry.
#[derive(Default)]
pub struct Offers(Mutex<HashMap<u64, Tally>>);

#[derive(Default)]
struct Tally {
    parts: u32,
    in_vain: u32,
}

impl Offers {
    /// Returns whether the next part of the entry is worth an offer: reading and digesting it twice, and a round trip.
    pub fn is_worth(&self, entry: u64) -> bool {
        let mut known = lock(&self.0);
        let tally = known.entry(entry).or_default();
        tally.parts += 1;
        tally.in_vain < IN_VAIN || tally.parts.is_multiple_of(STILL_OFFERED)
    }

    /// What the receiver said of a part.
    pub fn note(&self, entry: u64, has_some: bool) {
        let mut known = lock(&self.0);
        let tally = known.entry(entry).or_default();
        tally.in_vain = if has_some { 0 } else { tally.in_vain + 1 };
    }
}

/// Reads a part for its offer.
/// `read` hears how many bytes were, and tells whether the part is still wanted; none where it is not.
pub fn offer(
    file: &dyn SourceFile,
    segment: &Segment,
    buffer: &mut [u8],
    read: &dyn Fn(u64) -> bool,
) -> Result<Option<Frame>, SourceFailure> {
    let block = block_bytes(segment.length);
    let (mut digests, mut hasher) = (Vec::new(), blake3::Hasher::new());
    let (mut at, mut left) = (0, block.min(segment.length));
    while at < segment.length {
        let want = buffer.len().min(usize::try_from(left).unwrap_or(usize::MAX));
        let count = file.read(&mut buffer[..want], segment.offset + at)?;
        if !read(count as u64) {
            return Ok(None);
        }
        hasher.update(&buffer[..count]);
        at += count as u64;
        left -= count as u64;
        if left == 0 {
            digests.extend_from_slice(&block_digest(&hasher));
            hasher.reset();
            left = block.min(segment.length - at);
        }
    }
    debug_assert_eq!(digests.len() % BLOCK_DIGEST_BYTES, 0);
    Ok(Some(Frame::Offer { block: u32::try_from(block).unwrap_or(u32::MAX), digests }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_of_which_nothing_was_there_is_offered_ever_more_rarely() {
        let offers = Offers::default();
        let mut offered = 0;
        for _ in 0..160 {
            if offers.is_worth(7) {
                offered += 1;
                offers.note(7, false);
            }
        }
        assert!((10..=16).contains(&offered), "{offered}");
        assert!(offers.is_worth(8), "each file by itself");
        // As of an append: what was there ends, and what was not begins.
        offers.note(7, true);
        assert!(offers.is_worth(7));
    }
}
