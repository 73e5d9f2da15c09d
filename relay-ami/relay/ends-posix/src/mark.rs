//! A mark: an empty file of a name that nobody guesses, in a destination. Whoever sees it elsewhere sees the same directory.

use std::ffi::OsStr;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;

use rustix::fs::{self, AtFlags, Mode, OFlags, Timespec, Timestamps, UTIME_OMIT};
use rustix::io::Errno;

use super::roots::reach;
use super::tree::PARTIAL;

/// It counts among partial files: no listing has it, and no mirror removes it.
fn file_name(name: &str) -> String {
    format!("{}mark-{name}", String::from_utf8_lossy(PARTIAL))
}

/// Puts the mark into a destination, or into the deepest directory above it that exists, or takes it away. It may be there or gone already.
/// The directory keeps its modification time, which may be a source's.
pub fn mark(path: &[u8], name: &str, present: bool) -> io::Result<()> {
    let directory: OwnedFd = fs::openat(reach(path)?.directory, ".", OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
    let before = fs::fstat(&directory)?;
    let name = file_name(name);
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let done = if present {
        fs::openat(&directory, &*name, flags, Mode::RUSR).map(drop)
    } else {
        fs::unlinkat(&directory, &*name, AtFlags::empty())
    };
    match done {
        Ok(()) => {}
        Err(Errno::EXIST) if present => return Ok(()),
        Err(Errno::NOENT) if !present => return Ok(()),
        Err(error) => return Err(error.into()),
    }
    let modified = Timespec { tv_sec: before.st_mtime, tv_nsec: before.st_mtime_nsec.try_into().unwrap_or_default() };
    // Only the directory's owner may.
    let _ = fs::futimens(&directory, &Timestamps { last_access: Timespec { tv_sec: 0, tv_nsec: UTIME_OMIT }, last_modification: modified });
    Ok(())
}

/// Whether the mark is in `directory`, an absolute path. A network file system asks its server, since this name was never asked for before.
pub fn is_marked(directory: &[u8], name: &str) -> io::Result<bool> {
    let path = [directory, b"/", file_name(name).as_bytes()].concat();
    match fs::statat(fs::CWD, OsStr::from_bytes(&path), AtFlags::SYMLINK_NOFOLLOW) {
        Ok(_) => Ok(true),
        Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt as _;

    use super::*;

    const NAME: &str = "9f86d081884c7d659a2feaa0c55ad015";

    #[test]
    fn a_mark_is_seen_by_every_way_to_its_directory_and_leaves_nothing_behind() {
        let folder = tempfile::tempdir().unwrap();
        let here = folder.path();
        std::fs::create_dir_all(here.join("x/releases/42")).unwrap();
        std::os::unix::fs::symlink(here.join("x"), here.join("link")).unwrap();
        let bytes = |path: &str| here.join(path).into_os_string().into_encoded_bytes();
        let stamp = || std::fs::metadata(here.join("x/releases")).map(|found| (found.mtime(), found.mtime_nsec())).unwrap();
        let before = stamp();
        for _ in 0..2 {
            mark(&bytes("x/releases"), NAME, true).unwrap();
        }
        for (directory, expected) in [("link/releases", true), ("x/releases/42/..", true), ("x/releases/42", false), ("x/other", false)] {
            assert_eq!(is_marked(&bytes(directory), NAME).unwrap(), expected, "{directory}");
        }
        assert!(!is_marked(&bytes("x/releases"), &"0".repeat(32)).unwrap());
        for _ in 0..2 {
            mark(&bytes("x/releases"), NAME, false).unwrap();
        }
        assert!(!is_marked(&bytes("x/releases"), NAME).unwrap());
        assert_eq!(stamp(), before);
    }

    #[test]
    fn a_destination_that_is_not_there_yet_is_marked_in_the_directory_above_it() {
        let folder = tempfile::tempdir().unwrap();
        let bytes = |path: &str| folder.path().join(path).into_os_string().into_encoded_bytes();
        mark(&bytes("not/yet"), NAME, true).unwrap();
        assert!(is_marked(&bytes(""), NAME).unwrap());
        assert!(!folder.path().join("not").exists());
    }
}
