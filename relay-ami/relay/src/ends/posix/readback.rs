//! Reads what the disk holds, past the page cache.

use std::io;
use std::num::NonZeroU64;
use std::ops::Range;
use std::os::unix::fs::FileExt as _;

use rustix::fs::{Advice, OFlags, fadvise, fcntl_setfl};
use rustix::io::Errno;

use super::tree::Tree;
use crate::ends::Buffer;

/// To the end of a file.
pub const ALL: Range<u64> = 0..u64::MAX;

/// Digests the range of a partial file, as far as there is anything.
pub fn read(tree: &Tree, name: &str, mut hasher: blake3::Hasher, range: Range<u64>, buffer: &mut Buffer) -> io::Result<blake3::Hasher> {
    let (file, mut direct) = tree.reopen(name)?;
    let Range { start: mut at, end } = range;
    // Where direct reads are not to be had: clean pages, which a sync leaves, are dropped and come from the disk again.
    let length = if end == u64::MAX { None } else { NonZeroU64::new(end - at) };
    fadvise(&file, at, length, Advice::DontNeed)?;
    while at < end {
        let count = match file.read_at(buffer.aligned(), at) {
            Ok(0) => break,
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            // The end of a file, or a disk with larger sectors.
            Err(error) if direct && error.raw_os_error() == Some(Errno::INVAL.raw_os_error()) => {
                direct = false;
                fcntl_setfl(&file, OFlags::empty())?;
                continue;
            }
            Err(error) => return Err(error),
        };
        let wanted = usize::try_from(end - at).map_or(count, |left| left.min(count));
        hasher.update(&buffer.aligned()[..wanted]);
        at += wanted as u64;
    }
    Ok(hasher)
}
