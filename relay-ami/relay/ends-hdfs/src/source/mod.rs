//! Paths of HDFS as a source: listed by the name node, and read from the data nodes that have the blocks.

mod differences;
mod listing;
mod opened;
mod tops;

use std::io;

use futures::StreamExt as _;

use cpt_ends::select::Selector;
use cpt_ends::{Each, Halted, Listed, Source, SourceFailure, SourceFile};
use cpt_wire::digest::Digest;
use cpt_wire::documents::attributes::Preserve;
use cpt_wire::documents::end::SnapshotDiff;
use cpt_wire::documents::entry::{Kind, Segment};
use cpt_wire::documents::percent;
use cpt_wire::documents::selection::Selection;
use cpt_wire::documents::survey::Place;
use cpt_wire::documents::text::KeepName;

use crate::attributes::Wanted;
use crate::cluster::Cluster;
use crate::fault::of_data;
use crate::path::plain;
use crate::whereabouts::way;
use differences::is_within;
use opened::{Opened, changed, unreadable};
pub use opened::{nanoseconds, version};

/// A path of a request, and where it lands if not under its own name.
#[derive(Clone, Debug)]
pub struct Asked {
    pub path: String,
    pub lands_as: Option<String>,
}

/// Paths of one cluster.
pub struct HdfsSource {
    cluster: Cluster,
    paths: Vec<Asked>,
    selection: Selection,
    free: Option<KeepName>,
    wanted: Wanted,
    diff: Option<SnapshotDiff>,
}

impl HdfsSource {
    #[must_use]
    pub fn new(cluster: Cluster, paths: Vec<Asked>) -> Self {
        Self { cluster, paths, selection: Selection::default(), free: None, wanted: Wanted::default(), diff: None }
    }

    /// The same, of which only that is listed.
    #[must_use]
    pub fn selecting(self, selection: Selection) -> Self {
        Self { selection, ..self }
    }

    /// The same, of whose entries this is listed too.
    #[must_use]
    pub fn preserving(self, preserve: &Preserve) -> Self {
        Self { wanted: Wanted::of_request(preserve), ..self }
    }

    /// The same, of which only what is different between two snapshots is listed.
    #[must_use]
    pub fn between(self, diff: Option<SnapshotDiff>) -> Self {
        Self { diff, ..self }
    }

    /// What would land under this name at the top of the destination is a problem of the listing.
    #[must_use]
    pub fn leaving_free(self, free: Option<KeepName>) -> Self {
        Self { free, ..self }
    }

    /// The path of what a listing calls its `source`: one of the request's, or below it.
    fn path(&self, source: &[u8]) -> Result<String, &'static str> {
        let path = std::str::from_utf8(source).map_err(|_| "is no path of HDFS")?;
        if !path.starts_with('/') || path.split('/').any(|name| matches!(name, "." | "..")) {
            return Err("is no path of HDFS");
        }
        let path = plain(path);
        let is_beneath = |asked: &Asked| {
            let root = plain(&asked.path);
            let is_below = || path.strip_prefix(root.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
            let is_in_snapshot = |diff: &SnapshotDiff| is_within(&path, &root, diff.to.as_str());
            root == "/" || is_below() || self.diff.as_ref().is_some_and(is_in_snapshot)
        };
        if self.paths.iter().any(is_beneath) { Ok(path) } else { Err("is outside of the source") }
    }

    /// The bytes of a file as it is now, as far as there are any, until `take` wants no more.
    fn now(&self, source: &[u8], offset: u64, length: u64, mut take: impl FnMut(&[u8])) -> io::Result<()> {
        let path = self.path(source).map_err(io::Error::other)?;
        self.cluster.wait(async {
            let reader = self.cluster.client().read(&path).await.map_err(|error| of_data(&error, &path))?;
            let size = reader.file_length() as u64;
            let (from, end) = (offset.min(size), offset.saturating_add(length).min(size));
            let mut stream = Box::pin(reader.read_range_stream(as_usize(from), as_usize(end - from)));
            while let Some(bytes) = stream.next().await {
                take(&bytes.map_err(|error| of_data(&error, &path))?);
            }
            Ok(())
        })
    }
}

fn as_usize(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

impl Source for HdfsSource {
    fn list(&self, each: Each<'_>) -> Result<(), Halted> {
        let first = || self.paths.first().map_or_else(|| b"/".to_vec(), |asked| asked.path.clone().into_bytes());
        if self.selection.paths_from.is_some() {
            let why = "$.select.pathsFrom names a file of the source's machine, and HDFS has none: leave it out";
            return each(Listed::Problem(first(), why.to_owned()));
        }
        match Selector::new(&self.selection) {
            Ok(selector) => {
                let wish = listing::Wish { diff: self.diff.as_ref(), selector: &selector, free: self.free.as_ref(), wanted: self.wanted };
                listing::list(&self.cluster, &self.paths, &wish, each)
            }
            Err(why) => each(Listed::Problem(first(), why)),
        }
    }

    fn places(&self) -> Vec<Place> {
        let place = |asked: &Asked| {
            let ways = match way(&self.cluster, &asked.path) {
                Ok(way) => vec![way],
                Err(error) => {
                    tracing::warn!(path = asked.path, %error, "where it is could not be told");
                    Vec::new()
                }
            };
            Place { path: percent::encode(asked.path.as_bytes()), ways }
        };
        self.paths.iter().take(listing::MOST_PLACES).map(place).collect()
    }

    fn open<'a>(&'a self, segment: &'a Segment) -> Result<Option<Box<dyn SourceFile + 'a>>, SourceFailure> {
        match segment.kind {
            Kind::File => {}
            // It is made of nothing but its name.
            Kind::Directory => return Ok(None),
            Kind::Symlink | Kind::Hardlink | Kind::Special => return Err(changed(segment, "is of a kind that HDFS does not have")),
        }
        let source = percent::decode(&segment.source).map_err(|why| changed(segment, &why))?;
        let path = self.path(&source).map_err(|why| unreadable(segment, why.to_owned(), false))?;
        Ok(Some(Box::new(Opened::new(&self.cluster, segment, path)?)))
    }

    fn digest(&self, key: &[u8]) -> io::Result<Digest> {
        let mut hasher = blake3::Hasher::new();
        self.now(key, 0, u64::MAX, |bytes| {
            hasher.update(bytes);
        })?;
        Ok(*hasher.finalize().as_bytes())
    }

    fn sample(&self, key: &[u8], offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let mut at = 0;
        self.now(key, offset, buffer.len() as u64, |bytes| {
            let count = bytes.len().min(buffer.len() - at);
            buffer[at..at + count].copy_from_slice(&bytes[..count]);
            at += count;
        })?;
        Ok(at)
    }

    /// One stream tells of one data node, and a sender reads from many.
    fn read_rate(&self, _: &[u8], _: u64) -> Option<f64> {
        None
    }
}
