//! The port of a destination.

use std::any::Any;
use std::collections::{BTreeMap, HashSet};
use std::fmt::Display;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt as _;
use std::time::Duration;

use crate::entry_table::EntryTable;
use crate::{Gathered, Remover, Room, Tour, Version};
use cpt_wire::digest::{ContentHasher, Digest, Proof};
use cpt_wire::documents::attributes::Attributes;
use cpt_wire::documents::entry::Kind;
use cpt_wire::documents::seat::Seat;
use cpt_wire::documents::text::{DirectoryId, PlanId, TransferId};
use cpt_wire::frame::SegmentHeader;

/// The bits of a mode that arrive: not set-user and set-group, which mean the owner, and owners are not transferred.
pub const KEPT_MODE: u32 = 0o1777;

/// Those that arrive with owners.
pub const OWNERS_MODE: u32 = 0o7777;
/// Bytes of a hole, for hashing and for kinds that keep none.
const BUFFER_BYTES: usize = 64 << 10;
const ZEROS: &[u8] = &[0; BUFFER_BYTES];

/// The abilities of a kind of destination. The last look does not miss what it cannot keep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capabilities {
    /// Takes the parts of a file in any order. Where not, files that the plan has cut are left out.
    pub parts: bool,
    /// Has directories. Where not, the names of what arrives are keys, and a directory is there as soon as it is listed.
    pub directories: bool,
    /// Keeps permission bits.
    pub modes: bool,
    /// Keeps modification times as multiples of this, nanoseconds; none where it does not keep them.
    pub time_step_ns: Option<i64>,
    /// Keeps symbolic links. Where not, they are left out.
    pub links: bool,
    /// Keeps several names of one file. Where not, all but the first are left out.
    pub hard_links: bool,
    /// Makes pipes, sockets and devices. Where not, they are left out.
    pub special_files: bool,
    /// Keeps owners, extended attributes and ACLs. Where not, they are not missed.
    pub attributes: bool,
    /// Keeps holes as holes. Where not, they are zeros.
    pub holes: bool,
}

impl Capabilities {
    /// Returns whether what is there has the mode that was listed, as far as modes are kept.
    #[must_use]
    pub const fn same_mode(&self, is: u32, listed: u32, with_owner: bool) -> bool {
        let kept = if with_owner && self.attributes { OWNERS_MODE } else { KEPT_MODE };
        !self.modes || is & kept == listed & kept
    }

    /// Returns whether what is there has the time that was listed, as far as times are kept: where they are not, none is the same.
    #[must_use]
    pub fn same_time(&self, is: Option<i64>, listed: i64) -> bool {
        is.zip(self.time_step_ns).is_some_and(|(is, step)| is.div_euclid(step) == listed.div_euclid(step))
    }
}

/// A destination as the request names it, which is its text. It need not be there yet.
pub trait Destination: Display + Send + Sync {
    /// What it can do, as far as that is found out without changing anything there.
    fn capabilities(&self) -> Capabilities;
    /// Returns what it can take, and what keeps it from taking anything.
    fn room(&self) -> Room;
    /// Looks at what is there; an error where it is not there.
    fn view(&self) -> io::Result<Box<dyn View + '_>>;
    /// Opens it for one receiver at a time, and makes it where it is absent. Files that are cut are in parts of
    /// `part_size` bytes, and have digests of this kind.
    fn open(&self, transfer: &TransferId, plan: &PlanId, part_size: u64, proof: Proof) -> io::Result<(Box<dyn OpenDestination>, Left)>;
    /// Walks over all that is there; an error where it is not there.
    fn tour(&self) -> io::Result<Box<dyn Tour + '_>> {
        Err(io::ErrorKind::Unsupported.into())
    }
    /// Opens it for removals, once nobody else removes anything there; an error where it is another directory.
    fn remover(&self, _directory: &DirectoryId) -> io::Result<Box<dyn Remover>> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

/// Parts and entries that earlier receivers of the same plan have left, by the number of the entry.
#[derive(Debug, Default)]
pub struct Left {
    pub placed: EntryTable<Placed>,
    /// Large files of which only some parts are there.
    pub begun: HashSet<u64>,
}

/// A destination that a receiver has for itself. Names are a sender's: one that leaves the destination, or that it keeps for itself,
/// is refused. [`reach`](super::problem::reach) tells what an error is about.
pub trait OpenDestination: Send + Sync {
    /// As [`Destination::capabilities`], and what only a receiver may find out.
    fn capabilities(&self) -> Capabilities;
    /// Begins a whole file, a link, another name of a file that is in its place, or a special file. Nobody sees it before it is placed.
    fn small(&self, header: &SegmentHeader) -> io::Result<Box<dyn SmallFile>>;
    /// The same, of a chunk that came on this path: a kind that is reached on several ways takes the one of the path.
    fn small_by(&self, header: &SegmentHeader, _path: &str) -> io::Result<Box<dyn SmallFile>> {
        self.small(header)
    }
    /// Returns the first file that `fits` of those that may be earlier versions of an entry; none where this kind has none to offer.
    fn basis(&self, _header: &SegmentHeader, _fits: &mut dyn FnMut(&dyn Basis) -> bool) -> io::Result<Option<Box<dyn Basis>>> {
        Ok(None)
    }
    /// Returns the file that is in an entry's place; none where there is none, or this kind has none to offer.
    fn in_place(&self, _header: &SegmentHeader) -> io::Result<Option<Box<dyn Basis>>> {
        Ok(None)
    }
    /// Begins a file that comes in parts, or continues it: the second are the parts that it keeps and that nobody else has touched.
    fn large(&self, header: &SegmentHeader) -> io::Result<(Box<dyn LargeFile>, BTreeMap<u64, Digest>)>;
    /// Makes a directory, or takes the one that is there, and gives it its attributes, mode and time.
    fn directory(&self, header: &SegmentHeader) -> io::Result<()>;
    /// The bytes that may wait for a sync, of a kind that holds them in memory; none where a disk's rate decides.
    fn most_unsynced(&self) -> Option<u64> {
        None
    }
    /// Least time from one sync to the next, of a kind where what is noted with each costs a request.
    fn pause(&self) -> Duration {
        Duration::ZERO
    }
    /// Makes everything that was finished or prepared before survive a crash.
    fn sync(&self) -> io::Result<()>;
    /// Notes an entry that is in its place, for receivers to come.
    fn note(&self, entry: u64, placed: &Placed) -> io::Result<()>;
    /// Notes that nothing counts of what was noted of an entry.
    fn forget(&self, entry: u64) -> io::Result<()>;
    /// The notes survive a crash when this returns.
    fn sync_notes(&self) -> io::Result<()>;
    /// A new file without a name, for what has no room in memory; none where this kind has none.
    fn nameless(&self) -> Option<File> {
        None
    }
    /// Gives a large file up that is not in its place, for good.
    fn abandon(&self, entry: u64) -> io::Result<()>;
    /// Looks at what is there.
    fn view(&self) -> Box<dyn View + '_>;
    /// Whether each look at an entry takes a round trip, so that many at once take no longer than one.
    fn is_far(&self) -> bool {
        false
    }
    /// Whether the destination has checksums of its own of what is stored, by which files in their places are proved before a transfer
    /// succeeds.
    fn tells_stored(&self) -> bool {
        false
    }
    /// Compares files in their places, as they are stored now, with what was sent. For each, in their order, what is there instead, in
    /// words, where it is not that. Only where [`tells_stored`](Self::tells_stored) says so.
    fn compare_stored(&self, _files: &[InPlace<'_>], _proof: Proof, _heard: Heard<'_>) -> Vec<Result<(), String>> {
        Vec::new()
    }
    /// An error where somebody has taken away the destination, or what files wait in for their places: nothing could arrive any more.
    fn check_there(&self) -> io::Result<()>;
    /// How many entries are kept of what this transfer has replaced or removed.
    fn kept(&self) -> io::Result<u64> {
        Ok(0)
    }
    /// Removes all that is not in its place, notes included; `removed` is called after each.
    fn finish(&self, removed: &dyn Fn()) -> io::Result<()>;
    /// Takes over what has come to all receivers, once none of the others writes any more, but those `in_doubt`, who were given up and
    /// may: a file that one of them has begun is a copy afterwards. It ends with an error where `goes_on`, which hears of each call of the file system, says that nobody waits for it any more.
    fn gather(&self, _in_doubt: &[Seat], _goes_on: GoesOn<'_>) -> io::Result<Gathered> {
        Err(io::ErrorKind::Unsupported.into())
    }
    /// The receiver ends. What another one can continue stays.
    fn close(&self);
}

/// A file at the destination whose bytes may be used again. The kind that has given it may find its own type in it.
pub trait Basis: Any + Send + Sync {
    /// Reads at an offset; 0 at its end.
    fn read(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize>;
    /// Its size, where that is known.
    fn size(&self) -> Option<u64>;
}

/// Of any kind that has its files on this machine.
impl Basis for File {
    fn read(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        self.read_at(buffer, offset)
    }

    fn size(&self) -> Option<u64> {
        self.metadata().ok().map(|found| found.len())
    }
}

/// Gives `length` bytes of the file from `offset` on to `take`, each time with their offset. Fails where there are fewer.
pub fn read(basis: &dyn Basis, offset: u64, length: u64, mut take: impl FnMut(&[u8], u64) -> io::Result<()>) -> io::Result<()> {
    let mut buffer = vec![0; BUFFER_BYTES];
    let mut at = 0;
    while at < length {
        let want = BUFFER_BYTES.min(usize::try_from(length - at).unwrap_or(usize::MAX));
        // Its errors are none of what is written: the part comes again, whole.
        let count =
            basis.read(&mut buffer[..want], offset + at).map_err(|error| io::Error::other(format!("an earlier version: {error}")))?;
        if count == 0 {
            return Err(io::Error::other("an earlier version was cut short"));
        }
        take(&buffer[..count], offset + at)?;
        at += count as u64;
    }
    Ok(())
}

/// A whole file or a link on its way to its place. Dropped before, it leaves nothing.
pub trait SmallFile: Send + Sync {
    /// Appends bytes.
    fn write(&mut self, bytes: &[u8]) -> io::Result<()>;
    /// Appends zeros, which are a hole where this kind keeps holes.
    fn hole(&mut self, length: u64) -> io::Result<()> {
        zeros(length, |bytes, _| self.write(bytes))
    }
    /// Ends a file whose bytes are all there: with mode and time it survives a crash after the next sync.
    fn finish(&mut self) -> io::Result<()>;
    /// Reads what is stored; `InvalidData`, in words, where that has another digest by this hasher.
    fn read_back(&self, hasher: ContentHasher, digest: &Digest, heard: Heard<'_>) -> io::Result<()>;
    /// Puts it into its place, where a file or link may be. None of another name of a file, and where it is
    /// not known what is there now.
    fn place(self: Box<Self>, path: &[u8]) -> io::Result<Option<Version>>;
}

/// Hears how many bytes each call of the file system has read, before the next one begins: long work goes on as long as it hears.
pub type Heard<'a> = &'a dyn Fn(u64);
/// The same, and says whether somebody waits for what comes of it.
pub type GoesOn<'a> = &'a dyn Fn(u64) -> bool;

/// A hole of a large file on its way, or a piece of one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hole {
    pub range: Range<u64>,
    /// The source has it too. Where nobody has told of it, it may be what somebody has cut off: later parts make a file that was cut short
    /// as long as it was. Or the file system keeps zeros as holes: so the bytes decide.
    pub is_told: bool,
}

/// A large file on its way to its place. It stays until it is placed or given up.
pub trait LargeFile: Send + Sync {
    /// A part is about to be written, by its number, which comes on this path. What somebody has done to the file meanwhile may show now,
    /// and no longer once it is.
    fn begin_part(&self, _part: u64, _path: &str) -> io::Result<()> {
        Ok(())
    }
    fn write(&self, bytes: &[u8], offset: u64) -> io::Result<()>;
    /// Makes `length` bytes zeros, which are a hole where this kind keeps holes.
    fn hole(&self, offset: u64, length: u64) -> io::Result<()> {
        zeros(length, |bytes, at| self.write(bytes, offset.saturating_add(at)))
    }
    /// Takes bytes of another file, and gives them to `digest` as they are stored then: whoever changes that file meanwhile is noticed.
    fn take(&self, basis: &dyn Basis, offset: u64, length: u64, digest: &mut dyn FnMut(&[u8])) -> io::Result<()> {
        take_bytes(self, basis, offset, length, digest)
    }
    /// Lets a part, whose bytes have all come and are what was sent, survive a crash after the next sync.
    fn prepare_sync(&self, range: Range<u64>) -> io::Result<()>;
    /// Waits until a prepared part is where it was sent, if it is sent anywhere: whoever brings the next one waits so long, and what has
    /// come meanwhile by other ways waits for nothing.
    fn arrive(&self, _part: u64) {}
    /// Reads a range as it is stored; `InvalidData`, in words, where it has another digest by this
    /// hasher, which is that of a part.
    fn read_back(&self, range: Range<u64>, hasher: ContentHasher, digest: &Digest, heard: Heard<'_>) -> io::Result<()>;
    /// Returns the first hole at an offset or behind it; none where only data follows. `InvalidData`, in words, where the file has not the
    /// size that it should have.
    fn next_hole(&self, from: u64) -> io::Result<Option<Hole>>;
    /// No part of it that was noted counts any more: receivers to come know it when this returns.
    fn forget_kept(&self) -> io::Result<()>;
    /// Notes a part that is synced, by its number and where it lies, for receivers to come.
    fn keep(&self, part: u64, range: Range<u64>, digest: Digest) -> io::Result<()>;
    /// Whether putting it into its place takes so long that what comes meanwhile does not wait for it.
    fn is_placed_slowly(&self) -> bool {
        false
    }
    /// Puts a file whose parts are all kept into its place, as [`SmallFile::place`] does.
    fn place(&self) -> io::Result<Option<Version>>;
}

/// [`LargeFile::take`] by reading and writing.
pub fn take_bytes<F: LargeFile + ?Sized>(
    file: &F,
    basis: &dyn Basis,
    offset: u64,
    length: u64,
    digest: &mut dyn FnMut(&[u8]),
) -> io::Result<()> {
    read(basis, offset, length, |bytes, at| {
        digest(bytes);
        file.write(bytes, at)
    })
}

/// Gives `length` zeros to `write`, each time with how many came before.
pub fn zeros<E>(length: u64, mut write: impl FnMut(&[u8], u64) -> Result<(), E>) -> Result<(), E> {
    let mut at = 0;
    while at < length {
        let count = ZEROS.len().min(usize::try_from(length - at).unwrap_or(usize::MAX));
        write(ZEROS.get(..count).unwrap_or_default(), at)?;
        at += count as u64;
    }
    Ok(())
}

/// Looks at what is at a destination, quickest in the order of the listing. Links are not followed.
pub trait View {
    fn see(&mut self, path: &[u8]) -> io::Result<Seen>;
    /// Returns whether what is there surely is of this version, where that costs less than to see it; and then it has the mode and time
    /// that it was given.
    fn is_still(&mut self, _path: &[u8], _version: &Version) -> io::Result<bool> {
        Ok(false)
    }
    /// Those attributes of an entry that `listed` speaks of; a kind that keeps none has all that is asked for.
    fn attributes(&mut self, _path: &[u8], listed: &Attributes) -> io::Result<Attributes> {
        Ok(listed.clone())
    }
    /// The digest of a file that is `of` after it was read.
    fn digest(&mut self, path: &[u8], of: &Version, heard: Heard<'_>) -> io::Result<Digest>;
}

/// An entry that has a name at the destination.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    /// None where it is none that can be listed; another name of a file is a file.
    pub kind: Option<Kind>,
    pub size: u64,
    pub mode: u32,
    /// Nanoseconds since 1970; none where 64 bits do not hold it, which is the time of nothing that is listed.
    pub mtime_ns: Option<i64>,
    pub version: Version,
    /// The target of a link.
    pub target: Option<Vec<u8>>,
}

/// A file in its place that has bytes.
#[derive(Clone, Copy, Debug)]
pub struct InPlace<'a> {
    pub entry: u64,
    /// Below the destination.
    pub path: &'a [u8],
    /// Of what was sent, by the transfer's proof.
    pub digest: Digest,
}

/// An entry that is in its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Placed {
    /// That of a file's bytes or of a link's target, by the transfer's proof; of a directory that of nothing.
    pub digest: Digest,
    /// None where it is not known what was placed, and of a directory: a file's bytes are read again before the transfer succeeds.
    pub version: Option<Version>,
}
