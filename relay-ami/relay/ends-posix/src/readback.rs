//! Reads what the disk holds, past the page cache.

use std::cell::RefCell;
use std::io;
use std::num::NonZeroU64;
use std::ops::Range;
use std::os::unix::fs::FileExt as _;

use rustix::fs::{Advice, OFlags, fadvise, fcntl_setfl};
use rustix::io::Errno;

use super::disk::Buffer;
use super::staging::Staging;
use cpt_ends::Heard;
use cpt_wire::digest::{ContentHasher, Digest};

thread_local! {
    /// For all that a thread reads.
    static BUFFER: RefCell<Buffer> = RefCell::default();
}

/// Digests the range of a partial file, or all from its beginning. Fails where the file ends within the range.
pub fn read(staging: &Staging, name: &str, mut hasher: ContentHasher, range: Option<Range<u64>>, heard: Heard<'_>) -> io::Result<Digest> {
    let (file, mut direct) = staging.reopen(name)?;
    let length = range.as_ref().and_then(|range| NonZeroU64::new(range.end - range.start));
    let Range { start: mut at, end } = range.unwrap_or(0..u64::MAX);
    // Where direct reads are not to be had: clean pages, which a sync leaves, are dropped and come from the disk again.
    fadvise(&file, at, length, Advice::DontNeed)?;
    BUFFER.with_borrow_mut(|buffer| {
        while at < end {
            let count = match file.read_at(buffer.aligned(), at) {
                Ok(0) if length.is_some() => return Err(other_bytes(name)),
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
            heard(wanted as u64);
        }
        Ok(hasher.digest())
    })
}

/// Fails where what was read is not what was written.
pub fn compare(name: &str, read: &Digest, written: &Digest) -> io::Result<()> {
    if read == written {
        return Ok(());
    }
    Err(other_bytes(name))
}

fn other_bytes(name: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("the disk gave back other bytes of partial file {name}"))
}
