//! Which keys can be paths of a file system.

use crate::destination::PARTIAL;

/// The longest name that Linux' file systems take.
const LONGEST_NAME: usize = 255;

/// Whether a directory or file can have this name.
#[must_use]
pub fn is_name(name: &str) -> bool {
    !matches!(name, "" | "." | "..") && name.len() <= LONGEST_NAME && !name.contains('\0')
}

/// Whether a name is that of what an unfinished transfer keeps for itself.
#[must_use]
pub fn is_partial(name: &str) -> bool {
    name.starts_with(PARTIAL)
}

/// A key below the prefix, and whether it is a directory's.
pub struct Split<'a> {
    /// Without the slash at its end.
    pub path: &'a str,
    pub ends_with_slash: bool,
}

impl<'a> Split<'a> {
    pub fn of(path: &'a str) -> Self {
        match path.strip_suffix('/') {
            Some(path) => Self { path, ends_with_slash: true },
            None => Self { path, ends_with_slash: false },
        }
    }

    /// The directories above, from the top on, that a walk which was at `last` comes to.
    pub fn new_above(&self, last: &str) -> impl Iterator<Item = &'a str> {
        let path = self.path;
        let same = path.bytes().zip(last.bytes()).take_while(|(one, other)| one == other).count();
        path.match_indices('/')
            .map(|(at, _)| at)
            .filter(move |at| *at >= same || last.as_bytes().get(*at) != Some(&b'/'))
            .map(|at| &path[..at])
    }

    /// Whether all of its names can be.
    pub fn is_path(&self) -> bool {
        self.path.split('/').all(is_name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_no_file_system_bears_is_no_path() {
        let long = "n".repeat(256);
        for bad in ["", "a//b", "/a", "a/../b", ".", "a/.", "a\0b", "a//", &long] {
            assert!(!Split::of(bad).is_path(), "{bad:?}");
        }
        for good in ["a", "a/b", "...", "a b/\n", "é", "a/", &long[1..]] {
            assert!(Split::of(good).is_path(), "{good:?}");
        }
    }

    #[test]
    fn directories_are_come_to_once() {
        let new = |path, last| Split::of(path).new_above(last).collect::<Vec<_>>();
        assert_eq!(new("a/b/c", ""), ["a", "a/b"]);
        assert_eq!(new("a/b/d", "a/b/c"), [""; 0]);
        assert_eq!(new("a/bc/d", "a/b/c"), ["a/bc"]);
        assert_eq!(new("a/b/c", "a/b"), ["a/b"]);
        assert_eq!(new("b/c", "a/c"), ["b"]);
    }
}
