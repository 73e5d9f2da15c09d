//! Files on their way to their places, among the partial files.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Write as _};
use std::os::unix::fs::FileExt as _;
use std::sync::Arc;

use super::attributes::finish_file;
use super::identity::birth_of;
use super::journal::Parts;
use super::readback;
use super::tree::Tree;
use crate::digest::{Digest, part_digest, part_hasher};
use crate::documents::entry::Kind;
use crate::ends::problem::not_by_name;
use crate::ends::{Identity, LargeFile, SmallFile};
use crate::wire::frame::SegmentHeader;

/// A whole file, or a link.
pub struct Small {
    tree: Arc<Tree>,
    /// No other attempt uses it: two streams with the same entry must not share a file.
    name: String,
    mode: u16,
    mtime_ns: i64,
    /// While it is written: thousands of files may wait for their places.
    file: Option<File>,
    is_link: bool,
    is_placed: bool,
}

impl Small {
    pub fn begin(tree: &Arc<Tree>, header: &SegmentHeader) -> io::Result<Self> {
        Tree::check(&header.path)?;
        let (tree, mode, mtime_ns) = (Arc::clone(tree), header.mode, header.mtime_ns);
        let name = tree.unique_name(header.entry);
        let is_link = header.kind == Kind::Symlink;
        let file = if is_link {
            tree.link(&name, &header.target, mtime_ns)?;
            None
        } else {
            Some(tree.create(&name, mode).map_err(not_by_name)?)
        };
        Ok(Self { tree, name, mode, mtime_ns, file, is_link, is_placed: false })
    }
}

impl SmallFile for Small {
    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.file.as_mut().map_or(Ok(()), |file| file.write_all(bytes))
    }

    fn finish(&mut self) -> io::Result<()> {
        let Some(file) = self.file.take() else { return Ok(()) };
        let mode = (!self.tree.has_mode_when_made(self.mode)).then_some(self.mode);
        finish_file(&file, mode, self.mtime_ns)?;
        self.tree.prepare_sync(&file)
    }

    fn read_back(&self, digest: &Digest) -> io::Result<()> {
        let read = readback::read(&self.tree, &self.name, blake3::Hasher::new(), None)?.finalize();
        readback::compare(&self.name, read.as_bytes(), digest)
    }

    fn place(mut self: Box<Self>, path: &[u8]) -> io::Result<Option<Identity>> {
        let identity = self.tree.place(&self.name, path)?;
        self.is_placed = true;
        Ok(identity.filter(|_| !self.is_link))
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        if !self.is_placed {
            self.tree.discard(&self.name);
        }
    }
}

/// A large file, which arrives in parts.
pub struct Large {
    tree: Arc<Tree>,
    header: SegmentHeader,
    file: File,
    /// When it was made, nanoseconds since 1970; 0 where the file system does not tell.
    born_ns: i64,
    /// Whether an earlier receiver left parts of it.
    goes_on: bool,
}

impl Large {
    /// The file with the digests of those of its parts that are `left` and count.
    pub fn begin(tree: &Arc<Tree>, header: &SegmentHeader, left: Option<Parts>) -> io::Result<(Self, BTreeMap<u64, Digest>)> {
        let entry = header.entry;
        let is_left = |left: &Parts| left.size == header.size && tree.is_left(entry, header.size, left.born_ns);
        let kept = match left {
            Some(left) if is_left(&left) => left.digests,
            // The file is made anew: the next receiver must not take the old parts for what is in it.
            Some(_) => {
                tree.discard(&entry.to_string());
                tree.journal.forgotten(entry)?;
                tree.journal.sync()?;
                BTreeMap::new()
            }
            None => BTreeMap::new(),
        };
        let file = tree.open_large(entry, header.size).map_err(not_by_name)?;
        let (born_ns, goes_on) = (birth_of(&file), !kept.is_empty());
        Ok((Self { tree: Arc::clone(tree), header: header.clone(), file, born_ns, goes_on }, kept))
    }
}

impl LargeFile for Large {
    fn write(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        self.file.write_all_at(bytes, offset)
    }

    fn prepare_sync(&self) -> io::Result<()> {
        self.tree.prepare_sync(&self.file)
    }

    fn read_back(&self, offset: u64, length: u64, digest: &Digest) -> io::Result<()> {
        let (name, range) = (self.header.entry.to_string(), offset..offset.saturating_add(length));
        let read = readback::read(&self.tree, &name, part_hasher(offset), Some(range))?;
        readback::compare(&name, &part_digest(&read), digest)
    }

    fn keep(&self, part: u64, digest: Digest) -> io::Result<()> {
        self.tree.journal.part(self.header.entry, self.header.size, self.born_ns, part, digest)
    }

    fn place(&self) -> io::Result<Option<Identity>> {
        finish_file(&self.file, Some(self.header.mode), self.header.mtime_ns)?;
        self.tree.prepare_sync(&self.file)?;
        let identity = self.tree.place(&self.header.entry.to_string(), &self.header.path)?;
        // Whether the file is still the one that an earlier receiver wrote to could not be seen: it is read again at the end.
        Ok(identity.filter(|_| self.born_ns != 0 || !self.goes_on))
    }
}
