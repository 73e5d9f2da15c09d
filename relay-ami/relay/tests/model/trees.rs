//! Small trees with every kind of entry.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{PermissionsExt as _, chown, symlink};
use std::path::Path;
use std::sync::OnceLock;

use rustix::fs::{AtFlags, CWD, FallocateFlags, FileType, Mode, Timespec, Timestamps, XattrFlags, mknodat, utimensat};

use crate::random::Random;
use crate::seen::SECOND;

/// Many files share a size and a time: then only the content and the inode tell one from another.
const SIZES: [usize; 9] = [0, 1, 700, 700, 700, 5_000, 5_000, 20_000, 16 << 10];
const TIMES: [i64; 5] =
    [1_600_000_000 * SECOND, 1_600_000_000 * SECOND, 1_600_000_000 * SECOND + 5, 1, 1_700_000_000 * SECOND + 999_999_999];
const FILE_MODES: [u32; 6] = [0o644, 0o644, 0o600, 0o755, 0o4755, 0o2755];
const OWNERS: [u32; 4] = [0, 0, 1234, 65_534];
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
            4 if random.one_in(3) => pipe(&path).unwrap(),
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
        dress(directory, &mut random);
        fs::set_permissions(directory, fs::Permissions::from_mode(random.pick(&DIRECTORY_MODES))).unwrap();
        set_time(directory, random.pick(&TIMES)).unwrap();
    }
}

fn write(path: &Path, random: &mut Random) {
    let size = random.pick(&SIZES);
    fs::write(path, noise(random.next(), size)).unwrap();
    dress(path, random);
    fs::set_permissions(path, fs::Permissions::from_mode(random.pick(&FILE_MODES))).unwrap();
}

/// Gives an entry an owner, attributes and an access control list, or some of these.
fn dress(path: &Path, random: &mut Random) {
    let (owner, xattr, acl) = (random.pick(&OWNERS), random.one_in(4), random.one_in(6));
    if owner > 0 && rustix::process::geteuid().is_root() {
        chown(path, Some(owner), Some(owner)).unwrap();
    }
    if xattr {
        rustix::fs::lsetxattr(path, "user.colour", b"dark red", XattrFlags::empty()).unwrap();
    }
    if acl && has_acls() {
        set_acl(path).unwrap();
    }
}

pub fn pipe(path: &Path) -> io::Result<()> {
    Ok(mknodat(CWD, path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0)?)
}

/// Lets user 1234 read an entry. Linux' own format: tag, permissions and number of each line, and -1 where it has no number.
pub fn set_acl(path: &Path) -> io::Result<()> {
    let lines: [(u16, u16, u32); 5] = [(1, 6, u32::MAX), (2, 4, 1234), (4, 4, u32::MAX), (0x10, 4, u32::MAX), (0x20, 0, u32::MAX)];
    let mut value = 2u32.to_le_bytes().to_vec();
    for (tag, permissions, number) in lines {
        value.extend(tag.to_le_bytes().into_iter().chain(permissions.to_le_bytes()).chain(number.to_le_bytes()));
    }
    Ok(rustix::fs::lsetxattr(path, "system.posix_acl_access", &value, XattrFlags::empty())?)
}

/// Whether the file system of these trees has access control lists.
pub fn has_acls() -> bool {
    static HAS: OnceLock<bool> = OnceLock::new();
    *HAS.get_or_init(|| tempfile::Builder::new().prefix("cpt-model-").tempdir().is_ok_and(|probe| set_acl(probe.path()).is_ok()))
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
