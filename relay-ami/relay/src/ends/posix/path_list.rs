//! A list of what is moved, in a file of the source's machine.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Read as _};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

use super::roots::{Root, Roots};

/// Some 500 000 paths of 100 bytes, which take twice that in memory.
const MOST_BYTES: u64 = 64 << 20;

/// Paths as they land. What a directory holds is meant with it.
pub struct PathList(BTreeSet<Vec<u8>>);

impl PathList {
    /// Reads the file: one path a line, or where it holds a zero byte, one before each zero (`find -print0`). One that begins with a
    /// slash is the source's and must be beneath one of its paths; any other is meant as it lands. Nothing is a comment.
    pub fn read<'a>(file: &Path, roots: impl Iterator<Item = &'a Root> + Clone) -> Result<Self, String> {
        let text = contents(file).map_err(|error| error.to_string())?;
        let end = if text.contains(&0) { 0 } else { b'\n' };
        let lines = text.split(|byte| *byte == end).filter(|line| !line.is_empty());
        lines.map(|line| landing(line, roots.clone())).collect::<Result<_, _>>().map(Self)
    }

    /// Whether the path, or a directory above it, is on the list.
    pub fn has(&self, path: &[u8]) -> bool {
        let above = path.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(at, _)| &path[..at]);
        self.0.contains(path) || above.into_iter().any(|above| self.0.contains(above))
    }

    /// Whether something below the path is on the list.
    pub fn leads_to(&self, path: &[u8]) -> bool {
        let below = [path, b"/"].concat();
        self.0.range(below.clone()..).next().is_some_and(|next| next.starts_with(&below))
    }

    /// What is on the list and not at the source.
    pub fn missing<'a>(&self, roots: impl Iterator<Item = &'a Root> + Clone) -> Vec<Vec<u8>> {
        let is_there = |path: &[u8]| roots.clone().any(|root| root.brings(path) && root.open_at(path, OFlags::PATH).is_ok());
        self.0.iter().filter(|path| !is_there(path)).cloned().collect()
    }
}

/// Through no link that somebody else made, as all that is read at a source.
fn contents(file: &Path) -> io::Result<Vec<u8>> {
    let roots = Roots::new(&[PathBuf::from(file)]);
    let opened = File::from(roots.open(file.as_os_str().as_bytes(), OFlags::RDONLY | OFlags::NONBLOCK)?);
    if !opened.metadata()?.is_file() {
        return Err(io::Error::other("is no regular file"));
    }
    let mut text = Vec::new();
    opened.take(MOST_BYTES + 1).read_to_end(&mut text)?;
    if text.len() as u64 > MOST_BYTES {
        return Err(io::Error::other(format!("is larger than {} MiB; name directories instead of their files", MOST_BYTES >> 20)));
    }
    Ok(text)
}

fn landing<'a>(line: &[u8], mut roots: impl Iterator<Item = &'a Root>) -> Result<Vec<u8>, String> {
    let wrong = |why: &str| format!("{:?} {why}", String::from_utf8_lossy(line));
    let names: Vec<&[u8]> = line.split(|byte| *byte == b'/').filter(|name| !matches!(*name, b"" | b".")).collect();
    if names.contains(&&b".."[..]) {
        return Err(wrong("contains '..'; write the path without it"));
    }
    let plain = names.join(&b'/');
    if !line.starts_with(b"/") {
        return Ok(plain);
    }
    let absolute = [b"/", &*plain].concat();
    let found = roots.find_map(|root| root.relative(&absolute).map(<[u8]>::to_vec));
    found.ok_or_else(|| wrong("is not beneath $.source.paths; name what is, or a path as it lands"))
}
