//! An object that is put in parts, as a receiver knows it.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::ops::Range;
use std::sync::Arc;

use cpt_ends::{Heard, LargeFile, Version};
use cpt_process::thread::lock;
use cpt_wire::digest::{ContentHasher, Digest};

use super::entity::version;
use super::lines::Line;
use super::small::same;
use super::under_way::{Inner, Phase};
use crate::fault::{Fault, Meaning};

/// A file whose parts are sent to the bucket as they come.
pub struct Large(pub Arc<Inner>);

impl LargeFile for Large {
    fn begin_part(&self, part: u64, path: &str) -> io::Result<()> {
        lock(&self.0.parts).entry(part).or_default().path = Some(path.into());
        Ok(())
    }

    fn write(&self, mut bytes: &[u8], mut offset: u64) -> io::Result<()> {
        let mut parts = lock(&self.0.parts);
        while !bytes.is_empty() {
            let number = offset / self.0.of.part_size.max(1);
            let range = self.0.range(number);
            let beyond = || io::Error::other("bytes beyond the end of the file");
            let at = usize::try_from(offset.checked_sub(range.start).ok_or_else(beyond)?).map_err(io::Error::other)?;
            let length = usize::try_from(range.end.saturating_sub(range.start)).map_err(io::Error::other)?;
            let count = bytes.len().min(length.saturating_sub(at));
            if count == 0 {
                return Err(beyond());
            }
            let buffer = parts.entry(number).or_default().buffer.get_or_insert_with(|| vec![0; length]);
            buffer[at..at + count].copy_from_slice(&bytes[..count]);
            (bytes, offset) = (&bytes[count..], offset + count as u64);
        }
        Ok(())
    }

    fn prepare_sync(&self, range: Range<u64>) -> io::Result<()> {
        self.0.let_go(range.start / self.0.of.part_size.max(1));
        Ok(())
    }

    fn arrive(&self, part: u64) {
        let transit = lock(&self.0.parts).get(&part).and_then(|part| part.transit.clone());
        if let Some(transit) = transit {
            // What has become of it shows when it is kept.
            let _ = self.0.of.bucket.wait(transit.end());
        }
    }

    /// Of a part nothing can be read before the object is there: what is sent is compared now, and what is stored then.
    fn read_back(&self, range: Range<u64>, hasher: ContentHasher, digest: &Digest, heard: Heard<'_>) -> io::Result<()> {
        let number = range.start / self.0.of.part_size.max(1);
        let transit = lock(&self.0.parts).get(&number).and_then(|part| part.transit.clone());
        lock(&self.0.read_back).insert(number, (hasher.clone(), *digest));
        heard(range.end - range.start);
        transit.map_or(Ok(()), |transit| same(hasher, transit.payload.bytes(), digest))
    }

    fn next_hole(&self, _from: u64) -> io::Result<Option<cpt_ends::Hole>> {
        Ok(None)
    }

    fn forget_kept(&self) -> io::Result<()> {
        self.0.of.notes.add(&Line::PartsForgotten { entry: self.0.header.entry });
        self.0.of.flush()
    }

    fn keep(&self, part: u64, _range: Range<u64>, digest: Digest) -> io::Result<()> {
        let Some(stored) = self.0.arrived(part).map_err(|fault| self.0.error(fault))? else {
            // Somebody has aborted the upload, which shows when it is to be completed: all of it comes again.
            tracing::warn!(key = self.0.key, part, "the upload is gone");
            return Ok(());
        };
        self.0.of.notes.add(&Line::part(self.0.header.entry, part, &stored, &digest));
        let mut parts = lock(&self.0.parts);
        let known = parts.entry(part).or_default();
        (known.stored, known.transit) = (Some(stored), None);
        Ok(())
    }

    /// A tenth of a second, and minutes for a large object.
    fn is_placed_slowly(&self) -> bool {
        true
    }

    fn place(&self) -> io::Result<Option<Version>> {
        let inner = &self.0;
        // All parts are kept, but where the file has none that came by themselves.
        let kept: BTreeSet<u64> = lock(&inner.parts).iter().filter(|(_, part)| part.stored.is_some()).map(|(number, _)| *number).collect();
        (0..inner.count()).filter(|number| !kept.contains(number)).for_each(|number| inner.let_go(number));
        let mut parts = BTreeMap::new();
        for number in 0..inner.count() {
            let stored = inner.arrived(number).map_err(|fault| inner.error(fault))?;
            let lost = || io::Error::new(io::ErrorKind::InvalidData, format!("part {number} is not in the bucket"));
            parts.insert(number, stored.ok_or_else(lost)?);
        }
        // Whoever comes next can tell by them that the object is there, should this receiver not live to note it.
        inner.of.flush()?;
        let placed = inner.of.bucket.wait(async {
            let mut phase = inner.phase.lock().await;
            let Phase::Begun(upload) = &*phase else { return Err(Fault::new(Meaning::NoUpload, "the upload is over")) };
            let etag = inner.complete(upload, parts).await?;
            *phase = Phase::Over;
            Ok(etag)
        });
        let etag = placed.map_err(|fault| inner.error(fault))?;
        inner.of.notes.add(&Line::UploadOver { entry: inner.header.entry });
        inner.of.over(inner.header.entry);
        inner.check(&etag)?;
        Ok(Some(version(&etag)))
    }
}
