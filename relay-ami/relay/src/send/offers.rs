//! What a destination has already of a file that changes: of a part that it is offered, the sender sends what differs.

use std::collections::HashMap;
use std::sync::Mutex;

use crate::documents::entry::Segment;
use crate::ends::{SourceFailure, SourceFile};
use crate::secure::record::DATA_BYTES;
use crate::thread::lock;
use crate::wire::frame::{BLOCK_DIGEST_BYTES, Frame, block_digest};

/// Blocks of one offer at most: their digests are 32 KiB.
const MOST_BLOCKS: u64 = 2048;
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

/// The blocks of a part that the receiver has, and how large blocks are.
#[derive(Debug, Default)]
pub struct Had {
    block: u64,
    /// A bit for each block, the lowest first.
    bits: Vec<u8>,
}

impl Had {
    pub const fn new(block: u64, bits: Vec<u8>) -> Self {
        Self { block, bits }
    }

    /// Returns whether the receiver has the byte at `at` of the part, and how many bytes are left of its block.
    pub fn look(&self, at: u64) -> (bool, u64) {
        let Some(number) = at.checked_div(self.block) else { return (false, u64::MAX) };
        let byte = usize::try_from(number / 8).ok().and_then(|number| self.bits.get(number)).copied().unwrap_or(0);
        (byte >> (number % 8) & 1 == 1, self.block - at % self.block)
    }
}

/// Bytes of a block of a part: data frames, as many as keep the offer small.
pub const fn block_bytes(length: u64) -> u64 {
    let least = DATA_BYTES as u64;
    least * length.div_ceil(least * MOST_BLOCKS)
}

/// Reads a part for its offer.
pub fn offer(file: &dyn SourceFile, segment: &Segment, buffer: &mut [u8]) -> Result<Frame, SourceFailure> {
    let block = block_bytes(segment.length);
    let (mut digests, mut hasher) = (Vec::new(), blake3::Hasher::new());
    let (mut at, mut left) = (0, block.min(segment.length));
    while at < segment.length {
        let want = buffer.len().min(usize::try_from(left).unwrap_or(usize::MAX));
        let count = file.read(&mut buffer[..want], segment.offset + at)?;
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
    Ok(Frame::Offer { block: u32::try_from(block).unwrap_or(u32::MAX), digests })
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

    #[test]
    fn blocks_are_found_by_their_bit() {
        let had = Had::new(100, vec![0b0000_0101, 0b1]);
        let looks: Vec<_> = [0, 99, 100, 250, 800, 899, 900, 5000].iter().map(|at| had.look(*at)).collect();
        let expected = [(true, 100), (true, 1), (false, 100), (true, 50), (true, 100), (true, 1), (false, 100), (false, 100)];
        assert_eq!(looks, expected);
        assert_eq!(Had::default().look(5), (false, u64::MAX));
    }

    #[test]
    fn an_offer_stays_small_however_large_the_part_is() {
        for length in [1, 64 << 10, (64 << 10) + 1, 8 << 20, 128 << 20, 1 << 30, 1 << 40] {
            let block = block_bytes(length);
            assert!(block.is_multiple_of(DATA_BYTES as u64) && length.div_ceil(block) <= MOST_BLOCKS, "{length}");
        }
        assert_eq!(block_bytes(64 << 20), DATA_BYTES as u64);
    }
}
