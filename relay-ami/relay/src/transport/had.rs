//! What a receiver has said that it has of a part; both ends go by it.

use crate::wire::block::block_bytes;

/// Less than this is always sent: whether it is there could be found out by guessing.
pub const LEAST_BYTES: u64 = 4 << 10;

/// The blocks of a part that the receiver has, and how large blocks are.
#[derive(Debug, Default)]
pub struct Had {
    block: u64,
    /// A bit for each block, the lowest first.
    bits: Vec<u8>,
}

impl Had {
    /// Of a part of this length.
    #[must_use]
    pub const fn new(length: u64, bits: Vec<u8>) -> Self {
        Self { block: block_bytes(length), bits }
    }

    /// Returns whether the receiver has the byte at `at` of the part, and how many bytes are left of its block.
    #[must_use]
    pub fn look(&self, at: u64) -> (bool, u64) {
        let Some(number) = at.checked_div(self.block) else { return (false, u64::MAX) };
        let byte = usize::try_from(number / 8).ok().and_then(|number| self.bits.get(number)).copied().unwrap_or(0);
        (byte >> (number % 8) & 1 == 1, self.block - at % self.block)
    }

    /// Returns whether the receiver has anything of it.
    #[must_use]
    pub fn has_any(&self) -> bool {
        self.bits.iter().any(|byte| *byte != 0)
    }

    /// Returns whether the receiver has all these bytes.
    #[must_use]
    pub fn has(&self, mut at: u64, mut length: u64) -> bool {
        while length > 0 {
            let (is_had, left) = self.look(at);
            if !is_had {
                return false;
            }
            let step = left.min(length);
            (at, length) = (at + step, length - step);
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_found_by_their_bit() {
        let had = Had { block: 100, bits: vec![0b0000_0101, 0b1] };
        let looks: Vec<_> = [0, 99, 100, 250, 800, 899, 900, 5000].iter().map(|at| had.look(*at)).collect();
        let expected = [(true, 100), (true, 1), (false, 100), (true, 50), (true, 100), (true, 1), (false, 100), (false, 100)];
        assert_eq!(looks, expected);
        assert_eq!(Had::default().look(5), (false, u64::MAX));
        let has = [(0, 100), (0, 101), (250, 50), (250, 51), (899, 1), (900, 0)].map(|(at, length)| had.has(at, length));
        assert_eq!(has, [true, false, true, false, true, true]);
        let any =
            [had, Had::default(), Had { block: 100, bits: vec![0, 0] }, Had { block: 100, bits: vec![0, 4] }].map(|had| had.has_any());
        assert_eq!(any, [true, false, false, true]);
    }

    #[test]
    fn an_offer_stays_small_however_large_the_part_is() {
        for length in [1, 64 << 10, (64 << 10) + 1, 8 << 20, 128 << 20, 1 << 30, 1 << 40] {
            let block = block_bytes(length);
            assert!(block.is_multiple_of(64 << 10) && length.div_ceil(block) <= 2048, "{length}");
        }
        assert_eq!(block_bytes(64 << 20), (64 << 10));
    }
}
