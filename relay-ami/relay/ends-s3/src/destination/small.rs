//! Objects that are put whole.

use std::collections::HashMap;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use cpt_ends::{Heard, SmallFile, Version};
use cpt_wire::digest::{ContentHasher, Digest};
use cpt_wire::frame::SegmentHeader;

use super::entity::version;
use super::opened::Shared;
use crate::metadata;
use crate::objects::Payload;

/// In memory until it is put: a bundle of them is no larger than a chunk.
pub struct Small {
    of: Arc<Shared>,
    path: Option<Arc<str>>,
    key: String,
    metadata: HashMap<String, String>,
    bytes: Vec<u8>,
    is_read_back: AtomicBool,
}

impl Small {
    pub fn new(of: &Arc<Shared>, key: String, header: &SegmentHeader) -> Self {
        let (of, metadata, is_read_back) = (Arc::clone(of), metadata::of(header), AtomicBool::default());
        Self { of, path: None, key, metadata, bytes: Vec::new(), is_read_back }
    }

    /// The same, which has come on this path.
    pub fn by(self, path: &str) -> Self {
        Self { path: Some(path.into()), ..self }
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
        let Self { of, path, key, metadata, bytes, is_read_back } = *self;
        let (bucket, payload) = (&of.bucket.by(path), Payload::new(bytes));
        let put = bucket.wait(async {
            match &of.others {
                None => bucket.put(&key, &payload, Some(&metadata)).await.map(Some),
                Some(others) => others.put(bucket, &key, &payload, &metadata).await,
            }
        });
        // What another receiver has put there is read at the end.
        let Some(etag) = put.map_err(|fault| fault.into_error(&key))? else { return Ok(None) };
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
