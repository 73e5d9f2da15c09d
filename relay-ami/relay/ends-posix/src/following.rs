//! A walk over a source that goes on where links lead, as long as that lies beneath a source path.
//!
//! A link to a directory is a walk within the walk: it goes through the directory where that is, by descriptors and through no link, and
//! what it finds lands beneath the link's own path.

use std::borrow::Cow;
use std::ffi::OsStr;
use std::io;
use std::os::fd::BorrowedFd;

use rustix::fs::FileType;
use rustix::io::Errno;

use super::roots::{Astray, MOST_LINKS, PATH_MAX, Root, Step, Walk, target};

/// What of links is followed in a listing.
pub struct Following<'a> {
    /// The source paths, those that can be read.
    roots: Vec<&'a Root>,
    follows: bool,
    /// Entries beneath followed directories that may still come, of so many.
    left: u64,
    most: u64,
}

impl<'a> Following<'a> {
    /// At `most` so many entries are listed beneath directories that links lead to: a few links can make a tree of any size. None are
    /// followed without a number.
    pub fn new(roots: Vec<&'a Root>, most: Option<u64>) -> Self {
        let (follows, most) = (most.is_some(), most.unwrap_or_default());
        Self { roots, follows, left: most, most }
    }

    pub fn roots(&self) -> &[&'a Root] {
        &self.roots
    }
}

/// One of the walks, the innermost of which goes on.
struct Level<'a> {
    walk: Walk<&'a Root>,
    /// The number of its root.
    root: usize,
    /// Where it lands, and how much of the walk's path stands for that; of the outermost walk nothing.
    landing: Vec<u8>,
    length: usize,
    begun: bool,
}

impl Level<'_> {
    fn path(&self) -> Cow<'_, [u8]> {
        if self.landing.is_empty() {
            return self.walk.landing();
        }
        let below = self.walk.relative().get(self.length..).unwrap_or_default();
        match below.first() {
            None => (&self.landing).into(),
            Some(b'/') => [&*self.landing, below].concat().into(),
            Some(_) => [&*self.landing, b"/", below].concat().into(),
        }
    }
}

/// A walk over one name of a root, and over what links beneath it lead to.
pub struct Way<'a, 'f> {
    following: &'f mut Following<'a>,
    outermost: Level<'a>,
    within: Vec<Level<'a>>,
    /// Directories above what was given last, as they land: paths, devices and inodes.
    above: Vec<(Vec<u8>, (u64, u64))>,
}

impl<'a, 'f> Way<'a, 'f> {
    /// Over `name`, which the root of this number brings to the top.
    pub fn new(following: &'f mut Following<'a>, number: usize, root: &'a Root, name: Vec<u8>) -> Self {
        let outermost = Level { walk: Walk::new(root, name), root: number, landing: Vec::new(), length: 0, begun: true };
        let above = root.directory_id().filter(|_| following.follows).map(|id| (Vec::new(), id));
        Self { following, outermost, within: Vec::new(), above: above.into_iter().collect() }
    }

    fn level(&self) -> &Level<'a> {
        self.within.last().unwrap_or(&self.outermost)
    }

    fn level_mut(&mut self) -> &mut Level<'a> {
        self.within.last_mut().unwrap_or(&mut self.outermost)
    }

    /// The next entry, as [`Walk::step`].
    pub fn step(&mut self) -> Option<Step> {
        loop {
            let (depth, level) = (self.within.len(), self.level_mut());
            // What a link leads to was counted with the link.
            let is_beneath = depth > 0 && level.begun;
            let Some(step) = level.walk.step() else {
                self.within.pop()?;
                continue;
            };
            level.begun = true;
            let Step::Entry(stat) = step else { return Some(step) };
            if !self.following.follows {
                return Some(step);
            }
            if is_beneath && self.is_too_much() {
                return Some(Step::Broken(self.too_much()));
            }
            let path = self.path().into_owned();
            if depth > 0 && path.len() >= PATH_MAX {
                self.pass();
                return Some(Step::Problem(Errno::NAMETOOLONG.into()));
            }
            while self.above.last().is_some_and(|(above, _)| !is_below(&path, above)) {
                self.above.pop();
            }
            if FileType::from_raw_mode(stat.st_mode) == FileType::Directory {
                self.above.push((path, (stat.st_dev, stat.st_ino)));
            }
            return Some(step);
        }
    }

    fn is_too_much(&mut self) -> bool {
        let is_last = self.following.left == 0;
        self.following.left = self.following.left.saturating_sub(1);
        is_last
    }

    /// No link is followed any more, and what is left of those that were is not listed.
    fn too_much(&mut self) -> io::Error {
        self.following.follows = false;
        self.within.clear();
        io::Error::other(format!(
            "more than {} entries lie beneath directories that links lead to, this one among them; name the directories in \
             $.source.paths, leave links out by $.select.exclude, or let $.links be \"keep\" or \"skip\"",
            self.following.most
        ))
    }

    /// What was given last is a link: the next step is what it leads to.
    pub fn follow(&mut self) -> Result<(), Astray> {
        let level = self.level();
        // It was none a moment ago: what a link led to was exchanged for another link.
        if !self.within.is_empty() && level.walk.relative().len() == level.length {
            return Err(Astray::Dangling);
        }
        if self.within.len() >= MOST_LINKS {
            return Err(Astray::Loop);
        }
        let roots = &self.following.roots;
        let found = target(roots, level.root, level.walk.relative())?;
        let (Some(from), Some(to)) = (roots.get(level.root), roots.get(found.root)) else { return Err(Astray::Outside) };
        if let Some(id) = found.directory {
            let is_inside = is_below(&from.real_path(level.walk.relative()), &to.real_path(&found.relative));
            if is_inside || self.above.iter().any(|(_, above)| *above == id) {
                return Err(Astray::Loop);
            }
        }
        let walk = Walk::at(*to, &found.relative)?;
        let (landing, length) = (level.path().into_owned(), found.relative.len());
        if found.directory.is_some() {
            self.level_mut().walk.rest();
        }
        self.within.push(Level { walk, root: found.root, landing, length, begun: false });
        Ok(())
    }

    pub const fn follows(&self) -> bool {
        self.following.follows
    }

    /// Path of what was given last, as it lands.
    pub fn path(&self) -> Cow<'_, [u8]> {
        self.level().path()
    }

    /// These are as those of [`Walk`].
    pub fn source(&self) -> Vec<u8> {
        self.level().walk.source()
    }

    pub fn place(&self) -> (BorrowedFd<'_>, &OsStr) {
        self.level().walk.place()
    }

    pub fn enter(&mut self) -> io::Result<()> {
        self.level_mut().walk.enter()
    }

    pub fn pass(&mut self) {
        self.level_mut().walk.pass();
    }
}

/// Whether a path lies in a directory, all of which are in the one without a name.
fn is_below(path: &[u8], directory: &[u8]) -> bool {
    directory.is_empty() || path.strip_prefix(directory).is_some_and(|rest| rest.starts_with(b"/"))
}
