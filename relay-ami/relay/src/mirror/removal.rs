//! Removing what was listed and confirmed, and nothing else.

use std::collections::BTreeMap;
use std::time::Instant;

use super::error::MirrorError;
use crate::VERSION;
use crate::control::{Control, ControlError, KeyRecord, Seat};
use crate::defaults::ORDER_CHECKED;
use crate::documents::entry::Kind;
use crate::documents::extras::{Deletion, Extra, Remaining};
use crate::documents::percent;
use crate::documents::survey::part_key;
use crate::documents::text::{DirectoryId, HexDigest, SchemaVersion1};
use crate::ends::{Destination, Removal, Remover};
use crate::epoch::is_later_start;
use crate::objects::lines::LineObjects;

/// A list of extras, and the order to remove them.
pub struct Confirmed<'a> {
    pub control: &'a dyn Control,
    /// Prefix of objects' keys; it ends with a slash or is empty.
    pub prefix: &'a str,
    /// Where the list lies, below the prefix.
    pub folder: &'a str,
    pub parts: u64,
    pub digest: &'a HexDigest,
    pub directory: &'a DirectoryId,
    /// An epoch of the start that has brought the data.
    pub epoch: u64,
    /// Where it is listed what is still there, below the prefix.
    pub remaining_folder: &'a str,
    /// Only what is in the way of what the source has, before that comes; else only what is not, once all has come.
    pub in_the_way: bool,
}

impl Confirmed<'_> {
    /// Removes what is still as it was listed. It may be called again, whatever became of an earlier call.
    pub fn remove(&self, destination: &dyn Destination) -> Result<Deletion, MirrorError> {
        let confirmed = self.digests()?;
        let mut remover = destination.remover(self.directory)?;
        let remaining = LineObjects::new(self.control, format!("{}{}", self.prefix, self.remaining_folder));
        let mut done = Done { of: self, deletion: empty(), remaining };
        let mut checked: Option<Instant> = None;
        for (part, digest) in (0..).zip(&confirmed) {
            let text = self.read(part)?;
            // It may have been written anew since.
            if blake3::hash(&text) != *digest {
                return Err(self.malformed("its objects have changed while they were read").into());
            }
            for line in lines_of(&text) {
                if checked.is_none_or(|checked| checked.elapsed() >= ORDER_CHECKED) {
                    self.check(&*remover)?;
                    checked = Some(Instant::now());
                }
                done.take(&mut *remover, line)?;
            }
        }
        (done.deletion.remaining_parts, _) = done.remaining.finish()?;
        remover.sync()?;
        done.deletion.kept = Some(remover.kept()?).filter(|kept| *kept > 0);
        Ok(done.deletion)
    }

    /// Digests of the list's objects, once they are those of the list that was confirmed.
    fn digests(&self) -> Result<Vec<blake3::Hash>, MirrorError> {
        let (mut all, mut each) = (blake3::Hasher::new(), Vec::new());
        for part in 0..self.parts {
            let text = self.read(part)?;
            all.update(&text);
            each.push(blake3::hash(&text));
        }
        if all.finalize().to_hex().as_str() != self.digest.as_str() {
            return Err(self.malformed("its objects are not those that were confirmed").into());
        }
        Ok(each)
    }

    fn read(&self, part: u64) -> Result<Vec<u8>, ControlError> {
        self.control.read_object(&part_key(&format!("{}{}", self.prefix, self.folder), part), None)
    }

    /// The order may come late, and a removal may outlast what ordered it.
    fn check(&self, remover: &dyn Remover) -> Result<(), MirrorError> {
        let is_later = |key: KeyRecord| is_later_start(key.epoch, self.epoch);
        if self.control.fenced()? || self.control.key(Seat::RECEIVER)?.is_some_and(is_later) {
            return Err(MirrorError::Void);
        }
        Ok(remover.check_there()?)
    }

    fn malformed(&self, why: &str) -> ControlError {
        ControlError::Malformed { what: format!("{}{}", self.prefix, self.folder), why: why.to_owned() }
    }
}

fn empty() -> Deletion {
    let (schema_version, daemon_version, remaining) = (SchemaVersion1, VERSION, BTreeMap::new());
    Deletion { schema_version, daemon_version, entries: 0, gone: 0, bytes: 0, remaining, remaining_parts: 0, kept: None }
}

fn lines_of(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty())
}

/// What has become of the entries so far.
struct Done<'a> {
    of: &'a Confirmed<'a>,
    deletion: Deletion,
    /// What is still there.
    remaining: LineObjects<'a>,
}

impl Done<'_> {
    fn take(&mut self, remover: &mut dyn Remover, line: &[u8]) -> Result<(), MirrorError> {
        let extra = Extra::parse(line).map_err(|why| self.of.malformed(&why))?;
        let path = percent::decode(&extra.path).map_err(|why| self.of.malformed(&why))?;
        if extra.in_the_way != self.of.in_the_way {
            // What was in the way is gone since before anything came: something else is in its place now.
            if extra.in_the_way {
                self.deletion.gone += 1;
                self.gone(&extra);
            }
            return Ok(());
        }
        match remover.remove(&path, &|found| found.is(extra.kind, extra.size, extra.mtime_ns))? {
            Removal::Stays(reason, message) => return self.stays(Remaining { path: extra.path, reason, message }),
            Removal::Removed => {}
            Removal::Gone => self.deletion.gone += 1,
        }
        self.gone(&extra);
        Ok(())
    }

    fn gone(&mut self, extra: &Extra) {
        self.deletion.entries += 1;
        if extra.kind == Kind::File {
            self.deletion.bytes += extra.size;
        }
    }

    fn stays(&mut self, line: Remaining) -> Result<(), MirrorError> {
        *self.deletion.remaining.entry(line.reason).or_default() += 1;
        Ok(self.remaining.add(&line)?)
    }
}
