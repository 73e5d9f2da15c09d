//! A directory of the destination, as what is placed into it finds it.

use std::ops::Deref;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Mutex;

use rustix::fs::{self, AtFlags, Gid, Mode};
use rustix::io::{self, Errno};

use cpt_process::thread::lock;

/// The bits that its owner needs to make and remove names.
const CHANGES: Mode = Mode::WUSR.union(Mode::XUSR);

/// An open directory.
pub struct Parent {
    directory: OwnedFd,
    /// What is made in it gets its group (`chmod g+s`, as directories of teams have it). What is renamed into it does not.
    group: Option<Gid>,
}

impl Parent {
    pub fn of(directory: OwnedFd) -> io::Result<Self> {
        let stat = fs::fstat(&directory)?;
        let hands_on = Mode::from_raw_mode(stat.st_mode).contains(Mode::SGID);
        Ok(Self { directory, group: hands_on.then(|| Gid::from_raw(stat.st_gid)) })
    }

    /// Gives an entry that lies elsewhere the group that it would have if it had been made here. Who is no member of the group cannot.
    /// Returns whether it has another group now, which takes a program's capabilities away.
    pub fn hand_on(&self, elsewhere: &impl AsFd, name: &str) -> io::Result<bool> {
        let Some(group) = self.group else { return Ok(false) };
        if fs::statat(elsewhere, name, AtFlags::SYMLINK_NOFOLLOW)?.st_gid == group.as_raw() {
            return Ok(false);
        }
        match fs::chownat(elsewhere, name, None, Some(group), AtFlags::SYMLINK_NOFOLLOW) {
            Ok(()) => Ok(true),
            Err(Errno::PERM) => Ok(false),
            Err(error) => Err(error),
        }
    }
}

impl Deref for Parent {
    type Target = OwnedFd;

    fn deref(&self) -> &OwnedFd {
        &self.directory
    }
}

/// Changes names in a directory. Where its mode does not allow that to its owner, who may change the mode, it does for the moment: read-only
/// trees, as build caches keep them, are updated so by every tool.
pub fn in_own<T>(directory: &impl AsFd, change: impl Fn() -> io::Result<T>) -> io::Result<T> {
    static LENT: Mutex<()> = Mutex::new(());
    match change() {
        Err(Errno::ACCESS) => {}
        other => return other,
    }
    // What one thread gives back, another one must not take for lent.
    let _lent = lock(&LENT);
    let stat = fs::fstat(directory)?;
    let mode = Mode::from_raw_mode(stat.st_mode);
    if stat.st_uid != rustix::process::geteuid().as_raw() || mode.contains(CHANGES) {
        return change();
    }
    fs::fchmod(directory, mode | CHANGES)?;
    let changed = change();
    fs::fchmod(directory, mode)?;
    changed
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::fs::{File, Permissions};
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};

    use super::*;

    /// Root may do what a mode forbids, so that the first try works; the mode stays in any case.
    #[test]
    fn a_read_only_directory_of_ones_own_is_changed_and_stays_read_only() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::set_permissions(folder.path(), Permissions::from_mode(0o555)).unwrap();
        let directory = OwnedFd::from(File::open(folder.path()).unwrap());
        in_own(&directory, || fs::mkdirat(&directory, "new", Mode::RWXU)).unwrap();
        assert!(folder.path().join("new").is_dir());
        assert_eq!(folder.path().metadata().unwrap().mode() & 0o7777, 0o555);
        in_own(&directory, || fs::unlinkat(&directory, "new", AtFlags::REMOVEDIR)).unwrap();
        assert_eq!(in_own(&directory, || fs::unlinkat(&directory, "new", AtFlags::empty())), Err(Errno::NOENT));
    }

    #[test]
    fn an_entry_gets_the_group_that_its_directory_hands_on() {
        let folder = tempfile::tempdir().unwrap();
        let [team, partial] = ["team", "partial"].map(|name| folder.path().join(name));
        [&team, &partial].iter().for_each(|path| std::fs::create_dir(path).unwrap());
        std::fs::write(partial.join("file"), b"x").unwrap();
        // Another one than the user's first, where there is one; else there is nothing that could be told apart.
        let own = partial.metadata().unwrap().gid();
        let groups = rustix::process::getgroups().unwrap_or_default();
        let other = if rustix::process::geteuid().is_root() {
            Some(own + 1)
        } else {
            groups.iter().map(|group| group.as_raw()).find(|group| *group != own)
        };
        let Some(other) = other else { return };
        let [directory, partial] = [&team, &partial].map(|path| OwnedFd::from(File::open(path).unwrap()));
        fs::fchown(&directory, None, Some(Gid::from_raw(other))).unwrap();
        let group = || folder.path().join("partial/file").metadata().unwrap().gid();
        Parent::of(rustix::io::dup(&directory).unwrap()).unwrap().hand_on(&partial, "file").unwrap();
        assert_eq!(group(), own, "it does not hand its group on");
        fs::fchmod(&directory, Mode::RWXU | Mode::RWXG | Mode::SGID).unwrap();
        let team = Parent::of(directory).unwrap();
        assert_eq!([0, 1].map(|_| team.hand_on(&partial, "file").unwrap()), [true, false]);
        assert_eq!(group(), other);
    }
}
