//! A directory as a destination some of whose calls take as long as a test wants.

use std::collections::BTreeMap;
use std::fmt;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

use cpt_ends_posix::PosixDestination;
use cpt_relay::digest::{ContentHasher, Digest, Proof};
use cpt_relay::documents::text::{DirectoryId, PlanId, TransferId};
use cpt_relay::ends::{
    Capabilities, Destination, Heard, Hole, LargeFile, Left, OpenDestination, Placed, Remover, Room, SmallFile, Tour, Version, View,
};
use cpt_relay::wire::frame::SegmentHeader;

/// A call that is about to be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// A part of a large file is read back, of which nobody was told where its holes are.
    Read,
    /// A whole file goes to its place.
    Place,
}

type Hook = Arc<dyn Fn(Step) + Send + Sync>;

#[derive(Clone)]
pub struct Hooked {
    to: PosixDestination,
    before: Hook,
}

impl Hooked {
    pub fn new(to: PathBuf, before: impl Fn(Step) + Send + Sync + 'static) -> Self {
        Self { to: PosixDestination::new(to), before: Arc::new(before) }
    }
}

impl fmt::Display for Hooked {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.to.fmt(formatter)
    }
}

impl Destination for Hooked {
    fn capabilities(&self) -> Capabilities {
        self.to.capabilities()
    }

    fn room(&self) -> Room {
        self.to.room()
    }

    fn view(&self) -> io::Result<Box<dyn View + '_>> {
        self.to.view()
    }

    fn open(&self, transfer: &TransferId, plan: &PlanId, part_size: u64, proof: Proof) -> io::Result<(Box<dyn OpenDestination>, Left)> {
        let (to, left) = self.to.open(transfer, plan, part_size, proof)?;
        Ok((Box::new(Open { to, before: Arc::clone(&self.before) }), left))
    }

    fn tour(&self) -> io::Result<Box<dyn Tour + '_>> {
        self.to.tour()
    }

    fn remover(&self, directory: &DirectoryId) -> io::Result<Box<dyn Remover>> {
        self.to.remover(directory)
    }
}

struct Open {
    to: Box<dyn OpenDestination>,
    before: Hook,
}

impl OpenDestination for Open {
    fn capabilities(&self) -> Capabilities {
        self.to.capabilities()
    }

    fn small(&self, header: &SegmentHeader) -> io::Result<Box<dyn SmallFile>> {
        Ok(Box::new(Small { file: self.to.small(header)?, before: Arc::clone(&self.before) }))
    }

    fn large(&self, header: &SegmentHeader) -> io::Result<(Box<dyn LargeFile>, BTreeMap<u64, Digest>)> {
        let (file, kept) = self.to.large(header)?;
        Ok((Box::new(Large { file, size: header.size, before: Arc::clone(&self.before) }), kept))
    }

    fn directory(&self, header: &SegmentHeader) -> io::Result<()> {
        self.to.directory(header)
    }

    fn sync(&self) -> io::Result<()> {
        self.to.sync()
    }

    fn note(&self, entry: u64, placed: &Placed) -> io::Result<()> {
        self.to.note(entry, placed)
    }

    fn forget(&self, entry: u64) -> io::Result<()> {
        self.to.forget(entry)
    }

    fn sync_notes(&self) -> io::Result<()> {
        self.to.sync_notes()
    }

    fn nameless(&self) -> Option<File> {
        self.to.nameless()
    }

    fn abandon(&self, entry: u64) -> io::Result<()> {
        self.to.abandon(entry)
    }

    fn view(&self) -> Box<dyn View + '_> {
        self.to.view()
    }

    fn check_there(&self) -> io::Result<()> {
        self.to.check_there()
    }

    fn finish(&self, removed: &dyn Fn()) -> io::Result<()> {
        self.to.finish(removed)
    }

    fn close(&self) {
        self.to.close();
    }
}

struct Small {
    file: Box<dyn SmallFile>,
    before: Hook,
}

impl SmallFile for Small {
    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.file.write(bytes)
    }

    fn finish(&mut self) -> io::Result<()> {
        self.file.finish()
    }

    fn read_back(&self, hasher: ContentHasher, digest: &Digest, heard: Heard<'_>) -> io::Result<()> {
        self.file.read_back(hasher, digest, heard)
    }

    fn place(self: Box<Self>, path: &[u8]) -> io::Result<Option<Version>> {
        (self.before)(Step::Place);
        self.file.place(path)
    }
}

struct Large {
    file: Box<dyn LargeFile>,
    size: u64,
    before: Hook,
}

impl LargeFile for Large {
    fn write(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        self.file.write(bytes, offset)
    }

    fn prepare_sync(&self, range: Range<u64>) -> io::Result<()> {
        self.file.prepare_sync(range)
    }

    fn read_back(&self, range: Range<u64>, hasher: ContentHasher, digest: &Digest, heard: Heard<'_>) -> io::Result<()> {
        (self.before)(Step::Read);
        self.file.read_back(range, hasher, digest, heard)
    }

    fn next_hole(&self, from: u64) -> io::Result<Option<Hole>> {
        Ok((from < self.size).then_some(Hole { range: from..self.size, is_told: false }))
    }

    fn forget_kept(&self) -> io::Result<()> {
        self.file.forget_kept()
    }

    fn keep(&self, part: u64, range: Range<u64>, digest: Digest) -> io::Result<()> {
        self.file.keep(part, range, digest)
    }

    fn place(&self) -> io::Result<Option<Version>> {
        self.file.place()
    }
}
