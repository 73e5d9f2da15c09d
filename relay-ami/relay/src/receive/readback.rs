//! Reads back what the disk holds, for `verify: readback`: what was received right can still be stored wrong.

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::Builder;

use rustix::fs::{Advice, OFlags, fadvise, fcntl_setfl};
use rustix::io::Errno;

use super::commit::{Landed, Refusal};
use crate::defaults::{READBACK_THREADS, STACK_BYTES};
use crate::digest::{Digest, part_digest, part_hasher};
use crate::documents::event::FailureReason;
use crate::ends::posix::disk::Buffer;
use crate::ends::posix::tree::Tree;
use crate::thread::lock;

/// Reads what all chunks brought, which must be synced. Those whose bytes are not what came, by their index.
pub fn check(tree: &Tree, chunks: &[&[Landed]]) -> HashMap<usize, Refusal> {
    let next = AtomicUsize::new(0);
    let refused = Mutex::new(HashMap::new());
    let work = || {
        let mut buffer = Buffer::new();
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(chunk) = chunks.get(index) else { return };
            if let Err(refusal) = chunk.iter().try_for_each(|item| check_one(tree, item, &mut buffer)) {
                lock(&refused).insert(index, refusal);
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..READBACK_THREADS.min(chunks.len()) {
            // Without a thread to be had this one does it all.
            let _ = Builder::new().name("readback".to_owned()).stack_size(STACK_BYTES).spawn_scoped(scope, work);
        }
        work();
    });
    refused.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner)
}

fn check_one(tree: &Tree, item: &Landed, buffer: &mut Buffer) -> Result<(), Refusal> {
    let (name, hasher, offset, length) = match item {
        // All of a file's parts were read before it went to its place.
        Landed::Part(part, _) if part.file.is_done() => return Ok(()),
        Landed::Part(part, _) => {
            let (offset, length) = part.file.extent(part.index);
            (part.file.entry().to_string(), part_hasher(offset), offset, Some(length))
        }
        Landed::Whole { name, inode: Some(_), .. } => (name.clone(), blake3::Hasher::new(), 0, None),
        Landed::Whole { inode: None, .. } | Landed::Directory { .. } => return Ok(()),
    };
    let hasher =
        read(tree, &name, hasher, offset, length, buffer).map_err(|error| Refusal::destination(format_args!("read back: {error}")))?;
    let (is, was): (Digest, Digest) = match item {
        Landed::Part(_, digest) => (part_digest(&hasher), *digest),
        Landed::Whole { digest, .. } => (*hasher.finalize().as_bytes(), *digest),
        Landed::Directory { .. } => return Ok(()),
    };
    if is == was {
        return Ok(());
    }
    Err(Refusal::Failed {
        reason: FailureReason::ChecksumMismatch,
        message: format!("the disk gave back other bytes of partial file {name}"),
    })
}

/// Digests `length` bytes from `offset`, or all there are.
fn read(
    tree: &Tree,
    name: &str,
    mut hasher: blake3::Hasher,
    offset: u64,
    length: Option<u64>,
    buffer: &mut Buffer,
) -> io::Result<blake3::Hasher> {
    let (file, mut direct) = tree.reopen(name)?;
    // Where direct reads are not to be had: clean pages, which a sync leaves, are dropped and come from the disk again.
    fadvise(&file, offset, length.and_then(std::num::NonZeroU64::new), Advice::DontNeed)?;
    let mut at = offset;
    let end = length.map_or(u64::MAX, |length| offset.saturating_add(length));
    while at < end {
        let count = match file.read_at(buffer.aligned(), at) {
            Ok(0) => break,
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            // The end of a file, or a disk with larger sectors.
            Err(error) if direct && error.raw_os_error() == Some(Errno::INVAL.raw_os_error()) => {
                direct = false;
                buffered(&file)?;
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

fn buffered(file: &File) -> io::Result<()> {
    Ok(fcntl_setfl(file, OFlags::empty())?)
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::super::large::Files;
    use super::*;
    use crate::defaults::READBACK_BYTES;
    use crate::documents::entry::Kind;
    use crate::documents::text::TransferId;
    use crate::wire::frame::SegmentHeader;

    /// A part is not a multiple of what is read at a time, its second one ends with the file.
    const PART: u64 = 2 * READBACK_BYTES as u64;
    const SIZE: u64 = PART + 12_345;

    fn content() -> Vec<u8> {
        (0..SIZE).map(|at| u8::try_from(at % 251).unwrap()).collect()
    }

    fn whole(tree: &Tree, entry: u64, written: &[u8], came: &[u8]) -> Vec<Landed> {
        let name = tree.unique_name(entry);
        tree.create(&name, 0o644).unwrap().write_all(written).unwrap();
        vec![Landed::Whole { entry, name, path: b"x".to_vec(), digest: *blake3::hash(came).as_bytes(), inode: Some(1) }]
    }

    fn part(tree: &Tree, files: &Files, offset: u64, written: &[u8], came: &[u8]) -> Vec<Landed> {
        let length = PART.min(SIZE - offset);
        let (path, target) = (b"large".to_vec(), Vec::new());
        let header = SegmentHeader { entry: 9, kind: Kind::File, mode: 0o644, mtime_ns: 0, size: SIZE, offset, length, path, target };
        let part = files.part(tree, &header, PART).unwrap().unwrap();
        let at = usize::try_from(offset).unwrap();
        let bytes = at..at + usize::try_from(length).unwrap();
        part.file.write(part.index, part.token, offset, &written[bytes.clone()]).unwrap();
        vec![Landed::Part(part, part_digest(part_hasher(offset).update(&came[bytes])))]
    }

    #[test]
    fn what_the_disk_gives_back_is_compared_with_what_came() {
        let folder = tempfile::tempdir().unwrap();
        let tree = Tree::open(folder.path(), &TransferId::new("t").unwrap()).unwrap();
        let (came, files) = (content(), Files::default());
        let mut spoiled = came.clone();
        for at in [0, PART as usize - 1, PART as usize, SIZE as usize - 1] {
            spoiled[at] ^= 1;
        }
        let chunks = [
            whole(&tree, 0, &came, &came),
            whole(&tree, 1, &spoiled, &came),
            whole(&tree, 2, &came[..came.len() - 1], &came),
            whole(&tree, 3, b"", b""),
            part(&tree, &files, 0, &came, &came),
            part(&tree, &files, PART, &came, &came),
            part(&tree, &files, 0, &spoiled, &came),
            part(&tree, &files, PART, &spoiled, &came),
        ];
        let check = |chunks: &[Vec<Landed>]| {
            tree.sync().unwrap();
            check(&tree, &chunks.iter().map(|chunk| &**chunk).collect::<Vec<_>>())
        };
        let refused = check(&chunks);
        let mut indices: Vec<usize> = refused.keys().copied().collect();
        indices.sort_unstable();
        // The parts were written over by the spoiled ones, which came last.
        assert_eq!(indices, [1, 2, 4, 5, 6, 7]);
        let spoiled = |refusal: &Refusal| {
            matches!(refusal, Refusal::Failed { reason: FailureReason::ChecksumMismatch, message }
                if message.contains("the disk gave back other bytes"))
        };
        assert!(refused.values().all(spoiled));
        let again = [part(&tree, &files, 0, &came, &came), part(&tree, &files, PART, &came, &came)];
        assert!(check(&again).is_empty());
    }

    #[test]
    fn a_file_that_is_gone_is_no_file_that_was_read() {
        let folder = tempfile::tempdir().unwrap();
        let tree = Tree::open(folder.path(), &TransferId::new("t").unwrap()).unwrap();
        let chunk = whole(&tree, 0, b"bytes", b"bytes");
        let [Landed::Whole { name, .. }] = &*chunk else { panic!("one file") };
        tree.discard(name);
        assert!(matches!(check(&tree, &[&chunk])[&0], Refusal::Failed { reason: FailureReason::DestinationError, .. }));
    }
}
