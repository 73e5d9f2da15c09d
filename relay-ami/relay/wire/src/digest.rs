//! Digests of what files hold, of their parts, and their merging into that of a file; by which of two kinds, a transfer's request says.

use blake3::hazmat::{ChainingValue, HasherExt, Mode, left_subtree_len, max_subtree_len, merge_subtrees_non_root, merge_subtrees_root};
use crc_fast::{CrcAlgorithm, checksum_combine};

/// 32 bytes: of BLAKE3 a file's digest or a subtree's chaining value; of a CRC its name, zeros, and the checksum, big-endian, in the last
/// eight. So no digest is 32 zeros, which stand for none.
pub type Digest = [u8; 32];

/// Where a digest has its CRC.
const CRC_AT: usize = 24;
const CRC_NAME: &[u8] = b"CRC-64/NVME";
const CRC: CrcAlgorithm = CrcAlgorithm::Crc64Nvme;

/// What a transfer's files are digested with at both ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Proof {
    /// Tells content from any other.
    #[default]
    Blake3,
    /// CRC-64/NVME, as S3 has it of whole objects: finds what a wire, a memory or a bug has spoiled, and nothing that was made to fit. So it
    /// may prove bytes that were sent, and never that some need not be.
    Crc64,
}

impl Proof {
    /// Returns whether what has this digest need not be sent.
    #[must_use]
    pub const fn tells_content(self) -> bool {
        matches!(self, Self::Blake3)
    }

    /// Its name in what one end says to the other, in journals and in messages.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Blake3 => "blake3",
            Self::Crc64 => "crc64",
        }
    }

    /// Names a plan, and the kind of digests, in a journal of this format.
    #[must_use]
    pub fn of_journal(self, format: &str, plan: &str) -> Digest {
        let mut hasher = blake3::Hasher::new_derive_key(format);
        hasher.update(plan.as_bytes());
        if self != Self::Blake3 {
            hasher.update(self.as_str().as_bytes());
        }
        hasher.finalize().into()
    }

    /// A hasher for all of a file, or of a link's target.
    #[must_use]
    pub fn whole(self) -> ContentHasher {
        ContentHasher::new(match self {
            Self::Blake3 => Content::Whole(blake3::Hasher::new()),
            Self::Crc64 => Content::Crc(crc_fast::Digest::new(CRC)),
        })
    }

    /// A hasher for the part of a file that begins at `offset`; [`is_subtree`] must hold.
    #[must_use]
    pub fn part(self, offset: u64) -> ContentHasher {
        ContentHasher::new(match self {
            Self::Blake3 => {
                let mut hasher = blake3::Hasher::new();
                hasher.set_input_offset(offset);
                Content::Part(hasher)
            }
            Self::Crc64 => Content::Crc(crc_fast::Digest::new(CRC)),
        })
    }

    /// The digest of a file of `size` bytes from its parts' in order: that of [`whole`](Self::whole), as `b3sum` prints it or S3 has it.
    /// `None` when the number of parts is not `ceil(size / part_size)` or below two.
    #[must_use]
    pub fn merge(self, parts: &[Digest], size: u64, part_size: u64) -> Option<Digest> {
        if part_size == 0 || parts.len() < 2 || usize::try_from(size.div_ceil(part_size)) != Ok(parts.len()) {
            return None;
        }
        match self {
            Self::Blake3 => merge_subtrees(parts, size, part_size),
            Self::Crc64 => merge_crcs(parts, size, part_size),
        }
    }
}

/// Digests bytes that a file holds, in their order.
#[derive(Clone)]
pub struct ContentHasher {
    content: Content,
    /// BLAKE3 of the same bytes, where some are not sent and the transfer's own proof does not tell content.
    copies: Option<Box<blake3::Hasher>>,
}

#[derive(Clone)]
enum Content {
    Whole(blake3::Hasher),
    Part(blake3::Hasher),
    Crc(crc_fast::Digest),
}

impl ContentHasher {
    const fn new(content: Content) -> Self {
        Self { content, copies: None }
    }

    /// Whether some of the bytes to come are not sent but taken from what the destination has: those need a digest that tells content.
    /// Before the first byte; said again later it changes nothing.
    pub fn with_copies(&mut self, has_any: bool) {
        if has_any && matches!(self.content, Content::Crc(_)) {
            self.copies.get_or_insert_default();
        }
    }

    pub fn update(&mut self, bytes: &[u8]) -> &mut Self {
        match &mut self.content {
            Content::Whole(hasher) | Content::Part(hasher) => {
                hasher.update(bytes);
            }
            Content::Crc(hasher) => hasher.update(bytes),
        }
        if let Some(copies) = &mut self.copies {
            copies.update(bytes);
        }
        self
    }

    #[must_use]
    pub fn digest(&self) -> Digest {
        match &self.content {
            Content::Whole(hasher) => *hasher.finalize().as_bytes(),
            Content::Part(hasher) => hasher.finalize_non_root(),
            Content::Crc(hasher) => of_crc(hasher.finalize()),
        }
    }

    /// Adds what stands for the bytes in the digest of their chunk. Returns their own digest.
    pub fn end(&self, chunk: &mut blake3::Hasher) -> Digest {
        let digest = self.digest();
        chunk.update(&digest);
        if let Some(copies) = &self.copies {
            chunk.update(copies.finalize().as_bytes());
        }
        digest
    }
}

fn of_crc(crc: u64) -> Digest {
    let mut digest = [0; 32];
    digest[..CRC_NAME.len()].copy_from_slice(CRC_NAME);
    digest[CRC_AT..].copy_from_slice(&crc.to_be_bytes());
    digest
}

fn crc_of(digest: &Digest) -> u64 {
    digest[CRC_AT..].iter().fold(0, |sum, byte| sum << 8 | u64::from(*byte))
}

fn merge_crcs(parts: &[Digest], size: u64, part_size: u64) -> Option<Digest> {
    let (first, rest) = parts.split_first()?;
    let (mut merged, mut at) = (crc_of(first), part_size);
    for part in rest {
        let length = part_size.min(size - at);
        merged = checksum_combine(CRC, merged, crc_of(part), length);
        at += length;
    }
    Some(of_crc(merged))
}

/// Returns whether so many bytes from `offset` on are a subtree of a file: no others have a digest of their own.
#[must_use]
pub fn is_subtree(offset: u64, length: u64) -> bool {
    let aligned = offset.is_multiple_of(blake3::CHUNK_LEN as u64);
    length > 0 && aligned && max_subtree_len(offset).is_none_or(|most| length <= most)
}

fn merge_subtrees(parts: &[ChainingValue], size: u64, part_size: u64) -> Option<Digest> {
    let (left, right) = split(parts, size, part_size)?;
    Some(*merge_subtrees_root(&left, &right, Mode::Hash).as_bytes())
}

fn split(parts: &[ChainingValue], size: u64, part_size: u64) -> Option<(ChainingValue, ChainingValue)> {
    let left_length = left_subtree_len(size);
    let at = usize::try_from(left_length / part_size).ok()?;
    let (left, right) = parts.split_at_checked(at)?;
    Some((merge_subtree(left, left_length, part_size)?, merge_subtree(right, size - left_length, part_size)?))
}

fn merge_subtree(parts: &[ChainingValue], size: u64, part_size: u64) -> Option<ChainingValue> {
    if let [only] = parts {
        return Some(*only);
    }
    let (left, right) = split(parts, size, part_size)?;
    Some(merge_subtrees_non_root(&left, &right, Mode::Hash))
}

/// Lower-case hexadecimal.
#[must_use]
pub fn to_hex(digest: &Digest) -> String {
    blake3::Hash::from_bytes(*digest).to_hex().to_string()
}

/// The digest of all digests of a tree: entries ascending, each as 8 bytes big-endian and its digest.
#[derive(Default)]
pub struct TreeDigest {
    hasher: blake3::Hasher,
    entries: u64,
}

impl TreeDigest {
    pub fn add(&mut self, entry: u64, digest: &Digest) {
        self.hasher.update(&entry.to_be_bytes());
        self.hasher.update(digest);
        self.entries += 1;
    }

    /// The number of entries, and the digest.
    #[must_use]
    pub fn finish(&self) -> (u64, Digest) {
        (self.entries, *self.hasher.finalize().as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOTH: [Proof; 2] = [Proof::Blake3, Proof::Crc64];

    fn data() -> Vec<u8> {
        (0..70_001u32).map(|i| (i * 7 % 251) as u8).collect()
    }

    fn parts_of(proof: Proof, data: &[u8], part_size: usize) -> Vec<Digest> {
        (0..).step_by(part_size).zip(data.chunks(part_size)).map(|(at, part)| proof.part(at).update(part).digest()).collect()
    }

    #[test]
    fn merged_parts_equal_the_ordinary_digest() {
        let data = data();
        for proof in BOTH {
            for part_size in [1024usize, 4096, 16_384, 65_536] {
                for size in [part_size + 1, 2 * part_size, 3 * part_size + 5, 70_001] {
                    let Some(data) = data.get(..size).filter(|_| size > part_size) else { continue };
                    let parts = parts_of(proof, data, part_size);
                    let merged = proof.merge(&parts, size as u64, part_size as u64);
                    assert_eq!(merged, Some(proof.whole().update(data).digest()), "{proof:?}: {size} in {part_size}");
                    assert_ne!(merged, proof.merge(&parts.iter().rev().copied().collect::<Vec<_>>(), size as u64, part_size as u64));
                }
            }
        }
    }

    #[test]
    fn the_digests_are_those_that_others_compute() {
        let (blake3, crc) = (Proof::Blake3.whole().update(b"123456789").digest(), Proof::Crc64.whole().update(b"123456789").digest());
        assert_eq!(blake3, *blake3::hash(b"123456789").as_bytes());
        assert_eq!(crc_of(&crc), 0xae8b_1486_0a79_9888, "the check value of CRC-64/NVME");
        assert_eq!(to_hex(&crc), "4352432d36342f4e564d4500000000000000000000000000ae8b14860a799888");
        assert_eq!(crc_of(&Proof::Crc64.whole().digest()), 0);
    }

    #[test]
    fn any_bit_of_a_block_counts() {
        let data = data();
        for proof in BOTH {
            let right = proof.whole().update(&data).digest();
            for at in (0..data.len()).step_by(997) {
                let mut spoiled = data.clone();
                spoiled[at] ^= 1 << (at % 8);
                assert_ne!(proof.whole().update(&spoiled).digest(), right, "{proof:?}: {at}");
            }
        }
    }

    #[test]
    fn a_missing_part_gives_no_digest() {
        for proof in BOTH {
            assert_eq!(proof.merge(&[[0; 32]; 2], 3000, 1024), None);
            assert_eq!(proof.merge(&[[0; 32]; 1], 1000, 1024), None);
            assert_eq!(proof.merge(&[[0; 32]; 2], 3000, 0), None);
        }
    }

    /// Bytes that fit: a CRC is linear, so what is changed in one place is made good in eight bytes of another one.
    fn forged(data: &[u8]) -> Vec<u8> {
        let crc = |bytes: &[u8]| crc_of(&Proof::Crc64.whole().update(bytes).digest());
        let at = data.len() - 8;
        let with = |value: u64| {
            let mut bytes = data.to_vec();
            bytes[0] ^= 1;
            bytes[at..].copy_from_slice(&value.to_le_bytes());
            crc(&bytes)
        };
        // What each bit of the last eight bytes changes, as a system of 64 equations.
        let mut rows: Vec<(u64, u64)> = (0..64).map(|bit| (with(1 << bit) ^ with(0), 1 << bit)).collect();
        let (mut lacks, mut value) = (with(0) ^ crc(data), 0);
        for bit in 0..64 {
            let Some(index) = rows.iter().position(|(effect, _)| effect >> bit & 1 == 1) else { continue };
            let pivot = rows.swap_remove(index);
            rows.iter_mut().filter(|(effect, _)| effect >> bit & 1 == 1).for_each(|row| *row = (row.0 ^ pivot.0, row.1 ^ pivot.1));
            if lacks >> bit & 1 == 1 {
                (lacks, value) = (lacks ^ pivot.0, value ^ pivot.1);
            }
        }
        let mut bytes = data.to_vec();
        bytes[0] ^= 1;
        bytes[at..].copy_from_slice(&value.to_le_bytes());
        bytes
    }

    /// The reason for which a CRC never decides that bytes need not be sent.
    #[test]
    fn bytes_that_were_made_to_fit_a_crc_do_not_fit_a_chunk_with_copies() {
        let (data, forged) = (data(), forged(&data()));
        assert_ne!(data, forged);
        assert_eq!(Proof::Crc64.whole().update(&data).digest(), Proof::Crc64.whole().update(&forged).digest());
        assert!(!Proof::Crc64.tells_content());
        let chunk = |bytes: &[u8], copies: bool| {
            let (mut hasher, mut chunk) = (Proof::Crc64.part(0), blake3::Hasher::new());
            hasher.with_copies(copies);
            hasher.update(bytes).end(&mut chunk);
            chunk.finalize()
        };
        assert_eq!(chunk(&data, false), chunk(&forged, false));
        assert_ne!(chunk(&data, true), chunk(&forged, true));
    }
}
