//! Earlier versions of a file at the destination, whose bytes need not come again.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};

use rustix::fs::{self, AtFlags, Dir, FileType, Mode, OFlags};

use super::identity::modified_ns;
use super::tree::{BENEATH, PARTIAL, Tree, split};
use cpt_ends::Basis;
use cpt_wire::frame::SegmentHeader;

/// Files beside the one in question that are looked into.
const BESIDE: usize = 16;
/// Names of a directory that are looked at for them.
const NAMES: usize = 10_000;

/// The first file that `fits`: the one in the entry's place, or one beside it: a log that was rotated has another name. It stays open,
/// and so what it was, when another file takes its place.
pub fn find(tree: &Tree, header: &SegmentHeader, fits: &mut dyn FnMut(&dyn Basis) -> bool) -> io::Result<Option<Box<dyn Basis>>> {
    let (own, Some(directory)) = above(tree, header)? else { return Ok(None) };
    let others = std::iter::once_with(|| beside(&directory, own, header)).flatten();
    for name in std::iter::once(OsStr::from_bytes(own).to_owned()).chain(others) {
        let Some(earlier) = open(&directory, &name) else { continue };
        if fits(&earlier) {
            return Ok(Some(Box::new(earlier)));
        }
    }
    Ok(None)
}

/// The file in the entry's place.
pub fn in_place(tree: &Tree, header: &SegmentHeader) -> io::Result<Option<Box<dyn Basis>>> {
    let (own, Some(directory)) = above(tree, header)? else { return Ok(None) };
    Ok(open(&directory, OsStr::from_bytes(own)).map(|file| Box::new(file) as Box<dyn Basis>))
}

/// The entry's own name and its directory; none where that is not there yet, or cannot be read.
fn above<'a>(tree: &Tree, header: &'a SegmentHeader) -> io::Result<(&'a [u8], Option<OwnedFd>)> {
    Tree::check(&header.path)?;
    let (parent, own) = split(&header.path)?;
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let path = if parent.is_empty() { b"." } else { parent };
    Ok((own, fs::openat2(&tree.root, OsStr::from_bytes(path), flags, Mode::empty(), BENEATH).ok()))
}

/// Opens a file for reading; none where the name is of anything else.
fn open(directory: &OwnedFd, name: &OsStr) -> Option<File> {
    let is_file = |stat: fs::Stat| FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile;
    // A device may do something when it is opened.
    fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW).ok().filter(|stat| is_file(*stat))?;
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = fs::openat(directory, name, flags, Mode::empty()).ok()?;
    fs::fstat(&file).ok().filter(|stat| is_file(*stat))?;
    Some(File::from(file))
}

/// Names of files that may be the entry's earlier version: those with its very size and time first, then those whose name is most like.
fn beside(directory: &OwnedFd, own: &[u8], header: &SegmentHeader) -> Vec<OsString> {
    let Ok(entries) = Dir::read_from(directory) else { return Vec::new() };
    let mut found = Vec::new();
    for entry in entries.take(NAMES).flatten() {
        let name = entry.file_name().to_bytes();
        if name == own || name.starts_with(PARTIAL) || !matches!(entry.file_type(), FileType::RegularFile | FileType::Unknown) {
            continue;
        }
        let like = own.iter().zip(name).take_while(|(one, other)| one == other).count();
        let Ok(stat) = fs::statat(directory, entry.file_name(), AtFlags::SYMLINK_NOFOLLOW) else { continue };
        let is_same = u64::try_from(stat.st_size) == Ok(header.size) && modified_ns(&stat) == Some(header.mtime_ns);
        if is_same || like > 0 {
            found.push((!is_same, usize::MAX - like, OsString::from_vec(name.to_vec())));
        }
    }
    found.sort_unstable();
    found.into_iter().take(BESIDE).map(|(_, _, name)| name).collect()
}
