//! A search for what a destination has and the source does not: its input, and the list that it makes.

use crate::control::{Control, ControlError};
use crate::documents::attributes::Preserve;
use crate::documents::command::Overwrite;
use crate::documents::entry::Kind;
use crate::documents::extras::Extra;
use crate::documents::percent;
use crate::documents::text::{HexDigest, LandingPath};
use crate::ends::Found;
use crate::objects::lines::LineObjects;
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
    /// What of the destination is mirrored; none where all of it is.
    pub within: Option<&'a [LandingPath]>,
    /// Those that one source path brings each.
    pub apart: &'a [LandingPath],
    /// Directories that lead to what arrives and that the source does not have, without those above them.
    pub above: &'a [LandingPath],
    pub selector: &'a Selector,
    pub preserve: Preserve,
    /// Where the extras are listed, below the prefix.
    pub folder: &'a str,
    /// With `Never` nothing makes way for what the source has.
    pub overwrite: Overwrite,
}

/// The extras, and how many there are.
pub struct List<'a> {
    pub lines: LineObjects<'a>,
    pub files: u64,
    pub directories: u64,
    pub symlinks: u64,
    pub bytes: u64,
    pub in_the_way: u64,
}

impl<'a> List<'a> {
    pub fn new(control: &'a dyn Control, folder: String) -> Self {
        Self { lines: LineObjects::new(control, folder), files: 0, directories: 0, symlinks: 0, bytes: 0, in_the_way: 0 }
    }

    /// Adds what would be removed; `in_the_way`: before anything comes.
    pub fn add(&mut self, path: &[u8], found: &Found, in_the_way: bool) -> Result<(), ControlError> {
        self.in_the_way += u64::from(in_the_way);
        match found.kind {
            Kind::Directory => self.directories += 1,
            Kind::Symlink => self.symlinks += 1,
            Kind::File | Kind::Hardlink | Kind::Special => self.files += 1,
        }
        if found.kind == Kind::File {
            self.bytes += found.size;
        }
        let mtime_ns = found.mtime_ns.filter(|_| found.kind != Kind::Directory);
        self.lines.add(&Extra { path: percent::encode(path), kind: found.kind, size: found.size, mtime_ns, in_the_way })
    }
}
