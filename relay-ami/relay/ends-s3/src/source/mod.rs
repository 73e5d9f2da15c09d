//! A bucket as a source: its objects listed as a tree's files are, and read by ranges.

mod chosen;
#[cfg(test)]
mod fake;
mod guess;
mod heads;
mod keys;
mod listing;
pub(crate) mod names;
mod opened;
pub(crate) mod ordered;
mod pending;
pub(crate) mod pool;
mod ranges;
mod reader;
mod state;

use std::io;
use std::sync::Arc;

use crate::client::Bucket;
use chosen::Chosen;
use cpt_ends::select::Selector;
use cpt_ends::{Each, Halted, Listed, Source, SourceFailure, SourceFile};
use cpt_wire::digest::Digest;
use cpt_wire::documents::attributes::Preserve;
use cpt_wire::documents::end::ArchivedRule;
use cpt_wire::documents::entry::{Kind, Segment};
use cpt_wire::documents::percent;
use cpt_wire::documents::selection::Selection;
use cpt_wire::documents::text::{KeepName, PathId};
use heads::Heads;
use listing::Wish;
use opened::{Opened, changed, unreadable};
use reader::Reader;

/// Pages of a listing that are asked for at once, where it is long: each takes S3 some 100 ms.
const LISTERS: usize = 20;
/// Read at a time for a digest.
const DIGESTED_BYTES: usize = 256 << 10;

/// What lies below a prefix of a bucket.
#[derive(Clone)]
pub struct BucketSource {
    bucket: Bucket,
    selection: Selection,
    preserve: Preserve,
    free: Option<KeepName>,
    archived: ArchivedRule,
    listers: usize,
    /// All that lies there, or these keys.
    only: Option<Vec<String>>,
}

impl BucketSource {
    #[must_use]
    pub fn new(bucket: Bucket) -> Self {
        let (selection, preserve) = (Selection::default(), Preserve::default());
        Self { bucket, selection, preserve, free: None, archived: ArchivedRule::Refuse, listers: LISTERS, only: None }
    }

    /// The same, of which only that is listed.
    #[must_use]
    pub fn selecting(self, selection: Selection) -> Self {
        Self { selection, ..self }
    }

    /// Lists what is to be kept beyond the default too: modes, times and owners that were noted with the objects. Each then costs a
    /// request of its own, where a listing costs one for a thousand.
    #[must_use]
    pub fn preserving(self, preserve: Preserve) -> Self {
        Self { preserve, ..self }
    }

    /// What would land under this name at the top of the destination is a problem of the listing.
    #[must_use]
    pub fn leaving_free(self, free: Option<KeepName>) -> Self {
        Self { free, ..self }
    }

    /// What becomes of objects that would have to be restored; the default is that they are a problem of the listing.
    #[must_use]
    pub fn treating_archived(self, archived: ArchivedRule) -> Self {
        Self { archived, ..self }
    }

    /// Of these keys alone, in the order of their bytes, each once; where they are none, of all.
    #[must_use]
    pub fn only(self, keys: Option<Vec<String>>) -> Self {
        Self { only: keys, ..self }
    }

    /// With so many pages of a listing asked for at once.
    #[must_use]
    pub fn listed_by(self, listers: usize) -> Self {
        Self { listers, ..self }
    }

    /// The key of what a listing calls its `source`.
    fn key(&self, source: &[u8]) -> Result<String, &'static str> {
        let key = source.strip_prefix(b"/").and_then(|key| std::str::from_utf8(key).ok()).ok_or("is no key")?;
        if key.starts_with(&self.bucket.place().prefix) { Ok(key.to_owned()) } else { Err("is outside of the source") }
    }

    /// An object as it is now, from an offset on; all of it where nothing else is said.
    fn now(&self, source: &[u8], range: Option<(u64, u64)>) -> io::Result<Reader<'_>> {
        let key = self.key(source).map_err(io::Error::other)?;
        Reader::open(&self.bucket, key, range).map_err(|fault| io::Error::other(fault.to_string()))
    }
}

impl Source for BucketSource {
    fn list(&self, each: Each<'_>) -> Result<(), Halted> {
        let place = self.bucket.place();
        let refused = |why: String| Listed::Problem(place.to_string().into_bytes(), why);
        if self.selection.paths_from.is_some() {
            return each(refused(
                "$.select.pathsFrom names a file of the source's machine, and a bucket has none: leave it out".to_owned(),
            ));
        }
        let selector = match Selector::new(&self.selection) {
            Ok(selector) => selector,
            Err(why) => return each(refused(why)),
        };
        let has_owners = self.preserve.owners.is_some();
        let wish = Wish {
            selector: &selector,
            free: self.free.as_ref(),
            heads: has_owners.then_some(&self.bucket as &dyn Heads),
            has_owners,
            archived: self.archived,
        };
        let chosen = self.only.as_ref().map(|keys| Chosen::new(&self.bucket, keys));
        let listed = match &chosen {
            Some(chosen) => listing::list(chosen, 1, &place.prefix, &wish, each)?,
            None => listing::list(&self.bucket, self.listers, &place.prefix, &wish, each)?,
        };
        if let Err(why) = listed {
            return each(refused(why));
        }
        chosen.map_or(Ok(()), |chosen| chosen.name_missing(&place.prefix, each))
    }

    fn open<'a>(&'a self, segment: &'a Segment) -> Result<Option<Box<dyn SourceFile + 'a>>, SourceFailure> {
        match segment.kind {
            Kind::File => {}
            // It is made of nothing but its name.
            Kind::Directory => return Ok(None),
            Kind::Symlink | Kind::Hardlink | Kind::Special => return Err(changed(segment, "is of a kind that no bucket has")),
        }
        let source = percent::decode(&segment.source).map_err(|why| changed(segment, &why))?;
        let key = self.key(&source).map_err(|why| unreadable(segment, why.to_owned(), false))?;
        Ok(Some(Box::new(Opened::new(&self.bucket, segment, key)?)))
    }

    fn by(&self, path: &PathId) -> Option<Arc<dyn Source>> {
        let bucket = self.bucket.by(Some(path.as_str().into()));
        Some(Arc::new(Self { bucket, ..self.clone() }))
    }

    fn digest(&self, key: &[u8]) -> io::Result<Digest> {
        let (reader, mut hasher) = (self.now(key, None)?, blake3::Hasher::new());
        let (mut at, mut buffer) = (0, vec![0; DIGESTED_BYTES]);
        while at < reader.size {
            let count = reader.read(&mut buffer, at, reader.size).map_err(|fault| io::Error::other(fault.to_string()))?;
            hasher.update(&buffer[..count]);
            at += count as u64;
        }
        Ok(*hasher.finalize().as_bytes())
    }

    fn sample(&self, key: &[u8], offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let end = offset + buffer.len() as u64;
        let reader = self.now(key, Some((offset, end)))?;
        let (mut at, end) = (offset, end.min(reader.size));
        while at < end {
            let from = usize::try_from(at - offset).unwrap_or(usize::MAX);
            at += reader.read(&mut buffer[from..], at, end).map_err(|fault| io::Error::other(fault.to_string()))? as u64;
        }
        Ok(usize::try_from(at.saturating_sub(offset)).unwrap_or_default())
    }

    /// One request tells of one connection, and a sender has many.
    fn read_rate(&self, _: &[u8], _: u64) -> Option<f64> {
        None
    }
}
