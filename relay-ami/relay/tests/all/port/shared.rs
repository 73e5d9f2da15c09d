//! Machines that share a destination in memory, each of which hears and sees it in its own way: for users who cannot mount anything.
//!
//! Several may have it open at once as far as the port allows: a large file has one writer.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::io;
use std::ops::Range;
use std::sync::{Arc, Mutex};

use cpt_relay::digest::{ContentHasher, Digest, Proof};
use cpt_relay::documents::attributes::Attributes;
use cpt_relay::documents::text::{DirectoryId, PlanId, TransferId};
use cpt_relay::ends::{
    Capabilities, Destination, Heard, Hole, LargeFile, Left, OpenDestination, Placed, Remover, Room, Seen, SmallFile, Tour, Version, View,
};
use cpt_relay::wire::frame::SegmentHeader;
use rustix::io::Errno;

use super::memory::MemoryDestination;

/// What a file system may do, and not say that it has done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Call {
    Small,
    Large,
    Directory,
    Note,
    Sync,
}

#[derive(Debug, Default)]
struct Wrong {
    lost: HashMap<Call, (u64, i32)>,
    /// So many views are of what was there then.
    old: Option<(u64, MemoryDestination)>,
}

/// One machine's client of it.
#[derive(Clone, Debug)]
pub struct Machine {
    server: MemoryDestination,
    wrong: Arc<Mutex<Wrong>>,
}

impl Machine {
    pub fn of(server: &MemoryDestination) -> Self {
        Self { server: server.clone(), wrong: Arc::default() }
    }

    /// So many answers are lost; each call is done, and says this.
    pub fn lose(&self, call: Call, times: u64, says: Errno) {
        self.wrong.lock().unwrap().lost.insert(call, (times, says.raw_os_error()));
    }

    pub fn left(&self, call: Call) -> u64 {
        self.wrong.lock().unwrap().lost.get(&call).map_or(0, |(left, _)| *left)
    }

    /// So many views to come are of what is there now.
    pub fn remember(&self, views: u64) {
        let then = MemoryDestination::new(Destination::capabilities(&self.server), 0);
        then.state().nodes = self.server.state().nodes.clone();
        self.wrong.lock().unwrap().old = Some((views, then));
    }

    fn answer<T>(&self, call: Call, done: io::Result<T>) -> io::Result<T> {
        let done = done?;
        match self.wrong.lock().unwrap().lost.get_mut(&call) {
            Some((left, says)) if *left > 0 => {
                *left -= 1;
                Err(io::Error::from_raw_os_error(*says))
            }
            _ => Ok(done),
        }
    }

    fn sight(&self) -> Glance {
        let mut wrong = self.wrong.lock().unwrap();
        let of = match &mut wrong.old {
            Some((left, then)) if *left > 0 => {
                *left -= 1;
                then.clone()
            }
            _ => self.server.clone(),
        };
        Glance { of, server: self.server.clone() }
    }
}

impl fmt::Display for Machine {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("shared memory")
    }
}

impl Destination for Machine {
    fn capabilities(&self) -> Capabilities {
        Destination::capabilities(&self.server)
    }

    fn room(&self) -> Room {
        self.server.room()
    }

    fn view(&self) -> io::Result<Box<dyn View + '_>> {
        Ok(Box::new(self.sight()))
    }

    fn open(&self, transfer: &TransferId, plan: &PlanId, size: u64, proof: Proof) -> io::Result<(Box<dyn OpenDestination>, Left)> {
        let (open, left) = self.server.open(transfer, plan, size, proof)?;
        Ok((Box::new(Open { machine: self.clone(), open }), left))
    }

    fn tour(&self) -> io::Result<Box<dyn Tour + '_>> {
        self.server.tour()
    }

    fn remover(&self, directory: &DirectoryId) -> io::Result<Box<dyn Remover>> {
        self.server.remover(directory)
    }
}

struct Open {
    machine: Machine,
    open: Box<dyn OpenDestination>,
}

impl OpenDestination for Open {
    fn capabilities(&self) -> Capabilities {
        self.open.capabilities()
    }

    fn small(&self, header: &SegmentHeader) -> io::Result<Box<dyn SmallFile>> {
        Ok(Box::new(Small { machine: self.machine.clone(), file: self.open.small(header)? }))
    }

    fn large(&self, header: &SegmentHeader) -> io::Result<(Box<dyn LargeFile>, BTreeMap<u64, Digest>)> {
        let (file, kept) = self.open.large(header)?;
        Ok((Box::new(Large { machine: self.machine.clone(), file }), kept))
    }

    fn directory(&self, header: &SegmentHeader) -> io::Result<()> {
        self.machine.answer(Call::Directory, self.open.directory(header))
    }

    fn sync(&self) -> io::Result<()> {
        self.machine.answer(Call::Sync, self.open.sync())
    }

    fn note(&self, entry: u64, placed: &Placed) -> io::Result<()> {
        self.machine.answer(Call::Note, self.open.note(entry, placed))
    }

    fn forget(&self, entry: u64) -> io::Result<()> {
        self.open.forget(entry)
    }

    fn sync_notes(&self) -> io::Result<()> {
        self.open.sync_notes()
    }

    fn abandon(&self, entry: u64) -> io::Result<()> {
        self.open.abandon(entry)
    }

    fn view(&self) -> Box<dyn View + '_> {
        Box::new(self.machine.sight())
    }

    fn check_there(&self) -> io::Result<()> {
        self.open.check_there()
    }

    fn finish(&self, removed: &dyn Fn()) -> io::Result<()> {
        self.open.finish(removed)
    }

    fn close(&self) {
        self.open.close();
    }
}

struct Small {
    machine: Machine,
    file: Box<dyn SmallFile>,
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
        self.machine.answer(Call::Small, self.file.place(path))
    }
}

struct Large {
    machine: Machine,
    file: Box<dyn LargeFile>,
}

impl LargeFile for Large {
    fn write(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        self.file.write(bytes, offset)
    }

    fn prepare_sync(&self, range: Range<u64>) -> io::Result<()> {
        self.file.prepare_sync(range)
    }

    fn read_back(&self, range: Range<u64>, hasher: ContentHasher, digest: &Digest, heard: Heard<'_>) -> io::Result<()> {
        self.file.read_back(range, hasher, digest, heard)
    }

    fn next_hole(&self, from: u64) -> io::Result<Option<Hole>> {
        self.file.next_hole(from)
    }

    fn forget_kept(&self) -> io::Result<()> {
        self.file.forget_kept()
    }

    fn keep(&self, part: u64, range: Range<u64>, digest: Digest) -> io::Result<()> {
        self.file.keep(part, range, digest)
    }

    fn place(&self) -> io::Result<Option<Version>> {
        self.machine.answer(Call::Large, self.file.place())
    }
}

/// Names and attributes may be old; what is opened is as it is.
struct Glance {
    of: MemoryDestination,
    server: MemoryDestination,
}

impl View for Glance {
    fn see(&mut self, path: &[u8]) -> io::Result<Seen> {
        Destination::view(&self.of)?.see(path)
    }

    fn attributes(&mut self, path: &[u8], listed: &Attributes) -> io::Result<Attributes> {
        Destination::view(&self.of)?.attributes(path, listed)
    }

    fn digest(&mut self, path: &[u8], of: &Version, heard: Heard<'_>) -> io::Result<Digest> {
        Destination::view(&self.server)?.digest(path, of, heard)
    }
}
