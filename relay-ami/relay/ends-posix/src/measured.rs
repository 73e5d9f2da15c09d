//! What a file system keeps of a file: found out by a file of ours, since neither its name nor what it takes without an error tells.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{self, AtFlags, Mode, OFlags};
use rustix::io::Errno;

use super::attributes::times;
use super::identity::modified_ns;
use super::nameless::nameless;
use cpt_ends::Capabilities;

/// No entry's name.
const PROBE: &str = "mode-probe";
const PERMISSIONS: Mode = Mode::RWXU.union(Mode::RWXG).union(Mode::RWXO);
const NEW_FILE: Mode = Mode::RUSR.union(Mode::WUSR);
/// A time that every step below makes another one of: 2009-02-13 23:31:31.123456789, an odd second.
const TIME_NS: i64 = 1_234_567_891_123_456_789;
/// Nanoseconds; 100 as Windows has them, microseconds, milliseconds, seconds as Lustre and old ext4 have them, two seconds as FAT.
const STEPS_NS: [i64; 6] = [1, 100, 1_000, 1_000_000, 1_000_000_000, 2_000_000_000];

/// What was found out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Measured {
    /// Permission bits stay as they are set.
    pub modes: bool,
    /// Modification times are kept as multiples of this; none where they are not kept.
    pub time_step_ns: Option<i64>,
}

impl Measured {
    /// Of an ordinary file system, or where nothing could be found out.
    pub const ALL: Self = Self { modes: true, time_step_ns: Some(1) };

    /// Sets mode and time of a file of ours and reads them back. Fails where the disk does: that says nothing of what is kept.
    fn of(file: &impl AsFd) -> rustix::io::Result<Self> {
        let mut modes = true;
        for mode in [NEW_FILE, PERMISSIONS - Mode::WOTH] {
            let set = takes(fs::fchmod(file, mode))?;
            modes &= set && Mode::from_raw_mode(fs::fstat(file)?.st_mode) & PERMISSIONS == mode;
        }
        let is_set = takes(fs::futimens(file, &times(TIME_NS)))?;
        let is = modified_ns(&fs::fstat(file)?).filter(|_| is_set);
        let is_step = |step: &i64| is.is_some_and(|is| is == TIME_NS.div_euclid(*step) * step);
        Ok(Self { modes, time_step_ns: STEPS_NS.into_iter().find(|step| is_step(step)) })
    }

    /// The abilities of a directory of this kind.
    pub const fn capabilities(self) -> Capabilities {
        Capabilities {
            parts: true,
            directories: true,
            modes: self.modes,
            time_step_ns: self.time_step_ns,
            links: true,
            hard_links: true,
            special_files: true,
            attributes: true,
            holes: true,
        }
    }
}

/// Returns whether a file system takes a change of a file of ours at all.
fn takes(change: rustix::io::Result<()>) -> rustix::io::Result<bool> {
    match change {
        Ok(()) => Ok(true),
        Err(Errno::PERM | Errno::ACCESS | Errno::NOTSUP | Errno::NOSYS | Errno::INVAL) => Ok(false),
        Err(error) => Err(error),
    }
}

/// Looks at a directory's file system without changing anything that somebody could see, not even a time; where it has no files without
/// names, it is taken for an ordinary one.
pub fn unseen(directory: &impl AsFd) -> Measured {
    nameless(directory).ok().and_then(|file| Measured::of(&file).ok()).unwrap_or(Measured::ALL)
}

/// Looks by a file among the partial ones. Returns too the bits that new files do not get, as two of them show.
pub fn among(partial: &OwnedFd) -> io::Result<(Measured, Mode)> {
    match fs::unlinkat(partial, PROBE, AtFlags::empty()) {
        Ok(()) | Err(Errno::NOENT) => {}
        Err(error) => return Err(error.into()),
    }
    let made = |mode: Mode| -> io::Result<(File, Mode)> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = File::from(fs::openat(partial, PROBE, flags, mode)?);
        let has = Mode::from_raw_mode(fs::fstat(&file)?.st_mode);
        Ok((file, has))
    };
    let removed = || fs::unlinkat(partial, PROBE, AtFlags::empty());
    let (first, all) = made(PERMISSIONS)?;
    let measured = Measured::of(&first);
    removed()?;
    let measured = measured?;
    let (_, few) = made(NEW_FILE)?;
    removed()?;
    let masked = if few & PERMISSIONS == NEW_FILE { PERMISSIONS - all } else { PERMISSIONS };
    Ok((measured, masked))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ordinary_directory_keeps_all_and_is_looked_at_unseen() {
        let folder = tempfile::tempdir().unwrap();
        let directory = OwnedFd::from(File::open(folder.path()).unwrap());
        let before = folder.path().metadata().unwrap().modified().unwrap();
        assert_eq!(unseen(&directory), Measured::ALL);
        assert_eq!(folder.path().metadata().unwrap().modified().unwrap(), before);
        assert_eq!(among(&directory).unwrap().0, Measured::ALL);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn what_a_file_system_refuses_is_not_kept_and_an_error_of_the_disk_says_nothing_of_that() {
        assert_eq!((takes(Ok(())), takes(Err(Errno::PERM)), takes(Err(Errno::IO))), (Ok(true), Ok(false), Err(Errno::IO)));
    }

    #[test]
    fn every_step_makes_another_time_of_the_one_that_is_set() {
        let kept: std::collections::BTreeSet<i64> = STEPS_NS.iter().map(|step| TIME_NS.div_euclid(*step) * step).collect();
        assert_eq!(kept.len(), STEPS_NS.len());
    }
}
