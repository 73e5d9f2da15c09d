//! Destinations of each kind for the suite.

use std::path::PathBuf;
use std::sync::atomic::Ordering;

use cpt_ends_posix::PosixDestination;
use cpt_relay::documents::entry::Kind;
use cpt_relay::ends::{Capabilities, Destination};

use super::blobs::{BlobDestination, NOTES, UPLOADS, blob, key, parts_of};
use super::memory::MemoryDestination;
use super::memory_state::Node;

/// A destination, and what somebody else can do there.
pub trait Site {
    fn destination(&self) -> &dyn Destination;
    /// Puts a file there as somebody else does; one that is there is replaced, and keeps its time.
    fn put(&self, path: &str, bytes: &[u8]);
    fn remove(&self, path: &str);
    /// Puts another one into the place of the unfinished file of an entry, of the same size.
    fn replace_unfinished(&self, entry: u64);
    /// Leaves no room; `false` where that would take the room of others too.
    fn fill_up(&self) -> bool;
    /// Whether nothing unfinished is left.
    fn is_tidy(&self) -> bool;
}

pub struct Posix(tempfile::TempDir, PosixDestination);

impl Posix {
    pub fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let destination = PosixDestination::new(folder.path().join("in"));
        Self(folder, destination)
    }

    fn path(&self, path: &str) -> PathBuf {
        self.0.path().join("in").join(path)
    }
}

impl Site for Posix {
    fn destination(&self) -> &dyn Destination {
        &self.1
    }

    fn put(&self, path: &str, bytes: &[u8]) {
        let (path, new) = (self.path(path), self.0.path().join("new"));
        std::fs::write(&new, bytes).unwrap();
        if let Ok(found) = path.metadata() {
            std::fs::File::options().write(true).open(&new).unwrap().set_modified(found.modified().unwrap()).unwrap();
            std::fs::set_permissions(&new, found.permissions()).unwrap();
        }
        std::fs::rename(new, path).unwrap();
    }

    fn remove(&self, path: &str) {
        std::fs::remove_file(self.path(path)).unwrap();
    }

    fn replace_unfinished(&self, entry: u64) {
        let name = format!(".cpt-partial-t/{entry}");
        let before = self.path(&name).metadata().unwrap();
        let bytes = vec![9; usize::try_from(before.len()).unwrap()];
        // Births are told by the kernel's tick, and a test is faster than that: no part of a real file is synced and noted so soon.
        self.put(&name, &bytes);
        while before.created().is_ok_and(|born| self.path(&name).metadata().unwrap().created().unwrap() == born) {
            self.put(&name, &bytes);
        }
    }

    fn fill_up(&self) -> bool {
        false
    }

    fn is_tidy(&self) -> bool {
        !self.path(".cpt-partial-t").exists()
    }
}

impl Site for MemoryDestination {
    fn destination(&self) -> &dyn Destination {
        self
    }

    fn put(&self, path: &str, bytes: &[u8]) {
        let mut state = self.state();
        let (mode, mtime_ns) = state.nodes.get(path.as_bytes()).map_or((0o644, 0), |node| (node.mode, node.mtime_ns));
        state.put(path.as_bytes(), Node::new(Kind::File, bytes.to_vec(), mode, mtime_ns)).unwrap();
    }

    fn remove(&self, path: &str) {
        self.state().nodes.remove(path.as_bytes()).unwrap();
    }

    fn replace_unfinished(&self, entry: u64) {
        let mut state = self.state();
        let size = state.partial[&entry].1.len();
        state.partial.insert(entry, (u64::MAX, vec![9; size]));
    }

    fn fill_up(&self) -> bool {
        self.state().free = 0;
        true
    }

    fn is_tidy(&self) -> bool {
        self.state().partial.is_empty()
    }
}

/// The abilities of a destination that has directories, takes whole files, and keeps nothing beside their bytes.
pub const NOTHING: Capabilities = Capabilities {
    parts: false,
    directories: true,
    modes: false,
    time_step_ns: None,
    links: false,
    hard_links: false,
    special_files: false,
    attributes: false,
    holes: false,
};

/// In memory, with all that a destination may be able to do, and with nothing of it.
pub fn memory(all: bool) -> MemoryDestination {
    let everything = Capabilities {
        parts: true,
        directories: true,
        modes: true,
        time_step_ns: Some(1),
        links: true,
        hard_links: true,
        special_files: true,
        attributes: true,
        holes: true,
    };
    MemoryDestination::new(if all { everything } else { Capabilities { parts: true, ..NOTHING } }, 1 << 30)
}

/// A bucket, which goes with the folder.
pub struct Blobs {
    _folder: tempfile::TempDir,
    pub end: BlobDestination,
}

impl Blobs {
    pub fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        Self { end: BlobDestination::at(folder.path()), _folder: folder }
    }
}

impl Site for Blobs {
    fn destination(&self) -> &dyn Destination {
        &self.end
    }

    fn put(&self, path: &str, bytes: &[u8]) {
        let key = key(path.as_bytes());
        let mtime_ns = self.end.bucket.get(&key).map_or(0, |there| parts_of(&there).0);
        self.end.bucket.put(&key, &blob(mtime_ns, bytes)).unwrap();
    }

    fn remove(&self, path: &str) {
        self.end.bucket.delete(&key(path.as_bytes())).unwrap();
    }

    /// By another upload.
    fn replace_unfinished(&self, entry: u64) {
        for part in self.end.bucket.keys(format!("uploads/{entry}/").as_bytes()) {
            let bytes = vec![9; self.end.bucket.get(&part).unwrap().len()];
            self.end.bucket.delete(&part).unwrap();
            self.end.bucket.put(format!("uploads/{entry}/other/0").as_bytes(), &bytes).unwrap();
        }
    }

    fn fill_up(&self) -> bool {
        self.end.is_full.store(true, Ordering::SeqCst);
        true
    }

    fn is_tidy(&self) -> bool {
        self.end.bucket.keys(UPLOADS).is_empty() && !self.end.bucket.has(NOTES)
    }
}
