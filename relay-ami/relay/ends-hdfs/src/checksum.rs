//! CRC-32C, the checksum that data nodes keep of what they store, and that of a whole made from those of its parts.

use cpt_ends::entry_table::Record;
use crc_fast::{CrcAlgorithm, Digest, checksum_combine};

const CRC_32C: CrcAlgorithm = CrcAlgorithm::Crc32Iscsi;

/// The checksum of some bytes, and how many they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Crc {
    value: u32,
    length: u64,
}

impl Crc {
    /// Of no bytes.
    pub const NONE: Self = Self::new(0, 0);

    pub const fn new(value: u32, length: u64) -> Self {
        Self { value, length }
    }

    pub const fn value(self) -> u32 {
        self.value
    }

    pub const fn length(self) -> u64 {
        self.length
    }

    /// The checksum of these bytes and those that follow them.
    pub fn and(self, next: Self) -> Self {
        if next.length == 0 {
            return self;
        }
        let value = checksum_combine(CRC_32C, self.value.into(), next.value.into(), next.length);
        Self::new(low(value), self.length + next.length)
    }
}

/// A checksum of 32 bits, as the library gives it.
const fn low(value: u64) -> u32 {
    value as u32
}

/// Sums up bytes in their order.
pub struct Summing {
    digest: Digest,
    length: u64,
}

impl Summing {
    pub fn new() -> Self {
        Self { digest: Digest::new(CRC_32C), length: 0 }
    }

    pub fn update(&mut self, bytes: &[u8]) {
        self.digest.update(bytes);
        self.length += bytes.len() as u64;
    }

    pub fn end(&self) -> Crc {
        Crc::new(low(self.digest.finalize()), self.length)
    }
}

/// That of a file whose size its entry says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OfEntry(pub u32);

impl Record for OfEntry {
    const BYTES: usize = 4;

    fn encode(&self, to: &mut [u8]) {
        to.copy_from_slice(&self.0.to_be_bytes());
    }

    fn decode(from: &[u8]) -> Self {
        Self(from.iter().fold(0, |sum, byte| sum << 8 | u32::from(*byte)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(bytes: &[u8]) -> Crc {
        let mut summing = Summing::new();
        bytes.chunks(7_001).for_each(|some| summing.update(some));
        summing.end()
    }

    #[test]
    fn the_checksum_of_a_whole_is_that_of_its_parts_in_order() {
        let bytes: Vec<u8> = (0..100_000_u32).map(|at| (at.wrapping_mul(at) >> 3) as u8).collect();
        let (one, rest) = bytes.split_at(40_001);
        let (two, three) = rest.split_at(12);
        let whole = [one, two, three, b""].iter().fold(Crc::NONE, |sum, part| sum.and(of(part)));
        assert_eq!(whole, of(&bytes));
        assert_ne!(of(two).and(of(one)), of(one).and(of(two)));
    }

    #[test]
    fn it_is_the_algorithm_that_data_nodes_mean() {
        assert_eq!(of(b"123456789").value(), 0xe306_9283, "the check value of CRC-32C");
        let mut bytes = [0; 4];
        OfEntry(0xe306_9283).encode(&mut bytes);
        assert_eq!(OfEntry::decode(&bytes), OfEntry(0xe306_9283));
    }
}
