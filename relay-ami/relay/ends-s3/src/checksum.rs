//! CRC-64/NVME, the checksum that S3 keeps of whole objects, and that of a whole made from those of its parts.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use crc_fast::{CrcAlgorithm, Digest};

/// The checksum of some bytes, and how many they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Crc {
    value: u64,
    length: u64,
}

impl Crc {
    #[must_use]
    pub const fn new(value: u64, length: u64) -> Self {
        Self { value, length }
    }

    #[must_use]
    pub fn of(bytes: &[u8]) -> Self {
        let mut digest = Digest::new(CrcAlgorithm::Crc64Nvme);
        digest.update(bytes);
        Self::new(digest.finalize(), bytes.len() as u64)
    }

    #[must_use]
    pub const fn length(self) -> u64 {
        self.length
    }

    /// The checksum of these bytes and those that follow them.
    #[must_use]
    pub fn and(self, next: Self) -> Self {
        if next.length == 0 {
            return self;
        }
        let value = crc_fast::checksum_combine(CrcAlgorithm::Crc64Nvme, self.value, next.value, next.length);
        Self::new(value, self.length + next.length)
    }

    /// As headers have it.
    #[must_use]
    pub fn text(self) -> String {
        STANDARD.encode(self.value.to_be_bytes())
    }

    /// Of what a header has.
    #[must_use]
    pub fn parse(text: &str, length: u64) -> Option<Self> {
        let bytes: [u8; 8] = STANDARD.decode(text).ok()?.try_into().ok()?;
        Some(Self::new(u64::from_be_bytes(bytes), length))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_of_a_whole_is_that_of_its_parts_in_order() {
        let bytes: Vec<u8> = (0..100_000_u32).map(|at| (at.wrapping_mul(at) >> 3) as u8).collect();
        let (one, rest) = bytes.split_at(40_001);
        let (two, three) = rest.split_at(12);
        let whole = [two, three, b""].iter().fold(Crc::of(one), |sum, part| sum.and(Crc::of(part)));
        assert_eq!(whole, Crc::of(&bytes));
        assert_ne!(Crc::of(two).and(Crc::of(one)), Crc::of(one).and(Crc::of(two)));
        assert_eq!(Crc::parse(&whole.text(), whole.length()), Some(whole));
    }

    #[test]
    fn it_is_the_algorithm_that_s3_means() {
        assert_eq!(Crc::of(b"123456789").text(), STANDARD.encode(0xae8b_1486_0a79_9888_u64.to_be_bytes()));
    }
}
