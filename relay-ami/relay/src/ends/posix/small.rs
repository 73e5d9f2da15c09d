//! A whole file, or a link, among the partial files.

use std::fmt;
use std::fs::File;
use std::io::{self, Write as _};
use std::sync::Arc;

use super::attributes::finish_file;
use super::readback;
use super::tree::Tree;
use crate::digest::Digest;
use crate::documents::entry::Kind;
use crate::ends::problem::not_by_name;
use crate::ends::{Buffer, Identity, SmallFile};
use crate::wire::frame::SegmentHeader;

/// Two numbers of up to 20 digits, and what is between them.
const NAME_BYTES: usize = 41;

pub struct Small {
    tree: Arc<Tree>,
    entry: u64,
    /// Two streams with the same entry must not share a file.
    attempt: u64,
    mode: u16,
    mtime_ns: i64,
    /// While it is written.
    file: Option<File>,
    /// Of a file that is finished.
    inode: Option<u64>,
    is_placed: bool,
}

impl Small {
    pub fn begin(tree: &Arc<Tree>, header: &SegmentHeader) -> io::Result<Self> {
        Tree::check(&header.path)?;
        let (entry, attempt, mode, mtime_ns) = (header.entry, tree.attempt(), header.mode, header.mtime_ns);
        let name = Name::of(entry, attempt);
        let file = if header.kind == Kind::Symlink {
            tree.link(name.as_str(), &header.target, mtime_ns)?;
            None
        } else {
            Some(tree.create(name.as_str(), mode).map_err(not_by_name)?)
        };
        Ok(Self { tree: Arc::clone(tree), entry, attempt, mode, mtime_ns, file, inode: None, is_placed: false })
    }

    fn name(&self) -> Name {
        Name::of(self.entry, self.attempt)
    }
}

impl fmt::Display for Small {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "partial file {}", self.name().as_str())
    }
}

impl SmallFile for Small {
    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.file.as_mut().map_or(Ok(()), |file| file.write_all(bytes))
    }

    fn finish(&mut self) -> io::Result<()> {
        // Closed by this: thousands may wait for their places.
        let Some(file) = self.file.take() else { return Ok(()) };
        self.inode = Some(finish_file(&file, self.mode, self.mtime_ns)?);
        self.tree.prepare_sync(&file)
    }

    fn read_back(&self, buffer: &mut Buffer) -> io::Result<Digest> {
        let hasher = readback::read(&self.tree, self.name().as_str(), blake3::Hasher::new(), readback::ALL, buffer)?;
        Ok(*hasher.finalize().as_bytes())
    }

    fn place(mut self: Box<Self>, path: &[u8]) -> io::Result<Option<Identity>> {
        let identity = self.tree.place(self.name().as_str(), path, self.inode)?;
        self.is_placed = true;
        Ok(identity)
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        if !self.is_placed {
            self.tree.discard(self.name().as_str());
        }
    }
}

/// Its name among the partial files: made where it is needed, without an allocation for each of a million files.
struct Name {
    bytes: [u8; NAME_BYTES],
    length: usize,
}

impl Name {
    fn of(entry: u64, attempt: u64) -> Self {
        let mut bytes = [0; NAME_BYTES];
        let mut rest = &mut bytes[..];
        // It has room for any two numbers.
        let _ = write!(rest, "{entry}-{attempt}");
        let length = NAME_BYTES - rest.len();
        Self { bytes, length }
    }

    fn as_str(&self) -> &str {
        std::str::from_utf8(&self.bytes[..self.length]).unwrap_or_default()
    }
}
