//! Blocks of a part, of which a sender offers digests.

/// Of a block in an offer: half of its BLAKE3. What it stands for is verified with the chunk.
pub const BLOCK_DIGEST_BYTES: usize = 16;

/// Blocks of one offer at most: their digests are 32 KiB.
const MOST_BLOCKS: u64 = 2048;
const LEAST_BLOCK_BYTES: u64 = 64 << 10;

/// Bytes of a block of a part of this length. Both ends know it: a sender that chose it could ask for a byte at a time.
#[must_use]
pub const fn block_bytes(length: u64) -> u64 {
    LEAST_BLOCK_BYTES * length.div_ceil(LEAST_BLOCK_BYTES * MOST_BLOCKS)
}

/// The digest of a block in an offer.
#[must_use]
pub fn block_digest(hasher: &blake3::Hasher) -> [u8; BLOCK_DIGEST_BYTES] {
    let mut digest = [0; BLOCK_DIGEST_BYTES];
    hasher.finalize_xof().fill(&mut digest);
    digest
}
