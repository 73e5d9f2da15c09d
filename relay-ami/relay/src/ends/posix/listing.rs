//! The listing of a source's paths.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::fmt::Display;
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;

use rustix::fs::{Access, AtFlags, FileType, Stat, accessat, readlinkat};

use super::identity::modified_ns;
use super::roots::{Root, Step, Walk};
use crate::control::ControlError;
use crate::documents::entry::{Kind, ListingEntry};
use crate::documents::percent;
use crate::ends::{Each, Listed};

/// Permission to read for everybody.
const READABLE: u32 = 0o444;

/// A path of the request, with the names that it brings to the top of the destination.
type Brought = (Root, Vec<Vec<u8>>);

/// Lists `paths`.
pub fn list(paths: &[PathBuf], each: Each<'_>) -> Result<(), ControlError> {
    // All of their names before the first line: nothing may be announced of a listing that is refused.
    let mut brought = Vec::new();
    for path in paths {
        match Root::open(path).and_then(|root| Ok((root.names()?, root))) {
            Ok(((names, skipped), root)) => {
                each(Listed::Skipped(skipped))?;
                brought.push((root, names));
            }
            Err(error) => each(problem(path.as_os_str().as_bytes(), error))?,
        }
    }
    leave_out_collisions(&mut brought, each)?;
    for (root, names) in brought {
        for name in names {
            let mut walk = Walk::new(&root, name);
            while let Some(step) = walk.step() {
                match step {
                    Step::Entry(stat) => entry(&walk, &stat, each)?,
                    Step::Problem(error) => each(problem(&walk.source(), error))?,
                }
            }
        }
    }
    Ok(())
}

/// Two sources for one path are a problem, two directories included: their modes and times could not both arrive, and
/// what they hold might meet below. The first one stays listed, so no path is listed twice. Below the top nothing can
/// meet then, and a single root has no name twice: the memory that this takes is bounded by the names at the top.
fn leave_out_collisions(roots: &mut [Brought], each: Each<'_>) -> Result<(), ControlError> {
    if roots.len() < 2 {
        return Ok(());
    }
    let mut taken: HashMap<Vec<u8>, usize> = HashMap::new();
    let mut problems = Vec::new();
    for number in 0..roots.len() {
        let (before, rest) = roots.split_at_mut(number);
        let Some((root, names)) = rest.first_mut() else { continue };
        names.retain(|name| {
            let Some(first) = taken.get(name).and_then(|first| before.get(*first)) else {
                taken.insert(name.clone(), number);
                return true;
            };
            let reason = format!("this and {:?} both land as {:?} at the destination", root.path_of(name), OsStr::from_bytes(name));
            problems.push(problem(first.0.path_of(name).as_os_str().as_bytes(), reason));
            false
        });
    }
    problems.into_iter().try_for_each(each)
}

fn entry(walk: &Walk, stat: &Stat, each: Each<'_>) -> Result<(), ControlError> {
    let (source, (directory, name)) = (walk.source(), walk.place());
    let mode = stat.st_mode & 0o7777;
    let (kind, size, target) = match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => {
            // What everybody may read needs no second look.
            if mode & READABLE != READABLE
                && let Err(error) = accessat(directory, name, Access::READ_OK, AtFlags::empty())
            {
                each(problem(&source, std::io::Error::from(error)))?;
            }
            (Kind::File, u64::try_from(stat.st_size).unwrap_or_default(), None)
        }
        FileType::Directory => (Kind::Directory, 0, None),
        FileType::Symlink => match readlinkat(directory, name, Vec::new()) {
            Ok(target) => (Kind::Symlink, 0, Some(percent::encode(target.as_bytes()))),
            Err(error) => return each(problem(&source, std::io::Error::from(error))),
        },
        _ => return each(Listed::Skipped(1)),
    };
    each(Listed::Entry(ListingEntry {
        path: percent::encode(walk.relative()),
        source: percent::encode(&source),
        kind,
        size,
        mode,
        mtime_ns: modified_ns(stat),
        inode: stat.st_ino,
        target,
    }))
}

fn problem(path: &[u8], reason: impl Display) -> Listed {
    Listed::Problem(path.to_vec(), reason.to_string())
}
