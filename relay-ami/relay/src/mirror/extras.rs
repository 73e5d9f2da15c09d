//! What a destination has and the source does not.
//!
//! A walk over the destination goes in step with the source's listing and with the list of what was left out there: all three are in one
//! order, so one object of each and the names of the open directories are all that is held.

use std::collections::BTreeMap;

use super::MirrorError;
use super::paths::Paths;
use crate::VERSION;
use crate::control::{Control, ControlError};
use crate::documents::attributes::Preserve;
use crate::documents::entry::{Kind, ListedLine};
use crate::documents::extras::{Extra, Spared};
use crate::documents::percent;
use crate::documents::selection::{Reason, Unselected};
use crate::documents::survey::{LISTING_FOLDER, Survey, UNSELECTED_FOLDER};
use crate::documents::text::{HexDigest, SchemaVersion1, TopName};
use crate::ends::{Destination, Found, Stop, Tour};
use crate::line_objects::LineObjects;
use crate::select::Selector;

/// The input of a search for extras.
pub struct Extras<'a> {
    pub control: &'a dyn Control,
    /// Prefix of objects' keys; it ends with a slash or is empty.
    pub prefix: &'a str,
    /// The source's listing: its objects and their digest.
    pub listing: (u64, &'a HexDigest),
    /// The same of what was left out there.
    pub unselected: (u64, Option<&'a HexDigest>),
    /// Names at the top that the source brings; none where it brings all there is.
    pub within: Option<&'a [TopName]>,
    pub selector: &'a Selector,
    pub preserve: Preserve,
    /// Where the extras are listed, below the prefix.
    pub folder: &'a str,
}

impl Extras<'_> {
    /// Lists the extras into `{prefix}{folder}part-NNNNN.ndjson`.
    pub fn list(&self, destination: &dyn Destination) -> Result<Survey, MirrorError> {
        let folder = |name: &str| format!("{}{name}", self.prefix);
        let (parts, digest) = self.listing;
        let mut walk = Walk {
            listing: Paths::new(self.control, folder(LISTING_FOLDER), parts, listed)?,
            unselected: Paths::new(self.control, folder(UNSELECTED_FOLDER), self.unselected.0, left_out)?,
            of: self,
            above: Vec::new(),
            spared: BTreeMap::new(),
            list: List::new(self.control, folder(self.folder)),
        };
        let mut tour = destination.tour()?;
        while let Some(stop) = tour.step()? {
            walk.take(&mut *tour, stop)?;
        }
        walk.leave(None)?;
        let Walk { listing, unselected, spared, mut list, .. } = walk;
        listing.end(Some(digest))?;
        unselected.end(self.unselected.1)?;
        let (parts, digest) = list.lines.finish()?;
        let directory = tour.directory().to_string();
        let List { files, directories, symlinks, bytes, .. } = list;
        let digest = digest.to_hex().to_string();
        let (schema_version, daemon_version) = (SchemaVersion1, VERSION);
        Ok(Survey::Extras { schema_version, daemon_version, files, directories, symlinks, bytes, parts, digest, directory, spared })
    }
}

fn listed(line: &[u8]) -> Result<Option<(Vec<u8>, Kind)>, String> {
    let line = ListedLine::parse(line)?;
    Ok(Some((percent::decode(&line.path)?, line.kind)))
}

fn left_out(line: &[u8]) -> Result<Option<(Vec<u8>, Reason)>, String> {
    let line: Unselected = serde_json::from_slice(line).map_err(|error| error.to_string())?;
    // Partial files at a source's top are named before everything else. None is removed at a destination anyway.
    if line.reason == Reason::Leftover { Ok(None) } else { Ok(Some((percent::decode(&line.path)?, line.reason))) }
}

/// A directory above what is looked at that the source does not have.
struct Above {
    path: Vec<u8>,
    /// It, or something that it holds, stays.
    stays: bool,
}

/// What follows for an entry.
enum Verdict {
    /// The source has it, or it is none of this mirror's; `false`: nor is what it holds looked at.
    NotExtra(bool),
    Spared(Spared),
    /// A directory that stays, though what it holds may go.
    Leads,
    Extra,
}

struct Walk<'a> {
    of: &'a Extras<'a>,
    listing: Paths<'a, Kind>,
    unselected: Paths<'a, Reason>,
    above: Vec<Above>,
    spared: BTreeMap<Spared, u64>,
    list: List<'a>,
}

impl Walk<'_> {
    fn take(&mut self, tour: &mut dyn Tour, stop: Stop) -> Result<(), ControlError> {
        self.leave(Some(tour.path()))?;
        let Stop::Entry(found) = stop else {
            self.spare(Spared::Unreadable);
            return Ok(());
        };
        let path = tour.path().to_vec();
        let is_directory = found.kind == Kind::Directory;
        match self.judge(tour, &path, &found)? {
            Verdict::NotExtra(enter) => {
                // No directory above is one of `above` then, unless the listing lacks it: what it holds is the source's all the same.
                self.keep_above();
                if !enter {
                    tour.pass();
                }
            }
            Verdict::Spared(why) => {
                self.spare(why);
                tour.pass();
            }
            Verdict::Leads => self.above.push(Above { path, stays: true }),
            Verdict::Extra if is_directory => self.above.push(Above { path, stays: false }),
            Verdict::Extra => self.list.add(&path, &found)?,
        }
        Ok(())
    }

    fn judge(&mut self, tour: &dyn Tour, path: &[u8], found: &Found) -> Result<Verdict, ControlError> {
        let is_directory = found.kind == Kind::Directory;
        let is_top = !path.contains(&b'/');
        if is_top && self.of.within.is_some_and(|names| !names.iter().any(|name| name.as_str().as_bytes() == path)) {
            return Ok(Verdict::NotExtra(false));
        }
        let listed = self.listing.find(path)?.copied();
        if self.unselected.find(path)?.is_some() {
            return Ok(Verdict::Spared(Spared::NotSelected));
        }
        if let Some(listed) = listed
            && !(is_directory && listed == Kind::Directory)
        {
            // A directory in the place of something else keeps that from arriving. It is not this mirror's to make room.
            return Ok(Verdict::NotExtra(false));
        }
        if let Some(why) = tour.spared() {
            return Ok(Verdict::Spared(why));
        }
        if listed.is_some() {
            return Ok(Verdict::NotExtra(true));
        }
        let kind = Some(found.kind).filter(|kind| *kind != Kind::Special || self.of.preserve.special_files);
        if self.of.selector.leaves_out(path, kind, found.size, found.mtime_ns).is_some() {
            return Ok(Verdict::Spared(Spared::NotSelected));
        }
        if kind.is_none() {
            return Ok(Verdict::Spared(Spared::Special));
        }
        if tour.has_other_spelling() {
            return Ok(Verdict::Spared(Spared::OtherSpelling));
        }
        let leads = is_directory && !self.of.selector.includes(path, true);
        Ok(if leads { Verdict::Leads } else { Verdict::Extra })
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
        let holds =
            |above: &Above| path.and_then(|path| path.strip_prefix(&*above.path)).is_some_and(|rest| rest.is_empty() || rest[0] == b'/');
        while let Some(left) = self.above.pop_if(|above| !holds(above)) {
            if left.stays {
                self.keep_above();
            } else {
                self.list.add(&left.path, &Found { kind: Kind::Directory, size: 0, mtime_ns: 0 })?;
            }
        }
        Ok(())
    }
}

/// The extras, and how many there are.
struct List<'a> {
    lines: LineObjects<'a>,
    files: u64,
    directories: u64,
    symlinks: u64,
    bytes: u64,
}

impl<'a> List<'a> {
    fn new(control: &'a dyn Control, folder: String) -> Self {
        Self { lines: LineObjects::new(control, folder), files: 0, directories: 0, symlinks: 0, bytes: 0 }
    }

    fn add(&mut self, path: &[u8], found: &Found) -> Result<(), ControlError> {
        match found.kind {
            Kind::Directory => self.directories += 1,
            Kind::Symlink => self.symlinks += 1,
            Kind::File | Kind::Hardlink | Kind::Special => self.files += 1,
        }
        if found.kind == Kind::File {
            self.bytes += found.size;
        }
        let mtime_ns = (found.kind != Kind::Directory).then_some(found.mtime_ns);
        self.lines.add(&Extra { path: percent::encode(path), kind: found.kind, size: found.size, mtime_ns })
    }
}
