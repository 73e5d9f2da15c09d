//! What a destination has before anything comes: copies of what the source has, each like it or different in one thing.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;

use crate::interfere;
use crate::place::Place;
use crate::random::Random;
use crate::seen::{Kind, SECOND, Seen, list};
use crate::world::World;

/// What a copy has otherwise than its original.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Differs {
    Nothing,
    Mode,
    Time,
    /// As `cp -p` of another file of this size.
    Content,
    /// An earlier version, which had fewer bytes.
    Size,
    Attributes,
    /// The very file, as `cp -al` makes it.
    Linked,
    /// Another name of the copy before it, which may be of another content.
    LinkedToOther,
    Missing,
}

const ALL: [(Differs, &str); 9] = [
    (Differs::Nothing, "copies: equal"),
    (Differs::Mode, "copies: of another mode"),
    (Differs::Time, "copies: of another time"),
    (Differs::Content, "copies: of another content, and as old"),
    (Differs::Size, "copies: earlier versions"),
    (Differs::Attributes, "copies: with another attribute"),
    (Differs::Linked, "copies: names of the source's file"),
    (Differs::LinkedToOther, "copies: names of one another"),
    (Differs::Missing, "copies: missing"),
];

impl World {
    pub fn copies(&mut self, seed: u64) {
        let (mut random, source) = (Random::new(seed), self.sources[0].clone());
        let mostly_equal = random.one_in(2);
        let mut first: Option<Vec<u8>> = None;
        let (mut directories, tree, before) = (Vec::new(), list(&source), self.home.place.list());
        for (path, was) in &tree {
            if was.kind == Kind::Directory {
                directories.push((path, was));
            }
            let (differs, name) = if mostly_equal && random.one_in(2) { ALL[0] } else { random.pick(&ALL) };
            let from = source.join(OsStr::from_bytes(path));
            if was.kind != Kind::File || differs == Differs::Nothing {
                self.home.place.put_copy(&from, was, path);
                continue;
            }
            self.tally.count(name);
            let altered = differs.of(was);
            match (&self.home.place, differs) {
                (_, Differs::Missing) => continue,
                (Place::Directory { path: root, .. }, Differs::Linked) => {
                    let to = root.join(OsStr::from_bytes(path));
                    let _ = to.parent().map(std::fs::create_dir_all);
                    let _ = std::fs::remove_file(&to);
                    let _ = std::fs::hard_link(&from, &to);
                }
                (Place::Directory { path: root, .. }, Differs::LinkedToOther) if first.is_some() => {
                    let (one, other) = (first.as_deref().unwrap_or_default(), root.join(OsStr::from_bytes(path)));
                    let _ = other.parent().map(std::fs::create_dir_all);
                    let _ = std::fs::remove_file(&other);
                    let _ = std::fs::hard_link(root.join(OsStr::from_bytes(one)), other);
                }
                (place, Differs::Content | Differs::Size) => {
                    let other = self.home.path.join("other content");
                    let size = usize::try_from(altered.size).unwrap();
                    std::fs::write(&other, crate::trees::noise(random.next(), size)).unwrap();
                    place.put_copy(&other, &altered, path);
                    interfere::remove(&other).unwrap();
                }
                (place, _) => place.put_copy(&from, &altered, path),
            }
            first = Some(path.clone());
        }
        // What is put into a directory changes its time.
        for (path, was) in directories.iter().rev() {
            self.home.place.put_copy(&source.join(OsStr::from_bytes(path)), was, path);
        }
        self.note_dressed(&before);
        self.source_changed();
        self.destination_changed(true);
    }
}

impl Differs {
    /// A copy's mode, time, size and attributes.
    fn of(self, was: &Seen) -> Seen {
        let mut altered = was.clone();
        match self {
            Self::Mode => altered.mode ^= 0o044,
            Self::Time => altered.mtime_ns -= 1_000 * SECOND,
            Self::Size => {
                altered.size /= 2;
                altered.mtime_ns -= 2_000 * SECOND;
            }
            Self::Attributes => drop(altered.xattrs.insert("user.older".to_owned(), "yes".to_owned())),
            _ => {}
        }
        altered
    }
}
