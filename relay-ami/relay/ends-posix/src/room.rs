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
use cpt_ends::Room;
use cpt_wire::documents::survey::Problem;
use cpt_wire::documents::text::KeepName;

/// Whether anything but partial files is there, and the speed of the disk; or why this user cannot write.
type Looked = Result<(bool, Option<f64>), String>;

/// Looks at the directory, or at the nearest one above it that exists.
pub fn room(path: &Path, kept: Option<&KeepName>) -> Room {
    match reach(path.as_os_str().as_bytes()) {
        Ok(found) => {
            let (bytes, entries, looked) = space(&found);
            let wrong = kept.filter(|_| found.missing.is_empty()).and_then(|kept| keep::check(&found.directory, kept).err());
            let (path, looked) = match (looked, wrong) {
                (Ok(_), Some(wrong)) => (path, Err(wrong.to_string())),
                (Ok(looked), None) => (path, Ok(looked)),
                (Err(why), _) => (&*found.path, Err(why)),
            };
            match looked {
                Ok((occupied, write_mb_s)) => Room { bytes, entries, occupied, write_mb_s, ..at(path) },
                Err(why) => Room { bytes, entries, ..refused(path, why) },
            }
        }
        Err(error) => refused(path, no_way(&error)),
    }
}

/// A destination that cannot be looked at.
#[must_use]
pub fn refused(path: &Path, why: String) -> Room {
    let problem = Some(Problem::of(path.as_os_str().as_bytes(), why));
    Room { bytes: Some(0), entries: Some(0), problem, ..at(path) }
}

fn at(path: &Path) -> Room {
    Room { ways: ways(path), kernel: kernel(), ..Room::default() }
}

fn space(found: &Reached) -> (Option<u64>, Option<u64>, Looked) {
    let access = accessat(&found.directory, ".", Access::WRITE_OK | Access::EXEC_OK, AtFlags::empty());
    let space = match fstatvfs(&found.directory) {
        Ok(space) => space,
        Err(error) => return (Some(0), Some(0), Err(io::Error::from(error).to_string())),
    };
    // A file system without a limit says 0 of 0.
    let bytes = (space.f_blocks != 0).then(|| space.f_bavail.saturating_mul(space.f_frsize));
    let entries = (space.f_files != 0).then_some(space.f_favail);
    let looked = match access {
        Ok(()) => {
            let rate = disk::write_rate(&found.directory, bytes.unwrap_or(u64::MAX));
            Ok((found.missing.is_empty() && is_occupied(&found.directory), rate))
        }
        Err(error) => Err(not_writable(&error.into())),
    };
    (bytes, entries, looked)
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
