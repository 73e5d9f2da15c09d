//! The mounts of this machine, and what tells the file system that a path is on from another one.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use cpt_wire::documents::percent;
use cpt_wire::documents::survey::FileSystem;

/// A line of /proc/self/mountinfo.
pub struct Mount {
    pub device: String,
    /// The directory of its file system that is mounted.
    pub root: PathBuf,
    pub point: PathBuf,
    kind: String,
    /// The disk, or what a server or a pool calls it.
    source: Vec<u8>,
}

/// All mounts that this process sees.
pub fn mounts() -> Vec<Mount> {
    let text = fs::read("/proc/self/mountinfo").unwrap_or_default();
    text.split(|byte| *byte == b'\n').filter_map(mount).collect()
}

/// What `existing`, a path without links, is on.
pub fn mount_of<'a>(existing: &Path, mounts: &'a [Mount]) -> Option<&'a Mount> {
    // Of several that are mounted on one another the last is seen.
    mounts.iter().filter(|mount| existing.starts_with(&mount.point)).max_by_key(|mount| mount.point.components().count())
}

/// The kernel that runs since the machine was started; none where it does not say.
pub fn kernel() -> Option<String> {
    let text = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    let id = text.trim();
    (id.len() == 36 && id.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-')).then(|| id.to_owned())
}

impl Mount {
    /// What is mounted; `existing` is a path on it, `missing` are names below.
    pub fn file_system(&self, existing: &Path, missing: &[String]) -> FileSystem {
        let id = self.disk().or_else(|| self.has_name().then(|| percent::encode(&self.source)));
        let location = self.is_served().then(|| {
            let inside = self.root.join(existing.strip_prefix(&self.point).unwrap_or_else(|_| Path::new("")));
            let names = inside.components().skip(1).map(|name| percent::encode(name.as_os_str().as_bytes())).chain(missing.iter().cloned());
            let server = percent::encode(self.source.strip_suffix(b"/").unwrap_or(&self.source));
            names.fold(server, |location, name| format!("{location}/{name}"))
        });
        FileSystem { kind: self.kind.clone(), mount_point: percent::encode(self.point.as_os_str().as_bytes()), id, location }
    }

    /// A server's name is part of what is mounted: `server:/exported`, `//server/share`.
    fn is_served(&self) -> bool {
        self.source.starts_with(b"//") || self.source.windows(2).any(|two| two == b":/")
    }

    /// Something that names one file system, unlike `tmpfs` or `none`, or a disk whose number changes from start to start.
    fn has_name(&self) -> bool {
        self.is_served() || (self.source.contains(&b'/') && !self.source.starts_with(b"/"))
    }

    /// UUID of the disk, which its number and name may change under.
    fn disk(&self) -> Option<String> {
        let of_source =
            fs::metadata(OsStr::from_bytes(&self.source)).ok().filter(|_| self.source.starts_with(b"/dev/")).map(|disk| disk.rdev());
        let is_it = |disk: u64| Some(disk) == of_source || number(disk) == self.device;
        let found = fs::read_dir("/dev/disk/by-uuid")
            .ok()?
            .flatten()
            .find(|entry| fs::metadata(entry.path()).is_ok_and(|disk| is_it(disk.rdev())))?;
        Some(percent::encode(found.file_name().as_bytes()))
    }
}

/// A device's number as mountinfo writes it.
fn number(device: u64) -> String {
    format!("{}:{}", rustix::fs::major(device), rustix::fs::minor(device))
}

fn mount(line: &[u8]) -> Option<Mount> {
    let mut fields = line.split(|byte| *byte == b' ');
    let device = fields.nth(2)?;
    let (root, point) = (fields.next()?, fields.next()?);
    // Optional fields come before a dash.
    let mut behind = fields.skip_while(|field| *field != b"-").skip(1);
    let (kind, source) = (behind.next()?, behind.next()?);
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (root, point) = (PathBuf::from(OsStr::from_bytes(&unescaped(root))), PathBuf::from(OsStr::from_bytes(&unescaped(point))));
    Some(Mount { device: text(device), root, point, kind: text(kind), source: unescaped(source) })
}

/// Blanks, tabs, line feeds and backslashes are written as `\040`.
fn unescaped(text: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((first, after)) = rest.split_first() {
        let digits = after.get(..3).filter(|digits| *first == b'\\' && digits.iter().all(|digit| (b'0'..b'8').contains(digit)));
        if let Some(digits) = digits {
            bytes.push(digits.iter().fold(0u8, |sum, digit| sum.wrapping_mul(8).wrapping_add(digit - b'0')));
            rest = &after[3..];
        } else {
            bytes.push(*first);
            rest = after;
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_of_mountinfo_are_bytes() {
        let line = br"36 35 98:0 /mnt1 /mnt\040with\134blank rw,noatime master:1 - ext3 /dev/root rw";
        let found = mount(line).unwrap();
        assert_eq!((found.device.as_str(), found.root.as_path()), ("98:0", Path::new("/mnt1")));
        assert_eq!(found.point, Path::new("/mnt with\\blank"));
        assert_eq!((found.kind.as_str(), &*found.source), ("ext3", &b"/dev/root"[..]));
    }

    #[test]
    fn a_served_path_has_the_name_that_its_server_gives_it_whatever_it_is_mounted_at() {
        let of = |line: &[u8], path: &str| mount(line).unwrap().file_system(Path::new(path), &["new".to_owned()]);
        let whole = of(b"40 35 0:52 / /data rw - nfs4 files.example:/ rw,vers=4.1", "/data/x/backup");
        let inner = of(b"41 35 0:53 / /mnt rw shared:1 - nfs4 files.example:/x rw,vers=4.1", "/mnt/backup");
        assert_eq!(whole.location.as_deref(), Some("files.example%3A/x/backup/new"));
        assert_eq!(whole.location, inner.location);
        assert_eq!((whole.id.as_deref(), inner.mount_point.as_str()), (Some("files.example%3A/"), "/mnt"));
        let share = of(b"42 35 0:54 / /smb rw - cifs //server/share rw", "/smb/a b");
        assert_eq!(share.location.as_deref(), Some("//server/share/a%20b/new"));
        let memory = of(b"43 35 0:55 / /tmp rw - tmpfs tmpfs rw", "/tmp/x");
        assert_eq!((memory.id, memory.location, memory.kind.as_str()), (None, None, "tmpfs"));
        let pool = of(b"44 35 0:56 / /tank rw - zfs tank/media rw", "/tank");
        assert_eq!((pool.id.as_deref(), pool.location), (Some("tank/media"), None));
    }
}
