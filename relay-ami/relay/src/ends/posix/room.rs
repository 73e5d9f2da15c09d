//! What the destination can take.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, AtFlags, Dir, Mode, OFlags, accessat, fstatvfs, openat};
use rustix::io::Errno;

use super::disk;
use super::roots::{Reached, reach};
use super::tree::PARTIAL;
use super::whereabouts::ways;
use crate::VERSION;
use crate::documents::survey::{Problem, Survey, Way};
use crate::documents::text::SchemaVersion1;
use crate::scan::problem;

/// Looks at the directory, or at the nearest one above it that exists.
pub fn survey(path: &Path) -> Survey {
    let (free_bytes, free_inodes, found) = match reach(path.as_os_str().as_bytes()) {
        Ok(found) => space(&found),
        Err(error) => (0, 0, Err((path.to_owned(), no_way(&error)))),
    };
    match found {
        Ok((occupied, write_mbps)) => survey_of(free_bytes, free_inodes, occupied, ways(path), write_mbps, None),
        Err((path, reason)) => survey_of(free_bytes, free_inodes, false, ways(path.as_ref()), None, Some((&path, reason))),
    }
}

/// A destination that cannot be looked at.
#[must_use]
pub fn refused(path: &Path, reason: String) -> Survey {
    survey_of(0, 0, false, ways(path), None, Some((path, reason)))
}

fn survey_of(
    free_bytes: u64,
    free_inodes: u64,
    occupied: bool,
    ways: Vec<Way>,
    write_mbps: Option<f64>,
    trouble: Option<(&Path, String)>,
) -> Survey {
    let problems: Vec<Problem> = trouble.into_iter().map(|(path, reason)| problem(path.as_os_str().as_bytes(), reason)).collect();
    let problem_count = problems.len() as u64;
    Survey::Destination {
        schema_version: SchemaVersion1,
        daemon_version: VERSION,
        free_bytes,
        free_inodes,
        occupied,
        ways,
        write_mbps,
        problems,
        problem_count,
    }
}

type Looked = Result<(bool, Option<f64>), (PathBuf, String)>;

/// Bytes and inodes that are free; whether anything but partial files is there, and how fast its disk is.
fn space(found: &Reached) -> (u64, u64, Looked) {
    let here = |reason: String| Err((found.path.clone(), reason));
    let access = accessat(&found.directory, ".", Access::WRITE_OK | Access::EXEC_OK, AtFlags::empty());
    let space = match fstatvfs(&found.directory) {
        Ok(space) => space,
        Err(error) => return (0, 0, here(io::Error::from(error).to_string())),
    };
    let free_bytes = space.f_bavail.saturating_mul(space.f_frsize);
    // A file system without a limit says 0 of 0.
    let free_inodes = if space.f_files == 0 { i64::MAX as u64 } else { space.f_favail };
    if let Err(error) = access {
        return (free_bytes, free_inodes, here(not_writable(&error.into())));
    }
    let occupied = found.missing.is_empty() && is_occupied(&found.directory);
    (free_bytes, free_inodes, Ok((occupied, disk::write_rate(&found.directory, free_bytes))))
}

/// Why a directory cannot be gone to; only the kernel's own refusal lacks for whom.
fn no_way(error: &io::Error) -> String {
    if error.raw_os_error() == Some(Errno::ACCESS.raw_os_error()) { not_writable(error) } else { error.to_string() }
}

fn not_writable(error: &io::Error) -> String {
    format!("cannot be written by user {}: {error}", rustix::process::geteuid().as_raw())
}

fn is_occupied(directory: &OwnedFd) -> bool {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let entries = openat(directory, ".", flags, Mode::empty()).and_then(Dir::new);
    let mut names = entries.into_iter().flatten().flatten().map(|entry| entry.file_name().to_bytes().to_vec());
    names.any(|name| name != b"." && name != b".." && !name.starts_with(PARTIAL))
}
