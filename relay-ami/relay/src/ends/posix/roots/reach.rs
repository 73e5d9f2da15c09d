//! Going to a directory from "/" on, one name after the other, and through no link that another user made.

use std::collections::VecDeque;
use std::ffi::OsStr;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{self, FileType, Mode, OFlags};
use rustix::io::Errno;

/// The number of links that the kernel follows on one way (`MAXSYMLINKS`).
const MOST_LINKS: usize = 40;
/// With `DIRECTORY`, so that the way to an automounted directory mounts it; `O_PATH` alone would not.
const STEP: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// The deepest directory on a way that exists.
#[derive(Debug)]
pub struct Reached {
    /// Opened with `O_PATH`.
    pub directory: OwnedFd,
    /// Its path, with links resolved.
    pub path: PathBuf,
    /// The part of the way that does not exist, in order.
    pub missing: Vec<Vec<u8>>,
}

impl Reached {
    /// The directory; an error where something of the way is missing.
    pub fn whole(self) -> io::Result<OwnedFd> {
        if self.missing.is_empty() { Ok(self.directory) } else { Err(Errno::NOENT.into()) }
    }

    /// Makes what is missing, and gives the last directory.
    pub fn made(self) -> io::Result<OwnedFd> {
        let mut directory = self.directory;
        for name in &self.missing {
            let name = OsStr::from_bytes(name);
            match fs::mkdirat(&directory, name, Mode::RWXU | Mode::RWXG | Mode::RWXO) {
                Ok(()) | Err(Errno::EXIST) => {}
                Err(error) => return Err(error.into()),
            }
            directory = fs::openat(&directory, name, STEP, Mode::empty())?;
        }
        Ok(directory)
    }
}

/// Goes to `path` from the file system's root. A symbolic link is followed only where root or this process's own user made
/// it: whoever else may write to a directory on the way could lead a process of root anywhere.
pub fn reach(path: &[u8]) -> io::Result<Reached> {
    let own = rustix::process::geteuid().as_raw();
    let mut directory = fs::open("/", STEP, Mode::empty())?;
    // What it is called in messages: the way that was taken, not what was asked for.
    let mut way = Vec::new();
    let mut rest: VecDeque<Vec<u8>> = names(path).collect();
    let mut links = 0;
    while let Some(name) = rest.pop_front() {
        let step = fs::openat(&directory, OsStr::from_bytes(&name), STEP, Mode::empty());
        match step {
            Ok(next) => {
                directory = next;
                if name == b".." {
                    way.truncate(way.iter().rposition(|byte| *byte == b'/').unwrap_or(0));
                } else {
                    push(&mut way, &name);
                }
                continue;
            }
            Err(Errno::NOENT) if !rest.iter().any(|name| name == b"..") => {
                rest.push_front(name);
                return Ok(Reached { directory, path: path_of(&way), missing: rest.into() });
            }
            Err(Errno::NOTDIR | Errno::LOOP) => {}
            Err(error) => return Err(error.into()),
        }
        let found = fs::openat(&directory, OsStr::from_bytes(&name), OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())?;
        let stat = fs::fstat(&found)?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::Symlink {
            return Err(Errno::NOTDIR.into());
        }
        let target = fs::readlinkat(&found, "", Vec::new())?.into_bytes();
        if stat.st_uid != 0 && stat.st_uid != own {
            push(&mut way, &name);
            return Err(foreign(&way, stat.st_uid, &target));
        }
        links += 1;
        if links > MOST_LINKS {
            return Err(Errno::LOOP.into());
        }
        if target.starts_with(b"/") {
            directory = fs::open("/", STEP, Mode::empty())?;
            way.clear();
        }
        for name in names(&target).collect::<Vec<_>>().into_iter().rev() {
            rest.push_front(name);
        }
    }
    Ok(Reached { directory, path: path_of(&way), missing: Vec::new() })
}

/// User and group of the deepest directory on the way to `path` that exists; none where it cannot be reached.
#[must_use]
pub fn owner(path: &[u8]) -> Option<(u32, u32)> {
    let stat = fs::fstat(reach(path).ok()?.directory).ok()?;
    Some((stat.st_uid, stat.st_gid))
}

/// Makes what is missing of `path`, and gives its place, links resolved.
pub fn make(path: &[u8]) -> io::Result<PathBuf> {
    let found = reach(path)?;
    let place = found.missing.iter().fold(found.path.clone(), |place, name| place.join(OsStr::from_bytes(name)));
    found.made()?;
    Ok(place)
}

/// A path as one word of a list in a unit's property. One that no line of a unit file can hold becomes `/`, all of them.
#[must_use]
pub fn quoted(path: &Path) -> String {
    match path.to_str().filter(|text| !text.contains(char::is_control)) {
        Some(text) => format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"")),
        None => "\"/\"".to_owned(),
    }
}

fn path_of(way: &[u8]) -> PathBuf {
    OsStr::from_bytes(if way.is_empty() { b"/" } else { way }).into()
}

fn names(path: &[u8]) -> impl Iterator<Item = Vec<u8>> {
    path.split(|byte| *byte == b'/').filter(|name| !matches!(*name, b"" | b".")).map(<[u8]>::to_vec)
}

fn push(way: &mut Vec<u8>, name: &[u8]) {
    way.push(b'/');
    way.extend_from_slice(name);
}

fn foreign(link: &[u8], owner: u32, target: &[u8]) -> io::Error {
    let (link, target) = (Path::new(OsStr::from_bytes(link)), Path::new(OsStr::from_bytes(target)));
    io::Error::new(
        io::ErrorKind::PermissionDenied,
        format!(
            "{link:?} on the way is a symbolic link of user {owner} to {target:?}, who could point it anywhere; only links of root and \
             of the user that reads or writes are followed: name the path that it leads to, or that user in runAs"
        ),
    )
}
