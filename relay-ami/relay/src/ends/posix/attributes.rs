//! What a finished entry carries besides its bytes: mode and modification time.

use std::fs::File;
use std::io;

use rustix::fs::{self, Mode, Timespec, Timestamps};

use crate::ends::KEPT_MODE;

/// Sets what a finished file carries; its inode.
pub fn finish_file(file: &File, mode: u16, mtime_ns: i64) -> io::Result<u64> {
    let found = fs::fstat(file)?;
    // Most files are made with the mode that they are to have: see `Tree::create`.
    if Mode::from_raw_mode(found.st_mode & 0o7777) != kept(mode) {
        fs::fchmod(file, kept(mode))?;
    }
    fs::futimens(file, &times(mtime_ns))?;
    Ok(found.st_ino)
}

/// The bits of a mode that arrive.
pub fn kept(mode: u16) -> Mode {
    Mode::from_raw_mode(u32::from(mode) & KEPT_MODE)
}

pub fn times(mtime_ns: i64) -> Timestamps {
    const SECOND: i64 = 1_000_000_000;
    let time = Timespec { tv_sec: mtime_ns.div_euclid(SECOND), tv_nsec: mtime_ns.rem_euclid(SECOND) };
    Timestamps { last_access: Timespec { tv_sec: 0, tv_nsec: fs::UTIME_NOW }, last_modification: time }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};

    use super::*;

    #[test]
    fn a_file_gets_its_mode_and_time_whatever_it_was_made_with() {
        let directory = tempfile::tempdir().unwrap();
        for (made, mode) in [(0o644, 0o644), (0o600, 0o444), (0o777, 0o1640), (0o600, 0o6755), (0o600, 0)] {
            let path = directory.path().join(format!("{made:o}-{mode:o}"));
            let file = std::fs::OpenOptions::new().write(true).create_new(true).mode(made).open(&path).unwrap();
            let inode = finish_file(&file, mode, -1).unwrap();
            let found = path.metadata().unwrap();
            assert_eq!(found.mode() & 0o7777, u32::from(mode) & KEPT_MODE);
            assert_eq!((found.mtime(), found.mtime_nsec()), (-1, 999_999_999));
            assert_eq!(found.ino(), inode);
        }
    }
}
