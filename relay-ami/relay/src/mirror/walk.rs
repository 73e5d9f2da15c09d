//! One walk over a destination, in step with what its source has.

use std::collections::BTreeMap;
use std::io;

use super::error::MirrorError;
use super::known::Known;
use super::paths::Paths;
use super::search::{Extras, List};
use super::shares::Shares;
use crate::above::is_or_holds;
use crate::control::ControlError;
use crate::documents::command::Overwrite;
use crate::documents::entry::Kind;
use crate::documents::extras::Spared;
use crate::documents::selection::Reason;
use crate::ends::{Found, Stop, Tour};

/// What the source has under a path.
#[derive(Clone, Copy, Debug)]
pub struct Brought {
    pub kind: Kind,
    /// A directory of which it is not known what it holds.
    pub unreadable: bool,
}

/// What the source's listing and the list of what was left out say of a path.
#[derive(Clone, Copy)]
struct Said {
    listed: Option<Brought>,
    is_left_out: bool,
}

/// A directory above what is looked at that the source does not have, or not as a directory.
struct Above {
    path: Vec<u8>,
    /// It, or something that it holds, stays.
    stays: bool,
    /// It goes before what the source has in its place, or in that of a directory above it, comes.
    in_the_way: bool,
    /// The source has something in its own place.
    is_replaced: bool,
}

/// What follows for an entry.
enum Verdict {
    /// The source has it, or it is none of this mirror's; `false`: nor is what it holds looked at.
    NotExtra(bool),
    Spared(Spared),
    /// A directory that stays, though what it holds may go.
    Leads,
    Extra {
        is_replaced: bool,
    },
}

pub struct Walk<'a> {
    of: &'a Extras<'a>,
    known: &'a Known,
    pub listing: Paths<'a, Brought>,
    pub unselected: Paths<'a, Reason>,
    above: Vec<Above>,
    pub spared: BTreeMap<Spared, u64>,
    pub shares: Shares<'a>,
    pub list: List<'a>,
    /// What the next walk must know.
    pub found: Known,
    /// The last path, and what was said of it: an object of a bucket and what is below its key have one.
    last: Option<(Vec<u8>, Said)>,
    /// What was last found missing, of the listing and of what was left out: nothing below it is looked for.
    missing: [Option<Vec<u8>>; 2],
}

impl<'a> Walk<'a> {
    pub fn new(of: &'a Extras<'a>, known: &'a Known, listing: Paths<'a, Brought>, unselected: Paths<'a, Reason>, list: List<'a>) -> Self {
        let (spared, shares, found) = (BTreeMap::new(), Shares::new(of.apart), Known::default());
        Self { of, known, listing, unselected, above: Vec::new(), spared, shares, list, found, last: None, missing: [None, None] }
    }

    pub fn take(&mut self, tour: &mut dyn Tour, stop: Stop) -> Result<(), MirrorError> {
        let path = tour.path().to_vec();
        self.leave(Some(&path))?;
        self.look_for_those_before(tour, Some(&path))?;
        let Stop::Entry(found) = stop else {
            self.spare(Spared::Unreadable);
            self.pass(tour, path);
            return Ok(());
        };
        let is_directory = found.kind == Kind::Directory;
        let Said { listed, is_left_out } = self.said_of(&path)?;
        if !self.is_mirrored(&path) {
            self.keep_above();
            match tour.spared() {
                Some(why) if is_directory && self.leads(&path) => self.spare(why),
                None if is_directory && self.leads(&path) => return Ok(()),
                _ => {}
            }
            self.pass(tour, path);
            return Ok(());
        }
        let verdict = if is_left_out { Verdict::Spared(Spared::NotSelected) } else { self.judge(tour, &path, &found, listed) };
        if !matches!(verdict, Verdict::Spared(_)) {
            self.shares.has(&path, &found);
        }
        let in_the_way = self.above.last().is_some_and(|above| above.in_the_way);
        match verdict {
            Verdict::NotExtra(enter) => {
                // No directory above is one of `above` then, unless the listing lacks it: what it holds is the source's all the same.
                self.keep_above();
                if !enter {
                    self.pass(tour, path);
                }
            }
            Verdict::Spared(why) => {
                self.spare(why);
                self.pass(tour, path);
            }
            Verdict::Leads => self.above.push(Above { path, stays: true, in_the_way, is_replaced: false }),
            Verdict::Extra { is_replaced } if is_directory => {
                self.above.push(Above { path, stays: false, in_the_way: in_the_way || is_replaced, is_replaced });
            }
            Verdict::Extra { is_replaced } => self.lose(&path, &found, in_the_way || is_replaced)?,
        }
        Ok(())
    }

    /// What the source's lists say of a path.
    fn said_of(&mut self, path: &[u8]) -> Result<Said, MirrorError> {
        if let Some((_, said)) = self.last.as_ref().filter(|(last, _)| last == path) {
            return Ok(*said);
        }
        let said = Said { listed: self.listing.take(path)?, is_left_out: self.unselected.take(path)?.is_some() };
        if let Some(brought) = said.listed {
            self.note(path, brought);
        }
        self.last = Some((path.to_vec(), said));
        Ok(said)
    }

    /// The destination has nothing more.
    pub fn end(mut self, tour: &mut dyn Tour) -> Result<Self, MirrorError> {
        self.leave(None)?;
        self.look_for_those_before(tour, None)?;
        Ok(self)
    }

    /// Returns whether a path at the destination is one that this mirror is about.
    fn is_mirrored(&self, path: &[u8]) -> bool {
        self.of.within.is_none_or(|within| within.iter().any(|mirrored| is_or_holds(mirrored.as_str().as_bytes(), path)))
    }

    /// Returns whether it leads to what this mirror is about.
    fn leads(&self, path: &[u8]) -> bool {
        self.of.within.is_some_and(|within| within.iter().any(|mirrored| is_or_holds(path, mirrored.as_str().as_bytes())))
    }

    /// Those names of the source that come before `path` and that no directory here shows. What the file system finds by one of them is
    /// what the source has.
    fn look_for_those_before(&mut self, tour: &mut dyn Tour, path: Option<&[u8]>) -> Result<(), MirrorError> {
        while let Some((missing, brought)) = self.listing.pass(path)? {
            self.note(&missing, brought);
            self.look_for(tour, missing, 0)?;
        }
        while let Some((missing, _)) = self.unselected.pass(path)? {
            self.look_for(tour, missing, 1)?;
        }
        Ok(())
    }

    fn look_for(&mut self, tour: &mut dyn Tour, path: Vec<u8>, list: usize) -> io::Result<()> {
        let Some(missing) = self.missing.get_mut(list).filter(|missing| !missing.as_ref().is_some_and(|above| is_below(&path, above)))
        else {
            return Ok(());
        };
        if let Some(id) = tour.finds(&path)? {
            self.found.note_spelling(directory_of(&path), id);
        }
        *missing = Some(path);
        Ok(())
    }

    fn note(&mut self, path: &[u8], brought: Brought) {
        if brought.unreadable {
            self.shares.may_bring(path);
        } else {
            self.shares.brings(path, brought.kind);
        }
    }

    /// What was given last is not gone into: nothing of the source is looked for there.
    fn pass(&mut self, tour: &mut dyn Tour, path: Vec<u8>) {
        tour.pass();
        self.missing = [Some(path.clone()), Some(path)];
    }

    fn lose(&mut self, path: &[u8], found: &Found, in_the_way: bool) -> Result<(), ControlError> {
        self.shares.loses(path, found);
        self.list.add(path, found, in_the_way)
    }

    fn judge(&self, tour: &dyn Tour, path: &[u8], found: &Found, listed: Option<Brought>) -> Verdict {
        let is_directory = found.kind == Kind::Directory;
        let is_replaced = listed.is_some_and(|listed| (listed.kind == Kind::Directory) != is_directory);
        let is_kept = self.known.is_held(path) || self.of.overwrite == Overwrite::Never;
        if listed.is_some() && !is_directory && !is_replaced || is_replaced && is_kept {
            return Verdict::NotExtra(false);
        }
        if let Some(why) = tour.spared() {
            return Verdict::Spared(why);
        }
        if listed.is_some_and(|listed| listed.unreadable) {
            return Verdict::Spared(Spared::Unreadable);
        }
        if listed.is_some() && !is_replaced {
            return Verdict::NotExtra(true);
        }
        let kind = Some(found.kind).filter(|kind| *kind != Kind::Special || self.of.preserve.special_files);
        if self.of.selector.leaves_out(path, kind, found.size, found.mtime_ns).is_some() {
            return Verdict::Spared(Spared::NotSelected);
        }
        if kind.is_none() {
            return Verdict::Spared(Spared::Special);
        }
        // Another one of its size could not be told from it.
        if !is_directory && found.mtime_ns.is_none() {
            return Verdict::Spared(Spared::Unreadable);
        }
        if self.known.spelt_in(directory_of(path)).any(|id| tour.may_be(id)) {
            return Verdict::Spared(Spared::OtherSpelling);
        }
        match is_directory && !self.of.selector.includes(path, true) {
            true if is_replaced => Verdict::NotExtra(false),
            true => Verdict::Leads,
            false => Verdict::Extra { is_replaced },
        }
    }

    fn spare(&mut self, why: Spared) {
        *self.spared.entry(why).or_default() += 1;
        self.keep_above();
    }

    /// Something in the directory that is gone through stays, and so does that.
    fn keep_above(&mut self) {
        if let Some(above) = self.above.last_mut() {
            above.stays = true;
        }
    }

    /// Leaves the directories that do not hold `path`; without one, all. One that stays keeps the one above it.
    fn leave(&mut self, path: Option<&[u8]>) -> Result<(), ControlError> {
        let holds = |above: &Above| path.is_some_and(|path| path == above.path || is_below(path, &above.path));
        while let Some(left) = self.above.pop_if(|above| !holds(above)) {
            if left.stays {
                self.keep_above();
                // Then nothing that it holds makes room for what the source has.
                if left.is_replaced {
                    self.found.note_held(left.path);
                }
            } else {
                self.lose(&left.path, &Found { kind: Kind::Directory, size: 0, mtime_ns: None }, left.in_the_way)?;
            }
        }
        Ok(())
    }
}

fn is_below(path: &[u8], directory: &[u8]) -> bool {
    path.strip_prefix(directory).is_some_and(|rest| rest.starts_with(b"/"))
}

fn directory_of(path: &[u8]) -> &[u8] {
    path.iter().rposition(|byte| *byte == b'/').map_or(b"", |at| &path[..at])
}
