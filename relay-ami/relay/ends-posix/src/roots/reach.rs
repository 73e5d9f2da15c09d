//! Going to a directory from "/" on, one name after the other, and through no link that another user made.

use std::collections::VecDeque;
use std::ffi::OsStr;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{self, FileType, Mode, OFlags};
use rustix::io::Errno;

use super::allowed::{self, Gate};

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
/// it: whoever else may write to a directory on the way could lead a process of root anywhere. What the owner of the machine does not
/// allow is not reached ([`allowed`]).
pub fn reach(path: &[u8]) -> io::Result<Reached> {
    reach_within(path, None, enforced().as_ref())
}

/// The same for the directory of `name`, which is what is meant.
pub fn reach_beside(directory: &[u8], name: &[u8]) -> io::Result<Reached> {
    reach_within(directory, Some(name), enforced().as_ref())
}

/// Whatever the owner allows: for what no command names.
pub(super) fn reach_anywhere(path: &[u8]) -> io::Result<Reached> {
    reach_within(path, None, None)
}

fn enforced() -> Option<Gate<'static>> {
    allowed::enforced().map(allowed::Allowed::now)
}

/// Goes to `path`, of which `name` is meant if there is one.
pub(super) fn reach_within(path: &[u8], name: Option<&[u8]>, gate: Option<&Gate<'_>>) -> io::Result<Reached> {
    let way = Way::from_the_top(gate)?;
    let reached = way.to(path)?;
    let Some(gate) = gate else { return Ok(reached.0) };
    let (reached, is_inside) = reached;
    let is_allowed = is_inside
        || match name {
            Some(name) if reached.missing.is_empty() => {
                match fs::openat(&reached.directory, OsStr::from_bytes(name), STEP, Mode::empty()) {
                    Ok(meant) => gate.is_opened_by(&meant)?,
                    Err(_) => false,
                }
            }
            _ => gate.is_opened_by_making(&reached)?,
        };
    if is_allowed {
        return Ok(reached);
    }
    let missing = reached.missing.iter().map(Vec::as_slice).chain(name);
    Err(gate.refusal(&missing.fold(reached.path.clone(), |path, name| path.join(OsStr::from_bytes(name)))))
}

/// A way from the file system's root on.
struct Way<'a> {
    gate: Option<&'a Gate<'a>>,
    directory: OwnedFd,
    /// What it is called in messages: the way that was taken, not what was asked for.
    path: Vec<u8>,
    /// Of each directory on the way, from the root on, whether it is one that is allowed, or beneath one.
    inside: Vec<bool>,
}

impl<'a> Way<'a> {
    fn from_the_top(gate: Option<&'a Gate<'a>>) -> io::Result<Self> {
        let directory = fs::open("/", STEP, Mode::empty())?;
        let is_inside = gate.map_or(Ok(true), |gate| gate.is_opened_by(&directory))?;
        Ok(Self { gate, directory, path: Vec::new(), inside: vec![is_inside] })
    }

    fn is_inside(&self) -> bool {
        self.inside.last().copied().unwrap_or_default()
    }

    /// The name leads to this directory.
    fn step(&mut self, name: &[u8], next: OwnedFd) -> io::Result<()> {
        self.directory = next;
        if name == b".." {
            self.path.truncate(self.path.iter().rposition(|byte| *byte == b'/').unwrap_or(0));
            if self.inside.len() > 1 {
                self.inside.pop();
            }
        } else {
            push(&mut self.path, name);
            let opened = self.gate.map_or(Ok(true), |gate| gate.is_opened_by(&self.directory))?;
            self.inside.push(opened || self.is_inside());
        }
        Ok(())
    }

    /// Where the way ends, and whether that is inside of what is allowed.
    fn to(mut self, path: &[u8]) -> io::Result<(Reached, bool)> {
        let own = rustix::process::geteuid().as_raw();
        let mut rest: VecDeque<Vec<u8>> = names(path).collect();
        let mut links = 0;
        while let Some(name) = rest.pop_front() {
            match fs::openat(&self.directory, OsStr::from_bytes(&name), STEP, Mode::empty()) {
                Ok(next) => {
                    self.step(&name, next)?;
                    continue;
                }
                Err(Errno::NOENT) if !rest.iter().any(|name| name == b"..") => {
                    rest.push_front(name);
                    break;
                }
                Err(Errno::NOTDIR | Errno::LOOP) => {}
                Err(error) => return Err(error.into()),
            }
            let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let found = fs::openat(&self.directory, OsStr::from_bytes(&name), flags, Mode::empty())?;
            let stat = fs::fstat(&found)?;
            if FileType::from_raw_mode(stat.st_mode) != FileType::Symlink {
                return Err(Errno::NOTDIR.into());
            }
            let target = fs::readlinkat(&found, "", Vec::new())?.into_bytes();
            if stat.st_uid != 0 && stat.st_uid != own {
                push(&mut self.path, &name);
                return Err(foreign(&self.path, stat.st_uid, &target));
            }
            links += 1;
            if links > MOST_LINKS {
                return Err(Errno::LOOP.into());
            }
            if target.starts_with(b"/") {
                self = Self::from_the_top(self.gate)?;
            }
            for name in names(&target).collect::<Vec<_>>().into_iter().rev() {
                rest.push_front(name);
            }
        }
        let is_inside = self.is_inside();
        Ok((Reached { directory: self.directory, path: path_of(&self.path), missing: rest.into() }, is_inside))
    }
}

/// User and group of the deepest directory on the way to `path` that exists; none where it cannot be reached.
#[must_use]
pub fn owner(path: &[u8]) -> Option<(u32, u32)> {
    let stat = fs::fstat(reach(path).ok()?.directory).ok()?;
    Some((stat.st_uid, stat.st_gid))
}

/// Makes what is missing of `path`, and gives its place, links resolved. For a process that makes nothing else: it sets the process's mask,
/// since the script that calls it keeps its own files from everybody, and these are for those who use the destination.
pub fn make(path: &[u8]) -> io::Result<PathBuf> {
    rustix::process::umask(Mode::WGRP | Mode::WOTH);
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
