//! The hidden directory in which entries of one file system wait for their places, and the files in it.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::time::{Duration, Instant};

use rustix::fs::{self, AtFlags, FallocateFlags, FileType, FlockOperation, Mode, OFlags, RenameFlags};
use rustix::io::Errno;

use super::answers;
use super::attributes::kept;
use super::identity::birth;
use super::measured::{self, Measured};
use super::placer::Placer;
use super::shards::{self, Shards};
use super::tree::{BENEATH, NEW_DIRECTORY, make_directory};
use crate::defaults::THREADS_AT_ONCE;
use cpt_process::EXIT_TIMEOUT;
use cpt_process::thread::map;
use cpt_wire::documents::seat::{Role, Seat};

const NEW_FILE: Mode = Mode::RUSR.union(Mode::WUSR);
const PERMISSIONS: Mode = Mode::RWXU.union(Mode::RWXG).union(Mode::RWXO);
/// What a new file is opened with.
pub const NEW: OFlags = OFlags::RDWR.union(OFlags::CREATE).union(OFlags::EXCL).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
/// Magic numbers of `statfs` (linux/magic.h).
const TMPFS_MAGIC: fs::FsWord = 0x0102_1994;
pub const FUSE_SUPER_MAGIC: fs::FsWord = 0x6573_5546;
/// A file that has two names for a moment has one again after a call or two.
const SHARED_TRIES: u32 = 100;
const SHARED_PAUSE: Duration = Duration::from_millis(20);

pub struct Staging {
    /// This receiver's own: its journal, and what waits for its place.
    pub directory: OwnedFd,
    /// Where the large files of all receivers lie, whose directories are in it; none where this one is alone.
    shared: Option<OwnedFd>,
    /// Where its small files lie on a file system that is far.
    shards: Shards,
    pub placer: Placer,
    /// Whether room is reserved before a large file is written: not in memory, where that would fill in every page first,
    /// 0.2 s per GB in which no lane can go on.
    reserves: bool,
    /// Whether each file and directory must be synced by itself: the kernel does not pass `syncfs` on to a program that serves a
    /// file system.
    pub syncs_each: bool,
    /// Bits of a mode that a new file does not get, because of the process's mask, say. All, where files get more than was asked.
    pub masked: Mode,
    pub measured: Measured,
}

impl Staging {
    /// The directory `name` of a directory, made where it is absent, without the small files that an earlier process left in it. One receiver at
    /// a time has it; or that of its `seat` in it, where it has others beside it.
    pub fn open(parent: &OwnedFd, name: &str, seat: Option<Seat>) -> io::Result<Self> {
        let (directory, shared) = match seat {
            None => (open_locked(parent, name, FlockOperation::NonBlockingLockExclusive)?, None),
            Some(seat) => {
                let (shared, own) = open_beside_others(parent, name, seat)?;
                (own, Some(shared))
            }
        };
        let kind = fs::fstatfs(&directory)?.f_type;
        let (measured, masked) = measured::among(&directory)?;
        let (shards, reserves, syncs_each) = (Shards::on(kind), kind != TMPFS_MAGIC, kind == FUSE_SUPER_MAGIC);
        // Only large files are worth keeping: a small one comes again as a whole, under another name.
        for name in names_in(&directory)? {
            if name.contains(&b'-') {
                answers::removed(fs::unlinkat(&directory, OsStr::from_bytes(&name), AtFlags::empty()))?;
            } else if let Some(shard) = shards::is_shard(&name).then(|| shards::open(&directory, &name)).transpose()?.flatten() {
                clear(&shard, &|| {})?;
            }
        }
        let placer = Placer::new(shards.are_used());
        Ok(Self { directory, shared, shards, placer, reserves, syncs_each, masked, measured })
    }

    /// Returns whether a file that is made with `mode` has the one that it is to have in the end.
    pub fn has_mode_when_made(&self, mode: u16) -> bool {
        let mode = kept(mode);
        mode.contains(NEW_FILE) && PERMISSIONS.contains(mode) && !mode.intersects(self.masked)
    }

    /// Where a file of this name lies: the number of an entry is the name of its large file.
    pub fn of(&self, name: &str) -> io::Result<&OwnedFd> {
        if name.bytes().all(|byte| byte.is_ascii_digit()) {
            return Ok(self.shared.as_ref().unwrap_or(&self.directory));
        }
        Ok(self.shards.of(name, &self.directory)?.unwrap_or(&self.directory))
    }

    /// Whether another machine, or a program, answers each call.
    pub const fn is_far(&self) -> bool {
        self.shards.are_used()
    }

    /// Where the directories of all receivers lie; none where this one is alone.
    pub const fn shared(&self) -> Option<&OwnedFd> {
        self.shared.as_ref()
    }

    /// A new file, which this user can write; as far as it can be had at once, with the mode it will have in the end. Others cannot reach it
    /// where it is.
    pub fn create(&self, name: &str, mode: u16) -> io::Result<File> {
        let directory = self.of(name)?;
        Ok(self.instead(name, || fs::openat(directory, name, NEW, new_mode(mode)))?.into())
    }

    /// A symbolic link; its target is never looked at.
    pub fn link(&self, name: &str, target: &[u8]) -> io::Result<()> {
        let directory = self.of(name)?;
        let make = || {
            let made = fs::symlinkat(OsStr::from_bytes(target), directory, name);
            answers::symlinked(made, target, directory, OsStr::new(name))
        };
        Ok(self.instead(name, make)?)
    }

    /// Makes something in the place of what has its name: left by an earlier process of this transfer, or planted.
    pub fn instead<T>(&self, name: &str, make: impl Fn() -> rustix::io::Result<T>) -> rustix::io::Result<T> {
        match make() {
            Err(Errno::EXIST) => {
                self.discard(name);
                make()
            }
            other => other,
        }
    }

    /// Gives a large file its size, with its room reserved unless it has holes.
    pub fn set_size(&self, file: &File, size: u64, sparse: bool) -> io::Result<()> {
        if self.reserves && !sparse {
            match fs::fallocate(file, FallocateFlags::empty(), 0, size) {
                Ok(()) => {}
                // The file system cannot reserve; a full disk will show when it is written.
                Err(Errno::OPNOTSUPP) => {}
                Err(error) => return Err(error.into()),
            }
        }
        file.set_len(size)
    }

    /// A file for reading, past the page cache where the file system can: then the second is true.
    pub fn reopen(&self, name: &str) -> io::Result<(File, bool)> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let directory = self.of(name)?;
        match fs::openat(directory, name, flags | OFlags::DIRECT, Mode::empty()) {
            Ok(file) => Ok((file.into(), true)),
            Err(Errno::INVAL) => Ok((fs::openat(directory, name, flags, Mode::empty())?.into(), false)),
            Err(error) => Err(error.into()),
        }
    }

    /// A file that is there and is nothing but that: writing through another name of a file would change that file.
    pub fn open_own(&self, name: &str) -> io::Result<Option<File>> {
        let directory = self.of(name)?;
        match fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) if is_own(&stat) => {}
            Ok(_) | Err(Errno::NOENT) => return Ok(None),
            Err(error) => return Err(error.into()),
        }
        let flags = OFlags::RDWR | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = fs::openat(directory, name, flags, Mode::empty())?;
        Ok(is_own(&fs::fstat(&file)?).then(|| file.into()))
    }

    pub fn discard(&self, name: &str) {
        if let Err(error) = self.of(name).and_then(|directory| Ok(fs::unlinkat(directory, name, AtFlags::empty())?)) {
            tracing::debug!(name, %error, "discard");
        }
    }

    /// Gives a file of this receiver's own the name under which all receivers know it, unless another has that already.
    pub fn share(&self, own: &str, name: &str) -> io::Result<()> {
        let (from, to) = (self.of(own)?, self.of(name)?);
        match fs::renameat_with(from, own, to, name, RenameFlags::NOREPLACE) {
            // As NFS: for a moment it has both names.
            Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => {
                fs::linkat(from, own, to, name, AtFlags::empty())?;
                Ok(fs::unlinkat(from, own, AtFlags::empty())?)
            }
            other => Ok(other?),
        }
    }

    /// Takes a file that all receivers know by a name back for this one alone, where it still is the `file` of that name: another receiver
    /// may have put its own there, as whoever gathers does. One that it is not has its name again.
    pub fn take_back(&self, name: &str, own: &str, file: &File) -> io::Result<()> {
        let (from, to) = (self.of(name)?, self.of(own)?);
        fs::renameat(from, name, to, own)?;
        let (taken, known) = (fs::statat(to, own, AtFlags::SYMLINK_NOFOLLOW)?, fs::fstat(file)?);
        if (taken.st_dev, taken.st_ino) == (known.st_dev, known.st_ino) {
            return Ok(());
        }
        self.give_back(own, name);
        Err(io::Error::new(io::ErrorKind::InvalidData, "another receiver has put a file of its own in its place"))
    }

    /// It has the name again by which all receivers know it, unless there is another one.
    pub fn give_back(&self, own: &str, name: &str) {
        if let Err(error) = self.share(own, name) {
            tracing::warn!(name, %error, "a file that all receivers know has not got its name back");
            self.discard(own);
        }
    }

    /// Puts a file of this receiver's own in the place of the one that all receivers know by a name.
    pub fn replace(&self, own: &str, name: &str) -> io::Result<()> {
        Ok(fs::renameat(self.of(own)?, own, self.of(name)?, name)?)
    }

    /// A large file that another receiver has made, maybe at this moment.
    pub fn open_shared(&self, name: &str) -> io::Result<File> {
        for _ in 0..SHARED_TRIES {
            if let Some(file) = self.open_own(name)? {
                return Ok(file);
            }
            std::thread::sleep(SHARED_PAUSE);
        }
        Err(io::Error::other(format!("partial file {name} has other names, or is gone: somebody changes the receivers' files")))
    }

    /// A file's bytes, size, mode and time are on the disk after the next sync.
    pub fn prepare_sync(&self, file: &File) -> io::Result<()> {
        if self.syncs_each { file.sync_all() } else { Ok(()) }
    }

    /// Removes all that is in it, with what the other receivers have in theirs; `removed` hears of each file.
    pub fn clear(&self, removed: &dyn Fn()) -> io::Result<()> {
        let Some(shared) = &self.shared else {
            shards::remove_empty(&self.directory);
            return clear(&self.directory, removed);
        };
        let receivers = self.receivers()?;
        // Nearly all are empty. To look into each first took four receivers' 64 directories, one after the other, 10 s at 20 ms a call.
        map(THREADS_AT_ONCE, receivers.iter().collect(), |(_, directory)| shards::remove_empty(directory));
        for (name, directory) in receivers {
            clear(&directory, removed)?;
            answers::removed(fs::unlinkat(shared, &*name, AtFlags::REMOVEDIR))?;
        }
        clear(shared, removed)
    }

    /// The directories of all receivers, this one's among them, by their names; none where this one is alone.
    pub fn receivers(&self) -> io::Result<Vec<(String, OwnedFd)>> {
        let Some(shared) = &self.shared else { return Ok(Vec::new()) };
        let mut names: Vec<String> = names_in(shared)?.into_iter().filter_map(|name| String::from_utf8(name).ok()).collect();
        names.retain(|name| Seat::new(name).is_ok_and(|seat| seat.role == Role::Receiver));
        names.sort_unstable();
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let open = |name: String| match fs::openat2(shared, &*name, flags, Mode::empty(), BENEATH) {
            Ok(directory) => Ok(Some((name, directory))),
            // It ended meanwhile, and left nothing.
            Err(Errno::NOENT) => Ok(None),
            Err(error) => Err(error.into()),
        };
        names.into_iter().filter_map(|name| open(name).transpose()).collect()
    }

    /// Returns whether a large entry's file is as an earlier process left it, so that it will be written on. Another one of its name and size
    /// was made later.
    pub fn is_left(&self, entry: u64, size: u64, born_ns: i64) -> bool {
        let name = entry.to_string();
        let Ok(directory) = self.of(&name) else { return false };
        let found = fs::statat(directory, &name, AtFlags::SYMLINK_NOFOLLOW);
        found.is_ok_and(|stat| is_own(&stat) && u64::try_from(stat.st_size) == Ok(size)) && born_ns == birth(directory, &name)
    }

    /// Returns whether a large entry has a file here.
    pub fn has(&self, entry: u64) -> bool {
        let name = entry.to_string();
        self.of(&name).is_ok_and(|directory| fs::statat(directory, &name, AtFlags::SYMLINK_NOFOLLOW).is_ok())
    }
}

fn names_in(directory: &OwnedFd) -> io::Result<Vec<Vec<u8>>> {
    let names = fs::Dir::read_from(directory)?.map(|entry| Ok(entry?.file_name().to_bytes().to_vec()));
    let names: io::Result<Vec<Vec<u8>>> = names.collect();
    Ok(names?.into_iter().filter(|name| !matches!(&**name, b"." | b"..")).collect())
}

fn clear(directory: &OwnedFd, removed: &dyn Fn()) -> io::Result<()> {
    names_in(directory)?.iter().try_for_each(|name| {
        if shards::is_shard(name) {
            shards::open(directory, name)?.map_or(Ok(()), |shard| clear(&shard, removed))?;
            return Ok(answers::removed(fs::unlinkat(directory, OsStr::from_bytes(name), AtFlags::REMOVEDIR))?);
        }
        answers::removed(fs::unlinkat(directory, OsStr::from_bytes(name), AtFlags::empty()))?;
        removed();
        Ok(())
    })
}

/// The mode that a file is made with, to have `mode` in the end.
pub fn new_mode(mode: u16) -> Mode {
    NEW_FILE | kept(mode)
}

/// The directory that all receivers share, and this one's own in it.
fn open_beside_others(parent: &OwnedFd, name: &str, seat: Seat) -> io::Result<(OwnedFd, OwnedFd)> {
    let deadline = Instant::now() + EXIT_TIMEOUT;
    loop {
        // Nobody has it for himself meanwhile.
        let shared = open_locked(parent, name, FlockOperation::NonBlockingLockShared)?;
        match open_locked(&shared, &seat.to_string(), FlockOperation::NonBlockingLockExclusive) {
            // Whoever finishes, or ends and leaves nothing, has removed it since it was opened.
            Err(error) if error.kind() == io::ErrorKind::NotFound && Instant::now() < deadline => {}
            own => return Ok((shared, own?)),
        }
    }
}

/// The locked directory, made where it is absent.
fn open_locked(parent: &OwnedFd, name: &str, how: FlockOperation) -> io::Result<OwnedFd> {
    let deadline = Instant::now() + EXIT_TIMEOUT;
    loop {
        make_directory(parent, name.as_bytes(), NEW_DIRECTORY)?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let directory = match fs::openat2(parent, name, flags, Mode::empty(), BENEATH) {
            // Removed since it was made; where the parent is gone too, it cannot be made again. Not for ever: this machine's view of a
            // shared file system may be old, and says then that it is there and that it is not.
            Err(Errno::NOENT) if Instant::now() < deadline => {
                std::thread::sleep(SHARED_PAUSE);
                continue;
            }
            found => found?,
        };
        let own = fs::fstat(&directory)?;
        // Somebody else's directory of this name could be filled with what we then write through.
        if own.st_uid != rustix::process::geteuid().as_raw() && !measured::makes_files_of(&directory, own.st_uid) {
            return Err(io::Error::other(format!("{name} belongs to another user; remove it")));
        }
        make_private(&directory, own.st_mode)?;
        lock_directory(&directory, how)?;
        // The receiver that ended meanwhile may have removed it.
        match fs::statat(parent, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(now) if (now.st_dev, now.st_ino) == (own.st_dev, own.st_ino) => return Ok(directory),
            Ok(_) | Err(Errno::NOENT) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// Takes a directory of ours away from all others. Where a file system has no modes of its own, it is as private as that is.
fn make_private(directory: &OwnedFd, mode: u32) -> io::Result<()> {
    if Mode::from_raw_mode(mode) == NEW_DIRECTORY {
        return Ok(());
    }
    match fs::fchmod(directory, NEW_DIRECTORY) {
        Ok(()) | Err(Errno::PERM | Errno::NOTSUP | Errno::NOSYS) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// One receiver at a time: two would rename each other's half files. One that is ending is waited for.
fn lock_directory(directory: &OwnedFd, how: FlockOperation) -> io::Result<()> {
    let deadline = Instant::now() + EXIT_TIMEOUT;
    loop {
        match fs::flock(directory, how) {
            // The file system has no locks.
            Ok(()) | Err(Errno::OPNOTSUPP | Errno::NOLCK | Errno::NOSYS) => return Ok(()),
            Err(Errno::WOULDBLOCK) if Instant::now() < deadline => std::thread::sleep(Duration::from_millis(50)),
            Err(Errno::WOULDBLOCK) => return Err(io::Error::other("another receiver of this transfer runs here")),
            Err(error) => return Err(error.into()),
        }
    }
}

/// A file that is nothing but what is written here.
fn is_own(stat: &fs::Stat) -> bool {
    FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile && stat.st_nlink == 1
}
