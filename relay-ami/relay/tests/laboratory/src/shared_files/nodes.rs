//! The server's files that the kernel knows of, and the ones that are open.

use std::collections::{HashMap, VecDeque};
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use fuser::{FileType, INodeNo};
use rustix::fs::{Dir, Mode, OFlags, Stat};
use rustix::io::{Errno, Result};

/// A file of the server, held by its inode whatever its name is.
#[derive(Clone)]
pub struct Node(Arc<OwnedFd>);

impl Node {
    /// It is always the file itself: a symbolic link is not followed.
    pub fn path(&self) -> PathBuf {
        PathBuf::from(format!("/proc/self/fd/{}", self.0.as_raw_fd()))
    }

    pub fn fd(&self) -> &OwnedFd {
        &self.0
    }

    pub fn stat(&self) -> Result<Stat> {
        rustix::fs::fstat(&*self.0)
    }

    pub fn open(&self, flags: OFlags) -> Result<OwnedFd> {
        rustix::fs::open(self.path(), flags | OFlags::CLOEXEC, Mode::empty())
    }
}

/// Half of what many machines let a process have open.
const MOST_KNOWN: usize = 10_000;

struct Known {
    node: Node,
    lookups: u64,
    opened: u64,
    is_stale: bool,
}

/// What a handle stands for.
#[derive(Clone)]
pub enum Opened {
    File(Arc<File>),
    Directory(Arc<Vec<Listed>>),
}

pub struct Listed {
    pub inode: u64,
    pub kind: FileType,
    pub name: Vec<u8>,
}

#[derive(Default)]
struct Tables {
    known: HashMap<u64, Known>,
    handles: HashMap<u64, Opened>,
    last_handle: u64,
    /// Names by which the kernel knows files, by their directories, oldest first.
    names: VecDeque<(INodeNo, OsString)>,
}

pub struct Nodes {
    root: Node,
    tables: Mutex<Tables>,
}

impl Nodes {
    pub fn new(root: OwnedFd) -> Self {
        Self { root: Node(Arc::new(root)), tables: Mutex::default() }
    }

    fn tables(&self) -> MutexGuard<'_, Tables> {
        self.tables.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A handle of a file that another client has removed is stale, as a server of NFS has it, unless it is open here.
    pub fn get(&self, inode: INodeNo) -> Result<Node> {
        if inode == INodeNo::ROOT {
            return Ok(self.root.clone());
        }
        let (node, opened) = {
            let tables = self.tables();
            let known = tables.known.get(&inode.0).filter(|known| !known.is_stale).ok_or(Errno::STALE)?;
            (known.node.clone(), known.opened)
        };
        if opened == 0 && node.stat()?.st_nlink == 0 { Err(Errno::STALE) } else { Ok(node) }
    }

    /// The kernel asks for a name, and knows its file from now on.
    pub fn look_up(&self, parent: &Node, name: &OsStr) -> Result<(Node, Stat)> {
        let found = rustix::fs::openat(parent.fd(), name, OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())?;
        let stat = rustix::fs::fstat(&found)?;
        let mut tables = self.tables();
        let fresh = || Known { node: Node(Arc::new(found)), lookups: 0, opened: 0, is_stale: false };
        let known = tables.known.entry(stat.st_ino).or_insert_with(fresh);
        known.lookups += 1;
        known.is_stale = false;
        Ok((known.node.clone(), stat))
    }

    pub fn forget(&self, inode: INodeNo, lookups: u64) {
        let mut tables = self.tables();
        if let Some(known) = tables.known.get_mut(&inode.0) {
            known.lookups = known.lookups.saturating_sub(lookups);
            if known.lookups == 0 {
                tables.known.remove(&inode.0);
            }
        }
    }

    /// All handles of this client are stale until their names are asked for again.
    pub fn make_stale(&self) {
        self.tables().known.values_mut().for_each(|known| known.is_stale = true);
    }

    /// The kernel knows a file by this name from now on.
    pub fn named(&self, parent: INodeNo, name: &OsStr) {
        self.tables().names.push_back((parent, name.to_owned()));
    }

    /// Names that the kernel shall forget, since it knows more files than there may be descriptors.
    pub fn too_many(&self) -> Vec<(INodeNo, OsString)> {
        let mut tables = self.tables();
        let (more, names) = (tables.known.len().saturating_sub(MOST_KNOWN), tables.names.len());
        tables.names.drain(..more.min(names)).collect()
    }

    pub fn keep(&self, inode: INodeNo, opened: Opened) -> u64 {
        let mut tables = self.tables();
        if let Some(known) = tables.known.get_mut(&inode.0) {
            known.opened += 1;
        }
        tables.last_handle += 1;
        let handle = tables.last_handle;
        tables.handles.insert(handle, opened);
        handle
    }

    pub fn replace(&self, handle: u64, opened: Opened) {
        self.tables().handles.insert(handle, opened);
    }

    pub fn opened(&self, handle: u64) -> Result<Opened> {
        self.tables().handles.get(&handle).cloned().ok_or(Errno::BADF)
    }

    pub fn file(&self, handle: u64) -> Result<Arc<File>> {
        if let Opened::File(file) = self.opened(handle)? { Ok(file) } else { Err(Errno::ISDIR) }
    }

    pub fn close(&self, inode: INodeNo, handle: u64) {
        let mut tables = self.tables();
        tables.handles.remove(&handle);
        if let Some(known) = tables.known.get_mut(&inode.0) {
            known.opened = known.opened.saturating_sub(1);
        }
    }
}

/// All names of a directory, as they are now.
pub fn list(directory: &Node) -> Result<Vec<Listed>> {
    let opened = directory.open(OFlags::RDONLY | OFlags::DIRECTORY)?;
    let mut found = Vec::new();
    for entry in Dir::read_from(opened)? {
        let entry = entry?;
        found.push(Listed { inode: entry.ino(), kind: kind(entry.file_type()), name: entry.file_name().to_bytes().to_vec() });
    }
    Ok(found)
}

pub fn kind(of: rustix::fs::FileType) -> FileType {
    match of {
        rustix::fs::FileType::Directory => FileType::Directory,
        rustix::fs::FileType::Symlink => FileType::Symlink,
        rustix::fs::FileType::Fifo => FileType::NamedPipe,
        rustix::fs::FileType::Socket => FileType::Socket,
        rustix::fs::FileType::BlockDevice => FileType::BlockDevice,
        rustix::fs::FileType::CharacterDevice => FileType::CharDevice,
        _ => FileType::RegularFile,
    }
}
