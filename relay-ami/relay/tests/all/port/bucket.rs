//! A service that keeps blobs by their keys, as object stores do: each is put whole, and found by nothing but its key. It outlives the
//! process that calls it, since it keeps them in a folder, under names that say nothing of their keys' parts.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

#[derive(Clone, Debug)]
pub struct Bucket(PathBuf);

impl Bucket {
    pub fn at(folder: &Path) -> Self {
        std::fs::create_dir_all(folder).unwrap();
        Self(folder.to_owned())
    }

    fn file(&self, key: &[u8]) -> PathBuf {
        self.0.join(key.iter().map(|byte| format!("{byte:02x}")).collect::<String>())
    }

    pub fn put(&self, key: &[u8], blob: &[u8]) -> io::Result<()> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let whole = self.0.join(format!("new-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::SeqCst)));
        std::fs::write(&whole, blob)?;
        std::fs::rename(whole, self.file(key))
    }

    pub fn get(&self, key: &[u8]) -> io::Result<Vec<u8>> {
        std::fs::read(self.file(key))
    }

    pub fn has(&self, key: &[u8]) -> bool {
        self.file(key).exists()
    }

    /// One that is not there counts as deleted.
    pub fn delete(&self, key: &[u8]) -> io::Result<()> {
        std::fs::remove_file(self.file(key)).or_else(|error| if error.kind() == io::ErrorKind::NotFound { Ok(()) } else { Err(error) })
    }

    /// Keys that begin so, sorted by their bytes.
    pub fn keys(&self, prefix: &[u8]) -> Vec<Vec<u8>> {
        let names = std::fs::read_dir(&self.0).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let decoded = names.filter(|name| !name.starts_with("new-")).map(|name| {
            let byte = |at: usize| u8::from_str_radix(&name[at..at + 2], 16).unwrap();
            (0..name.len()).step_by(2).map(byte).collect::<Vec<u8>>()
        });
        let mut keys: Vec<_> = decoded.filter(|key| key.starts_with(prefix)).collect();
        keys.sort();
        keys
    }
}
