//! Ends in memory: the second kind, which has neither tree nor journal nor descriptors.

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};

use cpt_relay::digest::{ContentHasher, Digest, Proof};
use cpt_relay::documents::attributes::Attributes;
use cpt_relay::documents::entry::Kind;
use cpt_relay::documents::text::{DirectoryId, PlanId, TransferId};
use cpt_relay::ends::{
    Capabilities, Destination, Heard, Hole, InPlace, LargeFile, Left, OpenDestination, Placed, Remover, Room, Seen, SmallFile, Tour,
    Version, View,
};
use cpt_relay::wire::frame::SegmentHeader;
use rustix::io::Errno;

use super::memory_mirrored;
use super::memory_state::{Node, Notes, State};

/// Whoever has one of these sees the same destination: a receiver that is opened anew does.
#[derive(Clone, Debug)]
pub struct MemoryDestination {
    state: Arc<Mutex<State>>,
    capabilities: Capabilities,
    /// It says that it keeps modes, and does not.
    forgets_modes: bool,
    /// A file that it has stored as something else, until that was told once.
    spoiled: Arc<Mutex<Option<Vec<u8>>>>,
}

impl MemoryDestination {
    pub fn new(capabilities: Capabilities, free: u64) -> Self {
        Self {
            state: Arc::new(Mutex::new(State { free, ..State::default() })),
            capabilities,
            forgets_modes: false,
            spoiled: Arc::default(),
        }
    }

    pub fn spoiling(self, path: &str) -> Self {
        Self { spoiled: Arc::new(Mutex::new(Some(path.as_bytes().to_vec()))), ..self }
    }

    pub fn forgetting_modes(self) -> Self {
        Self { forgets_modes: true, ..self }
    }

    pub fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    /// What the destination keeps of an entry.
    fn node(&self, header: &SegmentHeader, bytes: Vec<u8>) -> io::Result<Node> {
        let Capabilities { modes, attributes, .. } = self.capabilities;
        let mode = if modes && !self.forgets_modes { u32::from(header.mode) } else { 0 };
        let listed = Attributes::parse(&header.attributes).map_err(io::Error::other)?;
        let node = Node::new(header.kind, bytes, mode, self.kept_time(header.mtime_ns));
        // What kind of special file it is, is none of what a kind keeps or does not.
        let attributes = if attributes { listed } else { Attributes { node: listed.node, ..Attributes::default() } };
        Ok(Node { attributes, ..node })
    }

    /// A time as it is kept here.
    pub fn kept_time(&self, mtime_ns: i64) -> i64 {
        self.capabilities.time_step_ns.map_or(0, |step| mtime_ns.div_euclid(step) * step)
    }
}

impl fmt::Display for MemoryDestination {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("memory")
    }
}

/// Plain names only, as the port has it.
pub fn check(path: &[u8]) -> io::Result<()> {
    let plain = |name: &[u8]| !matches!(name, b"" | b"." | b"..") && !name.contains(&0);
    if path.split(|byte| *byte == b'/').all(plain) { Ok(()) } else { Err(io::ErrorKind::InvalidInput.into()) }
}

pub fn same(read: &Digest, written: &Digest) -> io::Result<()> {
    if read == written { Ok(()) } else { Err(io::ErrorKind::InvalidData.into()) }
}

impl Destination for MemoryDestination {
    fn capabilities(&self) -> Capabilities {
        self.capabilities
    }

    fn room(&self) -> Room {
        let state = self.state();
        Room { bytes: Some(state.free), occupied: !state.nodes.is_empty(), ..Room::default() }
    }

    fn view(&self) -> io::Result<Box<dyn View + '_>> {
        Ok(Box::new(Sight(self)))
    }

    fn open(&self, _: &TransferId, plan: &PlanId, _: u64, proof: Proof) -> io::Result<(Box<dyn OpenDestination>, Left)> {
        let mut state = self.state();
        state.notes = state.synced.clone();
        let of = Some((plan.clone(), proof));
        if state.notes.plan != of {
            state.notes = Notes { plan: of, ..Notes::default() };
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
    fn capabilities(&self) -> Capabilities {
        self.capabilities
    }

    fn small(&self, header: &SegmentHeader) -> io::Result<Box<dyn SmallFile>> {
        check(&header.path)?;
        let node = self.node(header, header.target.clone())?;
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
        Ok((Box::new(Large { to: self.clone(), header: header.clone(), number, placed: OnceLock::new() }), kept))
    }

    fn sync(&self) -> io::Result<()> {
        Ok(())
    }

    fn directory(&self, header: &SegmentHeader) -> io::Result<()> {
        check(&header.path)?;
        let node = self.node(header, Vec::new())?;
        self.state().put(&header.path, node).map(drop)
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

    fn tells_stored(&self) -> bool {
        true
    }

    fn compare_stored(&self, files: &[InPlace<'_>], _proof: Proof, heard: Heard<'_>) -> Vec<Result<(), String>> {
        let mut spoiled = self.spoiled.lock().unwrap();
        let compare = |file: &InPlace<'_>| {
            heard(0);
            if spoiled.take_if(|path| path == file.path).is_some() { Err("is stored as something else".to_owned()) } else { Ok(()) }
        };
        files.iter().map(compare).collect()
    }

    fn check_there(&self) -> io::Result<()> {
        Ok(())
    }

    fn finish(&self, _removed: &dyn Fn()) -> io::Result<()> {
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

    fn read_back(&self, mut hasher: ContentHasher, digest: &Digest, heard: Heard<'_>) -> io::Result<()> {
        heard(self.node.bytes.len() as u64);
        same(&hasher.update(&self.node.bytes).digest(), digest)
    }

    fn place(self: Box<Self>, path: &[u8]) -> io::Result<Option<Version>> {
        if self.node.kind == Kind::Hardlink {
            let Self { to, node } = *self;
            let can = to.capabilities;
            let is_listed = |first: &Node| can.time_step_ns.is_none() || can.same_time(Some(first.mtime_ns), node.mtime_ns);
            return to.state().link(&node.bytes, path, is_listed).map(|()| None);
        }
        self.to.state().put(path, self.node).map(Some)
    }
}

struct Large {
    to: MemoryDestination,
    header: SegmentHeader,
    number: u64,
    /// Whoever has not heard that it was placed asks again.
    placed: OnceLock<Version>,
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

    fn prepare_sync(&self, _: Range<u64>) -> io::Result<()> {
        Ok(())
    }

    fn read_back(&self, range: Range<u64>, mut hasher: ContentHasher, digest: &Digest, heard: Heard<'_>) -> io::Result<()> {
        let (at, end) = (usize::try_from(range.start).unwrap(), usize::try_from(range.end).unwrap());
        heard(range.end - range.start);
        same(&self.bytes(|all| hasher.update(&all[at..end]).digest())?, digest)
    }

    fn next_hole(&self, _from: u64) -> io::Result<Option<Hole>> {
        Ok(None)
    }

    fn forget_kept(&self) -> io::Result<()> {
        self.to.state().notes.parts.remove(&self.header.entry);
        Ok(())
    }

    fn keep(&self, part: u64, _range: Range<u64>, digest: Digest) -> io::Result<()> {
        let mut state = self.to.state();
        let (_, _, parts) = state.notes.parts.entry(self.header.entry).or_insert_with(|| (self.number, self.header.size, BTreeMap::new()));
        parts.insert(part, digest);
        Ok(())
    }

    fn place(&self) -> io::Result<Option<Version>> {
        if let Some(version) = self.placed.get() {
            return Ok(Some(*version));
        }
        let bytes = self.bytes(|bytes| bytes.clone())?;
        let node = self.to.node(&self.header, bytes)?;
        let mut state = self.to.state();
        let version = state.put(&self.header.path, node)?;
        state.partial.remove(&self.header.entry);
        state.notes.parts.remove(&self.header.entry);
        Ok(Some(*self.placed.get_or_init(|| version)))
    }
}

struct Sight<'a>(&'a MemoryDestination);

impl View for Sight<'_> {
    fn see(&mut self, path: &[u8]) -> io::Result<Seen> {
        check(path)?;
        let state = self.0.state();
        let Node { kind, bytes, mode, mtime_ns, version, .. } = state.nodes.get(path).ok_or(io::ErrorKind::NotFound)?;
        let target = (*kind == Kind::Symlink).then(|| bytes.clone());
        Ok(Seen { kind: Some(*kind), size: bytes.len() as u64, mode: *mode, mtime_ns: Some(*mtime_ns), version: *version, target })
    }

    fn attributes(&mut self, path: &[u8], listed: &Attributes) -> io::Result<Attributes> {
        let state = self.0.state();
        let Node { attributes, .. } = state.nodes.get(path).ok_or(io::ErrorKind::NotFound)?;
        let node = attributes.node.filter(|_| listed.node.is_some());
        if !self.0.capabilities.attributes {
            return Ok(Attributes { node, ..listed.clone() });
        }
        let has = |asked: bool, named: &Option<_>| if asked { Some(named.clone().unwrap_or_default()) } else { None };
        Ok(Attributes {
            owner: listed.owner.as_ref().and(attributes.owner.clone()),
            xattrs: has(listed.xattrs.is_some(), &attributes.xattrs),
            acls: has(listed.acls.is_some(), &attributes.acls),
            node,
            ..listed.clone()
        })
    }

    fn digest(&mut self, path: &[u8], of: &Version, heard: Heard<'_>) -> io::Result<Digest> {
        let state = self.0.state();
        let node = state.nodes.get(path).filter(|node| node.version == *of).ok_or(io::ErrorKind::NotFound)?;
        heard(node.bytes.len() as u64);
        Ok(*blake3::hash(&node.bytes).as_bytes())
    }
}
