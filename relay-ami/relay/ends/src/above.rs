//! Paths at a destination, and directories above them.

use std::cmp::Ordering;
use std::collections::BTreeSet;

use cpt_wire::documents::text::KeepName;

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

/// Returns whether a path at the destination is where what is replaced is kept, on a file system that takes spellings for one name too.
pub fn is_kept_under(name: &KeepName, path: &[u8]) -> bool {
    let top = path.split(|byte| *byte == b'/').next().unwrap_or_default();
    let fold = |text: &str| text.to_uppercase().to_lowercase();
    top == name.as_str().as_bytes() || std::str::from_utf8(top).is_ok_and(|top| fold(top) == fold(name.as_str()))
}

/// The order in which a walk comes to paths: name by name, each directory's contents right after it.
pub fn order(one: &[u8], other: &[u8]) -> Ordering {
    // No name holds a zero byte.
    let plain = |byte: &u8| if *byte == b'/' { 0 } else { *byte };
    one.iter().map(plain).cmp(other.iter().map(plain))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_directory_holds_comes_right_after_it() {
        let walked: [&[u8]; 7] = [b"a", b"a/b", b"a/b/c", b"a/b!", b"a!", b"a.b", b"\xff"];
        for (at, one) in walked.iter().enumerate() {
            for (other_at, other) in walked.iter().enumerate() {
                assert_eq!(order(one, other), at.cmp(&other_at), "{one:?} {other:?}");
            }
        }
    }
}
