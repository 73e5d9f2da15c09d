//! Files that no directory names, for what has no room in memory. They are gone with the process.

use std::fs::File;
use std::io;
use std::os::fd::AsFd;

use rustix::fs::{self, Mode, OFlags};

/// A new file without a name on the file system of a directory. NFS makes none: a file that is open and removed has a name there until
/// it is closed, and its directory could not go.
pub fn nameless(directory: impl AsFd) -> io::Result<File> {
    let flags = OFlags::RDWR | OFlags::CLOEXEC | OFlags::TMPFILE;
    Ok(fs::openat(directory, ".", flags, Mode::RUSR | Mode::WUSR)?.into())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::FileExt as _;

    use super::*;

    #[test]
    fn a_file_without_a_name_is_none_of_the_directorys() {
        let folder = tempfile::tempdir().unwrap();
        let made = nameless(File::open(folder.path()).unwrap());
        if made.as_ref().is_err_and(|error| error.raw_os_error() == Some(rustix::io::Errno::OPNOTSUPP.raw_os_error())) {
            return; // this file system makes none
        }
        let file = made.unwrap();
        file.write_all_at(b"x", 5).unwrap();
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
