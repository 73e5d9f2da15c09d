//! Paths at a destination, and directories above them.

use std::collections::BTreeSet;

/// The directories above a path, from the top on.
pub fn above(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    path.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(at, _)| &path[..at])
}

/// These directories and all above them, each once.
pub fn leading<'a>(directories: impl Iterator<Item = &'a [u8]>) -> BTreeSet<Vec<u8>> {
    directories.flat_map(|path| above(path).chain([path])).map(<[u8]>::to_vec).collect()
}

/// Returns whether `directory` is the path, or one above it.
pub fn is_or_holds(directory: &[u8], path: &[u8]) -> bool {
    path.strip_prefix(directory).is_some_and(|rest| rest.is_empty() || rest.starts_with(b"/"))
}
