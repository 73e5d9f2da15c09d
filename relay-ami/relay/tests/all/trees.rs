//! Trees that are compared, and bytes to fill them with.

use std::collections::BTreeMap;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

/// What an entry is, by its path: mode, mtime, and content or target.
pub fn list(root: &Path) -> BTreeMap<Vec<u8>, (u32, i128, Vec<u8>)> {
    let mut found = BTreeMap::new();
    let mut stack = vec![root.to_path_buf()];
    while let Some(directory) = stack.pop() {
        for entry in std::fs::read_dir(&directory).unwrap() {
            let path = entry.unwrap().path();
            let metadata = path.symlink_metadata().unwrap();
            let content = if metadata.is_symlink() {
                std::fs::read_link(&path).unwrap().as_os_str().as_bytes().to_vec()
            } else if metadata.is_file() {
                std::fs::read(&path).unwrap()
            } else {
                stack.extend(metadata.is_dir().then(|| path.clone()));
                Vec::new()
            };
            let mtime = i128::from(metadata.mtime()) * 1_000_000_000 + i128::from(metadata.mtime_nsec());
            let name = path.strip_prefix(root).unwrap().as_os_str().as_bytes().to_vec();
            found.insert(name, (metadata.mode(), mtime, content));
        }
    }
    found
}

/// Bytes that do not repeat, the same for the same seed.
pub fn noise(seed: u64, length: usize) -> Vec<u8> {
    let mut bytes = vec![0; length];
    let mut reader = blake3::Hasher::new_derive_key("cpt test noise").update(&seed.to_le_bytes()).finalize_xof();
    reader.fill(&mut bytes);
    bytes
}
