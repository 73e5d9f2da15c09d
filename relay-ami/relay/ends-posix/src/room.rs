//! The room at the destination.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use rustix::fs::{Access, AtFlags, Dir, Mode, OFlags, accessat, fstatvfs, openat};
use rustix::io::Errno;

use super::disk;
use super::keep;
use super::mounts::kernel;
use super::roots::{Reached, reach};
use super::tree::PARTIAL;
use super::whereabouts::ways;
use cpt_wire::VERSION;
use cpt_wire::documents::survey::{Problem, Survey};
use cpt_wire::documents::text::{KeepName, SchemaVersion1};

/// Bytes and inodes.
type Free = (u64, u64);
/// Whether anything but partial files is there, and the speed of the disk; or why this user cannot write.
type Looked = Result<(bool, Option<f64>), String>;

/// Looks at the directory, or at the nearest one above it that exists.
pub fn survey(path: &Path, kept: Option<&KeepName>) -> Survey {
    match reach(path.as_os_str().as_bytes()) {
        Ok(found) => {
            let (free, looked) = space(&found);
            let wrong = kept.filter(|_| found.missing.is_empty()).and_then(|kept| keep::check(&found.directory, kept).err());
            if let (true, Some(wrong)) = (looked.is_ok(), wrong) {
                return survey_of(path, free, Err(wrong.to_string()));
            }
            survey_of(if looked.is_ok() { path } else { &found.path }, free, looked)
        }
        Err(error) => refused(path, no_way(&error)),
    }
}

/// A destination that cannot be looked at.
#[must_use]
pub fn refused(path: &Path, reason: String) -> Survey {
    survey_of(path, (0, 0), Err(reason))
}

fn survey_of(path: &Path, (free_bytes, free_inodes): Free, looked: Looked) -> Survey {
    let ((occupied, write_mb_s), problems) = match looked {
        Ok(found) => (found, Vec::new()),
        Err(reason) => ((false, None), vec![Problem::of(path.as_os_str().as_bytes(), reason)]),
    };
    let problem_count = problems.len() as u64;
    Survey::Destination {
        schema_version: SchemaVersion1,
        daemon_version: VERSION,
        free_bytes,
        free_inodes,
        occupied,
        ways: ways(path),
        kernel: kernel(),
        write_mb_s,
        problems,
        problem_count,
    }
}

fn space(found: &Reached) -> (Free, Looked) {
    let access = accessat(&found.directory, ".", Access::WRITE_OK | Access::EXEC_OK, AtFlags::empty());
    let space = match fstatvfs(&found.directory) {
        Ok(space) => space,
        Err(error) => return ((0, 0), Err(io::Error::from(error).to_string())),
    };
    // A file system without a limit says 0 of 0.
    let free_bytes = if space.f_blocks == 0 { i64::MAX as u64 } else { space.f_bavail.saturating_mul(space.f_frsize) };
    let free_inodes = if space.f_files == 0 { i64::MAX as u64 } else { space.f_favail };
    let looked = match access {
        Ok(()) => Ok((found.missing.is_empty() && is_occupied(&found.directory), disk::write_rate(&found.directory, free_bytes))),
        Err(error) => Err(not_writable(&error.into())),
    };
    ((free_bytes, free_inodes), looked)
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
