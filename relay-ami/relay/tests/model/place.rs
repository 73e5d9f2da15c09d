//! Where a sequence's transfers arrive: a directory, a bucket, or the kind of destination that is in memory and keeps less, as drawn.
//! Whatever runs the model, the lesser file systems are there: they need no root and no disks.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use cpt_ends_posix::PosixDestination;
use cpt_relay::documents::attributes::{Attributes, Node as Special};
use cpt_relay::documents::entry;
use cpt_relay::documents::text::{KeepName, TransferId};
use cpt_relay::ends::{Capabilities, Destination};

use crate::bucket::{self, BucketPlace};
use crate::interfere::{self, Op};
use crate::memory::MemoryDestination;
use crate::memory_state::Node;
use crate::random::Random;
use crate::seen::{KEPT, Kind, PARTIAL, SECOND, Seen, Tree, digest, list};
use crate::tally::Tally;

pub enum Place {
    /// `time_step_ns`: of its file system.
    Directory {
        path: PathBuf,
        keeps: bool,
        time_step_ns: i64,
    },
    Memory(MemoryDestination),
    Bucket(BucketPlace),
}

/// Steps of times: all, as Windows and shares of it, old file systems and Lustre, and FAT have them, and none.
const STEPS: [Option<i64>; 5] = [Some(1), Some(100), Some(SECOND), Some(2 * SECOND), None];

/// The abilities of a file system that lacks some. Of numbers in a row, each step of times has as many.
pub fn lesser(number: u64, random: &mut Random, tally: &mut Tally) -> Capabilities {
    let mut has = |what: &'static str| {
        let has = random.below(5) > 1;
        if !has {
            tally.count(what);
        }
        has
    };
    let (modes, links, hard_links) = (has("lesser: no modes"), has("lesser: no symbolic links"), has("lesser: no hard links"));
    let (attributes, special_files) = (has("lesser: no attributes"), has("lesser: no special files"));
    let (holes, parts) = (has("lesser: no holes"), random.below(10) > 0);
    let time_step_ns = STEPS[usize::try_from(number % STEPS.len() as u64).unwrap()];
    tally.count(match time_step_ns {
        None => "lesser: no times",
        Some(1) => "lesser: all of a time",
        Some(100) => "lesser: times of 100 ns",
        Some(SECOND) => "lesser: times of 1 s",
        Some(_) => "lesser: times of 2 s",
    });
    Capabilities { parts, directories: true, modes, time_step_ns, links, hard_links, special_files, attributes, holes }
}

impl Place {
    pub fn in_memory(capabilities: Capabilities) -> Self {
        Self::Memory(MemoryDestination::new(capabilities, 1 << 40))
    }

    pub fn destination(&self) -> Box<dyn Destination> {
        match self {
            Self::Directory { path, keeps, .. } => {
                let name = KeepName::new(KEPT).unwrap();
                let transfer = TransferId::new("local").unwrap();
                Box::new(PosixDestination::new(path.clone()).keeping(keeps.then_some(&name), &transfer))
            }
            Self::Memory(memory) => Box::new(memory.clone()),
            Self::Bucket(bucket) => Box::new(bucket.destination()),
        }
    }

    /// The abilities that were drawn; of a directory all, and of a bucket what is promised, whatever the product finds out.
    pub fn capabilities(&self) -> Capabilities {
        match self {
            Self::Directory { time_step_ns, .. } => Capabilities {
                parts: true,
                directories: true,
                modes: true,
                time_step_ns: Some(*time_step_ns),
                links: true,
                hard_links: true,
                special_files: true,
                attributes: true,
                holes: true,
            },
            Self::Memory(memory) => Destination::capabilities(memory),
            Self::Bucket(_) => bucket::CAPABILITIES,
        }
    }

    pub const fn bucket(&self) -> Option<&BucketPlace> {
        if let Self::Bucket(bucket) = self { Some(bucket) } else { None }
    }

    /// How a program is told of it; none where only this process has it.
    pub fn address(&self) -> Option<String> {
        match self {
            Self::Directory { path, .. } => Some(path.to_str().expect("a path of this test").to_owned()),
            Self::Memory(_) => None,
            Self::Bucket(bucket) => Some(bucket.address()),
        }
    }

    /// Whether nothing can be there under this path, whatever it is.
    pub fn refuses(&self, path: &[u8]) -> bool {
        self.bucket().is_some_and(|bucket| bucket.refuses(path))
    }

    pub const fn directory(&self) -> Option<&PathBuf> {
        if let Self::Directory { path, .. } = self { Some(path) } else { None }
    }

    /// Whether it is a directory whose file system has whole seconds, of change times too.
    pub const fn is_coarse(&self) -> bool {
        matches!(self, Self::Directory { time_step_ns: SECOND.., .. })
    }

    /// Whether what is replaced is kept.
    pub const fn keeps(&self) -> bool {
        matches!(self, Self::Directory { keeps: true, .. })
    }

    /// What is kept, by its path below the directory for that.
    pub fn kept(&self) -> Tree {
        if self.keeps() { self.directory().map(|path| list(&path.join(KEPT))).unwrap_or_default() } else { Tree::new() }
    }

    pub fn list(&self) -> Tree {
        match self {
            Self::Directory { path, .. } => list(path),
            Self::Memory(memory) => memory.state().nodes.iter().map(|(path, node)| (path.clone(), seen(node))).collect(),
            Self::Bucket(bucket) => bucket.list(),
        }
    }

    /// The same as mirrors see it.
    pub fn as_tree(&self) -> Tree {
        self.bucket().map_or_else(|| self.list(), BucketPlace::as_tree)
    }

    /// What a directory is called in a tree of this place.
    pub fn directory_name(&self, path: &[u8]) -> Vec<u8> {
        let end: &[u8] = if self.capabilities().directories { b"" } else { b"/" };
        [path, end].concat()
    }

    /// What somebody else does. A receiver at work may have taken something of its own away meanwhile.
    pub fn change(&self, op: Op, serial: u64) {
        match self {
            Self::Directory { path, .. } => drop(op.apply(path, serial)),
            Self::Memory(memory) => change(memory, op, serial, &self.list()),
            Self::Bucket(bucket) => bucket.change(op, serial),
        }
    }

    pub fn remove(&self, path: &[u8]) {
        match self {
            Self::Directory { path: root, .. } => interfere::remove(&root.join(OsStr::from_bytes(path))).unwrap(),
            Self::Memory(memory) => {
                let below = [path, b"/"].concat();
                memory.state().nodes.retain(|other, _| other != path && !other.starts_with(&below));
            }
            Self::Bucket(bucket) => bucket.remove(path),
        }
    }

    /// A copy of an entry of a directory, as `cp -a` makes it: with whatever a destination of this kind keeps.
    pub fn put_copy(&self, source: &Path, was: &Seen, path: &[u8]) {
        match self {
            Self::Directory { path: root, .. } => drop(interfere::copy(source, was, &root.join(OsStr::from_bytes(path)))),
            Self::Memory(memory) => drop(memory.state().put(path, copied(memory, source, was))),
            Self::Bucket(bucket) => bucket.put_copy(source, was, path),
        }
    }

    /// What is ours and not in its place.
    pub fn leftovers(&self) -> Vec<String> {
        match self {
            Self::Directory { path, .. } => {
                let names = fs::read_dir(path).into_iter().flatten().flatten().map(|entry| entry.file_name());
                let ours = names.filter(|name| name.as_bytes().starts_with(PARTIAL));
                ours.map(|name| name.to_string_lossy().into_owned()).collect()
            }
            Self::Memory(memory) => memory.state().partial.keys().map(|entry| format!("entry {entry}")).collect(),
            Self::Bucket(bucket) => bucket.leftovers(),
        }
    }
}

fn seen(node: &Node) -> Seen {
    let kind = match node.kind {
        entry::Kind::File | entry::Kind::Hardlink => Kind::File,
        entry::Kind::Directory => Kind::Directory,
        entry::Kind::Symlink => Kind::Link,
        entry::Kind::Special => Kind::Pipe,
    };
    let Attributes { owner, xattrs, acls, .. } = node.attributes.clone();
    Seen {
        kind,
        size: node.bytes.len() as u64,
        mode: node.mode,
        mtime_ns: node.mtime_ns,
        ctime_ns: node.version.numbers().1,
        inode: node.version.numbers().0,
        digest: digest(&node.bytes),
        owner: owner.map_or((0, 0), |owner| (owner.uid, owner.gid)),
        xattrs: xattrs.unwrap_or_default(),
        acls: acls.unwrap_or_default(),
    }
}

fn copied(memory: &MemoryDestination, source: &Path, was: &Seen) -> Node {
    let can = Destination::capabilities(memory);
    let (kind, bytes) = match was.kind {
        Kind::File => (entry::Kind::File, fs::read(source).unwrap_or_default()),
        Kind::Directory => (entry::Kind::Directory, Vec::new()),
        Kind::Link => (entry::Kind::Symlink, fs::read_link(source).map_or_else(|_| Vec::new(), |to| to.as_os_str().as_bytes().to_vec())),
        Kind::Pipe => (entry::Kind::Special, Vec::new()),
    };
    let mut node = Node::new(kind, bytes, if can.modes { was.mode } else { 0 }, memory.kept_time(was.mtime_ns));
    if can.attributes {
        node.attributes.xattrs = Some(was.xattrs.clone());
        node.attributes.acls = Some(was.acls.clone());
        let (uid, gid) = was.owner;
        node.attributes.owner = Some(cpt_relay::documents::attributes::Owner { uid, gid, user: None, group: None });
    }
    node.attributes.node = (was.kind == Kind::Pipe).then_some(Special::Fifo);
    node
}

/// [`Op::apply`] in memory, as far as there is the same to be done: whoever changes something there makes another file of it.
fn change(memory: &MemoryDestination, op: Op, serial: u64, tree: &Tree) {
    let new = interfere::added(serial).into_bytes();
    let noise = |size: usize| crate::trees::noise(serial, size);
    let now = memory.kept_time(1_750_000_000 * SECOND + i64::try_from(serial).unwrap_or_default());
    let picked = op.picked(tree).map(<[u8]>::to_vec);
    let below = |path: &[u8]| [path, b"/"].concat();
    let mut state = memory.state();
    let Some(path) = picked else {
        match op {
            Op::Wipe => state.nodes.clear(),
            Op::WipeVisible => state.nodes.retain(|path, _| path.starts_with(b".")),
            Op::PartialDirectory => state.partial.clear(),
            Op::Add(_) => drop(state.put(&new, Node::new(entry::Kind::File, b"new".to_vec(), 0o644, now))),
            _ => {}
        }
        return;
    };
    let mut node = state.nodes[&path].clone();
    let remove = |state: &mut crate::memory_state::State| {
        state.nodes.retain(|other, _| *other != path && !other.starts_with(&below(&path)));
    };
    match op {
        Op::Remove(_) | Op::RemoveDirectory(_) => return remove(&mut state),
        Op::Truncate(_) => (node.bytes, node.mtime_ns) = (node.bytes[..node.bytes.len() / 2].to_vec(), now),
        Op::Append(_) => {
            node.bytes.extend(b"more");
            node.mtime_ns = now;
        }
        Op::Rewrite { time_kept, .. } => {
            node.bytes = noise(node.bytes.len());
            node.mtime_ns = if time_kept { node.mtime_ns } else { now };
        }
        Op::Replace { same_content: false, .. } => node.bytes = noise(node.bytes.len()),
        Op::ReplaceByOther(_) => (node.bytes, node.mtime_ns) = (noise(node.bytes.len() + 11), now),
        Op::Chmod(_) => node.mode ^= if Destination::capabilities(memory).modes { 0o055 } else { 0 },
        Op::Touch(_) => node.mtime_ns = memory.kept_time(interfere::TOUCHED),
        Op::Relink(_) => node.bytes = format!("elsewhere {serial}").into_bytes(),
        Op::Attribute(_) if Destination::capabilities(memory).attributes => {
            node.attributes.xattrs.get_or_insert_default().insert("user.late".to_owned(), "yes".to_owned());
        }
        Op::FileToDirectory(_) => {
            remove(&mut state);
            let inside = [&*path, b"/inside"].concat();
            return drop(state.put(&inside, Node::new(entry::Kind::File, b"in the way".to_vec(), 0o644, now)));
        }
        Op::DirectoryToFile(_) => {
            remove(&mut state);
            node = Node::new(entry::Kind::File, b"in the way".to_vec(), 0o644, now);
        }
        Op::Add(_) => {
            let inside = [&*below(&path), &*new].concat();
            return drop(state.put(&inside, Node::new(entry::Kind::File, b"new".to_vec(), 0o644, now)));
        }
        _ => {}
    }
    // Fails where something of another kind has come there; then nobody has changed anything.
    let _ = state.put(&path, node);
}
