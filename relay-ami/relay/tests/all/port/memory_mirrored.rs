//! Walks over a destination in memory, and removals there.

use std::io;

use cpt_relay::documents::entry::Kind;
use cpt_relay::documents::extras::{Spared, Stayed};
use cpt_relay::documents::text::DirectoryId;
use cpt_relay::ends::{FileId, Found, Removal, Remover, Stop, Tour};

use super::memory::MemoryDestination;
use super::memory_state::Node;

fn id() -> DirectoryId {
    DirectoryId::new("0:1").unwrap()
}

fn found(node: &Node) -> Found {
    let size = if node.kind == Kind::Directory { 0 } else { node.bytes.len() as u64 };
    Found { kind: node.kind, size, mtime_ns: Some(node.mtime_ns) }
}

/// What was there when it began.
pub struct Walk {
    directory: DirectoryId,
    entries: std::vec::IntoIter<(Vec<u8>, Found)>,
    path: Vec<u8>,
    passed: Option<Vec<u8>>,
}

impl Walk {
    pub fn begin(of: &MemoryDestination) -> Self {
        let mut entries: Vec<_> = of.state().nodes.iter().map(|(path, node)| (path.clone(), found(node))).collect();
        entries.sort_by(|(one, _), (other, _)| one.split(|byte| *byte == b'/').cmp(other.split(|byte| *byte == b'/')));
        Self { directory: id(), entries: entries.into_iter(), path: Vec::new(), passed: None }
    }
}

impl Tour for Walk {
    fn directory(&self) -> &DirectoryId {
        &self.directory
    }

    fn step(&mut self) -> io::Result<Option<Stop>> {
        let below = |path: &[u8], above: &Option<Vec<u8>>| above.as_ref().is_some_and(|above| path.starts_with(&[&**above, b"/"].concat()));
        let passed = self.passed.clone();
        let next = self.entries.find(|(path, _)| !below(path, &passed));
        Ok(next.map(|(path, found)| {
            self.path = path;
            Stop::Entry(found)
        }))
    }

    fn path(&self) -> &[u8] {
        &self.path
    }

    fn pass(&mut self) {
        self.passed = Some(self.path.clone());
    }

    fn spared(&self) -> Option<Spared> {
        None
    }

    fn finds(&mut self, _: &[u8]) -> io::Result<Option<FileId>> {
        Ok(None)
    }

    fn may_be(&self, _: &FileId) -> bool {
        false
    }
}

pub fn remover(of: &MemoryDestination, directory: &DirectoryId) -> io::Result<Box<dyn Remover>> {
    if *directory == id() { Ok(Box::new(Removing(of.clone()))) } else { Err(io::Error::other("another destination")) }
}

struct Removing(MemoryDestination);

impl Remover for Removing {
    fn check_there(&self) -> io::Result<()> {
        Ok(())
    }

    fn remove(&mut self, path: &[u8], is: &dyn Fn(&Found) -> bool) -> io::Result<Removal> {
        let mut state = self.0.state();
        let Some(node) = state.nodes.get(path) else { return Ok(Removal::Gone) };
        if !is(&found(node)) {
            return Ok(Removal::Stays(Stayed::Changed, None));
        }
        let below = [path, b"/"].concat();
        if state.nodes.range(below.clone()..).next().is_some_and(|(next, _)| next.starts_with(&below)) {
            return Ok(Removal::Stays(Stayed::NotEmpty, None));
        }
        state.nodes.remove(path);
        Ok(Removal::Removed)
    }

    fn sync(&self) -> io::Result<()> {
        Ok(())
    }
}
