//! What of a destination would go, for each source path: a disk that is not mounted shows in the share of one path, not in a total.

use crate::above::is_or_holds;
use crate::documents::entry::Kind;
use crate::documents::extras::Mostly;
use crate::documents::percent;
use crate::documents::text::LandingPath;
use crate::ends::Found;

/// So many are named; SSM keeps 24 000 characters of what a scan prints.
const NAMED: usize = 20;

/// Files that keep a directory that is empty otherwise, as the mount point of a disk in a repository.
const PLACEHOLDERS: [&[u8]; 3] = [b".keep", b".gitkeep", b".placeholder"];
/// A file system's own directory, whatever it holds.
const FOUND: &[u8] = b"lost+found";

/// Returns whether something of a source says that there is more than a mount point.
fn counts(path: &[u8], kind: Kind) -> bool {
    let mut names = path.split(|byte| *byte == b'/');
    let is_placeholder = names.clone().next_back().is_some_and(|name| PLACEHOLDERS.contains(&name));
    kind != Kind::Directory && !is_placeholder && !names.any(|name| name == FOUND)
}

/// Entries and bytes of files.
#[derive(Clone, Copy, Debug, Default)]
struct Sum {
    entries: u64,
    bytes: u64,
}

impl Sum {
    fn add(&mut self, found: &Found) {
        self.entries += 1;
        self.bytes += if found.kind == Kind::File { found.size } else { 0 };
    }
}

/// What is there, what of it is extra, and whether the source has anything.
#[derive(Clone, Copy, Debug, Default)]
struct Share {
    there: Sum,
    extra: Sum,
    is_brought: bool,
}

impl Share {
    fn is_mostly_lost(&self) -> bool {
        let (there, extra) = (self.there, self.extra);
        extra.entries > 0 && (!self.is_brought || 2 * extra.entries > there.entries || 2 * extra.bytes > there.bytes)
    }
}

/// The shares of what a source path brings each, and of all else together.
pub struct Shares<'a> {
    apart: &'a [LandingPath],
    /// In the order of `apart`; the last of all else.
    sums: Vec<Share>,
}

impl<'a> Shares<'a> {
    pub fn new(apart: &'a [LandingPath]) -> Self {
        Self { apart, sums: vec![Default::default(); apart.len() + 1] }
    }

    /// Something is there that a source path is a mirror of.
    pub fn has(&mut self, path: &[u8], found: &Found) {
        self.of(path).there.add(found);
    }

    /// The source has something there.
    pub fn brings(&mut self, path: &[u8], kind: Kind) {
        if counts(path, kind) {
            self.of(path).is_brought = true;
        }
    }

    /// The source has something there that cannot be looked into.
    pub fn may_bring(&mut self, path: &[u8]) {
        self.of(path).is_brought = true;
    }

    /// It would be removed.
    pub fn loses(&mut self, path: &[u8], found: &Found) {
        self.of(path).extra.add(found);
    }

    fn of(&mut self, path: &[u8]) -> &mut Share {
        let holds = |name: &LandingPath| is_or_holds(name.as_str().as_bytes(), path);
        // What one path brings may be brought into what another one does.
        let nearest = self.apart.iter().enumerate().filter(|(_, name)| holds(name)).max_by_key(|(_, name)| name.as_str().len());
        let number = nearest.map_or(self.apart.len(), |(number, _)| number);
        &mut self.sums[number]
    }

    /// Those of which more than half of the entries or bytes would go, and those of which the source has nothing, the most entries first.
    pub fn mostly(self) -> Vec<Mostly> {
        let names = self.apart.iter().map(|name| percent::encode(name.as_str().as_bytes())).chain([String::new()]);
        let lost = names.zip(self.sums).filter(|(_, share)| share.is_mostly_lost());
        let mut found: Vec<Mostly> = lost
            .map(|(path, Share { there, extra, is_brought })| Mostly {
                path,
                entries: extra.entries,
                of_entries: there.entries,
                bytes: extra.bytes,
                of_bytes: there.bytes,
                empty: !is_brought,
            })
            .collect();
        found.sort_by_key(|mostly| std::cmp::Reverse(mostly.entries));
        found.truncate(NAMED);
        found
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn file(size: u64) -> Found {
        Found { kind: Kind::File, size, mtime_ns: Some(1) }
    }

    #[test]
    fn each_path_has_its_own_share_of_entries_and_of_bytes() {
        let apart = ["db", "media"].map(|name| LandingPath::new(name).unwrap());
        let mut shares = Shares::new(&apart);
        for (path, size, is_extra) in
            [("db/a", 10, false), ("db/b", 1, true), ("media/1", 5, true), ("media/2", 5, true), ("x", 1, false), ("y", 9, true)]
        {
            shares.has(path.as_bytes(), &file(size));
            shares.brings(path.as_bytes(), Kind::File);
            if is_extra {
                shares.loses(path.as_bytes(), &file(size));
            }
        }
        let mostly = |path: &str, entries, of_entries, bytes, of_bytes| Mostly {
            path: path.to_owned(),
            entries,
            of_entries,
            bytes,
            of_bytes,
            empty: false,
        };
        assert_eq!(
            shares.mostly(),
            [mostly("media", 2, 2, 10, 10), mostly("", 1, 2, 9, 10)],
            "half of db's entries are not more than half"
        );
    }

    #[test]
    fn a_path_of_which_the_source_has_nothing_but_what_keeps_a_mount_point_is_named_however_little_goes() {
        let lost = |brought: &[(&str, Kind)]| {
            let mut shares = Shares::new(&[]);
            (0..9).for_each(|_| shares.has(b"stays", &file(1)));
            shares.has(b"goes", &file(1));
            shares.loses(b"goes", &file(1));
            brought.iter().for_each(|(path, kind)| shares.brings(path.as_bytes(), *kind));
            shares.mostly().into_iter().map(|mostly| (mostly.entries, mostly.empty)).collect::<Vec<_>>()
        };
        let empty = [("d", Kind::Directory), ("d/.keep", Kind::File), (".gitkeep", Kind::File), ("lost+found/#17", Kind::File)];
        assert_eq!(lost(&empty), [(1, true)]);
        for (path, kind) in [("d/x", Kind::File), (".keep.txt", Kind::File), ("link", Kind::Symlink)] {
            assert_eq!(lost(&[(path, kind)]), [], "{path}");
        }
    }

    #[test]
    fn where_nothing_goes_nothing_is_named() {
        let mut shares = Shares::new(&[]);
        shares.has(b"a", &file(0));
        assert_eq!(shares.mostly(), []);
    }
}
