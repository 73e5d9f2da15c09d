//! A large file anew: its parts are copied to another inode, which nobody knows who may still write into the old one. Each part is compared
//! with its digest while it is copied.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::sync::Arc;

use super::gathering::go_on;
use super::partial::Large;
use super::staging::Staging;
use super::tree::Tree;
use cpt_ends::{GoesOn, LargeFile as _};
use cpt_wire::digest::{Digest, Proof};
use cpt_wire::frame::SegmentHeader;

const BUFFER_BYTES: usize = 1 << 20;

pub struct Renewal<'a> {
    pub tree: &'a Arc<Tree>,
    pub header: &'a SegmentHeader,
    pub part_size: u64,
    pub proof: Proof,
}

impl Renewal<'_> {
    /// The new file, the parts of it that count, and how many bytes were copied.
    pub fn run(&self, old: &Large, parts: &BTreeMap<u64, Digest>, goes_on: GoesOn<'_>) -> io::Result<(Large, BTreeMap<u64, Digest>, u64)> {
        let Self { tree, header, .. } = self;
        let (home, own) = (tree.home(&header.path)?, tree.unique_name(header.entry));
        let made = tree.create(&home, &header.path, &own, 0)?;
        let filled = self.fill(old, &home.staging, &made, parts, goes_on);
        let (kept, copied) = filled.inspect_err(|_| home.staging.discard(&own))?;
        home.staging.replace(&own, &header.entry.to_string())?;
        let anew = Large::anew(tree, header, made)?;
        anew.forget_kept()?;
        for (part, digest) in &kept {
            let start = part * self.part_size;
            anew.keep(*part, start..header.size.min(start + self.part_size), *digest)?;
        }
        tree.journal.sync()?;
        Ok((anew, kept, copied))
    }

    /// Copies the parts that are what came; these, and how many bytes were copied.
    fn fill(
        &self,
        old: &Large,
        staging: &Staging,
        made: &File,
        parts: &BTreeMap<u64, Digest>,
        goes_on: GoesOn<'_>,
    ) -> io::Result<(BTreeMap<u64, Digest>, u64)> {
        staging.set_size(made, self.header.size, old.is_sparse())?;
        let (mut kept, mut copied) = (BTreeMap::new(), 0);
        for (part, digest) in parts {
            let bytes = self.copy(old, made, *part, digest, goes_on)?;
            copied += bytes.unwrap_or_default();
            match bytes {
                Some(_) => drop(kept.insert(*part, *digest)),
                None => tracing::warn!(entry = self.header.entry, part, "a part was changed after it had come; it comes again"),
            }
        }
        made.sync_all()?;
        Ok((kept, copied))
    }

    /// The number of bytes of a part; none where they are not what came.
    fn copy(&self, old: &Large, to: &File, part: u64, digest: &Digest, goes_on: GoesOn<'_>) -> io::Result<Option<u64>> {
        let (start, mut buffer) = (part * self.part_size, vec![0; BUFFER_BYTES]);
        let (mut at, end, mut hasher) = (start, self.header.size.min(start + self.part_size), self.proof.part(start));
        while at < end {
            let wanted = BUFFER_BYTES.min(usize::try_from(end - at).unwrap_or(usize::MAX));
            let count = old.file().read_at(&mut buffer[..wanted], at)?;
            if count == 0 {
                return Ok(None);
            }
            let bytes = &buffer[..count];
            hasher.update(bytes);
            // What is a hole stays one.
            if !old.is_sparse() || bytes.iter().any(|byte| *byte != 0) {
                to.write_all_at(bytes, at)?;
            }
            at += count as u64;
            go_on(goes_on, count as u64)?;
        }
        Ok((hasher.digest() == *digest).then_some(end - start))
    }
}
