//! Answers that a shared file system loses. Its client asks again, and is told that what the first call has done cannot be done: nothing has
//! the old name any more, or something has the new one already. What is there then tells.

use std::ffi::OsStr;
use std::os::fd::AsFd;

use rustix::fs::{self, AtFlags, FileType, Stat};
use rustix::io::{Errno, Result};
use rustix::path::Arg;

fn look(directory: &impl AsFd, name: impl Arg) -> Result<Stat> {
    fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW)
}

/// How a rename out of a directory that nobody else changes went: where neither the old name nor a directory is there, and the new name is,
/// it was done.
pub fn renamed(said: Result<()>, from: &impl AsFd, name: impl Arg, to: &impl AsFd, base: impl Arg) -> Result<()> {
    let is_there = |stat: Stat| FileType::from_raw_mode(stat.st_mode) != FileType::Directory;
    match said {
        Err(Errno::NOENT) if look(from, name).err() == Some(Errno::NOENT) && look(to, base).is_ok_and(is_there) => Ok(()),
        other => other,
    }
}

/// How a second name for a file went: one that leads to it was given.
pub fn linked(said: Result<()>, file: &Stat, to: &impl AsFd, base: impl Arg) -> Result<()> {
    match said {
        Err(Errno::EXIST) if look(to, base).is_ok_and(|there| (there.st_dev, there.st_ino) == (file.st_dev, file.st_ino)) => Ok(()),
        other => other,
    }
}

/// How a symbolic link went: one to the same target will do.
pub fn symlinked(said: Result<()>, target: &[u8], to: &impl AsFd, base: &OsStr) -> Result<()> {
    match said {
        Err(Errno::EXIST) if fs::readlinkat(to, base, Vec::new()).is_ok_and(|there| there.to_bytes() == target) => Ok(()),
        other => other,
    }
}

/// How the removal of a name went that was there.
pub fn removed(said: Result<()>) -> Result<()> {
    if said == Err(Errno::NOENT) { Ok(()) } else { said }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::fs::File;
    use std::os::fd::OwnedFd;

    use super::*;

    #[test]
    fn what_is_there_tells_whether_a_name_was_changed() {
        let folder = tempfile::tempdir().unwrap();
        let at = OwnedFd::from(File::open(folder.path()).unwrap());
        let path = |name: &str| folder.path().join(name);
        std::fs::write(path("new"), b"x").unwrap();
        let gone = Err(Errno::NOENT);
        assert_eq!(renamed(gone, &at, "old", &at, "new"), Ok(()));
        assert_eq!(renamed(gone, &at, "old", &at, "nothing"), gone, "its directory has gone");
        std::fs::write(path("old"), b"x").unwrap();
        assert_eq!(renamed(gone, &at, "old", &at, "new"), gone, "it was not moved");
        assert_eq!(renamed(Err(Errno::IO), &at, "none", &at, "new"), Err(Errno::IO));
        std::fs::remove_file(path("old")).unwrap();
        std::fs::create_dir(path("d")).unwrap();
        assert_eq!(renamed(gone, &at, "old", &at, "d"), gone);

        let (file, there) = (look(&at, "new").unwrap(), Err(Errno::EXIST));
        std::fs::hard_link(path("new"), path("second")).unwrap();
        std::fs::write(path("another"), b"x").unwrap();
        assert_eq!(linked(there, &file, &at, "second"), Ok(()));
        assert_eq!(linked(there, &file, &at, "another"), there);

        std::os::unix::fs::symlink("new", path("link")).unwrap();
        assert_eq!(symlinked(there, b"new", &at, OsStr::new("link")), Ok(()));
        for (target, name) in [("old", "link"), ("new", "new")] {
            assert_eq!(symlinked(there, target.as_bytes(), &at, OsStr::new(name)), there);
        }
        assert_eq!([removed(gone), removed(there), removed(Ok(()))], [Ok(()), there, Ok(())]);
    }
}
