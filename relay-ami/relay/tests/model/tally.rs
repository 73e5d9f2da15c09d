//! What was seen, so that a run that tests nothing is noticed.

use std::collections::BTreeMap;
use std::fmt;

/// What every run is to see, whoever runs it and wherever.
const KINDS: [&str; 72] = [
    "both ends killed",
    "buckets",
    "buckets: answers that are lost",
    "buckets: calls that are not taken",
    "buckets: objects that came in parts",
    "buckets: receivers killed",
    "buckets: removals that were answered to nobody",
    "buckets: with an object and others below its key",
    "changes at the destination between runs",
    "changes at the destination while data moves",
    "compared: files of one content",
    "compared: files of one size and time",
    "compared: files that are left alone",
    "compared: files that differ",
    "control directories that are restored",
    "control directories that lose something",
    "copies: earlier versions",
    "copies: missing",
    "copies: names of one another",
    "copies: names of the source's file",
    "copies: of another content, and as old",
    "copies: of another mode",
    "copies: of another time",
    "copies: with another attribute",
    "ends killed",
    "ends stopped",
    "kept: attributes",
    "kept: hard links",
    "kept: holes",
    "kept: pipes",
    "lesser: all of a time",
    "lesser: no attributes",
    "lesser: no hard links",
    "lesser: no holes",
    "lesser: no modes",
    "lesser: no special files",
    "lesser: no symbolic links",
    "lesser: no times",
    "lesser: times of 1 s",
    "lesser: times of 100 ns",
    "lesser: times of 2 s",
    "living: before it is sent",
    "living: between runs",
    "living: between two senders",
    "living: while data moves",
    "living: while it is listed",
    "living: while it is read",
    "mirrors",
    "mirrors: removed twice",
    "mirrors: with a list that is another one",
    "mirrors: with changes before the removal",
    "mounts: answers that are lost",
    "mounts: looks at what was",
    "plans: by digest",
    "plans: by size and time",
    "plans: of everything",
    "plans: proved by a CRC",
    "plans: that follow links",
    "plans: that leave links out which lead nowhere",
    "plans: that land under another path",
    "plans: that replace nothing",
    "plans: that replace what is older",
    "plans: with a file that is no size",
    "plans: with rules",
    "restarts of a receiver",
    "restarts of a sender",
    "runs",
    "runs: succeeded",
    "runs: with a budget",
    "runs: with files left out",
    "seats: transfers",
    "transfers onto themselves",
];

#[derive(Clone, Default)]
pub struct Tally(BTreeMap<&'static str, u64>);

impl Tally {
    pub fn count(&mut self, what: &'static str) {
        *self.0.entry(what).or_default() += 1;
    }

    pub fn add(&mut self, other: &Self) {
        for (what, count) in &other.0 {
            *self.0.entry(what).or_default() += count;
        }
    }

    pub fn of(&self, what: &str) -> u64 {
        self.0.get(what).copied().unwrap_or_default()
    }

    /// Of what every run is to see, what was seen fewer than so many times.
    pub fn rarer_than(&self, least: u64) -> Vec<&'static str> {
        self.rarer_of(&KINDS, least)
    }

    /// The same of these.
    pub fn rarer_of(&self, kinds: &[&'static str], least: u64) -> Vec<&'static str> {
        kinds.iter().filter(|what| self.of(what) < least).copied().collect()
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, (what, count)) in self.0.iter().enumerate() {
            write!(formatter, "{}{what} {count}", if number == 0 { "" } else { ", " })?;
        }
        Ok(())
    }
}
