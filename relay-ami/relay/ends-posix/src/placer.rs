//! How a finished entry comes from among the partial files to its place.
//!
//! A rename from one directory to another waits for every other one of its mount: the kernel does one at a time, and on a file system that is
//! far each takes two or three round trips. A second name in the place, and then the first one taken away, wait for the two directories alone.

use std::ffi::OsStr;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::{self, AtFlags};
use rustix::io::{Errno, Result};

use super::answers;
use super::parent::in_own;

/// That of one file system.
pub struct Placer {
    /// Whether an entry gets a second name, until the file system has refused one.
    links: AtomicBool,
}

impl Placer {
    pub const fn new(is_far: bool) -> Self {
        Self { links: AtomicBool::new(is_far) }
    }

    /// Moves the entry `name` of a staging directory to its place, `base`, in which it replaces what is there unless that is a directory.
    pub fn place(&self, staging: &OwnedFd, name: &str, parent: &OwnedFd, base: &OsStr) -> Result<()> {
        let rename = || answers::renamed(in_own(parent, || fs::renameat(staging, name, parent, base)), staging, name, parent, base);
        let remove = || answers::removed(fs::unlinkat(staging, name, AtFlags::empty()));
        if !self.links.load(Ordering::Relaxed) {
            return rename();
        }
        match in_own(parent, || fs::linkat(staging, name, parent, base, AtFlags::empty())) {
            Ok(()) => remove(),
            Err(Errno::PERM | Errno::OPNOTSUPP | Errno::NOSYS | Errno::MLINK) => {
                self.links.store(false, Ordering::Relaxed);
                rename()
            }
            // Of two names of one file the rename does nothing: what was answered may not be what was done.
            Err(_) => rename().and_then(|()| remove()),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::fs::File;
    use std::os::unix::fs::MetadataExt as _;
    use std::path::PathBuf;

    use super::*;

    struct Site {
        folder: tempfile::TempDir,
        staging: OwnedFd,
        parent: OwnedFd,
    }

    impl Site {
        fn new() -> Self {
            let folder = tempfile::tempdir().unwrap();
            let [staging, parent] = ["staging", "parent"].map(|name| {
                std::fs::create_dir(folder.path().join(name)).unwrap();
                OwnedFd::from(File::open(folder.path().join(name)).unwrap())
            });
            std::fs::write(folder.path().join("staging/1-0"), b"new").unwrap();
            Self { folder, staging, parent }
        }

        fn path(&self, of: &str) -> PathBuf {
            self.folder.path().join(of)
        }

        fn place(&self, placer: &Placer) -> Result<()> {
            placer.place(&self.staging, "1-0", &self.parent, OsStr::new("x"))
        }

        fn is_placed(&self) -> bool {
            let placed = std::fs::metadata(self.path("parent/x")).unwrap();
            std::fs::read(self.path("parent/x")).unwrap() == b"new" && placed.nlink() == 1 && !self.path("staging/1-0").exists()
        }
    }

    #[test]
    fn an_entry_has_one_name_whatever_was_in_its_place() {
        for placer in [Placer::new(true), Placer::new(false)] {
            let site = Site::new();
            site.place(&placer).unwrap();
            assert!(site.is_placed());

            let site = Site::new();
            std::fs::write(site.path("parent/x"), b"old").unwrap();
            site.place(&placer).unwrap();
            assert!(site.is_placed());

            let site = Site::new();
            std::fs::create_dir(site.path("parent/x")).unwrap();
            site.place(&placer).unwrap_err();
            assert!(site.path("staging/1-0").exists());
        }
    }

    #[test]
    fn a_second_name_whose_answer_was_lost_is_not_left_beside_the_first() {
        let site = Site::new();
        std::fs::hard_link(site.path("staging/1-0"), site.path("parent/x")).unwrap();
        site.place(&Placer::new(true)).unwrap();
        assert!(site.is_placed());
    }
}
