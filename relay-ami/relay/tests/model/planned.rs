//! What a plan promises: the listing as it was made, and every content that a listed file has had since without looking another one.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use cpt_relay::digest::Digest;
use cpt_relay::documents::attributes::Attributes;
use cpt_relay::documents::entry::{self, ListingEntry};
use cpt_relay::documents::percent;
use cpt_relay::documents::survey::{Survey, part_key};
use cpt_relay::ends::Capabilities;

use crate::seen::{Kind, Seen, Tree, above, digest, is_in_the_way, seen};
use crate::wishes::Wish;

pub struct Listed {
    pub path: Vec<u8>,
    pub entry: ListingEntry,
    /// Below the source's directory; of what comes beside it its whole path.
    pub source: Vec<u8>,
    /// As it was once the plan was made.
    was: Option<Seen>,
    /// Any of these may arrive: an author who puts the time back is not always found out, and whoever reads gets one of them whole.
    pub contents: HashSet<Digest>,
    /// Its file system says that it is empty, and it is not.
    pub is_liar: bool,
    /// Its name can be none there.
    pub is_unnamable: bool,
    /// It comes with the plan: a comparison has not found it equal.
    pub is_planned: bool,
    /// A comparison has found something else in its place, which is not to be replaced.
    pub is_left_alone: bool,
    /// It has been another one than was listed, at some time since.
    pub has_changed: bool,
    /// Something of another kind has been in its place, at some time since.
    pub was_blocked: bool,
    /// Somebody has given what is in its place another mode, time or owner, which a bucket does not tell of by itself.
    pub is_dressed: bool,
}

/// A plan in a control directory.
pub struct Planned {
    pub listed: Vec<Listed>,
    pub wish: Wish,
    pub survey: Survey,
    /// What was left out by the source's rules, as they were read here.
    pub left_out: BTreeSet<Vec<u8>>,
    /// Somebody has changed something since it was made.
    pub is_disturbed: bool,
    /// A receiver of it heard other answers than those of what was done.
    pub lost_answers: bool,
    root: PathBuf,
    numbers: HashMap<Vec<u8>, usize>,
}

/// Lines of a folder of listings.
pub fn lines(control: &Path, folder: &str, parts: u64) -> Vec<ListingEntry> {
    let text = |part| std::fs::read(control.join(part_key(folder, part))).unwrap();
    let read = |part| {
        let text = text(part);
        let lines = text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
        lines.map(|line| ListingEntry::parse(line).unwrap()).collect::<Vec<_>>()
    };
    (0..parts).flat_map(read).collect()
}

/// Entries of a source's directory, and what comes beside it.
pub fn look(tree: &Tree, source: &[u8]) -> Option<Seen> {
    if source.starts_with(b"/") { seen(Path::new(OsStr::from_bytes(source))) } else { tree.get(source).cloned() }
}

impl Listed {
    /// `trees` are the source's before it was listed, while it was, and now.
    fn new(entry: ListingEntry, root: &Path, trees: &[Tree]) -> Self {
        let absolute = percent::decode(&entry.source).unwrap();
        let below = Path::new(OsStr::from_bytes(&absolute)).strip_prefix(root).map(|path| path.as_os_str().as_bytes().to_vec());
        let source = below.unwrap_or(absolute);
        let path = percent::decode(&entry.path).unwrap();
        let is_liar = source.starts_with(b"/");
        let mut listed = Self {
            path,
            entry,
            source,
            was: None,
            contents: HashSet::new(),
            is_liar,
            is_unnamable: false,
            is_planned: true,
            is_left_alone: false,
            has_changed: false,
            was_blocked: false,
            is_dressed: false,
        };
        if let Some(target) = listed.entry.target.as_deref().filter(|_| listed.entry.kind == entry::Kind::Symlink) {
            listed.contents.insert(digest(&percent::decode(target).unwrap()));
        }
        trees.iter().for_each(|tree| listed.note_source(tree));
        // The directory of the request itself is in none of its trees.
        listed.was =
            trees.last().and_then(|tree| look(tree, &listed.source)).or_else(|| seen(&root.join(OsStr::from_bytes(&listed.source))));
        listed
    }

    pub fn kind(&self) -> Kind {
        match self.entry.kind {
            entry::Kind::File | entry::Kind::Hardlink => Kind::File,
            entry::Kind::Directory => Kind::Directory,
            entry::Kind::Symlink => Kind::Link,
            entry::Kind::Special => Kind::Pipe,
        }
    }

    /// Where the first name of the file lands that this is another one of.
    pub fn first(&self) -> Option<Vec<u8>> {
        let target = self.entry.target.as_deref().filter(|_| self.entry.kind == entry::Kind::Hardlink);
        target.map(|target| percent::decode(target).unwrap())
    }

    pub fn attributes(&self) -> Attributes {
        self.entry.attributes.as_deref().cloned().unwrap_or_default()
    }

    /// What this has to do with the source as it is now.
    fn note_source(&mut self, tree: &Tree) {
        if self.kind() == Kind::Directory {
            return;
        }
        let now = look(tree, &self.source).filter(|now| now.kind == self.kind());
        let entry = &self.entry;
        let is_listed = now.as_ref().is_some_and(|now| match entry.kind {
            // One that has other names is another one where its inode is: they would become names of something else.
            entry::Kind::File => {
                let is_it = !self.attributes().linked || now.inode == entry.inode;
                is_it && (now.size, now.mtime_ns) == (entry.size, entry.mtime_ns)
            }
            entry::Kind::Hardlink => (now.inode, now.mtime_ns) == (entry.inode, entry.mtime_ns),
            entry::Kind::Special => (now.inode, now.mtime_ns) == (entry.inode, entry.mtime_ns),
            _ => self.contents.contains(&now.digest),
        });
        // Another file of this size and time is as good: whoever made it wanted it to be taken for this one.
        if let Some(now) = now.filter(|_| is_listed && self.kind() == Kind::File) {
            self.contents.insert(now.digest);
        }
        self.has_changed |= !is_listed || self.contents.len() > 1;
    }

    /// What this kind of destination cannot have of it.
    pub fn is_beyond(&self, can: &Capabilities, chunk_bytes: u64) -> bool {
        match self.entry.kind {
            _ if self.is_unnamable => true,
            entry::Kind::File => !can.parts && self.entry.size > chunk_bytes,
            entry::Kind::Directory => false,
            entry::Kind::Symlink => !can.links,
            entry::Kind::Hardlink => !can.hard_links,
            entry::Kind::Special => !can.special_files,
        }
    }
}

impl Planned {
    /// Reads the listing that was made just now.
    pub fn read(control: &Path, survey: Survey, wish: &Wish, root: &Path, trees: &[Tree]) -> Self {
        let Survey::Source { parts, .. } = &survey else { panic!("{survey:?}") };
        let entries = lines(control, cpt_relay::documents::survey::LISTING_FOLDER, *parts);
        let listed: Vec<Listed> = entries.into_iter().map(|entry| Listed::new(entry, root, trees)).collect();
        let numbers = listed.iter().enumerate().map(|(number, listed)| (listed.path.clone(), number)).collect();
        let (wish, root, left_out) = (wish.clone(), root.to_path_buf(), BTreeSet::new());
        Self { listed, wish, survey, left_out, is_disturbed: false, lost_answers: false, root, numbers }
    }

    pub fn at(&self, path: &[u8]) -> Option<&Listed> {
        self.numbers.get(path).map(|number| &self.listed[*number])
    }

    pub const fn chunk_bytes(&self) -> u64 {
        self.wish.chunk_kib << 10
    }

    /// Notes what may be read of the source from now on.
    pub fn source_changed(&mut self, root: &Path, tree: &Tree) {
        if root == self.root {
            self.is_disturbed = true;
            self.listed.iter_mut().for_each(|listed| listed.note_source(tree));
        }
    }

    /// Notes what is in the way of what, and what is taken for equal by size and time, whatever its content is.
    pub fn destination_changed(&mut self, tree: &Tree, can: &Capabilities, by_whom: bool) {
        self.is_disturbed |= by_whom;
        let by_content = self.is_by_content();
        for listed in &mut self.listed {
            listed.was_blocked |= can.directories && is_in_the_way(tree, &listed.path, listed.kind());
            if !listed.is_planned && !by_content && listed.entry.kind == entry::Kind::File {
                let there = tree.get(&listed.path).filter(|there| there.kind == Kind::File && there.size == listed.entry.size);
                let there = there.filter(|there| can.same_time(Some(there.mtime_ns), listed.entry.mtime_ns));
                listed.contents.extend(there.map(|there| there.digest));
            }
        }
    }

    /// Somebody has put something into the place of a file, which may have the same bytes.
    pub fn note_dressed(&mut self, path: &[u8], now: &Seen) {
        if let Some(number) = self.numbers.get(path) {
            let listed = &mut self.listed[*number];
            listed.is_dressed |= listed.contents.contains(&now.digest);
        }
    }

    /// Somebody has changed a file at the destination, and it looks as it did.
    pub fn note_unseen(&mut self, path: &[u8], digest: Digest) {
        let first = self.first_of(path).unwrap_or_else(|| path.to_vec());
        if let Some(number) = self.numbers.get(&first) {
            self.listed[*number].contents.insert(digest);
        }
    }

    pub fn is_by_content(&self) -> bool {
        self.wish.compare == Some(cpt_relay::documents::command::Compare::Digest)
    }

    /// Whether nobody has touched anything of the source, not even and put it back.
    pub fn is_source_untouched(&self) -> bool {
        let tree = crate::seen::list(&self.root);
        self.listed.iter().all(|listed| {
            let now = look(&tree, &listed.source).or_else(|| seen(&self.root.join(OsStr::from_bytes(&listed.source))));
            match (listed.kind(), now, &listed.was) {
                // Through a link in its place nobody goes, wherever it leads.
                (Kind::Directory, now, _) => now.is_some_and(|now| now.kind == Kind::Directory),
                (_, Some(now), Some(was)) => !listed.has_changed && (listed.is_liar || now.is_like(was)),
                _ => false,
            }
        })
    }

    /// First names of the file that `path` is another name of.
    pub fn first_of(&self, path: &[u8]) -> Option<Vec<u8>> {
        self.at(path).and_then(Listed::first)
    }

    /// Paths at the destination where something of another kind is in the way, the outermost ones only.
    pub fn in_the_way(&self, destination: &Tree, can: &Capabilities) -> Vec<Vec<u8>> {
        let mut found = Vec::new();
        if !can.directories {
            return found;
        }
        let is_blocked = |listed: &&Listed| !listed.is_left_alone && is_in_the_way(destination, &listed.path, listed.kind());
        for listed in self.listed.iter().filter(is_blocked) {
            let directory_at = |path: &[u8]| destination.get(path).is_none_or(|found| found.kind == Kind::Directory);
            let outermost = above(&listed.path).find(|above| !directory_at(above)).unwrap_or(&listed.path);
            found.push(outermost.to_vec());
        }
        found.sort();
        found.dedup();
        found
    }
}
