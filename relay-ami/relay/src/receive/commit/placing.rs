//! Files on their way from the partial directory to their places.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex};

use super::verified::{Landed, Verified};
use crate::defaults::AHEAD_NAMES;
use crate::documents::entry::Kind;
use crate::documents::event::SkipReason;
use crate::documents::percent;
use crate::ends::problem::{Reach, is_first_missing, is_superseded, reach};
use crate::ends::{OpenDestination, Placed};
use crate::receive::files::{Files, Large, Refusal, Site, Synced};
use crate::receive::outcome::End;
use crate::tempo::{Tempo, timed};
use crate::thread::{self, lock};
use crate::under_way::{Call, UnderWay};

/// An entry that so often could not be placed is left out.
const TRIED: u32 = 3;

/// Why nothing more of a chunk is placed.
pub struct Unplaced {
    /// The path of what could not be placed, for the error to follow; empty where it is not one entry's.
    pub what: String,
    pub error: io::Error,
}

impl Unplaced {
    /// Of the entry that lands at a path.
    pub fn at(path: &[u8], error: io::Error) -> Self {
        Self { what: format!("{}: ", percent::encode(path)), error }
    }
}

impl From<Unplaced> for Refusal {
    fn from(Unplaced { what, error }: Unplaced) -> Self {
        Self::of(&error, &what)
    }
}

impl From<io::Error> for Unplaced {
    fn from(error: io::Error) -> Self {
        Self { what: String::new(), error }
    }
}

/// What is tried: an entry as it came with a chunk, or, without one, as a whole. A large file comes with thousands of chunks, of which a
/// server that is started again may fail many at once.
pub type Tried = (Option<u64>, u64);

/// How often each could not be placed though its chunk was worth another attempt.
#[derive(Default)]
pub struct Tries(Mutex<BTreeMap<Tried, u32>>);

impl Tries {
    /// Returns whether another name of a file waits until the file has come to its first name again: the last look misses both. Not for
    /// ever, since what keeps coming to that place may not be the file.
    pub fn waits_for_first(&self, tried: Tried, unplaced: &Unplaced) -> bool {
        let mut failed = lock(&self.0);
        let waits = is_first_missing(&unplaced.error) && failed.get(&tried).is_none_or(|times| times + 1 < TRIED);
        if waits {
            *failed.entry(tried).or_default() += 1;
        }
        waits
    }

    /// A chunk has come whole: what failed of it before counts no longer.
    pub fn came(&self, chunk: u64) {
        let mut failed = lock(&self.0);
        let of_it = |entry| (Some(chunk), entry);
        let known: Vec<Tried> = failed.range(of_it(0)..=of_it(u64::MAX)).map(|(tried, _)| *tried).collect();
        for tried in known {
            failed.remove(&tried);
        }
    }

    /// An entry could not be placed. The reason for which it alone is left out, if that is so: at once where it is the entry's, and where
    /// the same has failed three times, since what fails each time is the entry's, however it looks. `is_there`: whether the destination is;
    /// where it is not, no entry is to blame. Nor where another stream brings it.
    pub fn leaves_out(&self, tried: Tried, unplaced: &Unplaced, is_there: impl FnOnce() -> bool) -> Option<SkipReason> {
        match reach(&unplaced.error) {
            Reach::Entry(reason) => return Some(reason),
            Reach::Destination => return None,
            Reach::Chunk if is_superseded(&unplaced.error) => return None,
            Reach::Chunk => {}
        }
        let mut failed = lock(&self.0);
        let times = failed.entry(tried).or_default();
        *times += 1;
        if *times < TRIED {
            return None;
        }
        drop(failed);
        is_there().then_some(SkipReason::DestinationRefused)
    }
}

/// What has come of an entry.
pub enum Came {
    /// So many entries are complete by it, 0 or 1.
    Complete(u64),
    /// A file of which all parts are there. It is in its place after a check.
    InDoubt(Arc<Large>),
}

/// What has come of a chunk.
#[derive(Default)]
pub struct Come {
    /// Entries that are complete by it.
    pub complete: u64,
    pub in_doubt: Vec<Arc<Large>>,
}

/// An entry, and what has come of it, or where it lands and why it could not be placed.
type Placement = (u64, Result<Came, Unplaced>);

/// Places chunks one after the other.
pub struct Placing<'a> {
    tempo: Tempo,
    tries: &'a Tries,
    threads: usize,
    disk: &'a UnderWay,
}

impl<'a> Placing<'a> {
    /// With so many threads where the file system is far.
    pub fn new(threads: usize, tries: &'a Tries, disk: &'a UnderWay) -> Self {
        Self { tempo: Tempo::default(), tries, threads, disk }
    }

    /// An entry that cannot be placed for a reason of its own is left out. The `call` goes on with each.
    pub fn place_all(&mut self, site: &Site, end: &End, chunk: &mut Verified, call: &Call) -> Result<Come, Unplaced> {
        let mut come = Come::default();
        let mut placed = self.place_each(&*site.destination, &site.files, std::mem::take(&mut chunk.landed), call).into_iter();
        for (entry, result) in placed.by_ref() {
            match result {
                Ok(Came::Complete(entries)) => come.complete += entries,
                Ok(Came::InDoubt(file)) => come.in_doubt.push(file),
                Err(unplaced) if self.tries.waits_for_first((Some(chunk.chunk), entry), &unplaced) => {
                    tracing::warn!(chunk = chunk.chunk, entry, what = unplaced.what, error = %unplaced.error, "it waits for its first name");
                }
                Err(unplaced) => {
                    let Some(reason) = self.tries.leaves_out((Some(chunk.chunk), entry), &unplaced, || end.check_there(site)) else {
                        placed.filter_map(|(entry, result)| Some((entry, result.err()?))).for_each(|(entry, Unplaced { what, error })| {
                            tracing::warn!(chunk = chunk.chunk, entry, what, %error, "not placed either");
                        });
                        return Err(unplaced);
                    };
                    site.leave_out(&chunk.replies, (chunk.chunk, chunk.attempt), entry, reason, &unplaced.error)?;
                }
            }
        }
        self.tries.came(chunk.chunk);
        Ok(come)
    }

    /// The result of each. Where the file system is far, files are placed on several threads. What must follow others is not, and of a
    /// destination that fails nothing more is asked.
    fn place_each(&mut self, destination: &dyn OpenDestination, files: &Files, landed: Vec<Landed>, call: &Call) -> Vec<Placement> {
        let is_free = |item: &Landed| matches!(item, Landed::Whole { kind, .. } if *kind != Kind::Hardlink);
        let is_far = self.threads > 1 && self.tempo.is_slow() && landed.iter().all(is_free);
        let disk = self.disk;
        let place = |item: Landed| {
            // One that does not return is seen though others do.
            let _own = is_far.then(|| disk.enter());
            let (entry, path) = (item.entry(), item.path().to_vec());
            let (result, time) = timed(|| place(destination, files, item));
            call.goes_on();
            ((entry, result.map_err(|error| Unplaced::at(&path, error))), time)
        };
        let (threads, at_once) = if is_far { (self.threads, AHEAD_NAMES) } else { (1, 1) };
        let (mut placed, mut landed) = (Vec::with_capacity(landed.len()), landed.into_iter());
        loop {
            let next: Vec<Landed> = landed.by_ref().take(at_once).collect();
            if next.is_empty() || placed.last().is_some_and(|(_, result)| fails(result)) {
                return placed;
            }
            for (result, time) in thread::map(threads, next, place) {
                self.tempo.note(time);
                placed.push(result);
            }
        }
    }
}

/// Returns whether the destination takes nothing more, whatever the entry.
fn fails(result: &Result<Came, Unplaced>) -> bool {
    result.as_ref().is_err_and(|unplaced| reach(&unplaced.error) == Reach::Destination)
}

fn place(destination: &dyn OpenDestination, files: &Files, item: Landed) -> io::Result<Came> {
    let (entry, placed) = match item {
        Landed::Part(part, digest) => {
            let entry = part.file.entry();
            return match part.file.synced(part.index, part.token, digest, !files.has_others())? {
                Synced::InDoubt => Ok(Came::InDoubt(part.file)),
                other => settled(destination, files, entry, other).map(Came::Complete),
            };
        }
        // It came on another stream before. Placed again it would change its directory's time, which may be set by now.
        // A hard link's first name may have come again meanwhile, so it is looked at each time.
        Landed::Whole { entry, kind, digest, .. } if kind != Kind::Hardlink && files.is_placed(entry, &digest) => {
            return Ok(Came::Complete(1));
        }
        Landed::Whole { entry, file, path, digest, .. } => (entry, Placed { digest, version: file.place(&path)? }),
        Landed::Directory { header, digest } => {
            destination.directory(&header)?;
            (header.entry, Placed { digest, version: None })
        }
    };
    destination.note(entry, &placed)?;
    files.complete(entry, placed);
    Ok(Came::Complete(1))
}

/// Number of entries that are complete by what has become of a file.
pub fn settled(destination: &dyn OpenDestination, files: &Files, entry: u64, synced: Synced) -> io::Result<u64> {
    match synced {
        Synced::Part | Synced::InDoubt => Ok(0),
        // Its parts are noted; which file they have become is noted too, so that it need not be read again.
        Synced::File(placed) => {
            destination.note(entry, &placed)?;
            files.complete(entry, placed);
            Ok(1)
        }
        Synced::Spoiled => {
            tracing::warn!(entry, "somebody has changed the file while it was received; it comes again");
            files.give_up(destination, entry)?;
            Ok(0)
        }
    }
}

#[cfg(test)]
#[path = "placing_tests.rs"]
mod tests;
