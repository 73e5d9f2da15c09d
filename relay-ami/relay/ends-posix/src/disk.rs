//! The speed of a disk: a short trial that leaves nothing behind, for the estimate.

use std::fs::File;
use std::io::{self, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt as _;
use std::time::{Duration, Instant};

use rustix::fs::{Mode, OFlags, fcntl_setfl, fdatasync};
use rustix::io::Errno;

use crate::defaults::{DISK_BYTES, DISK_LEAST_FREE, DISK_SYNC_BYTES, DISK_TIME, READBACK_BYTES, READBACK_THREADS};
use cpt_process::thread::lock;

/// Memory and offsets of direct reads must be a multiple of this; no disk has larger sectors.
const ALIGNMENT: usize = 4096;

/// Memory for direct reads of `READBACK_BYTES`.
pub struct Buffer {
    bytes: Vec<u8>,
    start: usize,
}

impl Buffer {
    pub fn aligned(&mut self) -> &mut [u8] {
        &mut self.bytes[self.start..self.start + READBACK_BYTES]
    }
}

impl Default for Buffer {
    fn default() -> Self {
        let bytes = vec![0; READBACK_BYTES + ALIGNMENT];
        // Not asked of a pointer that cannot tell: then reads are not direct, as EINVAL shows.
        let start = bytes.as_ptr().align_offset(ALIGNMENT).min(ALIGNMENT);
        Self { bytes, start }
    }
}

/// MB/s at which the file of `size` bytes that `open` opens comes off its disk; none where it is too small to tell, or cannot
/// be read.
#[must_use]
pub fn read_rate(open: impl Fn(OFlags) -> io::Result<OwnedFd> + Sync, size: u64) -> Option<f64> {
    let share = size / READBACK_THREADS as u64 / READBACK_BYTES as u64 * READBACK_BYTES as u64;
    if size < DISK_BYTES {
        return None;
    }
    let start = Instant::now();
    let read = std::sync::Mutex::new(Some(0));
    std::thread::scope(|scope| {
        for number in 0..READBACK_THREADS as u64 {
            let (read, open) = (&read, &open);
            scope.spawn(move || {
                let bytes = read_share(open, number * share, share, start + DISK_TIME);
                let mut total = lock(read);
                *total = total.zip(bytes.ok()).map(|(total, bytes)| total + bytes);
            });
        }
    });
    let bytes = lock(&read).filter(|bytes| *bytes > 0)?;
    Some(rate(bytes, start.elapsed()))
}

fn read_share(open: &impl Fn(OFlags) -> io::Result<OwnedFd>, offset: u64, length: u64, deadline: Instant) -> io::Result<u64> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    // A memory-backed file system has no direct reads.
    let file = open(flags | OFlags::DIRECT).or_else(|_| open(flags))?;
    let (file, mut buffer, mut read) = (File::from(file), Buffer::default(), 0);
    while read < length.min(DISK_BYTES) && Instant::now() < deadline {
        match file.read_at(buffer.aligned(), offset + read) {
            Ok(0) => break,
            Ok(count) => read += count as u64,
            Err(error) if error.raw_os_error() == Some(Errno::INVAL.raw_os_error()) => fcntl_setfl(&file, OFlags::empty())?,
            Err(error) => return Err(error),
        }
    }
    Ok(read)
}

/// MB/s at which bytes reach the disk below `directory`; none where little room is left or none can be had.
#[must_use]
pub fn write_rate(directory: &OwnedFd, free_bytes: u64) -> Option<f64> {
    if free_bytes < DISK_LEAST_FREE {
        return None;
    }
    write(directory).ok()
}

/// The file has no name: whatever happens, nothing stays.
fn write(directory: &OwnedFd) -> io::Result<f64> {
    let flags = OFlags::WRONLY | OFlags::TMPFILE | OFlags::CLOEXEC;
    let mut file = File::from(rustix::fs::openat(directory, ".", flags, Mode::RUSR | Mode::WUSR)?);
    let block = vec![0xa5; DISK_SYNC_BYTES];
    let (start, mut written) = (Instant::now(), 0);
    while written < DISK_BYTES && start.elapsed() < DISK_TIME {
        file.write_all(&block)?;
        fdatasync(&file)?;
        written += block.len() as u64;
    }
    Ok(rate(written, start.elapsed()))
}

fn rate(bytes: u64, time: Duration) -> f64 {
    cpt_wire::documents::event::round(bytes as f64 / 1e6 / time.as_secs_f64().max(1e-6))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::path::Path;

    use super::*;

    #[test]
    fn a_large_file_is_read_and_a_small_one_cannot_tell() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("large");
        File::create(&path).unwrap().set_len(DISK_BYTES).unwrap();
        let open = |path: &Path, flags| Ok(rustix::fs::open(path, flags, Mode::empty())?);
        assert!(read_rate(|flags| open(&path, flags), DISK_BYTES).unwrap() > 0.0);
        assert_eq!(read_rate(|flags| open(&path, flags), DISK_BYTES - 1), None);
        assert_eq!(read_rate(|flags| open(&folder.path().join("gone"), flags), DISK_BYTES), None);
    }

    #[test]
    fn a_trial_of_writing_leaves_nothing_and_needs_room() {
        let folder = tempfile::tempdir().unwrap();
        let directory = rustix::fs::open(folder.path(), OFlags::PATH, Mode::empty()).unwrap();
        assert!(write_rate(&directory, DISK_LEAST_FREE).unwrap() > 0.0);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
        assert_eq!(write_rate(&directory, DISK_LEAST_FREE - 1), None);
        std::fs::remove_dir(folder.path()).unwrap();
        assert_eq!(write_rate(&directory, DISK_LEAST_FREE), None);
    }
}
