//! What somebody else does to files at either side meanwhile.

use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use crate::random::Random;
use crate::trees::{Kind, PARTIAL, Seen, Tree, list, noise, set_time};

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
    /// Another name for the file, of which no plan tells.
    HardLink(Which),
    /// The second becomes another name of the first.
    HardLinkOver(Which, Which),
    Swap(Which, Which),
    Chmod(Which),
    Touch(Which),
    /// Another target and the old time.
    Relink(Which),
    FileToDirectory(Which),
    DirectoryToFile(Which),
    /// A directory moves away, and a link to it takes its place.
    DirectoryToLink(Which),
    Add(Which),
    /// `rm -rf *`, which leaves what begins with a dot.
    WipeVisible,
    Wipe,
    /// One of the files of ours that a stopped transfer has left.
    Partial(Which, Spoil),
    PartialDirectory,
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
        match random.below(32) {
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
            _ => Self::PartialDirectory,
        }
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
            Self::Truncate(which)
            | Self::Append(which)
            | Self::Rewrite { which, .. }
            | Self::Replace { which, .. }
            | Self::HardLink(which)
            | Self::Chmod(which)
            | Self::Touch(which)
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
            Self::Touch(_) => set_time(path, 1_650_000_000_000_000_000),
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

pub fn remove(path: &Path) -> io::Result<()> {
    if path.symlink_metadata()?.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) }
}

fn partial(root: &Path, which: Which) -> Option<PathBuf> {
    let ours = children(root).into_iter().find(|path| name(path).starts_with(PARTIAL))?;
    let files: Vec<PathBuf> = children(&ours).into_iter().filter(|path| path.is_file()).collect();
    (!files.is_empty()).then(|| files[which % files.len()].clone())
}
