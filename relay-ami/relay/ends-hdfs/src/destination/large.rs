//! A file that comes in parts, as a receiver knows it.

use std::collections::BTreeMap;
use std::io;
use std::ops::Range;
use std::sync::{Arc, Mutex};

use cpt_ends::{Heard, Hole, LargeFile, Version};
use cpt_process::thread::lock;
use cpt_wire::digest::{ContentHasher, Digest};
use cpt_wire::frame::SegmentHeader;
use cpt_wire::header_text::encode;

use super::parts::{Kept, Part, crc_of, name};
use super::shared::Shared;
use super::writing::{Ended, Writing, read_back};
use crate::checksum::Crc;
use crate::fault::of_name_node;
use crate::path::join;

/// Holds what else a receiver needs that has never seen the file's header.
pub const HEAD: &str = "head";

pub struct Large {
    pub of: Arc<Shared>,
    pub header: SegmentHeader,
    /// Where it lands.
    pub path: String,
    /// Of its parts that count, and the one file that some of them are joined to.
    pub folder: String,
    parts: Mutex<BTreeMap<u64, Arc<Mutex<Part>>>>,
    /// Those that count, with the names of their files.
    pub kept: Mutex<BTreeMap<u64, Kept>>,
    has_folder: Mutex<bool>,
    /// Folders of parts that were kept and do not count for now.
    aside: Mutex<Vec<Aside>>,
}

/// Parts that count no more until somebody has read them again.
struct Aside {
    folder: String,
    parts: BTreeMap<u64, Kept>,
}

impl Large {
    pub fn new(of: &Arc<Shared>, header: &SegmentHeader, path: String, kept: BTreeMap<u64, Kept>) -> Self {
        Self {
            folder: of.of_entry(header.entry),
            of: Arc::clone(of),
            // Where a part lies says nothing of the file.
            header: SegmentHeader { offset: 0, length: header.size, ..header.clone() },
            path,
            parts: Mutex::default(),
            has_folder: Mutex::new(!kept.is_empty()),
            kept: Mutex::new(kept),
            aside: Mutex::default(),
        }
    }

    pub fn count(&self) -> u64 {
        self.header.size.div_ceil(self.of.part_size.max(1))
    }

    pub fn range(&self, part: u64) -> Range<u64> {
        let at = part.saturating_mul(self.of.part_size);
        at..self.header.size.min(at.saturating_add(self.of.part_size))
    }

    fn length(&self, part: u64) -> u64 {
        let range = self.range(part);
        range.end.saturating_sub(range.start)
    }

    fn number(&self, offset: u64) -> u64 {
        offset / self.of.part_size.max(1)
    }

    fn part(&self, number: u64) -> Arc<Mutex<Part>> {
        Arc::clone(lock(&self.parts).entry(number).or_default())
    }

    /// Makes the folder of its parts.
    fn make_folder(&self) -> io::Result<()> {
        let mut has_folder = lock(&self.has_folder);
        if *has_folder {
            return Ok(());
        }
        // Once all is over nobody makes it anew: without the folder above it is not made.
        let made = self.of.cluster.wait(self.of.cluster.client().mkdirs(&self.folder, 0o755, false));
        made.map_err(|error| of_name_node(&error, &self.folder))?;
        if self.of.has_others {
            let mut head = Writing::begin(&self.of, self.of.temporary(), 0o600)?;
            head.write(encode(&self.header).as_bytes())?;
            self.of.rename(&head.end()?.path, &join(&self.folder, HEAD))?;
        }
        *has_folder = true;
        Ok(())
    }

    /// The file of a part counts from now on.
    fn count_in(&self, number: u64, from: &str, kept: Kept) -> io::Result<()> {
        self.make_folder()?;
        self.of.rename(from, &join(&self.folder, &name(number, &kept)))?;
        lock(&self.kept).insert(number, kept);
        Ok(())
    }

    /// CRC-32C of all bytes; none where a part was kept by one who did not note it.
    pub fn crc(&self) -> Option<Crc> {
        let kept = lock(&self.kept);
        crc_of((0..self.count()).map(|number| (kept.get(&number).and_then(|kept| kept.crc), self.length(number))))
    }

    /// Parts that have come, and of which nobody has said yet that they count, do.
    pub fn take_rest(&self) -> io::Result<()> {
        for number in 0..self.count() {
            if lock(&self.kept).contains_key(&number) {
                continue;
            }
            let part = self.part(number);
            let mut part = lock(&part);
            part.end(self.length(number))?;
            if let Some(Ended { path, crc, .. }) = part.ended.take() {
                self.count_in(number, &path, Kept { digest: [0; 32], crc: Some(crc.value()) })?;
            }
        }
        Ok(())
    }
}

impl LargeFile for Large {
    fn begin_part(&self, part: u64, _path: &str) -> io::Result<()> {
        lock(&self.part(part)).begin();
        Ok(())
    }

    fn write(&self, mut bytes: &[u8], mut offset: u64) -> io::Result<()> {
        while !bytes.is_empty() {
            let number = self.number(offset);
            let range = self.range(number);
            let left = usize::try_from(range.end.saturating_sub(offset)).unwrap_or(usize::MAX);
            let (now, rest) = bytes.split_at(bytes.len().min(left));
            if now.is_empty() {
                return Err(io::Error::other("bytes beyond the end of the file"));
            }
            let part = self.part(number);
            lock(&part).write(&self.of, now, offset - range.start)?;
            (bytes, offset) = (rest, offset + now.len() as u64);
        }
        Ok(())
    }

    fn prepare_sync(&self, range: Range<u64>) -> io::Result<()> {
        lock(&self.part(self.number(range.start))).end(range.end - range.start)
    }

    fn read_back(&self, range: Range<u64>, hasher: ContentHasher, digest: &Digest, heard: Heard<'_>) -> io::Result<()> {
        let number = self.number(range.start);
        let part = self.part(number);
        let (path, is_spoiled) = {
            let part = lock(&part);
            (part.ended.as_ref().map(|ended| ended.path.clone()), part.is_spoiled)
        };
        let kept = || lock(&self.kept).get(&number).filter(|_| !is_spoiled).map(|kept| join(&self.folder, &name(number, kept)));
        let gone = || io::Error::new(io::ErrorKind::InvalidData, "the part is not what came");
        let path = path.or_else(kept).ok_or_else(gone)?;
        read_back(&self.of.cluster, &path, hasher, digest, heard)
    }

    fn next_hole(&self, _from: u64) -> io::Result<Option<Hole>> {
        Ok(None)
    }

    /// What could not be moved aside counts on: whoever asks asks again.
    fn forget_kept(&self) -> io::Result<()> {
        let mut kept = lock(&self.kept);
        if !kept.is_empty() {
            let folder = self.of.temporary();
            self.of.rename(&self.folder, &folder)?;
            lock(&self.aside).push(Aside { folder, parts: std::mem::take(&mut *kept) });
        }
        *lock(&self.has_folder) = false;
        Ok(())
    }

    fn keep(&self, part: u64, _range: Range<u64>, digest: Digest) -> io::Result<()> {
        let known = self.part(part);
        let ended = lock(&known).ended.take();
        if let Some(Ended { path, crc, .. }) = ended {
            return self.count_in(part, &path, Kept { digest, crc: Some(crc.value()) });
        }
        let of_aside = |aside: &Aside| {
            let kept = *aside.parts.get(&part).filter(|kept| kept.digest == digest)?;
            Some((join(&aside.folder, &name(part, &kept)), kept))
        };
        let aside = lock(&self.aside).iter().rev().find_map(of_aside);
        let (path, kept) = aside.ok_or_else(|| io::Error::other("the part is not there"))?;
        self.count_in(part, &path, kept)
    }

    /// It takes the name node a dozen calls.
    fn is_placed_slowly(&self) -> bool {
        true
    }

    fn place(&self) -> io::Result<Option<Version>> {
        let version = self.join_parts()?;
        self.of.sum(self.header.entry, self.crc());
        lock(&self.of.joined).in_place.insert(self.header.entry);
        Ok(Some(version))
    }
}
