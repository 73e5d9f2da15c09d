//! The last look at one entry.

use std::io;
use std::sync::OnceLock;

use super::found::{Evidence, Verdict};
use super::reading::Reading;
use super::same::{differs, has_lost_its_time};
use crate::control::ControlError;
use crate::defaults::LOOK_AGAIN;
use crate::digest::{Digest, Proof};
use crate::documents::entry::{Kind, ListedLine};
use crate::documents::percent;
use crate::ends::problem::may_pass;
use crate::ends::{Capabilities, Placed, Seen, Version, View};
use crate::entry_table::EntryTable;
use crate::under_way::{Call, Caller};

/// The rules that all entries are judged by.
pub struct Judging<'a> {
    pub capabilities: Capabilities,
    pub placed: &'a EntryTable<Placed>,
    pub proof: Proof,
    pub reading: Reading<'a>,
    /// Asks for the sender's digests, and what it was answered.
    pub ask: &'a (dyn Fn() -> Result<EntryTable<Digest>, ControlError> + Sync),
    pub sent: OnceLock<Result<EntryTable<Digest>, ControlError>>,
}

impl Judging<'_> {
    /// What is known of an entry that was placed or found equal.
    fn known(&self, evidence: Evidence) -> Option<Version> {
        match evidence {
            Evidence::Planned(entry) => self.placed.get(entry)?.version,
            Evidence::Equal(version, _) => Some(version),
            Evidence::Neither | Evidence::LeftAlone => None,
        }
    }

    fn sent(&self) -> Result<&EntryTable<Digest>, String> {
        self.sent.get_or_init(self.ask).as_ref().map_err(ToString::to_string)
    }
}

/// One thread that judges.
pub struct Judge<'a> {
    of: &'a Judging<'a>,
    view: Box<dyn View + 'a>,
    disk: Caller,
    /// Looks that follow one another.
    call: Option<Call>,
}

impl<'a> Judge<'a> {
    pub fn new(of: &'a Judging<'a>, view: Box<dyn View + 'a>) -> Self {
        Self { of, view, disk: of.reading.disk.caller(), call: None }
    }

    /// What it judges by.
    pub const fn by(&self) -> &'a Judging<'a> {
        self.of
    }

    /// No look follows for now.
    pub fn pause(&mut self) {
        self.call = None;
    }

    /// Returns what has become of the entry of a line; in words where that cannot be said, or something else is there.
    pub fn judge(&mut self, line: &[u8], evidence: Evidence) -> Result<Verdict, String> {
        let Self { of, view, disk, call } = self;
        let view = &mut **view;
        let listed = ListedLine::parse(line)?;
        if listed.kind == Kind::Directory && !of.capabilities.directories {
            return Ok(Verdict::AsPlaced);
        }
        let path = percent::decode(&listed.path)?;
        let looks = call.get_or_insert_with(|| disk.enter());
        looks.goes_on();
        if of.known(evidence).is_some_and(|version| matches!(view.is_still(&path, &version), Ok(true))) {
            return Ok(Verdict::AsPlaced);
        }
        let seen = see(view, &path, looks).map_err(|error| error.to_string())?;
        // Whatever it is by now, it is not the source's.
        if matches!(evidence, Evidence::LeftAlone) {
            return Ok(Verdict::AsPlaced);
        }
        let by_content = matches!(evidence, Evidence::Equal(_, Some(_)));
        differs(&listed, &path, &seen, by_content, view, of.capabilities)?;
        let version = seen.version;
        match evidence {
            Evidence::Neither if listed.kind == Kind::Directory => Ok(Verdict::AsPlaced),
            Evidence::Neither | Evidence::LeftAlone => Err("was neither planned nor found equal".to_owned()),
            // By kind, size, mode and time it was found equal, and by these it is.
            Evidence::Equal(_, None) => Ok(Verdict::AsPlaced),
            Evidence::Equal(known, Some(_)) if known == version => Ok(Verdict::AsPlaced),
            Evidence::Equal(_, Some(digest)) => {
                *call = None;
                if of.reading.during(|heard| view.digest(&path, &version, heard)).map_err(|error| error.to_string())? != digest {
                    return Err("has other bytes than those that were found equal".to_owned());
                }
                Ok(Verdict::AsPlaced)
            }
            Evidence::Planned(entry) => {
                let known = of.placed.get(entry);
                if known.is_some_and(|placed| matches!(listed.kind, Kind::Directory | Kind::Hardlink) || placed.version == Some(version)) {
                    return Ok(Verdict::AsPlaced);
                }
                if known.is_some_and(|placed| has_lost_its_time(&listed, &placed, &seen, of.capabilities)) {
                    return Err("was exchanged, and has another modification time".to_owned());
                }
                // What somebody may have put there would only have to fit.
                if listed.kind == Kind::File && !of.proof.tells_content() {
                    return Err(format!("is not known to be the file that was placed, and {} does not tell content", of.proof.as_str()));
                }
                // The sender's digests take as long as they take.
                *call = None;
                let digest = match known {
                    Some(placed) => placed.digest,
                    None => of.sent()?.get(entry).ok_or("did not come")?,
                };
                let read = |view: &mut dyn View| of.reading.during(|heard| view.digest(&path, &version, heard));
                if listed.kind == Kind::File && read(view).map_err(|error| error.to_string())? != digest {
                    return Err("has other bytes than those that were sent".to_owned());
                }
                Ok(Verdict::Renewed(Placed { digest, version: Some(version) }))
            }
        }
    }
}

/// Looks at an entry, again where the trouble may be a server's, of a moment: one such answer must not cost a transfer.
fn see(view: &mut dyn View, path: &[u8], call: &Call) -> io::Result<Seen> {
    for pause in LOOK_AGAIN {
        match view.see(path) {
            Err(error) if may_pass(&error) => tracing::warn!(%error, "looked at again"),
            other => return other,
        }
        std::thread::sleep(pause);
        call.goes_on();
    }
    view.see(path)
}

#[cfg(test)]
#[path = "judge_tests.rs"]
mod tests;
