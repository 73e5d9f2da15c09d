//! How one machine's client serves a call: as whom, and with which answer.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use fuser::{Errno, Generation, INodeNo, Notifier, ReplyAttr, ReplyEmpty, ReplyEntry, ReplyStatfs, ReplyXattr, Request};
use nix::unistd::{Gid, Uid, setfsgid, setfsuid};
use rustix::fs::{FlockOperation, Mode, OFlags, Stat, StatVfs};

use crate::attributes;
use crate::nodes::{Node, Nodes};
use crate::switches::{Fate, Switches};

const UNLOCK: i32 = 2;
const READ_LOCK: i32 = 0;
const NOBODY: u32 = 65534;
pub struct Client {
    pub nodes: Arc<Nodes>,
    pub switches: Arc<Switches>,
    pub notifier: Arc<OnceLock<Notifier>>,
    pub shares_locks: bool,
}

/// While it lives, this thread acts as somebody else.
struct Acting(bool);

impl Acting {
    fn of(request: &Request, squashes_root: bool) -> Self {
        let (user, group) = if request.uid() == 0 && squashes_root { (NOBODY, NOBODY) } else { (request.uid(), request.gid()) };
        let acts = (user, group) != (0, 0);
        if acts {
            setfsgid(Gid::from_raw(group));
            setfsuid(Uid::from_raw(user));
        }
        Self(acts)
    }
}

impl Drop for Acting {
    fn drop(&mut self) {
        if self.0 {
            setfsuid(Uid::from_raw(0));
            setfsgid(Gid::from_raw(0));
        }
    }
}

pub fn told(error: rustix::io::Errno) -> Errno {
    Errno::from_i32(error.raw_os_error())
}

pub fn told_of(error: &io::Error) -> Errno {
    error.raw_os_error().map_or(Errno::EIO, Errno::from_i32)
}

impl Client {
    pub fn new(backing: &Path, switches: Arc<Switches>, shares_locks: bool) -> io::Result<Self> {
        let root = rustix::fs::open(backing, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
        rustix::process::umask(Mode::empty());
        Ok(Self { nodes: Arc::new(Nodes::new(root)), switches, notifier: Arc::default(), shares_locks })
    }

    /// Serves a call of this name.
    pub fn call<T>(&self, request: &Request, name: &'static str, work: impl FnOnce() -> rustix::io::Result<T>) -> Result<T, Errno> {
        let fate = self.switches.arrive(name);
        if let Fate::Failed(why) = fate {
            return Err(told(why));
        }
        let acting = Acting::of(request, self.switches.habits().squashes_root);
        let done = work().map_err(told);
        drop(acting);
        if let Fate::Lost(why) = fate
            && done.is_ok()
        {
            return Err(told(why));
        }
        done
    }

    pub fn stale(&self) -> Duration {
        self.switches.habits().stale
    }

    /// Answers with a file that now has this name.
    pub fn answer(&self, done: Result<(), Errno>, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        let found = done.and_then(|()| self.nodes.get(parent).and_then(|parent| self.nodes.look_up(&parent, name)).map_err(told));
        match found {
            Ok((_, stat)) => self.entry(parent, name, &stat, reply),
            Err(why) => reply.error(why),
        }
    }

    /// The kernel knows this file by this name from now on.
    pub fn entry(&self, parent: INodeNo, name: &OsStr, stat: &Stat, reply: ReplyEntry) {
        self.nodes.named(parent, name);
        reply.entry(&self.stale(), &self.attributes(stat, INodeNo(stat.st_ino)), Generation(0));
    }

    pub fn answer_attributes(&self, found: Result<Stat, Errno>, inode: INodeNo, reply: ReplyAttr) {
        match found {
            Ok(stat) => reply.attr(&self.stale(), &self.attributes(&stat, inode)),
            Err(why) => reply.error(why),
        }
    }

    pub fn attributes(&self, stat: &Stat, inode: INodeNo) -> fuser::FileAttr {
        attributes::of(stat, inode, self.switches.habits())
    }

    pub fn changed(&self, nodes: &[&Node]) -> rustix::io::Result<()> {
        attributes::changed(nodes, self.switches.habits())
    }

    /// Makes something in a directory.
    pub fn make(
        &self,
        request: &Request,
        call: &'static str,
        parent: INodeNo,
        name: &OsStr,
        make: impl FnOnce(&Node) -> rustix::io::Result<()>,
    ) -> Result<(), Errno> {
        self.call(request, call, || {
            let parent = self.nodes.get(parent)?;
            make(&parent)?;
            if self.switches.habits().clock != 0 {
                let (made, stat) = self.nodes.look_up(&parent, name)?;
                let done = self.changed(&[&made, &parent]);
                self.nodes.forget(INodeNo(stat.st_ino), 1);
                done?;
            }
            Ok(())
        })
    }
}

pub fn answer(done: Result<(), Errno>, reply: ReplyEmpty) {
    match done {
        Ok(()) => reply.ok(),
        Err(why) => reply.error(why),
    }
}

/// Answers with bytes that whoever asked has room for.
pub fn answer_sized(found: Result<Vec<u8>, Errno>, size: u32, reply: ReplyXattr) {
    match found {
        Err(why) => reply.error(why),
        Ok(value) if size == 0 => reply.size(u32::try_from(value.len()).unwrap_or(u32::MAX)),
        Ok(value) if value.len() > size as usize => reply.error(Errno::ERANGE),
        Ok(value) => reply.data(&value),
    }
}

/// One that must wait for another machine keeps nobody else waiting.
pub fn lock(file: Arc<File>, kind: i32, waits: bool, reply: ReplyEmpty) {
    let of = |operation| rustix::fs::flock(&file, operation).map_err(told);
    match (kind, waits) {
        (UNLOCK, _) => answer(of(FlockOperation::Unlock), reply),
        (READ_LOCK, false) => answer(of(FlockOperation::NonBlockingLockShared), reply),
        (_, false) => answer(of(FlockOperation::NonBlockingLockExclusive), reply),
        (kind, true) => {
            let operation = if kind == READ_LOCK { FlockOperation::LockShared } else { FlockOperation::LockExclusive };
            std::thread::spawn(move || answer(rustix::fs::flock(&file, operation).map_err(told), reply));
        }
    }
}

pub fn answer_room(found: Result<StatVfs, Errno>, reply: ReplyStatfs) {
    match found {
        Ok(found) => {
            let small = |number: u64| u32::try_from(number).unwrap_or(u32::MAX);
            let (size, names, fragment) = (small(found.f_bsize), small(found.f_namemax), small(found.f_frsize));
            reply.statfs(found.f_blocks, found.f_bfree, found.f_bavail, found.f_files, found.f_ffree, size, names, fragment);
        }
        Err(why) => reply.error(why),
    }
}
