//! The state of an object, as its entity tag tells it.

use cpt_ends::Version;

/// Of an entity tag. Other bytes have another one; of a bucket that encrypts by KMS each write has.
pub fn version(etag: &str) -> Version {
    let hash = blake3::hash(etag.as_bytes());
    Version::new(hash.as_bytes().first_chunk().copied().unwrap_or_default())
}
