//! What a destination has and the source does not.
//!
//! A walk over the destination goes in step with the source's listing and with the list of what was left out there: all three are in one
//! order, so one object of each and the names of the open directories are all that is held. Where a walk finds out what it should have
//! known before, as that the file system takes two spellings for one name, another walk follows.

use std::io;

use super::error::MirrorError;
use super::known::Known;
use super::paths::Paths;
use super::search::{Extras, List};
use super::walk::{Brought, Walk};
use crate::VERSION;
use crate::above::{above, leading};
use crate::documents::entry::{Kind, ListedLine};
use crate::documents::percent;
use crate::documents::selection::{Reason, Unselected};
use crate::documents::survey::{LISTING_FOLDER, Survey, UNSELECTED_FOLDER, part_key};
use crate::documents::text::SchemaVersion1;
use crate::ends::Destination;

/// The second walk knows what the first has found, and the third that the second has found no more. What then is new was made meanwhile.
const WALKS: usize = 4;

impl Extras<'_> {
    /// Lists the extras into `{prefix}{folder}part-NNNNN.ndjson`.
    pub fn list(&self, destination: &dyn Destination) -> Result<Survey, MirrorError> {
        let (mut known, mut written) = (Known::default(), 0);
        for _ in 0..WALKS {
            let (survey, parts, found) = self.walk(destination, &known)?;
            // A list that a walk before this one has written is longer than the one that counts.
            (parts..written).try_for_each(|part| self.control.write_object(&part_key(&self.folder(self.folder), part), Vec::new()))?;
            written = parts.max(written);
            if known.has_all(&found) {
                return Ok(survey);
            }
            known.add(found);
        }
        Err(io::Error::other("changes while it is looked at; wait until nobody writes there").into())
    }

    fn walk(&self, destination: &dyn Destination, known: &Known) -> Result<(Survey, u64, Known), MirrorError> {
        let (parts, digest) = self.listing;
        let list = List::new(self.control, self.folder(self.folder));
        let listing = Paths::new(self.control, self.folder(LISTING_FOLDER), parts, listed)?.beside(self.leading());
        let unselected = Paths::new(self.control, self.folder(UNSELECTED_FOLDER), self.unselected.0, left_out)?;
        let mut walk = Walk::new(self, known, listing, unselected, list);
        let mut tour = destination.tour()?;
        while let Some(stop) = tour.step()? {
            walk.take(&mut *tour, stop)?;
        }
        let Walk { listing, unselected, spared, shares, mut list, found, .. } = walk.end(&mut *tour)?;
        listing.end(Some(digest))?;
        unselected.end(self.unselected.1)?;
        let (parts, digest) = list.lines.finish()?;
        let directory = tour.directory().to_string();
        let List { files, directories, symlinks, bytes, in_the_way, .. } = list;
        let digest = digest.to_hex().to_string();
        let (schema_version, daemon_version) = (SchemaVersion1, VERSION);
        let mostly = shares.mostly();
        let survey = Survey::Extras {
            schema_version,
            daemon_version,
            files,
            directories,
            symlinks,
            bytes,
            parts,
            digest,
            directory,
            spared,
            in_the_way,
            mostly,
        };
        Ok((survey, parts, found))
    }

    /// The directories that lead to what arrives, as if the source had them. What a rule says of one holds for all that is in it.
    fn leading(&self) -> Vec<(Vec<u8>, Brought)> {
        let leading = leading(self.above.iter().map(|path| path.as_str().as_bytes()));
        let is_excluded = |path: &[u8]| above(path).chain([path]).any(|path| self.selector.excludes(path, true));
        let brought = Brought { kind: Kind::Directory, unreadable: false };
        leading.into_iter().filter(|path| !is_excluded(path)).map(|path| (path, brought)).collect()
    }

    fn folder(&self, name: &str) -> String {
        format!("{}{name}", self.prefix)
    }
}

fn listed(line: &[u8]) -> Result<Option<(Vec<u8>, Brought)>, String> {
    let line = ListedLine::parse(line)?;
    Ok(Some((percent::decode(&line.path)?, Brought { kind: line.kind, unreadable: line.unreadable })))
}

fn left_out(line: &[u8]) -> Result<Option<(Vec<u8>, Reason)>, String> {
    let line: Unselected = serde_json::from_slice(line).map_err(|error| error.to_string())?;
    // Partial files at a source's top are named before everything else. None is removed at a destination anyway.
    if line.reason == Reason::Leftover { Ok(None) } else { Ok(Some((percent::decode(&line.path)?, line.reason))) }
}
