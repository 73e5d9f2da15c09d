//! Whether what is at a destination is what a plan promises, and whether what was left out may be.

use std::collections::{BTreeMap, HashSet};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use cpt_relay::documents::attributes::Preserve;
use cpt_relay::documents::command::{Compare, Overwrite};
use cpt_relay::documents::entry;
use cpt_relay::documents::percent;
use cpt_relay::ends::Capabilities;

use crate::planned::{Listed, Planned, look};
use crate::seen::{Kind, Seen, Tree, digest};

/// What was left out, by its path, and why.
pub type Skips = BTreeMap<Vec<u8>, String>;

/// What the ends have named as left out of a plan.
pub fn skips(control: &Path, plan_id: &str) -> Skips {
    let mut skips = Skips::new();
    for part in 0.. {
        let Ok(text) = std::fs::read_to_string(control.join(format!("digests/{plan_id}/skipped/part-{part:05}.ndjson"))) else { break };
        for line in text.lines() {
            let line: serde_json::Value = serde_json::from_str(line).unwrap();
            let path = line["path"].as_str().map(|path| percent::decode(path).unwrap()).unwrap_or_default();
            skips.insert(path, line["reason"].as_str().unwrap_or_default().to_owned());
        }
    }
    skips
}

/// What a destination keeps of a mode.
const fn kept(mode: u32, listed: &Listed, can: &Capabilities, preserve: &Preserve) -> u32 {
    let with_owner = preserve.owners.is_some() && can.attributes && listed.entry.attributes.is_some();
    mode & if with_owner { 0o7777 } else { 0o1777 }
}

/// Whether a time is the listed one as far as it is kept; of a destination that keeps none, nothing can be told.
fn same_time(can: &Capabilities, is: i64, listed: i64) -> Option<bool> {
    can.time_step_ns.map(|step| is.div_euclid(step) == listed.div_euclid(step))
}

impl Listed {
    fn has_attributes(&self, found: &Seen, can: &Capabilities) -> bool {
        let wanted = self.attributes();
        let has_owner = wanted.owner.as_ref().is_none_or(|owner| (owner.uid, owner.gid) == found.owner);
        // A bucket keeps owners, and no attributes.
        if !can.directories {
            return has_owner;
        }
        !can.attributes
            || has_owner && wanted.xattrs.is_none_or(|xattrs| xattrs == found.xattrs) && wanted.acls.is_none_or(|acls| acls == found.acls)
    }

    fn missing(&self) -> String {
        format!("{:?} was left alone and is missing", OsStr::from_bytes(&self.path))
    }

    /// What is wrong with what is at the destination; nothing where it is as promised.
    fn wrong(
        &self,
        plan: &Planned,
        destination: &Tree,
        with_directory_times: bool,
        can: &Capabilities,
        preserve: &Preserve,
    ) -> Option<String> {
        if self.kind() == Kind::Directory && !can.directories {
            return None;
        }
        let Some(found) = destination.get(&self.path) else { return Some("is missing".to_owned()) };
        if let Some(first) = self.first() {
            let is_same = destination.get(&first).is_some_and(|first| first.inode == found.inode);
            return (!is_same).then(|| format!("is no name of {:?}", OsStr::from_bytes(&first)));
        }
        if found.kind != self.kind() {
            return Some(format!("is a {:?}", found.kind));
        }
        let mut wrong = Vec::new();
        if found.kind == Kind::File && found.size != self.entry.size {
            wrong.push(format!("has {} bytes in place of {}", found.size, self.entry.size));
        }
        if found.kind != Kind::Link
            && can.modes
            && !self.is_dressed
            && kept(found.mode, self, can, preserve) != kept(self.entry.mode, self, can, preserve)
        {
            wrong.push(format!("has mode {:o} in place of {:o}", found.mode, self.entry.mode));
        }
        // What was equal by its content keeps the time that it had; further names are made of a file with the listed one.
        let has_own_time = plan.is_by_content() && found.kind == Kind::File && !self.is_planned && !self.attributes().linked;
        let counts = if found.kind == Kind::Directory { with_directory_times } else { !has_own_time && !self.is_dressed };
        if counts && same_time(can, found.mtime_ns, self.entry.mtime_ns) == Some(false) {
            wrong.push(format!("has time {} in place of {}", found.mtime_ns, self.entry.mtime_ns));
        }
        if !self.is_dressed && !self.has_attributes(found, can) {
            wrong.push(format!("has owner {:?}, {:?} and {:?}", found.owner, found.xattrs, found.acls));
        }
        if matches!(found.kind, Kind::File | Kind::Link) && !self.contents.contains(&found.digest) {
            wrong.push("has another content".to_owned());
        }
        (!wrong.is_empty()).then(|| wrong.join(", "))
    }

    /// Whether the destination has this already, by the rule of a comparison; `source` is what there is to be compared.
    fn is_equal(&self, plan: &Planned, source: &Tree, there: &Tree, by: Compare, can: &Capabilities, preserve: &Preserve) -> bool {
        // One is there as soon as anything is in it, and nothing of itself.
        if self.kind() == Kind::Directory && !can.directories {
            return true;
        }
        let Some(found) = there.get(&self.path) else { return false };
        if let Some(first) = self.first() {
            let is_name = there.get(&first).is_some_and(|first| first.kind == Kind::File && first.inode == found.inode);
            let is_first_equal = plan.at(&first).is_some_and(|first| first.is_equal(plan, source, there, by, can, preserve));
            return found.kind == Kind::File && is_name && is_first_equal;
        }
        let mode = !can.modes || kept(found.mode, self, can, preserve) == kept(self.entry.mode, self, can, preserve);
        let time = same_time(can, found.mtime_ns, self.entry.mtime_ns) == Some(true);
        let is_same = match self.entry.kind {
            entry::Kind::File => {
                let content = match by {
                    Compare::SizeTime => time,
                    // Its further names are made of the file that has the listed time.
                    Compare::Digest => {
                        let may_differ = !self.attributes().linked || can.time_step_ns.is_none();
                        (time || may_differ) && self.has_its_names(source) && content(source, &self.source) == Some(found.digest)
                    }
                };
                mode && found.size == self.entry.size && content
            }
            entry::Kind::Symlink => time && self.contents.contains(&found.digest),
            _ => mode && time,
        };
        found.kind == self.kind() && is_same && self.has_attributes(found, can)
    }

    /// Whether it still is the file of which other names are listed, if there are any.
    fn has_its_names(&self, source: &Tree) -> bool {
        let is_it = |now: &Seen| (now.inode, now.size, now.mtime_ns) == (self.entry.inode, self.entry.size, self.entry.mtime_ns);
        !self.attributes().linked || look(source, &self.source).is_some_and(|now| is_it(&now))
    }

    /// Whether what is there is not to be replaced by this, which it is not equal to.
    fn is_left_alone(&self, there: &Tree, overwrite: Overwrite, can: &Capabilities) -> bool {
        let Some(found) = there.get(&self.path).filter(|_| self.kind() != Kind::Directory) else { return false };
        match overwrite {
            Overwrite::Always => false,
            Overwrite::Never => true,
            Overwrite::IfNewer => {
                let is_as_new = |step| found.mtime_ns.div_euclid(step) >= self.entry.mtime_ns.div_euclid(step);
                self.entry.kind == entry::Kind::File && found.kind == Kind::File && can.time_step_ns.is_some_and(is_as_new)
            }
        }
    }

    /// Why it may not be left out for that reason; nothing where it may.
    fn unjustified(&self, plan: &Planned, reason: &str, skips: &Skips, can: &Capabilities) -> Option<&'static str> {
        let is_first_out = self.first().is_some_and(|first| skips.contains_key(&first));
        let may = match reason {
            "source-changed" => self.has_changed || self.is_liar || is_first_out,
            "source-unreadable" => self.has_changed,
            // A name is made at the place of the first one, which may be what is blocked.
            "destination-conflict" => {
                self.was_blocked || self.first().is_some_and(|first| plan.at(&first).is_some_and(|first| first.was_blocked))
            }
            "destination-refused" => self.is_beyond(can, plan.chunk_bytes()) || is_first_out || plan.lost_answers,
            _ => false,
        };
        (!may).then_some("and there is no such reason")
    }
}

/// What is read of a source's file to be compared; a pipe without a writer has nothing in it.
fn content(source: &Tree, path: &[u8]) -> Option<cpt_relay::digest::Digest> {
    let now = look(source, path)?;
    match now.kind {
        Kind::File => Some(now.digest),
        Kind::Pipe => Some(digest(b"")),
        Kind::Directory | Kind::Link => None,
    }
}

impl Planned {
    /// Every entry that is not at the destination as promised, in words, but for those that may be left out and are named.
    pub fn wrong(
        &self,
        destination: &Tree,
        with_directory_times: bool,
        can: &Capabilities,
        preserve: &Preserve,
        skips: &Skips,
    ) -> Vec<String> {
        let wrong = |listed: &Listed| {
            let why = match skips.get(&listed.path) {
                Some(reason) => format!("was left out as {reason} {}", listed.unjustified(self, reason, skips, can)?),
                None if listed.is_left_alone => return (!destination.contains_key(&listed.path)).then(|| listed.missing()),
                None if listed.is_liar => "has come, and its file system says nothing true of its size".to_owned(),
                None => listed.wrong(self, destination, with_directory_times, can, preserve)?,
            };
            Some(format!("{:?} {why}", OsStr::from_bytes(&listed.path)))
        };
        let unknown = skips.keys().filter(|path| self.at(path).is_none());
        let unknown = unknown.map(|path| format!("{:?} was left out and never listed", OsStr::from_bytes(path)));
        self.listed.iter().filter_map(wrong).chain(unknown).collect()
    }

    /// Whether what a comparison found equal still is as it promises.
    pub fn has_what_was_equal(&self, destination: &Tree, can: &Capabilities, preserve: &Preserve) -> bool {
        let equal = self.listed.iter().filter(|listed| !listed.is_planned);
        equal.into_iter().all(|listed| {
            if listed.is_left_alone {
                destination.contains_key(&listed.path)
            } else {
                listed.wrong(self, destination, false, can, preserve).is_none()
            }
        })
    }

    /// What no run can bring to such a destination.
    pub fn must_be_left_out(&self, can: &Capabilities) -> Vec<&[u8]> {
        let is_out = |listed: &Listed| listed.is_liar || listed.is_beyond(can, self.chunk_bytes());
        let is_first_out = |listed: &Listed| listed.first().is_some_and(|first| self.at(&first).is_none_or(is_out));
        self.listed.iter().filter(|listed| is_out(listed) || is_first_out(listed)).map(|listed| &*listed.path).collect()
    }

    /// Takes what a comparison has left to be sent, and says what it should have left otherwise.
    pub fn compared(
        &mut self,
        left: &[entry::ListingEntry],
        source: &Tree,
        there: &Tree,
        by: Compare,
        can: &Capabilities,
        preserve: &Preserve,
    ) -> Vec<String> {
        let left: HashSet<Vec<u8>> = left.iter().map(|entry| percent::decode(&entry.path).unwrap()).collect();
        let equal: Vec<bool> = self.listed.iter().map(|listed| listed.is_equal(self, source, there, by, can, preserve)).collect();
        for (listed, is_equal) in self.listed.iter_mut().zip(&equal) {
            listed.is_left_alone = !is_equal && listed.is_left_alone(there, self.wish.overwrite, can);
        }
        let differs = self.listed.iter().zip(&equal).any(|(listed, is_equal)| !is_equal && !listed.is_left_alone);
        let mut wrong = Vec::new();
        for (listed, is_equal) in self.listed.iter_mut().zip(equal) {
            // What is put into a directory changes its time.
            let is_expected = !is_equal && !listed.is_left_alone || listed.kind() == Kind::Directory && differs;
            listed.is_planned = left.contains(&listed.path);
            if listed.is_planned != is_expected {
                let what = if is_expected { "found equal, and is not" } else { "left to be sent, and is equal" };
                wrong.push(format!("{:?} was {what}", OsStr::from_bytes(&listed.path)));
            }
        }
        wrong
    }
}
