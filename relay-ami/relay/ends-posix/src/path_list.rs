//! A list of what is moved, in a file of the source's machine.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Read as _};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

use super::roots::{Names, Root, Roots, landing};
use cpt_ends::above::above;

/// Some 500 000 paths of 100 bytes, which take twice that in memory.
const MOST_BYTES: u64 = 64 << 20;

/// Paths as they land. What a directory holds is meant with it.
#[derive(Default)]
pub struct PathList {
    named: BTreeSet<Vec<u8>>,
    /// Paths that a line means without naming them: what it names does not land itself, only what it holds.
    held: BTreeSet<Vec<u8>>,
}

impl PathList {
    /// Reads the file: one path a line, or where it holds a zero byte, one before each zero (`find -print0`). One that begins with a
    /// slash is the source's and must be beneath one of its paths; any other is meant as it lands. Nothing is a comment. `find` begins
    /// with the directory that it was given: `.` and `/` mean everything, a source path with a slash at its end all that it holds.
    /// `brought` has each source path that can be read, with the names that it brings to the top.
    pub fn read(file: &Path, brought: &[(Root, Names)]) -> Result<Self, String> {
        let text = contents(file).map_err(|error| error.to_string())?;
        let end = if text.contains(&0) { 0 } else { b'\n' };
        let mut list = Self::default();
        for line in text.split(|byte| *byte == end).filter(|line| !line.is_empty()) {
            list.take(line, brought)?;
        }
        Ok(list)
    }

    fn take(&mut self, line: &[u8], brought: &[(Root, Names)]) -> Result<(), String> {
        let wrong = |why: &str| format!("{:?} {why}", String::from_utf8_lossy(line));
        let names: Vec<&[u8]> = line.split(|byte| *byte == b'/').filter(|name| !matches!(*name, b"" | b".")).collect();
        if names.contains(&&b".."[..]) {
            return Err(wrong("contains '..'; write the path without it"));
        }
        let plain = names.join(&b'/');
        let absolute = [b"/", &*plain].concat();
        let mut roots = brought.iter().map(|(root, _)| root);
        if plain.is_empty() {
            self.held.extend(brought.iter().flat_map(|(root, names)| names.iter().map(|name| root.landing(name).into_owned())));
        } else if !line.starts_with(b"/") {
            self.named.insert(plain);
        } else if let Some(path) = roots.find_map(|root| root.relative(&absolute).map(|path| root.landing(path))) {
            self.named.insert(path.into_owned());
        } else if let Some((root, names)) = brought.iter().find(|(root, _)| root.holds_all_of(&absolute)) {
            self.held.extend(names.iter().map(|name| root.landing(name).into_owned()));
        } else {
            return Err(wrong("is not beneath $.source.paths; name what is, or a path as it lands"));
        }
        Ok(())
    }

    /// Whether the path, or a directory above it, is on the list.
    pub fn has(&self, path: &[u8]) -> bool {
        let is_meant = |path: &[u8]| self.named.contains(path) || self.held.contains(path);
        is_meant(path) || above(path).any(is_meant)
    }

    /// Whether something below the path is on the list.
    pub fn leads_to(&self, path: &[u8]) -> bool {
        let below = [path, b"/"].concat();
        self.named.range(below.clone()..).next().is_some_and(|next| next.starts_with(&below))
    }

    /// What is on the list and not at the source, links followed or not.
    pub fn missing(&self, roots: &[&Root], follows: bool) -> Vec<Vec<u8>> {
        let is_at = |number: usize, root: &Root, path: &[u8]| {
            root.open_at(path, OFlags::PATH).is_ok() || follows && landing(roots, number, path).is_ok()
        };
        let comes = |number: usize, root: &Root, path: &[u8]| root.origin(path).is_some_and(|origin| is_at(number, root, &origin));
        let is_there = |path: &[u8]| roots.iter().enumerate().any(|(number, root)| root.lands_in(path) || comes(number, root, path));
        self.named.iter().filter(|path| !is_there(path)).cloned().collect()
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
