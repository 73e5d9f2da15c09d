//! What a look at the destination finds.

use std::collections::BTreeSet;

use crate::defaults::LOOK_NAMED;
use crate::digest::Digest;
use crate::documents::entry::ListedLine;
use crate::ends::{Placed, Version};

/// The result of a look.
#[derive(Debug, Default)]
pub struct Found {
    /// Entries of the plan that are not in their places.
    pub lacking: BTreeSet<u64>,
    /// Entries of the plan that are there, and were not known to be, or to be what they are.
    pub renewed: Vec<(u64, Placed)>,
    /// The number of vanished entries that a comparison had found equal, and the first of them in words.
    pub lost: u64,
    pub named: Vec<String>,
}

/// The evidence that an entry needs.
#[derive(Clone, Copy)]
pub enum Evidence {
    /// It is this entry of the plan.
    Planned(u64),
    /// The comparison found it equal, by this content where it compared that.
    Equal(Version, Option<Digest>),
    /// Something that the request does not let be replaced was in its place.
    LeftAlone,
    /// None of these: it came into the listing after the plan.
    Neither,
}

/// The state of one entry.
pub enum Verdict {
    AsPlaced,
    Renewed(Placed),
    Lacking(String),
}

impl Found {
    pub fn note(&mut self, line: &[u8], evidence: Evidence, verdict: Verdict) {
        match (verdict, evidence) {
            (Verdict::AsPlaced, _) => {}
            (Verdict::Renewed(placed), Evidence::Planned(entry)) => self.renewed.push((entry, placed)),
            (Verdict::Renewed(_), _) => {}
            (Verdict::Lacking(why), evidence) => {
                if let Evidence::Planned(entry) = evidence {
                    self.lacking.insert(entry);
                } else {
                    self.lost += 1;
                }
                if self.named.len() < LOOK_NAMED {
                    let path = ListedLine::parse(line).map_or_else(|_| "?".to_owned(), |listed| listed.path.into_owned());
                    self.named.push(format!("{path}: {why}"));
                }
            }
        }
    }

    pub fn join(&mut self, mut other: Self) {
        self.lacking.append(&mut other.lacking);
        self.renewed.append(&mut other.renewed);
        self.lost += other.lost;
        other.named.truncate(LOOK_NAMED.saturating_sub(self.named.len()));
        self.named.append(&mut other.named);
    }
}

#[cfg(test)]
#[path = "found_tests.rs"]
mod tests;
