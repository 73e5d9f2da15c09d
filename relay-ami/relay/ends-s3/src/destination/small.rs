//! Objects that are put whole.

use std::collections::HashMap;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

use cpt_ends::{Heard, SmallFile, Version};
use cpt_wire::digest::{ContentHasher, Digest};
use cpt_wire::frame::SegmentHeader;

use super::entity::version;
use crate::client::Bucket;
use crate::metadata;
use crate::objects::Payload;

/// In memory until it is put: a bundle of them is no larger than a chunk.
pub struct Small {
    bucket: Bucket,
    key: String,
    metadata: HashMap<String, String>,
    bytes: Vec<u8>,
    is_read_back: AtomicBool,
}

impl Small {
    pub fn new(bucket: &Bucket, key: String, header: &SegmentHeader) -> Self {
        let (bucket, metadata, is_read_back) = (bucket.clone(), metadata::of(header), AtomicBool::default());
        Self { bucket, key, metadata, bytes: Vec::new(), is_read_back }
    }
}

impl SmallFile for Small {
    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.bytes.extend_from_slice(bytes);
        Ok(())
    }

    fn finish(&mut self) -> io::Result<()> {
        Ok(())
    }

    /// Nothing is stored yet: what is put is read back once it is.
    fn read_back(&self, hasher: ContentHasher, digest: &Digest, heard: Heard<'_>) -> io::Result<()> {
        self.is_read_back.store(true, Ordering::Relaxed);
        heard(self.bytes.len() as u64);
        same(hasher, &self.bytes, digest)
    }

    fn place(self: Box<Self>, _path: &[u8]) -> io::Result<Option<Version>> {
        let Self { bucket, key, metadata, bytes, is_read_back } = *self;
        let payload = Payload::new(bytes);
        let put = bucket.wait(bucket.put(&key, &payload, Some(&metadata)));
        let etag = put.map_err(|fault| fault.into_error(&key))?;
        if is_read_back.into_inner() {
            let stored = bucket.wait(bucket.read(&key, &etag, &(0..payload.crc().length()))).map_err(|fault| fault.into_error(&key))?;
            if stored != payload.bytes() {
                return Err(io::Error::other("what is stored is not what was put"));
            }
        }
        Ok(Some(version(&etag)))
    }
}

/// Fails where bytes have another digest.
pub fn same(mut hasher: ContentHasher, bytes: &[u8], digest: &Digest) -> io::Result<()> {
    if hasher.update(bytes).digest() == *digest {
        return Ok(());
    }
    Err(io::Error::new(io::ErrorKind::InvalidData, "what is stored has another digest than what came"))
}
