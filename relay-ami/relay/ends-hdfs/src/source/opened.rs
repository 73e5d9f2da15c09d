//! A file of the listing that is read.

use std::pin::Pin;
use std::sync::Mutex;

use bytes::Bytes;
use futures::{Stream, StreamExt as _};
use hdfs_native::HdfsError;
use hdfs_native::client::FileStatus;
use hdfs_native::file::FileReader;

use cpt_ends::{SourceFailure, SourceFile, Version};
use cpt_process::thread::lock;
use cpt_wire::documents::entry::Segment;
use cpt_wire::documents::event::SkipReason;

use super::as_usize;
use crate::cluster::Cluster;
use crate::fault::{Meaning, words};

/// How often a file is asked for anew where its bytes do not come: a block's data nodes have failed one after the other by then.
const TRIES: usize = 3;

type Blocks = Pin<Box<dyn Stream<Item = hdfs_native::Result<Bytes>> + Send>>;

/// A file that is still the one of the listing.
pub struct Opened<'a> {
    cluster: &'a Cluster,
    segment: &'a Segment,
    path: String,
    state: Version,
    flow: Mutex<Flow>,
}

/// Bytes on their way.
struct Flow {
    reader: FileReader,
    blocks: Option<Blocks>,
    /// Offset of the next byte.
    at: u64,
    /// Up to here they were asked for.
    end: u64,
    /// Bytes that have come.
    ready: Bytes,
}

impl<'a> Opened<'a> {
    pub fn new(cluster: &'a Cluster, segment: &'a Segment, path: String) -> Result<Self, SourceFailure> {
        let state = same(segment, &status(cluster, segment, &path)?)?;
        let reader = read(cluster, segment, &path, segment.offset, segment.length)?;
        if reader.is_under_construction() {
            return Err(changed(segment, "is open for writing"));
        }
        let flow = Flow { reader, blocks: None, at: 0, end: 0, ready: Bytes::new() };
        Ok(Self { cluster, segment, path, state, flow: Mutex::new(flow) })
    }

    /// Asks for what follows, from data nodes that the name node knows now.
    fn again(&self, flow: &mut Flow) -> Result<(), SourceFailure> {
        same(self.segment, &status(self.cluster, self.segment, &self.path)?)?;
        flow.reader = read(self.cluster, self.segment, &self.path, flow.at, flow.end.saturating_sub(flow.at))?;
        flow.blocks = None;
        Ok(())
    }

    /// The next bytes, which are some.
    fn next(&self, flow: &mut Flow) -> hdfs_native::Result<Bytes> {
        let (at, end) = (as_usize(flow.at), as_usize(flow.end));
        if end > flow.reader.file_length() {
            return Err(HdfsError::OperationFailed("it is shorter than it was".to_owned()));
        }
        let blocks = flow.blocks.get_or_insert_with(|| Box::pin(flow.reader.read_range_stream(at, end - at)));
        match self.cluster.wait(blocks.next()) {
            Some(Ok(bytes)) => Ok(bytes),
            Some(Err(error)) => Err(error),
            None => Err(HdfsError::OperationFailed("its blocks have ended".to_owned())),
        }
    }
}

impl SourceFile for Opened<'_> {
    fn read(&self, buffer: &mut [u8], offset: u64) -> Result<usize, SourceFailure> {
        let Segment { offset: from, length, size, .. } = *self.segment;
        if offset >= size {
            return Err(changed(self.segment, &format!("ends at {offset}")));
        }
        let mut flow = lock(&self.flow);
        if flow.at != offset || flow.at >= flow.end {
            // Of another part, whose bytes are read once more, as much as of this one.
            let end = if (from..from + length).contains(&offset) { from + length } else { size.min(offset + length.max(1)) };
            let is_known = (from..from + length).contains(&offset);
            (flow.at, flow.end, flow.ready, flow.blocks) = (offset, end, Bytes::new(), None);
            if !is_known {
                self.again(&mut flow)?;
            }
        }
        let mut tries = 0;
        while flow.ready.is_empty() {
            match self.next(&mut flow) {
                Ok(bytes) => flow.ready = bytes,
                Err(error) if tries == TRIES => return Err(failure(self.segment, &error)),
                Err(error) => {
                    tries += 1;
                    tracing::warn!(path = self.path, at = flow.at, %error, "asked for again from here");
                    self.again(&mut flow)?;
                }
            }
        }
        let count = flow.ready.len().min(buffer.len());
        buffer[..count].copy_from_slice(&flow.ready.split_to(count));
        flow.at += count as u64;
        Ok(count)
    }

    fn state(&self) -> Version {
        self.state
    }

    fn check(&self) -> Result<Version, SourceFailure> {
        same(self.segment, &status(self.cluster, self.segment, &self.path)?)
    }
}

/// Asks where the blocks of a range are: all of a large file's would be told for each of its parts.
fn read(cluster: &Cluster, segment: &Segment, path: &str, offset: u64, length: u64) -> Result<FileReader, SourceFailure> {
    let asked = cluster.persist(|| cluster.client().read_part(path, offset, length.max(1)));
    asked.map_err(|error| failure(segment, &error))
}

fn status(cluster: &Cluster, segment: &Segment, path: &str) -> Result<FileStatus, SourceFailure> {
    cluster.persist(|| cluster.client().get_file_info(path)).map_err(|error| failure(segment, &error))
}

/// The state of a file that is as it was listed. Nothing but its inode and the time of the last change tells one state from another: what
/// is written over in HDFS is another inode, and what is appended to has another size.
fn same(segment: &Segment, now: &FileStatus) -> Result<Version, SourceFailure> {
    if now.isdir {
        return Err(changed(segment, "is a directory now"));
    }
    let size = now.length as u64;
    if size != segment.size {
        return Err(changed(segment, &format!("size was {} when it was listed and is {size} now", segment.size)));
    }
    let mtime_ns = nanoseconds(now.modification_time);
    if mtime_ns != segment.mtime_ns {
        return Err(changed(segment, &format!("modification time was {} when it was listed and is {mtime_ns} now", segment.mtime_ns)));
    }
    if now.file_id != segment.inode {
        return Err(changed(segment, "was replaced after it was listed"));
    }
    Ok(version(now))
}

/// What tells this state of a file from another one.
pub fn version(of: &FileStatus) -> Version {
    Version::of_numbers((of.file_id, of.modification_time.cast_signed()))
}

/// A time of HDFS, which counts milliseconds since 1970; earlier ones are negative to it.
pub const fn nanoseconds(milliseconds: u64) -> i64 {
    milliseconds.cast_signed().saturating_mul(1_000_000)
}

fn failure(segment: &Segment, error: &HdfsError) -> SourceFailure {
    match Meaning::of(error) {
        Meaning::Gone => changed(segment, "is gone"),
        meaning => unreadable(segment, words(error), matches!(meaning, Meaning::Passing | Meaning::TakesNothing)),
    }
}

pub fn changed(segment: &Segment, what: &str) -> SourceFailure {
    SourceFailure { reason: SkipReason::SourceChanged, message: format!("{}: {what}", segment.source), transient: false }
}

pub fn unreadable(segment: &Segment, why: String, transient: bool) -> SourceFailure {
    SourceFailure { reason: SkipReason::SourceUnreadable, message: format!("{}: {why}", segment.source), transient }
}
