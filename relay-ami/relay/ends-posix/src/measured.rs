//! What a file system keeps of a file: found out by a file of ours, since neither its name nor what it takes without an error tells.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{self, AtFlags, Mode, OFlags};
use rustix::io::Errno;

use super::answers;
use super::attributes::times;
use super::identity::{identity_of, modified_ns};
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

/// Times of so many entries are looked at: enough to tell one second from two.
const SEEN: usize = 64;

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

/// Looks at a directory's file system without changing anything that somebody could see, not even a time. Where it has no files without
/// names, the times of what is there show their step; modes count as kept.
pub fn unseen(directory: &impl AsFd) -> Measured {
    let by_file = nameless(directory).ok().and_then(|file| Measured::of(&file).ok());
    by_file.unwrap_or_else(|| Measured { time_step_ns: Some(step_of(&times_in(directory))), ..Measured::ALL })
}

/// When a directory and what is in it were changed, nanoseconds: no tool sets a change time, so the step of these is the file
/// system's. With each its modification time, which may have a finer one.
fn times_in(directory: &impl AsFd) -> BTreeMap<i64, i64> {
    let times = |stat: &fs::Stat| Some((identity_of(stat).changed_ns, modified_ns(stat)?));
    let entries =
        fs::Dir::read_from(directory).into_iter().flatten().flatten().filter(|entry| !matches!(entry.file_name().to_bytes(), b"." | b".."));
    let of_entries = entries.take(SEEN).filter_map(|entry| fs::statat(directory, entry.file_name(), AtFlags::SYMLINK_NOFOLLOW).ok());
    fs::fstat(directory).ok().into_iter().chain(of_entries).filter_map(|stat| times(&stat)).collect()
}

/// The coarsest step that all of these times are multiples of, unless times of the next finer one are so by chance more often than once in
/// 10⁹. To take two times for one is worse than to send a file again.
fn step_of(times: &BTreeMap<i64, i64>) -> i64 {
    let count = i32::try_from(times.len()).unwrap_or(i32::MAX);
    let is_kept = |step: i64| times.iter().all(|(changed, modified)| changed % step == 0 && modified % step == 0);
    let found = STEPS_NS.windows(2).rev().find(|pair| is_kept(pair[1]) && (pair[1] as f64 / pair[0] as f64).powi(count) >= 1e9);
    found.map_or(STEPS_NS[0], |pair| pair[1])
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
    let removed = || answers::removed(fs::unlinkat(partial, PROBE, AtFlags::empty()));
    let (first, all) = made(PERMISSIONS)?;
    let measured = Measured::of(&first);
    removed()?;
    let measured = measured?;
    let (_, few) = made(NEW_FILE)?;
    removed()?;
    let masked = if few & PERMISSIONS == NEW_FILE { PERMISSIONS - all } else { PERMISSIONS };
    Ok((measured, masked))
}

/// Returns whether what this process makes in a directory is another user's, who is this one there: a server may take root for nobody.
pub fn makes_files_of(directory: &OwnedFd, user: u32) -> bool {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let _ = fs::unlinkat(directory, PROBE, AtFlags::empty());
    let Ok(file) = fs::openat(directory, PROBE, flags, NEW_FILE) else { return false };
    let _ = fs::unlinkat(directory, PROBE, AtFlags::empty());
    fs::fstat(&file).is_ok_and(|stat| stat.st_uid == user)
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

    /// So many files changed one after the other, with the times that a file system of this step keeps of them.
    fn kept(count: i64, step: i64) -> BTreeMap<i64, i64> {
        let at = |number: i64| (TIME_NS + number * 3_000_000_007) / step * step;
        (0..count).map(|number| (at(number), at(number + 1))).collect()
    }

    #[test]
    fn times_of_what_is_there_show_their_step_where_they_are_enough() {
        for (step, enough) in [(100, 5), (1_000, 9), (1_000_000, 3), (1_000_000_000, 3), (2_000_000_000, 30)] {
            assert_eq!(step_of(&kept(enough, step)), step);
            assert!(step_of(&kept(enough - 1, step)) < step, "{step}");
        }
        assert_eq!([step_of(&kept(64, 1)), step_of(&BTreeMap::new())], [1, 1]);
    }

    #[test]
    fn one_time_that_is_finer_shows_that_finer_ones_are_kept() {
        let mut times = kept(20, 1_000_000_000);
        times.insert(7_000_000_000, 7_000_000_001);
        assert_eq!(step_of(&times), 1);
    }

    #[test]
    fn a_directory_and_what_is_in_it_are_looked_at() {
        let folder = tempfile::tempdir().unwrap();
        let directory = OwnedFd::from(File::open(folder.path()).unwrap());
        assert_eq!(times_in(&directory).len(), 1);
        std::fs::write(folder.path().join("file"), "1").unwrap();
        File::open(folder.path().join("file")).unwrap().set_modified(std::time::UNIX_EPOCH).unwrap();
        assert!(times_in(&directory).values().any(|modified| *modified == 0));
    }

    #[test]
    fn every_step_makes_another_time_of_the_one_that_is_set() {
        let kept: std::collections::BTreeSet<i64> = STEPS_NS.iter().map(|step| TIME_NS.div_euclid(*step) * step).collect();
        assert_eq!(kept.len(), STEPS_NS.len());
    }
}
