//! Rules of a request and what they leave out, by a reading of the documents that shares nothing with the product's.

use std::collections::BTreeSet;

use cpt_relay::documents::selection::Selection;

use crate::random::Random;
use crate::seen::{Kind, SECOND, Seen, Tree, above};

/// A line as in a gitignore file, of the few forms that need no library to be understood.
#[derive(Clone, Debug)]
enum Pattern {
    /// This name, wherever it is.
    Name(&'static str),
    /// The same, of a directory.
    Directory(&'static str),
    /// This name at the top.
    AtTop(&'static str),
    /// Names that end so, wherever they are.
    Ending(&'static str),
    /// Not what an earlier line says of such names.
    ButEnding(&'static str),
}

const NAMES: [&str; 5] = ["plain", ".hidden", "-dash", "per%20cent", "source-0"];
const ENDINGS: [&str; 6] = ["1", "4", "7", "0", "den", "ain"];

impl Pattern {
    fn draw(random: &mut Random) -> Self {
        let (name, ending) = (random.pick(&NAMES), random.pick(&ENDINGS));
        match random.below(6) {
            0 => Self::Name(name),
            1 => Self::Directory(name),
            2 => Self::AtTop(name),
            _ => Self::Ending(ending),
        }
    }

    fn text(&self) -> String {
        match self {
            Self::Name(name) => (*name).to_owned(),
            Self::Directory(name) => format!("{name}/"),
            Self::AtTop(name) => format!("/{name}"),
            Self::Ending(ending) => format!("*{ending}"),
            Self::ButEnding(ending) => format!("!*{ending}"),
        }
    }

    fn is_of(&self, path: &[u8], is_directory: bool) -> bool {
        let name = path.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
        match self {
            Self::Name(wanted) => name == wanted.as_bytes(),
            Self::Directory(wanted) => is_directory && name == wanted.as_bytes(),
            Self::AtTop(wanted) => path == wanted.as_bytes(),
            Self::Ending(ending) | Self::ButEnding(ending) => name.ends_with(ending.as_bytes()),
        }
    }
}

/// What a request selects; by default everything.
#[derive(Clone, Debug, Default)]
pub struct Rules {
    exclude: Vec<Pattern>,
    include: Vec<Pattern>,
    least: Option<u64>,
    most: Option<u64>,
    from_ns: Option<i64>,
    until_ns: Option<i64>,
}

/// What a selection does to a tree.
#[derive(Default)]
pub struct Selected {
    /// What is moved.
    pub listed: BTreeSet<Vec<u8>>,
    /// What is named as left out: nothing that lies in it is named.
    pub left_out: BTreeSet<Vec<u8>>,
}

impl Rules {
    pub fn draw(random: &mut Random) -> Self {
        let mut some = |most: usize| (0..1 + random.below(most)).map(|_| Pattern::draw(random)).collect::<Vec<_>>();
        let (mut exclude, include) = (some(3), some(4));
        if random.one_in(3) {
            exclude.push(Pattern::ButEnding(random.pick(&ENDINGS)));
        }
        let mut rules = Self::default();
        match random.below(4) {
            0 => rules.include = include,
            1 => (rules.exclude, rules.include) = (exclude, include),
            _ => rules.exclude = exclude,
        }
        match random.below(8) {
            0 => rules.least = Some(700),
            1 => rules.most = Some(5_000),
            2 => rules.from_ns = Some(1_600_000_000 * SECOND + 5),
            3 => rules.until_ns = Some(1_600_000_000 * SECOND + 5),
            _ => {}
        }
        rules
    }

    pub fn request(&self) -> Selection {
        let texts = |patterns: &[Pattern]| patterns.iter().map(Pattern::text).collect();
        Selection {
            exclude: texts(&self.exclude),
            include: texts(&self.include),
            min_size_bytes: self.least,
            max_size_bytes: self.most,
            modified_from_ns: self.from_ns,
            modified_until_ns: self.until_ns,
            ..Selection::default()
        }
    }

    /// The last line that matches decides.
    pub fn excludes(&self, path: &[u8], is_directory: bool) -> bool {
        let last = self.exclude.iter().rev().find(|pattern| pattern.is_of(path, is_directory));
        last.is_some_and(|pattern| !matches!(pattern, Pattern::ButEnding(_)))
    }

    /// Of a path itself or of a directory above it.
    pub fn includes(&self, path: &[u8], is_directory: bool) -> bool {
        let is_of = |path: &[u8], is_directory| self.include.iter().any(|pattern| pattern.is_of(path, is_directory));
        self.include.is_empty() || is_of(path, is_directory) || above(path).any(|above| is_of(above, true))
    }

    /// Of an entry of which no directory above is excluded.
    pub fn leave_out(&self, path: &[u8], found: &Seen) -> bool {
        if self.excludes(path, found.kind == Kind::Directory) {
            return true;
        }
        if found.kind == Kind::Directory {
            return false;
        }
        let is_file = found.kind == Kind::File;
        !self.includes(path, false)
            || is_file && self.least.is_some_and(|least| found.size < least)
            || is_file && self.most.is_some_and(|most| found.size > most)
            || self.from_ns.is_some_and(|from| found.mtime_ns < from)
            || self.until_ns.is_some_and(|until| found.mtime_ns >= until)
    }

    /// What of a tree is moved. A directory that no rule includes is only if something in it is.
    pub fn select(&self, tree: &Tree, with_pipes: bool, with_links: bool) -> Selected {
        let mut selected = Selected::default();
        let is_pruned = |path: &[u8]| above(path).any(|above| self.excludes(above, true));
        for (path, found) in tree.iter().filter(|(path, _)| !is_pruned(path)) {
            let is_kind = (found.kind != Kind::Pipe || with_pipes) && (found.kind != Kind::Link || with_links);
            if self.leave_out(path, found) || !is_kind {
                selected.left_out.insert(path.clone());
            } else if found.kind != Kind::Directory || self.includes(path, true) {
                selected.listed.extend(above(path).map(<[u8]>::to_vec));
                selected.listed.insert(path.clone());
            }
        }
        selected
    }
}
