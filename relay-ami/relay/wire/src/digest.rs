//! BLAKE3 digests of chunks, and their merging into the ordinary digest of a file.

use blake3::hazmat::{ChainingValue, HasherExt, Mode, left_subtree_len, max_subtree_len, merge_subtrees_non_root, merge_subtrees_root};

/// 32 bytes of BLAKE3: a file's digest or a subtree's chaining value.
pub type Digest = [u8; 32];

/// Returns whether so many bytes from `offset` on are a subtree of a file: no others have a digest of their own.
#[must_use]
pub fn is_subtree(offset: u64, length: u64) -> bool {
    let aligned = offset.is_multiple_of(blake3::CHUNK_LEN as u64);
    length > 0 && aligned && max_subtree_len(offset).is_none_or(|most| length <= most)
}

/// A hasher for the part of a file that begins at `offset`; [`is_subtree`] must hold.
#[must_use]
pub fn part_hasher(offset: u64) -> blake3::Hasher {
    let mut hasher = blake3::Hasher::new();
    hasher.set_input_offset(offset);
    hasher
}

/// The chaining value of a part.
#[must_use]
pub fn part_digest(hasher: &blake3::Hasher) -> ChainingValue {
    hasher.finalize_non_root()
}

/// The digest of a file of `size` bytes from its parts' chaining values in order: the same as `b3sum` prints.
/// `None` when the number of parts is not `ceil(size / part_size)` or below two.
#[must_use]
pub fn merge_parts(parts: &[ChainingValue], size: u64, part_size: u64) -> Option<Digest> {
    if part_size == 0 || parts.len() < 2 || usize::try_from(size.div_ceil(part_size)) != Ok(parts.len()) {
        return None;
    }
    let (left, right) = split(parts, size, part_size)?;
    Some(*merge_subtrees_root(&left, &right, Mode::Hash).as_bytes())
}

fn split(parts: &[ChainingValue], size: u64, part_size: u64) -> Option<(ChainingValue, ChainingValue)> {
    let left_length = left_subtree_len(size);
    let at = usize::try_from(left_length / part_size).ok()?;
    let (left, right) = parts.split_at_checked(at)?;
    Some((merge(left, left_length, part_size)?, merge(right, size - left_length, part_size)?))
}

fn merge(parts: &[ChainingValue], size: u64, part_size: u64) -> Option<ChainingValue> {
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

    #[test]
    fn merged_parts_equal_the_ordinary_digest() {
        let data: Vec<u8> = (0..70_001u32).map(|i| (i * 7 % 251) as u8).collect();
        for part_size in [1024usize, 4096, 16_384, 65_536] {
            for size in [part_size + 1, 2 * part_size, 3 * part_size + 5, 70_001].into_iter().filter(|s| *s <= data.len() && *s > part_size)
            {
                let parts: Vec<_> = (0..size)
                    .step_by(part_size)
                    .map(|at| {
                        let mut hasher = part_hasher(at as u64);
                        hasher.update(&data[at..size.min(at + part_size)]);
                        part_digest(&hasher)
                    })
                    .collect();
                let merged = merge_parts(&parts, size as u64, part_size as u64);
                assert_eq!(merged, Some(*blake3::hash(&data[..size]).as_bytes()), "{size} in {part_size}");
            }
        }
    }

    #[test]
    fn a_missing_part_gives_no_digest() {
        assert_eq!(merge_parts(&[[0; 32]; 2], 3000, 1024), None);
    }
}
