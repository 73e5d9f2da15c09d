//! Takes over what has come to all receivers of one plan: what is in its place, and parts of large files that came to several of them.

use std::collections::{HashMap, HashSet};
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use super::heads;
use super::journal::{self, Known, Parts};
use super::partial::Large;
use super::renewal::Renewal;
use super::tree::Tree;
use cpt_ends::entry_table::EntryTable;
use cpt_ends::{Begun, Gathered, GoesOn, Placed};
use cpt_wire::digest::{Digest, Proof};
use cpt_wire::documents::seat::Seat;
use cpt_wire::documents::text::PlanId;
use cpt_wire::frame::SegmentHeader;

/// The plan whose parts are gathered.
pub struct Gathering<'a> {
    pub tree: &'a Arc<Tree>,
    pub plan: &'a PlanId,
    pub part_size: u64,
    pub proof: Proof,
    /// Receivers that are not known to be gone: they may still write into the files that they have begun and that are not in their places.
    pub in_doubt: &'a [Seat],
}

/// What one receiver has noted of a large file; its holes too.
struct Noted {
    parts: Vec<Parts>,
}

impl Gathering<'_> {
    /// Reads what every receiver has noted.
    pub fn run(&self, goes_on: GoesOn<'_>) -> io::Result<Gathered> {
        let (mut heads, mut noted, mut doubtful) = (HashMap::new(), HashMap::<u64, Noted>::new(), HashSet::new());
        let mut gathered = Gathered { placed: EntryTable::new(self.tree.journal.nameless()), ..Gathered::default() };
        for (seat, directory) in self.tree.staging.receivers()? {
            self.tree.homes.recall_of(&directory)?;
            let Known { whole, parts, .. } = self.known(&directory)?;
            for (entry, placed) in whole.iter() {
                if let (Some(keep), Some(version)) = (&self.tree.keep, placed.version) {
                    keep.placed(&version.into());
                }
                note_placed(&gathered.placed, entry, placed);
            }
            for (entry, parts) in parts {
                noted.entry(entry).or_insert_with(|| Noted { parts: Vec::new() }).parts.push(parts);
            }
            let begun = heads::read(&directory, self.plan)?;
            if self.in_doubt.iter().any(|doubtful| doubtful.to_string() == seat) {
                doubtful.extend(begun.keys().copied());
            }
            heads.extend(begun);
            go_on(goes_on, 0)?;
        }
        let mut entries: Vec<u64> = noted.keys().copied().collect();
        entries.sort_unstable();
        for entry in entries {
            let Some(Noted { parts }) = noted.remove(&entry).filter(|_| !gathered.placed.contains(entry)) else { continue };
            let Some(header) = heads.remove(&entry) else {
                tracing::warn!(entry, "parts of a file that nobody has noted; it comes again");
                continue;
            };
            self.large(&header, parts, doubtful.contains(&entry), &mut gathered, goes_on)?;
        }
        Ok(gathered)
    }

    fn known(&self, directory: &OwnedFd) -> io::Result<Known> {
        let (whole, linked) = (self.tree.journal.nameless(), self.tree.journal.nameless());
        journal::read_of(directory, self.plan, self.proof, Known::within(whole, linked))
    }

    fn large(
        &self,
        header: &SegmentHeader,
        parts: Vec<Parts>,
        is_doubtful: bool,
        gathered: &mut Gathered,
        goes_on: GoesOn<'_>,
    ) -> io::Result<()> {
        let entry = header.entry;
        if !self.tree.has_partial(entry) {
            // Its parts are noted before the file goes to its place.
            let merged = merged(parts, |of| of.size == header.size);
            let digests: Vec<Digest> = merged.digests.values().copied().collect();
            if let Some(digest) = self.proof.merge(&digests, header.size, self.part_size) {
                gathered.placed.insert(entry, &Placed { digest, version: None });
            }
            return Ok(());
        }
        let home = self.tree.home(&header.path)?;
        let merged = merged(parts, |of| of.size == header.size && home.staging.is_left(entry, header.size, of.born_ns));
        let (mut file, mut parts) = Large::begin(self.tree, header, Some(merged))?;
        if is_doubtful && !parts.is_empty() {
            let renewal = Renewal { tree: self.tree, header, part_size: self.part_size, proof: self.proof };
            let (anew, kept, bytes) = renewal.run(&file, &parts, goes_on)?;
            (file, parts) = (anew, kept);
            gathered.copied += bytes;
        }
        go_on(goes_on, 0)?;
        gathered.begun.push(Begun { header: header.clone(), file: Box::new(file), parts });
        Ok(())
    }
}

/// An error where nobody waits for what is gathered.
pub fn go_on(goes_on: GoesOn<'_>, bytes: u64) -> io::Result<()> {
    if goes_on(bytes) { Ok(()) } else { Err(io::Error::new(io::ErrorKind::Interrupted, "nobody waits for it any more")) }
}

/// Which of two receivers was the last to place an entry nobody knows: it is read again at the end.
fn note_placed(known: &EntryTable<Placed>, entry: u64, placed: Placed) {
    let placed = match known.get(entry) {
        Some(other) if other != placed => Placed { version: None, ..placed },
        _ => placed,
    };
    known.insert(entry, &placed);
}

/// The parts of one file that `count`. One that two receivers have differently is of none of them.
fn merged(noted: Vec<Parts>, count: impl Fn(&Parts) -> bool) -> Parts {
    let (mut merged, mut differ) = (Parts::default(), HashSet::new());
    for Parts { size, born_ns, digests, mut holes } in noted.into_iter().filter(|parts| count(parts)) {
        (merged.size, merged.born_ns) = (size, born_ns);
        for (part, digest) in digests {
            if merged.digests.get(&part).is_some_and(|known| *known != digest) {
                differ.insert(part);
            }
            merged.digests.insert(part, digest);
            merged.holes.entry(part).or_default().extend(holes.remove(&part).unwrap_or_default());
        }
    }
    merged.digests.retain(|part, _| !differ.contains(part));
    merged.holes.retain(|part, _| !differ.contains(part));
    merged
}

#[cfg(test)]
#[path = "gathering_tests.rs"]
mod tests;
