//! What somebody else does to files at either side meanwhile.

use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{PermissionsExt as _, chown, lchown, symlink};
use std::path::{Path, PathBuf};

use cpt_relay::documents::percent;

use crate::mounted;
use crate::random::Random;
use crate::seen::{Kind, PARTIAL, SECOND, Seen, Tree, list};
use crate::trees::{noise, pipe, set_time};

/// The time of what somebody has touched.
pub const TOUCHED: i64 = 1_650_000_000 * SECOND;
/// More than one chunk of any plan.
const LARGE: u64 = 40_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum At {
    Source,
    Destination,
}

/// Which entry: counted through those of its kind that are there.
type Which = usize;

#[derive(Clone, Copy, Debug)]
pub enum Op {
    Remove(Which),
    RemoveDirectory(Which),
    Truncate(Which),
    Append(Which),
    /// In place, as many bytes; with the time put back as `touch -r` does, or not.
    Rewrite {
        which: Which,
        time_kept: bool,
    },
    /// By another file of this size, mode and time.
    Replace {
        which: Which,
        same_content: bool,
    },
    /// By another file of another size, under its name at once.
    ReplaceByOther(Which),
    /// As `Rewrite`, of a file that comes in parts, the time put back.
    RewriteLarge(Which),
    /// Another name for the file, of which no plan tells.
    HardLink(Which),
    /// The second becomes another name of the first.
    HardLinkOver(Which, Which),
    Swap(Which, Which),
    Chmod(Which),
    Touch(Which),
    /// Another extended attribute.
    Attribute(Which),
    /// Another owner, where the model runs as root.
    Chown(Which),
    /// Another target and the old time.
    Relink(Which),
    FileToDirectory(Which),
    FileToPipe(Which),
    DirectoryToFile(Which),
    /// A directory moves away, and a link to it takes its place.
    DirectoryToLink(Which),
    Add(Which),
    /// `cp -al` of all files to a place beside, as backups are made: it moves their change times and nothing else.
    Snapshot,
    /// `rm -rf *`, which leaves what begins with a dot.
    WipeVisible,
    Wipe,
    /// One of the files of ours that a stopped transfer has left.
    Partial(Which, Spoil),
    PartialDirectory,
    /// `umount --lazy` of the disk at this end, or what brings it back with all that it holds.
    Unmount,
}

#[derive(Clone, Copy, Debug)]
pub enum Spoil {
    Remove,
    Truncate,
    HardLink,
    /// By another file of this size.
    Replace,
}

/// The name of what an interference adds.
pub fn added(serial: u64) -> String {
    format!("added {serial}")
}

impl Op {
    pub fn draw(random: &mut Random) -> Self {
        let (which, other) = (random.below(1 << 16), random.below(1 << 16));
        let (yes, spoil) = (random.one_in(2), random.pick(&[Spoil::Remove, Spoil::Truncate, Spoil::HardLink, Spoil::Replace]));
        match random.below(36) {
            0..4 => Self::Remove(which),
            4..6 => Self::RemoveDirectory(which),
            6..8 => Self::Truncate(which),
            8 => Self::Append(which),
            9..12 => Self::Rewrite { which, time_kept: !random.one_in(4) },
            12..14 => Self::Replace { which, same_content: yes },
            14 => Self::HardLink(which),
            15 => Self::HardLinkOver(which, other),
            16..18 => Self::Swap(which, other),
            18 => Self::Chmod(which),
            19 => Self::Touch(which),
            20 => Self::Relink(which),
            21 => Self::FileToDirectory(which),
            22 => Self::DirectoryToFile(which),
            23 => Self::DirectoryToLink(which),
            24 => Self::Add(which),
            25..28 => Self::WipeVisible,
            28 => Self::Wipe,
            29 | 30 => Self::Partial(which, spoil),
            31 => Self::PartialDirectory,
            32 => Self::ReplaceByOther(which),
            33 => Self::Attribute(which),
            34 => Self::Chown(which),
            35 if yes => Self::Snapshot,
            _ => Self::FileToPipe(which),
        }
    }

    /// What programs do to files that they use: none of these takes everything away.
    pub fn draw_living(random: &mut Random) -> Self {
        let which = random.below(1 << 16);
        match random.below(26) {
            0..3 => Self::Remove(which),
            3 => Self::RemoveDirectory(which),
            4 | 5 => Self::Add(which),
            6 | 7 => Self::Append(which),
            8 => Self::Truncate(which),
            9..12 => Self::Rewrite { which, time_kept: !random.one_in(4) },
            12..16 => Self::RewriteLarge(which),
            16 => Self::Replace { which, same_content: random.one_in(2) },
            17 | 18 => Self::ReplaceByOther(which),
            19 => Self::FileToDirectory(which),
            20 => Self::FileToPipe(which),
            21 => Self::Relink(which),
            22 => Self::HardLink(which),
            23 | 24 => Self::Snapshot,
            _ => Self::Touch(which),
        }
    }

    /// The path of what it is done to; none where there is no such entry, or it is done to the whole.
    pub fn picked(self, tree: &Tree) -> Option<&[u8]> {
        let (kind, which) = match self {
            Self::Remove(which) if which % 4 == 0 => (Kind::Link, which),
            Self::Relink(which) => (Kind::Link, which),
            Self::RemoveDirectory(which) | Self::DirectoryToFile(which) | Self::DirectoryToLink(which) | Self::Add(which) => {
                (Kind::Directory, which)
            }
            Self::Remove(which)
            | Self::Truncate(which)
            | Self::Append(which)
            | Self::Rewrite { which, .. }
            | Self::Replace { which, .. }
            | Self::ReplaceByOther(which)
            | Self::RewriteLarge(which)
            | Self::HardLink(which)
            | Self::HardLinkOver(which, _)
            | Self::Swap(which, _)
            | Self::Chmod(which)
            | Self::Touch(which)
            | Self::Attribute(which)
            | Self::Chown(which)
            | Self::FileToPipe(which)
            | Self::FileToDirectory(which) => (Kind::File, which),
            Self::Snapshot | Self::WipeVisible | Self::Wipe | Self::Partial(..) | Self::PartialDirectory | Self::Unmount => return None,
        };
        nth(tree, kind, which).map(|(path, _)| &**path)
    }

    /// Changes `root`; nothing where there is no such entry. `serial` makes new names and contents unique.
    /// Fails where a receiver at work took something of ours away first.
    pub fn apply(self, root: &Path, serial: u64) -> io::Result<()> {
        let tree = list(root);
        let at = |path: &[u8]| root.join(OsStr::from_bytes(path));
        let found = |kind: Kind, which: Which| nth(&tree, kind, which).map(|(path, old)| (at(path), old));
        let file = |which: Which| found(Kind::File, which);
        let directory = |which: Which| found(Kind::Directory, which).map(|(path, _)| path);
        let new = root.join(added(serial));
        match self {
            Self::Remove(which) => match if which % 4 == 0 { found(Kind::Link, which) } else { file(which) } {
                Some((path, _)) => fs::remove_file(path),
                None => Ok(()),
            },
            Self::RemoveDirectory(which) => directory(which).map_or(Ok(()), fs::remove_dir_all),
            Self::Snapshot => snapshot(root, &tree, serial),
            Self::Unmount => mounted::exchange(root),
            Self::WipeVisible => wipe(root, |name| !name.starts_with(b".")),
            Self::Wipe => wipe(root, |_| true),
            Self::PartialDirectory => wipe(root, |name| name.starts_with(PARTIAL)),
            Self::Partial(which, spoil) => partial(root, which).map_or(Ok(()), |path| spoil.apply(&path, &new, serial)),
            Self::Add(which) => fs::write(directory(which).unwrap_or_else(|| root.to_path_buf()).join(added(serial)), b"new"),
            Self::DirectoryToFile(which) => directory(which).map_or(Ok(()), |path| {
                fs::remove_dir_all(&path)?;
                fs::write(&path, b"in the way")
            }),
            Self::DirectoryToLink(which) => directory(which).map_or(Ok(()), |path| {
                fs::rename(&path, &new)?;
                symlink(&new, &path)
            }),
            Self::Relink(which) => found(Kind::Link, which).map_or(Ok(()), |(path, old)| {
                fs::remove_file(&path)?;
                symlink(format!("elsewhere {serial}"), &path)?;
                set_time(&path, old.mtime_ns)
            }),
            Self::HardLinkOver(one, other) => file(one).zip(file(other)).map_or(Ok(()), |((one, _), (other, _))| {
                fs::hard_link(one, &new)?;
                fs::rename(&new, other)?;
                // Two names of one file both stay when one is renamed to the other.
                let _ = fs::remove_file(&new);
                Ok(())
            }),
            Self::Swap(one, other) => file(one).zip(file(other)).filter(|(one, other)| one.0 != other.0).map_or(Ok(()), |(one, other)| {
                fs::rename(&one.0, &new)?;
                fs::rename(&other.0, &one.0)?;
                fs::rename(&new, &other.0)
            }),
            Self::RewriteLarge(which) => {
                let large: Vec<_> = tree.iter().filter(|(_, found)| found.kind == Kind::File && found.size > LARGE).collect();
                if large.is_empty() {
                    return Ok(());
                }
                let (path, old) = large[which % large.len()];
                Self::Rewrite { which, time_kept: true }.change(&at(path), old, &new, serial)
            }
            Self::Truncate(which)
            | Self::Append(which)
            | Self::Rewrite { which, .. }
            | Self::Replace { which, .. }
            | Self::ReplaceByOther(which)
            | Self::HardLink(which)
            | Self::Chmod(which)
            | Self::Touch(which)
            | Self::Attribute(which)
            | Self::Chown(which)
            | Self::FileToPipe(which)
            | Self::FileToDirectory(which) => file(which).map_or(Ok(()), |(path, old)| self.change(&path, old, &new, serial)),
        }
    }

    /// What is done to one file.
    fn change(self, path: &Path, old: &Seen, new: &Path, serial: u64) -> io::Result<()> {
        let other_bytes = || noise(serial, usize::try_from(old.size).unwrap());
        match self {
            Self::Truncate(_) => shorten(path),
            Self::Append(_) => OpenOptions::new().append(true).open(path)?.write_all(b"more"),
            Self::Rewrite { time_kept, .. } => {
                OpenOptions::new().write(true).open(path)?.write_all(&other_bytes())?;
                if time_kept { set_time(path, old.mtime_ns) } else { Ok(()) }
            }
            Self::Replace { same_content, .. } => {
                fs::write(new, if same_content { fs::read(path)? } else { other_bytes() })?;
                fs::set_permissions(new, fs::Permissions::from_mode(old.mode))?;
                set_time(new, old.mtime_ns)?;
                fs::rename(new, path)
            }
            Self::HardLink(_) => fs::hard_link(path, new),
            Self::Chmod(_) => fs::set_permissions(path, fs::Permissions::from_mode(old.mode ^ 0o055)),
            Self::Touch(_) => set_time(path, TOUCHED),
            Self::Attribute(_) => Ok(rustix::fs::lsetxattr(path, "user.late", b"yes", rustix::fs::XattrFlags::empty())?),
            Self::Chown(_) if rustix::process::geteuid().is_root() => chown(path, Some(4321), Some(4321)),
            Self::Chown(_) => Ok(()),
            Self::ReplaceByOther(_) => {
                fs::write(new, noise(serial, usize::try_from(old.size).unwrap() + 11))?;
                fs::rename(new, path)
            }
            Self::FileToPipe(_) => {
                fs::remove_file(path)?;
                pipe(path)
            }
            _ => {
                fs::remove_file(path)?;
                fs::create_dir(path)?;
                fs::write(path.join("inside"), b"in the way")
            }
        }
    }
}

impl Spoil {
    fn apply(self, path: &Path, new: &Path, serial: u64) -> io::Result<()> {
        match self {
            Self::Remove => fs::remove_file(path),
            Self::Truncate => shorten(path),
            Self::HardLink => fs::hard_link(path, new),
            Self::Replace => {
                let size = usize::try_from(path.metadata()?.len()).unwrap();
                fs::remove_file(path)?;
                fs::write(path, noise(serial, size))
            }
        }
    }
}

fn nth(tree: &Tree, kind: Kind, which: Which) -> Option<(&Vec<u8>, &Seen)> {
    let of_kind: Vec<_> = tree.iter().filter(|(_, entry)| entry.kind == kind).collect();
    (!of_kind.is_empty()).then(|| of_kind[which % of_kind.len()])
}

fn shorten(path: &Path) -> io::Result<()> {
    let file = File::options().write(true).open(path)?;
    file.set_len(file.metadata()?.len() / 2)
}

fn children(root: &Path) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = fs::read_dir(root).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    found.sort();
    found
}

fn name(path: &Path) -> &[u8] {
    path.file_name().unwrap_or_default().as_bytes()
}

fn wipe(root: &Path, is_wanted: impl Fn(&[u8]) -> bool) -> io::Result<()> {
    children(root).iter().filter(|path| is_wanted(name(path))).try_for_each(|path| remove(path))
}

fn snapshot(root: &Path, tree: &Tree, serial: u64) -> io::Result<()> {
    let beside = root.with_file_name(format!("snapshot {serial}"));
    fs::create_dir(&beside)?;
    for (number, (path, _)) in tree.iter().filter(|(_, found)| found.kind == Kind::File).enumerate() {
        fs::hard_link(root.join(OsStr::from_bytes(path)), beside.join(number.to_string()))?;
    }
    Ok(())
}

/// As `cp -a` does. Fails where something of another kind is there.
pub fn copy(from: &Path, was: &Seen, to: &Path) -> io::Result<()> {
    if let Some(above) = to.parent() {
        fs::create_dir_all(above)?;
    }
    if was.kind != Kind::Directory && to.symlink_metadata().is_ok() {
        fs::remove_file(to)?;
    }
    match was.kind {
        Kind::File => fs::write(to, fs::read(from)?)?,
        Kind::Link => symlink(fs::read_link(from)?, to)?,
        Kind::Pipe => pipe(to)?,
        Kind::Directory => fs::create_dir_all(to)?,
    }
    if rustix::process::geteuid().is_root() {
        lchown(to, Some(was.owner.0), Some(was.owner.1))?;
    }
    if was.kind != Kind::Link {
        for (name, value) in was.xattrs.iter().chain(&was.acls) {
            let (name, value) = (percent::decode(name).unwrap(), percent::decode(value).unwrap());
            rustix::fs::lsetxattr(to, OsStr::from_bytes(&name), &value, rustix::fs::XattrFlags::empty())?;
        }
        fs::set_permissions(to, fs::Permissions::from_mode(was.mode))?;
    }
    set_time(to, was.mtime_ns)
}

pub fn remove(path: &Path) -> io::Result<()> {
    if path.symlink_metadata()?.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) }
}

fn partial(root: &Path, which: Which) -> Option<PathBuf> {
    let ours = children(root).into_iter().find(|path| name(path).starts_with(PARTIAL))?;
    let files: Vec<PathBuf> = children(&ours).into_iter().filter(|path| path.is_file()).collect();
    (!files.is_empty()).then(|| files[which % files.len()].clone())
}
