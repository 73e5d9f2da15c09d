//! Small trees with every kind of entry, and what a tree holds.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::Path;

use cpt_relay::digest::Digest;
use rustix::fs::{AtFlags, CWD, FallocateFlags, Timespec, Timestamps, XattrFlags, utimensat};

use crate::random::Random;

/// Beginning of the names of what is ours.
pub const PARTIAL: &[u8] = b".cpt-partial-";
const SECOND: i64 = 1_000_000_000;
/// Many files share a size and a time: then only the content and the inode tell one from another.
const SIZES: [usize; 9] = [0, 1, 700, 700, 700, 5_000, 5_000, 20_000, 16 << 10];
const TIMES: [i64; 5] =
    [1_600_000_000 * SECOND, 1_600_000_000 * SECOND, 1_600_000_000 * SECOND + 5, 1, 1_700_000_000 * SECOND + 999_999_999];
const FILE_MODES: [u32; 4] = [0o644, 0o644, 0o600, 0o755];
const DIRECTORY_MODES: [u32; 3] = [0o755, 0o700, 0o1777];
const NAMES: [&[u8]; 14] = [
    b"plain",
    b"with space",
    b"new\nline",
    b".hidden",
    b"-dash",
    b"*",
    b"per%20cent",
    b"\xff\xfe not text",
    "\u{fc}ber".as_bytes(),
    b"back\\slash",
    b"quote'\"",
    b"...",
    b"~",
    b"a-name-of-some-length-that-does-not-fit-into-a-short-string-of-any-kind-xxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    File,
    Directory,
    Link,
}

/// An entry as it is found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    pub kind: Kind,
    pub size: u64,
    pub mode: u32,
    pub mtime_ns: i64,
    pub ctime_ns: i64,
    pub inode: u64,
    /// Of a file's content or a link's target; of nothing for a directory.
    pub digest: Digest,
}

pub type Tree = BTreeMap<Vec<u8>, Seen>;

pub fn seen(path: &Path) -> Option<Seen> {
    let metadata = path.symlink_metadata().ok()?;
    let (kind, content) = if metadata.is_symlink() {
        (Kind::Link, fs::read_link(path).ok()?.as_os_str().as_bytes().to_vec())
    } else if metadata.is_dir() {
        (Kind::Directory, Vec::new())
    } else {
        (Kind::File, fs::read(path).ok()?)
    };
    Some(Seen {
        kind,
        size: metadata.size(),
        mode: metadata.mode() & 0o7777,
        mtime_ns: metadata.mtime() * SECOND + metadata.mtime_nsec(),
        ctime_ns: metadata.ctime() * SECOND + metadata.ctime_nsec(),
        inode: metadata.ino(),
        digest: digest(&content),
    })
}

pub fn digest(content: &[u8]) -> Digest {
    *blake3::hash(content).as_bytes()
}

/// All entries below `root` by their path, but nothing of ours.
pub fn list(root: &Path) -> Tree {
    let mut found = Tree::new();
    let mut left = vec![root.to_path_buf()];
    while let Some(directory) = left.pop() {
        for entry in fs::read_dir(&directory).into_iter().flatten().flatten() {
            let path = entry.path();
            let name = path.strip_prefix(root).unwrap().as_os_str().as_bytes().to_vec();
            if name.starts_with(PARTIAL) {
                continue;
            }
            let Some(entry) = seen(&path) else { continue };
            if entry.kind == Kind::Directory {
                left.push(path);
            }
            found.insert(name, entry);
        }
    }
    found
}

/// Fills `root` with 10 to 60 entries: the shape is of `seed`.
pub fn make(root: &Path, seed: u64) {
    let mut random = Random::new(seed);
    fs::create_dir_all(root).unwrap();
    let mut directories = vec![root.to_path_buf()];
    let mut files = Vec::new();
    for number in 0..10 + random.below(50) {
        let parent = random.pick(&directories);
        let mut name = random.pick(&NAMES).to_vec();
        if number % 3 > 0 {
            name.extend(format!("{number}").into_bytes());
        }
        let path = parent.join(OsStr::from_bytes(&name));
        if path.symlink_metadata().is_ok() {
            continue;
        }
        match random.below(10) {
            0 | 1 => {
                fs::create_dir(&path).unwrap();
                directories.push(path);
                continue;
            }
            2 => symlink(random.pick(&["plain", "../plain", "/nowhere/at all", ".", "\u{fc}ber"]), &path).unwrap(),
            3 if !files.is_empty() => fs::hard_link(random.pick(&files), &path).unwrap(),
            _ => {
                write(&path, &mut random);
                files.push(path.clone());
            }
        }
        set_time(&path, random.pick(&TIMES)).unwrap();
    }
    for number in 0..1 + random.below(2) {
        let path = random.pick(&directories).join(format!("large {number}"));
        fs::write(&path, noise(random.next(), 60_000 + random.below(200_000))).unwrap();
        if random.one_in(2) {
            // A hole amid it, and one at its end.
            let file = File::options().write(true).open(&path).unwrap();
            let size = file.metadata().unwrap().len();
            rustix::fs::fallocate(&file, FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE, 8192, size / 2).unwrap();
            file.set_len(size + random.below(60_000) as u64).unwrap();
            rustix::fs::fsetxattr(&file, "user.holes", b"yes", XattrFlags::empty()).unwrap();
        }
        set_time(&path, random.pick(&TIMES)).unwrap();
    }
    for directory in directories.iter().rev() {
        fs::set_permissions(directory, fs::Permissions::from_mode(random.pick(&DIRECTORY_MODES))).unwrap();
        set_time(directory, random.pick(&TIMES)).unwrap();
    }
}

fn write(path: &Path, random: &mut Random) {
    let size = random.pick(&SIZES);
    fs::write(path, noise(random.next(), size)).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(random.pick(&FILE_MODES))).unwrap();
}

/// Bytes that do not repeat, the same for the same seed.
pub fn noise(seed: u64, length: usize) -> Vec<u8> {
    let mut bytes = vec![0; length];
    blake3::Hasher::new_derive_key("cpt model noise").update(&seed.to_le_bytes()).finalize_xof().fill(&mut bytes);
    bytes
}

/// As `touch -r` does, of a link itself.
pub fn set_time(path: &Path, mtime_ns: i64) -> io::Result<()> {
    let time = Timespec { tv_sec: mtime_ns.div_euclid(SECOND), tv_nsec: mtime_ns.rem_euclid(SECOND) };
    utimensat(CWD, path, &Timestamps { last_access: time, last_modification: time }, AtFlags::SYMLINK_NOFOLLOW)?;
    Ok(())
}
