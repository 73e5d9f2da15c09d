//! Files that come whole.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use cpt_ends::{Heard, SmallFile, Version};
use cpt_wire::digest::{ContentHasher, Digest};
use cpt_wire::frame::SegmentHeader;

use super::dress::begun_with;
use super::joining::put_new_in_place;
use super::shared::Shared;
use super::writing::{Ended, Writing, read, read_back};

/// Up to so much waits in memory for its turn: what is written at once takes HDFS some milliseconds, whatever its size. A larger file
/// goes to the data nodes as it comes.
const IN_MEMORY: usize = 1 << 20;
/// Of all small files together: a chunk may be a bundle of thousands, and each lane has one.
const MOST_IN_MEMORY: u64 = 64 << 20;

pub struct Small {
    of: Arc<Shared>,
    header: SegmentHeader,
    path: String,
    bytes: Vec<u8>,
    writing: Option<Writing>,
    /// Its file, once that was written to its end.
    ended: Option<Ended>,
    is_read_back: AtomicBool,
}

impl Small {
    pub fn new(of: &Arc<Shared>, header: &SegmentHeader, path: String) -> Self {
        let (of, header, is_read_back) = (Arc::clone(of), header.clone(), AtomicBool::default());
        Self { of, header, path, bytes: Vec::new(), writing: None, ended: None, is_read_back }
    }

    fn take_bytes(&mut self) -> Vec<u8> {
        self.of.in_memory.fetch_sub(self.bytes.len() as u64, Ordering::Relaxed);
        std::mem::take(&mut self.bytes)
    }

    /// With its own mode from the beginning: nobody else comes to where it lies.
    fn begin(&self) -> io::Result<Writing> {
        Writing::begin(&self.of, self.of.temporary(), begun_with(&self.header))
    }

    /// Writes all that waits, and ends the file.
    fn end(&mut self) -> io::Result<()> {
        let mut writing = match self.writing.take() {
            Some(writing) => writing,
            None => self.begin()?,
        };
        if !self.bytes.is_empty() {
            writing.write(&self.bytes)?;
        }
        self.ended = Some(writing.end()?);
        Ok(())
    }
}

impl SmallFile for Small {
    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        if let Some(writing) = &mut self.writing {
            return writing.write(bytes);
        }
        self.bytes.extend_from_slice(bytes);
        let waiting = self.of.in_memory.fetch_add(bytes.len() as u64, Ordering::Relaxed);
        if self.bytes.len() > IN_MEMORY || waiting > MOST_IN_MEMORY {
            let mut writing = self.begin()?;
            let bytes = self.take_bytes();
            writing.write(&bytes)?;
            self.writing = Some(writing);
        }
        Ok(())
    }

    fn finish(&mut self) -> io::Result<()> {
        if self.writing.is_some() { self.end() } else { Ok(()) }
    }

    fn read_back(&self, mut hasher: ContentHasher, digest: &Digest, heard: Heard<'_>) -> io::Result<()> {
        if let Some(ended) = &self.ended {
            return read_back(&self.of.cluster, &ended.path, hasher, digest, heard);
        }
        // Nothing is stored yet: it is read again once it is.
        self.is_read_back.store(true, Ordering::Relaxed);
        heard(self.bytes.len() as u64);
        if hasher.update(&self.bytes).digest() == *digest {
            return Ok(());
        }
        Err(io::Error::new(io::ErrorKind::InvalidData, "what is stored has another digest than what came"))
    }

    fn place(mut self: Box<Self>, _path: &[u8]) -> io::Result<Option<Version>> {
        if self.ended.is_none() {
            self.end()?;
            if self.is_read_back.load(Ordering::Relaxed) {
                let (mut stored, path) = (Vec::new(), self.ended.as_ref().map_or("", |ended| &ended.path));
                read(&self.of.cluster, path, |bytes| stored.extend_from_slice(bytes))?;
                if stored != self.bytes {
                    return Err(io::Error::other("what is stored is not what came"));
                }
            }
        }
        let ended = self.ended.as_ref().ok_or_else(|| io::Error::other("nothing was written"))?;
        let version = put_new_in_place(&self.of, ended, &self.path, &self.header)?;
        self.of.sum(self.header.entry, Some(ended.crc));
        self.ended = None;
        Ok(Some(version))
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        self.take_bytes();
        let writing = self.writing.take().map(|writing| writing.path);
        let Some(path) = self.ended.take().map(|ended| ended.path).or(writing) else { return };
        let cluster = self.of.cluster.clone();
        // Whoever drops it has no time to wait for that; what stays is removed with its folder.
        drop(self.of.cluster.spawn(async move { cluster.client().delete(&path, false).await }));
    }
}
