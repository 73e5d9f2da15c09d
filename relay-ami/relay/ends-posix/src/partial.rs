//! Files on their way to their places, among the partial files.

use std::any::Any;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Seek as _, Write as _};
use std::ops::Range;
use std::os::unix::fs::FileExt as _;
use std::sync::{Arc, Mutex};

use rustix::fs::{self, AtFlags, FallocateFlags, FileType};
use rustix::io::Errno;

use super::attributes::{kept, times};
use super::holes::Holes;
use super::homes::Home;
use super::identity::{birth_of, modified_ns};
use super::journal::Parts;
use super::keeping;
use super::readback;
use super::staging::Staging;
use super::tree::Tree;
use cpt_ends::problem::not_by_name;
use cpt_ends::{Basis, Heard, Hole, LargeFile, SmallFile, Version, read, take_bytes, zeros};
use cpt_process::thread::lock;
use cpt_wire::digest::{ContentHasher, Digest};
use cpt_wire::documents::attributes::Attributes;
use cpt_wire::documents::entry::Kind;
use cpt_wire::frame::SegmentHeader;

/// Reads what a header carries of attributes; what cannot be read is the entry's own problem.
pub fn attributes(header: &SegmentHeader) -> io::Result<Attributes> {
    Attributes::parse(&header.attributes).map_err(|why| io::Error::new(io::ErrorKind::InvalidInput, why))
}

/// 2038-01-19: every file system takes a time from 1970 to then, but for FAT, which begins in 1980.
const LAST_TIME_NS: i64 = i32::MAX as i64 * 1_000_000_000;

/// Gives a file whose bytes are all there all else.
pub fn finish_file(
    staging: &Staging,
    file: &File,
    name: &str,
    mode: u16,
    is_made_so: bool,
    mtime_ns: i64,
    attributes: &Attributes,
) -> io::Result<()> {
    if *attributes != Attributes::default() {
        let mode = staging.measured.modes.then_some(mode);
        keeping::apply(staging.of(name)?, OsStr::new(name), FileType::RegularFile, attributes, mode)?;
    } else if !is_made_so && staging.measured.modes {
        fs::fchmod(file, kept(mode))?;
    }
    fs::futimens(file, &times(mtime_ns))?;
    // Old ext4, FAT and XFS have a last time, some a first one, and take that in place of one beyond.
    if !(0..=LAST_TIME_NS).contains(&mtime_ns) && staging.measured.time_step_ns.is_some() {
        let is = modified_ns(&fs::fstat(file)?);
        if !staging.measured.capabilities().same_time(is, mtime_ns) {
            let seconds = mtime_ns.div_euclid(1_000_000_000);
            let why = format!("the destination does not take its modification time, {seconds} s from 1970");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
        }
    }
    staging.prepare_sync(file)
}

/// Lets the kernel copy bytes to the same place in another file, where XFS makes both share them. False where it cannot.
fn copy(from: &File, to: &File, offset: u64, length: u64) -> io::Result<bool> {
    let (mut read, mut written, end) = (offset, offset, offset.saturating_add(length));
    while read < end {
        let left = usize::try_from(end - read).unwrap_or(usize::MAX);
        match fs::copy_file_range(from, Some(&mut read), to, Some(&mut written), left) {
            Ok(1..) => {}
            Err(error @ (Errno::NOSPC | Errno::DQUOT)) => return Err(error.into()),
            Ok(0) | Err(_) => return Ok(false),
        }
    }
    Ok(true)
}

/// A whole file, a link, or a special file.
pub struct Small {
    tree: Arc<Tree>,
    home: Arc<Home>,
    /// No other attempt uses it: two streams with the same entry must not share a file.
    name: String,
    mode: u16,
    mtime_ns: i64,
    /// While it is written: thousands of files may wait for their places.
    file: Option<File>,
    kind: Kind,
    /// First name of a hard link.
    first: Vec<u8>,
    attributes: Attributes,
    is_placed: bool,
}

impl Small {
    pub fn begin(tree: &Arc<Tree>, header: &SegmentHeader) -> io::Result<Self> {
        let (home, tree, mode, mtime_ns) = (tree.home(&header.path)?, Arc::clone(tree), header.mode, header.mtime_ns);
        let name = tree.unique_name(header.entry);
        let (kind, attributes) = (header.kind, attributes(header)?);
        let mut file = None;
        match (kind, attributes.node) {
            (Kind::Symlink, _) => home.staging.link(&name, &header.target)?,
            (Kind::Special, Some(node)) => keeping::make(home.staging.of(&name)?, &name, node)?,
            (Kind::Special, None) => return Err(io::Error::new(io::ErrorKind::InvalidInput, "a special file of no kind")),
            // Made when it is placed: until then each new name would be another change of its file.
            (Kind::Hardlink, _) => {}
            (Kind::File | Kind::Directory, _) => file = Some(tree.create(&home, &header.path, &name, mode).map_err(not_by_name)?),
        }
        let first = if kind == Kind::Hardlink { header.target.clone() } else { Vec::new() };
        Ok(Self { tree, home, name, mode, mtime_ns, file, kind, first, attributes, is_placed: false })
    }
}

impl SmallFile for Small {
    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.file.as_mut().map_or(Ok(()), |file| file.write_all(bytes))
    }

    fn hole(&mut self, length: u64) -> io::Result<()> {
        let Some(file) = self.file.as_mut() else { return Ok(()) };
        let length = i64::try_from(length).map_err(io::Error::other)?;
        // The file ends behind it at least.
        let end = file.seek(io::SeekFrom::Current(length))?;
        file.set_len(end)
    }

    fn finish(&mut self) -> io::Result<()> {
        let Some(file) = self.file.take() else {
            let kind = match self.kind {
                Kind::Hardlink => return Ok(()),
                Kind::Symlink => FileType::Symlink,
                _ => FileType::Unknown,
            };
            let (directory, measured) = (self.home.staging.of(&self.name)?, &self.home.staging.measured);
            let name = OsStr::new(&self.name);
            keeping::apply(directory, name, kind, &self.attributes, measured.modes.then_some(self.mode))?;
            return Ok(fs::utimensat(directory, name, &times(self.mtime_ns), AtFlags::SYMLINK_NOFOLLOW)?);
        };
        let staging = &self.home.staging;
        // A directory's access control list has its own idea of a new file's mode.
        let is_made_so = !self.home.hands_on() && staging.has_mode_when_made(self.mode);
        finish_file(staging, &file, &self.name, self.mode, is_made_so, self.mtime_ns, &self.attributes)
    }

    fn read_back(&self, hasher: ContentHasher, digest: &Digest, heard: Heard<'_>) -> io::Result<()> {
        let read = readback::read(&self.home.staging, &self.name, hasher, None, heard)?;
        readback::compare(&self.name, &read, digest)
    }

    fn place(mut self: Box<Self>, path: &[u8]) -> io::Result<Option<Version>> {
        if self.kind == Kind::Hardlink {
            self.tree.place_link(&self.home, &self.name, &self.first, path, self.mtime_ns)?;
            self.is_placed = true;
            return Ok(None);
        }
        let version = self.tree.place(&self.home, &self.name, path, &self.attributes)?;
        self.is_placed = true;
        Ok(version)
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        if !self.is_placed {
            self.home.staging.discard(&self.name);
        }
    }
}

/// A large file, which arrives in parts.
pub struct Large {
    tree: Arc<Tree>,
    home: Arc<Home>,
    header: SegmentHeader,
    attributes: Attributes,
    file: File,
    /// Those that this receiver was told of, or an earlier one.
    holes: Mutex<Holes>,
    /// Birth time, nanoseconds since 1970; 0 where the file system does not tell.
    born_ns: i64,
    /// An earlier receiver left parts of it.
    goes_on: bool,
}

impl Large {
    /// The file with the digests of those of its parts that are `left` and count.
    pub fn begin(tree: &Arc<Tree>, header: &SegmentHeader, left: Option<Parts>) -> io::Result<(Self, BTreeMap<u64, Digest>)> {
        let (entry, attributes, home) = (header.entry, attributes(header)?, tree.home(&header.path)?);
        let is_left = |left: &Parts| left.size == header.size && home.staging.is_left(entry, header.size, left.born_ns);
        let mut holes = Holes::default();
        let kept = match left {
            Some(left) if is_left(&left) => {
                left.holes.into_values().flatten().for_each(|hole| holes.note(hole));
                left.digests
            }
            // The file is made anew: the next receiver must not take the old parts for what is in it.
            Some(_) => {
                // Another receiver may be writing the one that is there.
                if home.staging.shared().is_none() {
                    tree.discard(entry);
                }
                tree.journal.forgotten(entry)?;
                tree.journal.sync()?;
                BTreeMap::new()
            }
            None => BTreeMap::new(),
        };
        let file = tree.open_large(&home, &header.path, entry, header.size, attributes.sparse).map_err(not_by_name)?;
        let (born_ns, goes_on) = (birth_of(&file), !kept.is_empty());
        let (tree, header, holes) = (Arc::clone(tree), header.clone(), Mutex::new(holes));
        Ok((Self { tree, home, header, attributes, file, holes, born_ns, goes_on }, kept))
    }
}

impl Large {
    /// The file that was just made in the place of another one.
    pub fn anew(tree: &Arc<Tree>, header: &SegmentHeader, file: File) -> io::Result<Self> {
        let (attributes, home, born_ns) = (attributes(header)?, tree.home(&header.path)?, birth_of(&file));
        let (tree, header, holes) = (Arc::clone(tree), header.clone(), Mutex::default());
        Ok(Self { tree, home, header, attributes, file, holes, born_ns, goes_on: false })
    }

    pub const fn file(&self) -> &File {
        &self.file
    }

    /// Holes of the source are to be holes here.
    pub const fn is_sparse(&self) -> bool {
        self.attributes.sparse
    }

    fn place_as(&self, name: &str) -> io::Result<Option<Version>> {
        self.tree.place(&self.home, name, &self.header.path, &self.attributes)
    }

    /// By a name that no other receiver knows: one that was given up, and wakes, may not put half a file of another one into its place.
    fn place_own(&self, name: &str) -> io::Result<Option<Version>> {
        let (staging, own) = (&self.home.staging, self.tree.unique_name(self.header.entry));
        staging.take_back(name, &own, &self.file)?;
        self.place_as(&own).inspect_err(|_| staging.give_back(&own, name))
    }

    /// What an error is where somebody has removed the file: none of its parts is there any more.
    fn without_file(&self, error: io::Error) -> io::Error {
        if error.kind() == io::ErrorKind::NotFound && !self.home.staging.has(self.header.entry) {
            return io::Error::new(io::ErrorKind::InvalidData, "somebody has removed it while it was received");
        }
        error
    }
}

impl LargeFile for Large {
    fn begin_part(&self, _part: u64, _path: &str) -> io::Result<()> {
        if self.file.metadata()?.len() == self.header.size {
            return Ok(());
        }
        // Cut short within a block, of which the kernel keeps the rest as zeros: no hole would tell once a later part has made it long again.
        tracing::warn!(entry = self.header.entry, "somebody has cut a file short while it was received");
        lock(&self.holes).doubt();
        // Nor would the next receiver know.
        self.forget_kept()
    }

    fn write(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        if self.attributes.sparse {
            lock(&self.holes).fill(offset..offset.saturating_add(bytes.len() as u64));
        }
        self.file.write_all_at(bytes, offset)
    }

    fn hole(&self, offset: u64, length: u64) -> io::Result<()> {
        // Of a file that should have none it is in doubt.
        if self.attributes.sparse {
            lock(&self.holes).note(offset..offset.saturating_add(length));
        }
        // An attempt that broke off may have left bytes there.
        match fs::fallocate(&self.file, FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE, offset, length) {
            Err(Errno::OPNOTSUPP) => zeros(length, |bytes, at| self.write(bytes, offset + at)),
            other => Ok(other?),
        }
    }

    fn take(&self, basis: &dyn Basis, offset: u64, length: u64, digest: &mut dyn FnMut(&[u8])) -> io::Result<()> {
        if !(basis as &dyn Any).downcast_ref::<File>().map_or(Ok(false), |from| copy(from, &self.file, offset, length))? {
            return take_bytes(self, basis, offset, length, digest);
        }
        if self.attributes.sparse {
            lock(&self.holes).fill(offset..offset.saturating_add(length));
        }
        read(&self.file, offset, length, |bytes, _| {
            digest(bytes);
            Ok(())
        })
    }

    fn prepare_sync(&self, _: Range<u64>) -> io::Result<()> {
        self.home.staging.prepare_sync(&self.file)
    }

    fn read_back(&self, range: Range<u64>, hasher: ContentHasher, digest: &Digest, heard: Heard<'_>) -> io::Result<()> {
        let name = self.header.entry.to_string();
        let read = readback::read(&self.home.staging, &name, hasher, Some(range), heard)?;
        readback::compare(&name, &read, digest)
    }

    fn next_hole(&self, from: u64) -> io::Result<Option<Hole>> {
        lock(&self.holes).next(&self.file, self.header.size, from)
    }

    fn forget_kept(&self) -> io::Result<()> {
        self.tree.journal.forgotten(self.header.entry)?;
        self.tree.journal.sync()
    }

    fn keep(&self, part: u64, range: Range<u64>, digest: Digest) -> io::Result<()> {
        let holes = lock(&self.holes).within(range);
        self.tree.journal.part(self.header.entry, (self.header.size, self.born_ns), part, digest, &holes)
    }

    fn place(&self) -> io::Result<Option<Version>> {
        let (name, SegmentHeader { mode, mtime_ns, .. }) = (self.header.entry.to_string(), &self.header);
        let staging = &self.home.staging;
        let version = finish_file(staging, &self.file, &name, *mode, false, *mtime_ns, &self.attributes)
            .and_then(|()| if staging.shared().is_some() { self.place_own(&name) } else { self.place_as(&name) })
            .map_err(|error| self.without_file(error))?;
        // Whether the file is still the one that an earlier receiver wrote to could not be seen: it is read again at the end.
        Ok(version.filter(|_| self.born_ns != 0 || !self.goes_on))
    }
}
