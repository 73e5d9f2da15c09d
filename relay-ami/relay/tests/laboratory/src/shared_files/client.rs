//! What the kernel asks of a client is done at the server, unless a switch has it otherwise.

use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

use fuser::{
    BsdFileFlags, Errno, FileHandle, Filesystem, FopenFlags, Generation, INodeNo, InitFlags, KernelConfig, LockOwner, OpenFlags,
    RenameFlags, ReplyAttr, ReplyCreate, ReplyData, ReplyDirectory, ReplyEmpty, ReplyEntry, ReplyLseek, ReplyOpen, ReplyStatfs, ReplyWrite,
    ReplyXattr, Request, TimeOrNow, WriteFlags,
};
use rustix::fs::{AtFlags, CWD, FallocateFlags, FileType, Mode, OFlags, SeekFrom, XattrFlags};

use crate::attributes;
use crate::nodes::{Opened, list};
use crate::serving::{Client, answer, answer_room, answer_sized, lock, told, told_of};

/// Those that a server would not know what to do with.
const OPENING: OFlags = OFlags::RWMODE.union(OFlags::SYNC).union(OFlags::DSYNC);
impl Filesystem for Client {
    fn init(&mut self, _: &Request, config: &mut KernelConfig) -> io::Result<()> {
        // As a client of NFS, it looks up several names of a directory at once.
        let asked = InitFlags::FUSE_PARALLEL_DIROPS | if self.shares_locks { InitFlags::FUSE_FLOCK_LOCKS } else { InitFlags::empty() };
        config.add_capabilities(asked).map_err(|lacks| io::Error::other(format!("this kernel has no {lacks:?}")))?;
        Ok(())
    }

    fn lookup(&self, request: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        let found = self.call(request, "lookup", || self.nodes.look_up(&self.nodes.get(parent)?, name));
        match found {
            Ok((_, stat)) => self.entry(parent, name, &stat, reply),
            // That there is none is believed as long.
            Err(why) if why.code() == Errno::ENOENT.code() && !self.stale().is_zero() => {
                match self.nodes.get(parent).and_then(|parent| parent.stat()) {
                    Ok(stat) => reply.entry(&self.stale(), &self.attributes(&stat, INodeNo(0)), Generation(0)),
                    Err(why) => reply.error(told(why)),
                }
            }
            Err(why) => reply.error(why),
        }
    }

    fn forget(&self, _: &Request, inode: INodeNo, lookups: u64) {
        self.nodes.forget(inode, lookups);
    }

    fn getattr(&self, request: &Request, inode: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        let found = self.call(request, "getattr", || self.nodes.get(inode)?.stat());
        self.answer_attributes(found, inode, reply);
    }

    fn setattr(
        &self,
        request: &Request,
        inode: INodeNo,
        mode: Option<u32>,
        uid: Option<u32>,
        gid: Option<u32>,
        size: Option<u64>,
        atime: Option<TimeOrNow>,
        mtime: Option<TimeOrNow>,
        _: Option<SystemTime>,
        handle: Option<FileHandle>,
        _: Option<SystemTime>,
        _: Option<SystemTime>,
        _: Option<SystemTime>,
        _: Option<BsdFileFlags>,
        reply: ReplyAttr,
    ) {
        let done = self.call(request, "setattr", || {
            let node = self.nodes.get(inode)?;
            if let Some(mode) = mode {
                rustix::fs::chmodat(CWD, node.path(), Mode::from_raw_mode(mode), AtFlags::empty())?;
            }
            if uid.is_some() || gid.is_some() {
                let (uid, gid) = (uid.map(rustix::fs::Uid::from_raw), gid.map(rustix::fs::Gid::from_raw));
                rustix::fs::chownat(node.fd(), "", uid, gid, AtFlags::EMPTY_PATH)?;
            }
            if let Some(size) = size {
                match handle {
                    Some(handle) => rustix::fs::ftruncate(self.nodes.file(handle.0)?, size)?,
                    None => rustix::fs::ftruncate(node.open(OFlags::WRONLY)?, size)?,
                }
                self.changed(&[&node])?;
            }
            if atime.is_some() || mtime.is_some() {
                attributes::set_times(&node, atime, mtime, self.switches.habits())?;
            }
            node.stat()
        });
        self.answer_attributes(done, inode, reply);
    }

    fn readlink(&self, request: &Request, inode: INodeNo, reply: ReplyData) {
        match self.call(request, "readlink", || rustix::fs::readlinkat(self.nodes.get(inode)?.fd(), "", Vec::new())) {
            Ok(target) => reply.data(target.as_bytes()),
            Err(why) => reply.error(why),
        }
    }

    fn mknod(&self, request: &Request, parent: INodeNo, name: &OsStr, mode: u32, umask: u32, device: u32, reply: ReplyEntry) {
        let done = self.make(request, "mknod", parent, name, |parent| {
            let (kind, mode) = (FileType::from_raw_mode(mode), Mode::from_raw_mode(mode & 0o7777 & !umask));
            rustix::fs::mknodat(parent.fd(), name, kind, mode, u64::from(device))
        });
        self.answer(done, parent, name, reply);
    }

    fn mkdir(&self, request: &Request, parent: INodeNo, name: &OsStr, mode: u32, umask: u32, reply: ReplyEntry) {
        let mode = Mode::from_raw_mode(mode & 0o7777 & !umask);
        let done = self.make(request, "mkdir", parent, name, |parent| rustix::fs::mkdirat(parent.fd(), name, mode));
        self.answer(done, parent, name, reply);
    }

    fn unlink(&self, request: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        let done = self.call(request, "unlink", || {
            let parent = self.nodes.get(parent)?;
            rustix::fs::unlinkat(parent.fd(), name, AtFlags::empty())?;
            self.changed(&[&parent])
        });
        answer(done, reply);
    }

    fn rmdir(&self, request: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        let done = self.call(request, "rmdir", || {
            let parent = self.nodes.get(parent)?;
            rustix::fs::unlinkat(parent.fd(), name, AtFlags::REMOVEDIR)?;
            self.changed(&[&parent])
        });
        answer(done, reply);
    }

    fn symlink(&self, request: &Request, parent: INodeNo, name: &OsStr, target: &Path, reply: ReplyEntry) {
        let done = self.make(request, "symlink", parent, name, |parent| rustix::fs::symlinkat(target, parent.fd(), name));
        self.answer(done, parent, name, reply);
    }

    fn rename(
        &self,
        request: &Request,
        parent: INodeNo,
        name: &OsStr,
        new_parent: INodeNo,
        new_name: &OsStr,
        flags: RenameFlags,
        reply: ReplyEmpty,
    ) {
        let done = self.call(request, "rename", || {
            let (from, to) = (self.nodes.get(parent)?, self.nodes.get(new_parent)?);
            let flags = rustix::fs::RenameFlags::from_bits_retain(flags.bits());
            rustix::fs::renameat_with(from.fd(), name, to.fd(), new_name, flags)?;
            self.changed(&[&from, &to])
        });
        answer(done, reply);
    }

    fn link(&self, request: &Request, inode: INodeNo, new_parent: INodeNo, new_name: &OsStr, reply: ReplyEntry) {
        let done = self.call(request, "link", || {
            let (node, parent) = (self.nodes.get(inode)?, self.nodes.get(new_parent)?);
            rustix::fs::linkat(CWD, node.path(), parent.fd(), new_name, AtFlags::SYMLINK_FOLLOW)?;
            self.changed(&[&parent])
        });
        self.answer(done, new_parent, new_name, reply);
    }

    /// What is opened is looked at: the kernel forgets what it was told of it.
    fn open(&self, request: &Request, inode: INodeNo, flags: OpenFlags, reply: ReplyOpen) {
        let opened = self.call(request, "open", || {
            let flags = OFlags::from_bits_retain(flags.0.cast_unsigned()) & OPENING;
            self.nodes.get(inode)?.open(flags)
        });
        match opened {
            Ok(file) => {
                if !self.stale().is_zero()
                    && let Some(notifier) = self.notifier.get()
                {
                    // Without a range it is of the attributes alone, which waits for nothing.
                    let _ = notifier.inval_inode(inode, -1, 0);
                }
                reply.opened(FileHandle(self.nodes.keep(inode, Opened::File(Arc::new(file.into())))), FopenFlags::empty());
            }
            Err(why) => reply.error(why),
        }
    }

    fn create(&self, request: &Request, parent: INodeNo, name: &OsStr, mode: u32, umask: u32, flags: i32, reply: ReplyCreate) {
        let mut file = None;
        let done = self.make(request, "create", parent, name, |parent| {
            let wished = OFlags::from_bits_retain(flags.cast_unsigned());
            let flags = (wished & (OPENING | OFlags::EXCL)) | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            file = Some(rustix::fs::openat(parent.fd(), name, flags, Mode::from_raw_mode(mode & 0o7777 & !umask))?);
            Ok(())
        });
        let found = done.and_then(|()| self.nodes.get(parent).and_then(|parent| self.nodes.look_up(&parent, name)).map_err(told));
        match found.and_then(|(_, stat)| file.map(|file| (stat, file)).ok_or(Errno::EIO)) {
            Ok((stat, file)) => {
                self.nodes.named(parent, name);
                let inode = INodeNo(stat.st_ino);
                let handle = FileHandle(self.nodes.keep(inode, Opened::File(Arc::new(file.into()))));
                reply.created(&self.stale(), &self.attributes(&stat, inode), Generation(0), handle, FopenFlags::empty());
            }
            Err(why) => reply.error(why),
        }
    }

    fn read(
        &self,
        request: &Request,
        _: INodeNo,
        handle: FileHandle,
        offset: u64,
        size: u32,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyData,
    ) {
        let mut bytes = vec![0; size as usize];
        let read = self.call(request, "read", || {
            let (file, mut read) = (self.nodes.file(handle.0)?, 0);
            // Fewer bytes than were asked for are the file's end.
            while read < bytes.len() {
                match rustix::io::pread(&file, &mut bytes[read..], offset + read as u64)? {
                    0 => break,
                    more => read += more,
                }
            }
            Ok(read)
        });
        match read {
            Ok(read) => reply.data(&bytes[..read]),
            Err(why) => reply.error(why),
        }
    }

    fn write(
        &self,
        request: &Request,
        inode: INodeNo,
        handle: FileHandle,
        offset: u64,
        bytes: &[u8],
        _: WriteFlags,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        let mut why = None;
        let done = self.call(request, "write", || {
            let file = self.nodes.file(handle.0)?;
            why = file.write_all_at(bytes, offset).err();
            if self.switches.habits().clock != 0 {
                self.changed(&[&self.nodes.get(inode)?])?;
            }
            Ok(())
        });
        match (done, why) {
            (Err(why), _) => reply.error(why),
            (_, Some(why)) => reply.error(told_of(&why)),
            _ => reply.written(u32::try_from(bytes.len()).unwrap_or(u32::MAX)),
        }
    }

    /// A client of such a file system writes all back when a file is closed.
    fn flush(&self, request: &Request, _: INodeNo, _: FileHandle, _: LockOwner, reply: ReplyEmpty) {
        answer(self.call(request, "flush", || Ok(())), reply);
    }

    fn release(&self, _: &Request, inode: INodeNo, handle: FileHandle, _: OpenFlags, _: Option<LockOwner>, _: bool, reply: ReplyEmpty) {
        self.nodes.close(inode, handle.0);
        reply.ok();
    }

    fn fsync(&self, request: &Request, _: INodeNo, handle: FileHandle, _: bool, reply: ReplyEmpty) {
        answer(self.call(request, "fsync", || rustix::fs::fdatasync(self.nodes.file(handle.0)?)), reply);
    }

    fn opendir(&self, request: &Request, inode: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        match self.call(request, "opendir", || list(&self.nodes.get(inode)?)) {
            Ok(names) => reply.opened(FileHandle(self.nodes.keep(inode, Opened::Directory(Arc::new(names)))), FopenFlags::empty()),
            Err(why) => reply.error(why),
        }
    }

    fn readdir(&self, request: &Request, inode: INodeNo, handle: FileHandle, offset: u64, mut reply: ReplyDirectory) {
        let found = self.call(request, "readdir", || {
            if offset == 0 {
                // Whoever begins anew sees what is new.
                self.nodes.replace(handle.0, Opened::Directory(Arc::new(list(&self.nodes.get(inode)?)?)));
            }
            match self.nodes.opened(handle.0)? {
                Opened::Directory(names) => Ok(names),
                Opened::File(_) => Err(rustix::io::Errno::NOTDIR),
            }
        });
        match found {
            Ok(names) => {
                for (at, listed) in (1..).zip(&*names).skip(usize::try_from(offset).unwrap_or(usize::MAX)) {
                    if reply.add(INodeNo(listed.inode), at, listed.kind, OsStr::from_bytes(&listed.name)) {
                        break;
                    }
                }
                reply.ok();
            }
            Err(why) => reply.error(why),
        }
    }

    fn releasedir(&self, _: &Request, inode: INodeNo, handle: FileHandle, _: OpenFlags, reply: ReplyEmpty) {
        self.nodes.close(inode, handle.0);
        reply.ok();
    }

    fn fsyncdir(&self, request: &Request, inode: INodeNo, _: FileHandle, _: bool, reply: ReplyEmpty) {
        let sync = || rustix::fs::fsync(self.nodes.get(inode)?.open(OFlags::RDONLY | OFlags::DIRECTORY)?);
        answer(self.call(request, "fsyncdir", sync), reply);
    }

    fn statfs(&self, request: &Request, inode: INodeNo, reply: ReplyStatfs) {
        answer_room(self.call(request, "statfs", || rustix::fs::fstatvfs(self.nodes.get(inode)?.open(OFlags::RDONLY)?)), reply);
    }

    fn setxattr(&self, request: &Request, inode: INodeNo, name: &OsStr, value: &[u8], flags: i32, _: u32, reply: ReplyEmpty) {
        let flags = XattrFlags::from_bits_retain(flags.cast_unsigned());
        answer(self.call(request, "setxattr", || rustix::fs::setxattr(self.nodes.get(inode)?.path(), name, value, flags)), reply);
    }

    fn getxattr(&self, request: &Request, inode: INodeNo, name: &OsStr, size: u32, reply: ReplyXattr) {
        let found = self.call(request, "getxattr", || {
            let mut value = vec![0; 65536];
            let length = rustix::fs::getxattr(self.nodes.get(inode)?.path(), name, &mut value[..])?;
            value.truncate(length);
            Ok(value)
        });
        answer_sized(found, size, reply);
    }

    fn listxattr(&self, request: &Request, inode: INodeNo, size: u32, reply: ReplyXattr) {
        let found = self.call(request, "listxattr", || {
            let mut names = vec![0; 65536];
            let length = rustix::fs::listxattr(self.nodes.get(inode)?.path(), &mut names[..])?;
            names.truncate(length);
            Ok(names)
        });
        answer_sized(found, size, reply);
    }

    fn removexattr(&self, request: &Request, inode: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        answer(self.call(request, "removexattr", || rustix::fs::removexattr(self.nodes.get(inode)?.path(), name)), reply);
    }

    fn setlk(
        &self,
        request: &Request,
        _: INodeNo,
        handle: FileHandle,
        _: LockOwner,
        _: u64,
        _: u64,
        kind: i32,
        _: u32,
        waits: bool,
        reply: ReplyEmpty,
    ) {
        let file = match self.call(request, "flock", || self.nodes.file(handle.0)) {
            Ok(file) => file,
            Err(why) => return reply.error(why),
        };
        lock(file, kind, waits, reply);
    }

    fn fallocate(&self, request: &Request, inode: INodeNo, handle: FileHandle, offset: u64, length: u64, mode: i32, reply: ReplyEmpty) {
        let done = self.call(request, "fallocate", || {
            let mode = FallocateFlags::from_bits_retain(mode.cast_unsigned());
            rustix::fs::fallocate(self.nodes.file(handle.0)?, mode, offset, length)?;
            self.changed(&[&self.nodes.get(inode)?])
        });
        answer(done, reply);
    }

    fn lseek(&self, request: &Request, _: INodeNo, handle: FileHandle, offset: i64, whence: i32, reply: ReplyLseek) {
        let found = self.call(request, "lseek", || {
            let at = u64::try_from(offset).map_err(|_| rustix::io::Errno::INVAL)?;
            // The kernel asks for these two alone: 3 and 4, data and hole.
            let wanted = if whence == 3 { SeekFrom::Data(at) } else { SeekFrom::Hole(at) };
            rustix::fs::seek(self.nodes.file(handle.0)?, wanted)
        });
        match found {
            Ok(at) => reply.offset(at.cast_signed()),
            Err(why) => reply.error(why),
        }
    }
}
