//! What tells one state of an object from another.

use cpt_ends::Version;

/// What a listing keeps of an entity tag, where it keeps a file's inode. Tags come in quotes, or without.
#[must_use]
pub fn tag(entity_tag: &str) -> u64 {
    let hash = blake3::hash(entity_tag.trim_matches('"').as_bytes());
    u64::from_be_bytes(hash.as_bytes()[..8].try_into().unwrap_or_default())
}

/// A tag alone does not do: the same bytes have the same one when they are put again, and other bytes may be made to.
#[must_use]
pub fn version(entity_tag: &str, version_id: Option<&str>, modified_seconds: i64) -> Version {
    let text = format!("{}\n{}\n{modified_seconds}", entity_tag.trim_matches('"'), version_id.unwrap_or_default());
    let hash = blake3::hash(text.as_bytes());
    Version::new(hash.as_bytes()[..Version::BYTES].try_into().unwrap_or_default())
}
