//! The port of a source.

use std::io;
use std::ops::Range;
use std::sync::Arc;

use crate::Version;
use cpt_wire::digest::Digest;
use cpt_wire::documents::entry::{ListingEntry, Segment};
use cpt_wire::documents::event::SkipReason;
use cpt_wire::documents::selection::Reason;
use cpt_wire::documents::survey::Place;
use cpt_wire::documents::text::PathId;

/// The paths of a request, and nothing that is not beneath them: a listing or manifest may name whatever it likes.
pub trait Source: Send + Sync {
    /// Gives everything, each directory before what it holds, names sorted by their bytes, at the top those of all paths together. Like
    /// rsync: a path lands under its base name, with a trailing slash its contents do. Problems of the paths themselves come first.
    fn list(&self, each: Each<'_>) -> Result<(), Halted>;

    /// Where its paths are, as far as this kind has anything to say of that.
    fn places(&self) -> Vec<Place> {
        Vec::new()
    }

    /// The kernel that says so.
    fn kernel(&self) -> Option<String> {
        None
    }

    /// Opens the file of a segment, which must be as it was listed: size and modification time. A link must point where it pointed. None
    /// where a segment has no bytes to be read.
    fn open<'a>(&'a self, segment: &'a Segment) -> Result<Option<Box<dyn SourceFile + 'a>>, SourceFailure>;

    /// The same source, which is read by the way of a path, where it is reached on several ways.
    fn by(&self, _path: &PathId) -> Option<Arc<dyn Source>> {
        None
    }

    /// The digest of a file as it is now. What the listing calls its `source` is, decoded, the key by which this kind finds it: of a tree
    /// its path.
    fn digest(&self, key: &[u8]) -> io::Result<Digest>;

    /// Reads a piece of a file as it is now; returns how many bytes there are.
    fn sample(&self, key: &[u8], offset: u64, buffer: &mut [u8]) -> io::Result<usize>;

    /// MB/s at which a file of `size` bytes can be read, by a short trial; none where that cannot tell.
    fn read_rate(&self, key: &[u8], size: u64) -> Option<f64>;
}

/// A file that is still the one of the listing.
pub trait SourceFile: Send {
    /// Reads at an offset of the file; never less than one byte.
    fn read(&self, buffer: &mut [u8], offset: u64) -> Result<usize, SourceFailure>;

    /// Returns the next bytes from `offset` on that are to be read: what is before them is a hole.
    fn data(&self, offset: u64) -> Range<u64> {
        offset..u64::MAX
    }

    /// The state of the file when it was opened. Another state has another version; the same one may have, too.
    fn state(&self) -> Version;

    /// Returns the state that the file is in, which must still be what the listing says, and end where that says; asked after the last byte,
    /// as `open` asks before the first.
    fn check(&self) -> Result<Version, SourceFailure>;
}

/// Takes what is listed.
pub type Each<'a> = &'a mut dyn FnMut(Listed) -> Result<(), Halted>;

/// Whoever takes what is listed wants no more of it, and knows why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Halted;

/// A source's message while it is listed.
pub enum Listed {
    Entry(ListingEntry),
    /// What is not moved, as it would land, and why.
    LeftOut(Vec<u8>, Reason),
    /// Extended attributes of an entry that the request speaks of and that are not kept.
    Unkept(Vec<Vec<u8>>),
    /// The reason that keeps this path from being moved.
    Problem(Vec<u8>, String),
}

/// Why a segment cannot be sent.
#[derive(Debug)]
pub struct SourceFailure {
    pub reason: SkipReason,
    pub message: String,
    /// It may not last: an error of the disk, or a handle that a file server has dropped.
    pub transient: bool,
}
