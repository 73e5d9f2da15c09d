//! Ends in memory: the second kind, which has neither tree nor journal nor descriptors.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard};

use cpt_relay::digest::{Digest, part_digest, part_hasher};
use cpt_relay::documents::entry::Kind;
use cpt_relay::documents::survey::{Problem, Survey};
use cpt_relay::documents::text::{DirectoryId, PlanId, SchemaVersion1, TransferId};
use cpt_relay::ends::{
    Capabilities, Destination, Identity, LargeFile, Left, OpenDestination, Placed, Remover, Seen, SmallFile, Tour, View,
};
use cpt_relay::wire::frame::SegmentHeader;
use rustix::io::Errno;

use super::memory_mirrored;

/// One entry.
#[derive(Clone, Debug)]
pub struct Node {
    pub kind: Kind,
    /// Of a file its content, of a link its target.
    pub bytes: Vec<u8>,
    pub mode: u32,
    pub mtime_ns: i64,
    pub identity: Identity,
}

#[derive(Debug, Default)]
pub struct State {
    pub nodes: BTreeMap<Vec<u8>, Node>,
    /// Large files that are not in their places, with the number that tells one from another.
    pub partial: HashMap<u64, (u64, Vec<u8>)>,
    /// Bytes that can still be taken.
    pub free: u64,
    notes: Notes,
    synced: Notes,
    serial: u64,
}

#[derive(Clone, Debug, Default)]
struct Notes {
    plan: Option<PlanId>,
    placed: BTreeMap<u64, Placed>,
    /// By entry: the number of the partial file, its size, and the parts.
    parts: HashMap<u64, (u64, u64, BTreeMap<u64, Digest>)>,
}

impl State {
    fn next(&mut self) -> u64 {
        self.serial += 1;
        self.serial
    }

    fn identity(&mut self) -> Identity {
        let inode = self.next();
        Identity { inode, changed_ns: inode.cast_signed() }
    }

    fn take(&mut self, bytes: u64) -> io::Result<()> {
        self.free = self.free.checked_sub(bytes).ok_or(Errno::NOSPC)?;
        Ok(())
    }

    /// Puts a node into its place, below directories that are made where they are absent.
    pub fn put(&mut self, path: &[u8], mut node: Node) -> io::Result<Identity> {
        for at in path.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(at, _)| at) {
            let above = path[..at].to_vec();
            if self.nodes.get(&above).is_some_and(|found| found.kind != Kind::Directory) {
                return Err(Errno::NOTDIR.into());
            }
            let identity = self.identity();
            self.nodes.entry(above).or_insert(Node { kind: Kind::Directory, bytes: Vec::new(), mode: 0o700, mtime_ns: 0, identity });
        }
        match self.nodes.get(path) {
            Some(found) if found.kind == Kind::Directory && node.kind != Kind::Directory => return Err(Errno::ISDIR.into()),
            Some(found) if found.kind != Kind::Directory && node.kind == Kind::Directory => return Err(Errno::NOTDIR.into()),
            _ => {}
        }
        node.identity = self.identity();
        let identity = node.identity;
        self.nodes.insert(path.to_vec(), node);
        Ok(identity)
    }
}

/// Whoever has one of these sees the same destination: a receiver that is opened anew does.
#[derive(Clone, Debug)]
pub struct MemoryDestination {
    state: Arc<Mutex<State>>,
    capabilities: Capabilities,
}

impl MemoryDestination {
    pub fn new(capabilities: Capabilities, free: u64) -> Self {
        Self { state: Arc::new(Mutex::new(State { free, ..State::default() })), capabilities }
    }

    pub fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    /// What the destination keeps of an entry.
    fn node(&self, header: &SegmentHeader, bytes: Vec<u8>) -> Node {
        let Capabilities { modes, times, .. } = self.capabilities;
        Node {
            kind: header.kind,
            bytes,
            mode: if modes { u32::from(header.mode) } else { 0 },
            mtime_ns: if times { header.mtime_ns } else { 0 },
            identity: Identity { inode: 0, changed_ns: 0 },
        }
    }
}

impl fmt::Display for MemoryDestination {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("memory")
    }
}

/// Plain names only, as the port has it.
fn check(path: &[u8]) -> io::Result<()> {
    let plain = |name: &[u8]| !matches!(name, b"" | b"." | b"..") && !name.contains(&0);
    if path.split(|byte| *byte == b'/').all(plain) { Ok(()) } else { Err(io::ErrorKind::InvalidInput.into()) }
}

fn same(read: &Digest, written: &Digest) -> io::Result<()> {
    if read == written { Ok(()) } else { Err(io::ErrorKind::InvalidData.into()) }
}

impl Destination for MemoryDestination {
    fn capabilities(&self) -> Capabilities {
        self.capabilities
    }

    fn survey(&self) -> Survey {
        let state = self.state();
        Survey::Destination {
            schema_version: SchemaVersion1,
            daemon_version: "memory",
            free_bytes: state.free,
            free_inodes: u64::MAX,
            occupied: !state.nodes.is_empty(),
            ways: Vec::new(),
            write_mb_s: None,
            problems: Vec::<Problem>::new(),
            problem_count: 0,
        }
    }

    fn view(&self) -> io::Result<Box<dyn View + '_>> {
        Ok(Box::new(Sight(self)))
    }

    fn open(&self, _: &TransferId, plan: &PlanId, _: u64) -> io::Result<(Box<dyn OpenDestination>, Left)> {
        let mut state = self.state();
        state.notes = state.synced.clone();
        if state.notes.plan.as_ref() != Some(plan) {
            state.notes = Notes { plan: Some(plan.clone()), ..Notes::default() };
        }
        let left = Left {
            placed: state.notes.placed.iter().map(|(entry, placed)| (*entry, *placed)).collect(),
            begun: state.notes.parts.keys().copied().collect(),
        };
        Ok((Box::new(self.clone()), left))
    }

    fn tour(&self) -> io::Result<Box<dyn Tour + '_>> {
        Ok(Box::new(memory_mirrored::Walk::begin(self)))
    }

    fn remover(&self, directory: &DirectoryId) -> io::Result<Box<dyn Remover>> {
        memory_mirrored::remover(self, directory)
    }
}

impl OpenDestination for MemoryDestination {
    fn small(&self, header: &SegmentHeader) -> io::Result<Box<dyn SmallFile>> {
        check(&header.path)?;
        let node = self.node(header, header.target.clone());
        Ok(Box::new(Small { to: self.clone(), node }))
    }

    fn large(&self, header: &SegmentHeader) -> io::Result<(Box<dyn LargeFile>, BTreeMap<u64, Digest>)> {
        check(&header.path)?;
        let mut state = self.state();
        if state.nodes.get(&header.path).is_some_and(|found| found.kind == Kind::Directory) {
            return Err(Errno::ISDIR.into());
        }
        let (entry, size) = (header.entry, usize::try_from(header.size).unwrap());
        let known = state.partial.get(&entry).filter(|(_, bytes)| bytes.len() == size).map(|(number, _)| *number);
        let kept = state.notes.parts.get(&entry).filter(|(number, of, _)| Some(*number) == known && *of == header.size);
        let kept = kept.map(|(_, _, parts)| parts.clone()).unwrap_or_default();
        let number = if kept.is_empty() {
            state.take(header.size)?;
            state.notes.parts.remove(&entry);
            let number = state.next();
            state.partial.insert(entry, (number, vec![0; size]));
            number
        } else {
            known.unwrap()
        };
        drop(state);
        Ok((Box::new(Large { to: self.clone(), header: header.clone(), number }), kept))
    }

    fn sync(&self) -> io::Result<()> {
        Ok(())
    }

    fn directory(&self, header: &SegmentHeader) -> io::Result<()> {
        check(&header.path)?;
        self.state().put(&header.path, self.node(header, Vec::new())).map(drop)
    }

    fn note(&self, entry: u64, placed: &Placed) -> io::Result<()> {
        self.state().notes.placed.insert(entry, *placed);
        Ok(())
    }

    fn forget(&self, entry: u64) -> io::Result<()> {
        let mut state = self.state();
        state.notes.placed.remove(&entry);
        state.notes.parts.remove(&entry);
        Ok(())
    }

    fn sync_notes(&self) -> io::Result<()> {
        let mut state = self.state();
        state.synced = state.notes.clone();
        Ok(())
    }

    fn abandon(&self, entry: u64) -> io::Result<()> {
        self.forget(entry)?;
        self.state().partial.remove(&entry);
        self.sync_notes()
    }

    fn view(&self) -> Box<dyn View + '_> {
        Box::new(Sight(self))
    }

    fn check_there(&self) -> io::Result<()> {
        Ok(())
    }

    fn finish(&self) -> io::Result<()> {
        let mut state = self.state();
        state.partial.clear();
        (state.notes, state.synced) = (Notes::default(), Notes::default());
        Ok(())
    }

    fn close(&self) {}
}

struct Small {
    to: MemoryDestination,
    node: Node,
}

impl SmallFile for Small {
    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.to.state().take(bytes.len() as u64)?;
        self.node.bytes.extend_from_slice(bytes);
        Ok(())
    }

    fn finish(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn read_back(&self, digest: &Digest) -> io::Result<()> {
        same(blake3::hash(&self.node.bytes).as_bytes(), digest)
    }

    fn place(self: Box<Self>, path: &[u8]) -> io::Result<Option<Identity>> {
        let is_file = self.node.kind == Kind::File;
        let identity = self.to.state().put(path, self.node)?;
        Ok(is_file.then_some(identity))
    }
}

struct Large {
    to: MemoryDestination,
    header: SegmentHeader,
    number: u64,
}

impl Large {
    fn bytes<T>(&self, of: impl FnOnce(&mut Vec<u8>) -> T) -> io::Result<T> {
        let mut state = self.to.state();
        let found = state.partial.get_mut(&self.header.entry).filter(|(number, _)| *number == self.number);
        found.map(|(_, bytes)| of(bytes)).ok_or_else(|| io::ErrorKind::NotFound.into())
    }
}

impl LargeFile for Large {
    fn write(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        let at = usize::try_from(offset).unwrap();
        self.bytes(|all| all[at..at + bytes.len()].copy_from_slice(bytes))
    }

    fn prepare_sync(&self) -> io::Result<()> {
        Ok(())
    }

    fn read_back(&self, offset: u64, length: u64, digest: &Digest) -> io::Result<()> {
        let (at, length) = (usize::try_from(offset).unwrap(), usize::try_from(length).unwrap());
        same(&self.bytes(|all| part_digest(part_hasher(offset).update(&all[at..at + length])))?, digest)
    }

    fn is_dense(&self) -> io::Result<bool> {
        Ok(true)
    }

    fn keep(&self, part: u64, digest: Digest) -> io::Result<()> {
        let mut state = self.to.state();
        let (_, _, parts) = state.notes.parts.entry(self.header.entry).or_insert_with(|| (self.number, self.header.size, BTreeMap::new()));
        parts.insert(part, digest);
        Ok(())
    }

    fn place(&self) -> io::Result<Option<Identity>> {
        let bytes = self.bytes(|bytes| bytes.clone())?;
        let node = self.to.node(&self.header, bytes);
        let mut state = self.to.state();
        let identity = state.put(&self.header.path, node)?;
        state.partial.remove(&self.header.entry);
        state.notes.parts.remove(&self.header.entry);
        Ok(Some(identity))
    }
}

struct Sight<'a>(&'a MemoryDestination);

impl View for Sight<'_> {
    fn see(&mut self, path: &[u8]) -> io::Result<Seen> {
        check(path)?;
        let state = self.0.state();
        let Node { kind, bytes, mode, mtime_ns, identity } = state.nodes.get(path).ok_or(io::ErrorKind::NotFound)?;
        let target = (*kind == Kind::Symlink).then(|| bytes.clone());
        Ok(Seen { kind: Some(*kind), size: bytes.len() as u64, mode: *mode, mtime_ns: *mtime_ns, identity: *identity, target })
    }

    fn digest(&mut self, path: &[u8], of: &Identity) -> io::Result<Digest> {
        let state = self.0.state();
        let node = state.nodes.get(path).filter(|node| node.identity == *of).ok_or(io::ErrorKind::NotFound)?;
        Ok(*blake3::hash(&node.bytes).as_bytes())
    }
}
