//! Files on their way from the partial directory to their places.

use std::io;

use super::Shared;
use super::commit::{Landed, Verified};
use super::large::{Files, Synced};
use crate::defaults::AHEAD_NAMES;
use crate::documents::entry::Kind;
use crate::ends::problem::{Reach, reach};
use crate::ends::{OpenDestination, Placed};
use crate::tempo::{Tempo, timed};
use crate::thread;

/// Places chunks one after the other.
pub struct Placing {
    tempo: Tempo,
    threads: usize,
}

impl Placing {
    /// With so many threads where the file system is far.
    pub fn new(threads: usize) -> Self {
        Self { tempo: Tempo::default(), threads }
    }

    /// Number of entries that are complete by it. One that cannot be placed for a reason of its own is left out.
    pub fn place_all(&mut self, shared: &Shared, chunk: &mut Verified) -> io::Result<u64> {
        let mut complete = 0;
        let mut placed = self.place_each(&*shared.destination, &shared.files, std::mem::take(&mut chunk.landed)).into_iter();
        for (entry, result) in placed.by_ref() {
            match result {
                Ok(entries) => complete += entries,
                Err(error) => {
                    let Reach::Entry(reason) = reach(&error) else {
                        placed.filter_map(|(entry, result)| Some((entry, result.err()?))).for_each(|(entry, error)| {
                            tracing::warn!(chunk = chunk.chunk, entry, %error, "not placed either");
                        });
                        return Err(error);
                    };
                    shared.leave_out(&chunk.replies, (chunk.chunk, chunk.attempt), entry, reason, &error)?;
                }
            }
        }
        Ok(complete)
    }

    /// The result of each. Where the file system is far, files are placed on several threads. What must follow others is not, and of a
    /// destination that fails nothing more is asked.
    fn place_each(&mut self, destination: &dyn OpenDestination, files: &Files, landed: Vec<Landed>) -> Vec<(u64, io::Result<u64>)> {
        let is_free = |item: &Landed| matches!(item, Landed::Whole { kind, .. } if *kind != Kind::Hardlink);
        let place = |item: Landed| (item.entry(), timed(|| place(destination, files, item)));
        let is_far = self.threads > 1 && self.tempo.is_slow() && landed.iter().all(is_free);
        let (threads, at_once) = if is_far { (self.threads, AHEAD_NAMES) } else { (1, 1) };
        let (mut placed, mut landed) = (Vec::with_capacity(landed.len()), landed.into_iter());
        loop {
            let next: Vec<Landed> = landed.by_ref().take(at_once).collect();
            if next.is_empty() || placed.last().is_some_and(|(_, result)| fails(result)) {
                return placed;
            }
            for (entry, (result, time)) in thread::map(threads, next, place) {
                self.tempo.note(time);
                placed.push((entry, result));
            }
        }
    }
}

/// Returns whether the destination takes nothing more, whatever the entry.
fn fails(result: &io::Result<u64>) -> bool {
    result.as_ref().is_err_and(|error| !matches!(reach(error), Reach::Entry(_)))
}

/// Number of entries that are complete by it, 0 or 1.
fn place(destination: &dyn OpenDestination, files: &Files, item: Landed) -> io::Result<u64> {
    let entry = item.entry();
    let (entry, placed) = match item {
        Landed::Part(part, digest) => match part.file.synced(part.index, part.token, digest)? {
            // Its parts are noted; which file they have become is noted too, so that it need not be read again.
            Synced::File(placed) => (part.file.entry(), placed),
            Synced::Part => return Ok(0),
            Synced::Spoiled => {
                tracing::warn!(entry, "somebody has changed the file while it was received; it comes again");
                files.give_up(destination, entry)?;
                return Ok(0);
            }
        },
        // It came on another stream before. Placed again it would change its directory's time, which may be set by now.
        // A hard link's first name may have come again meanwhile, so it is looked at each time.
        Landed::Whole { entry, kind, digest, .. } if kind != Kind::Hardlink && files.is_placed(entry, &digest) => return Ok(1),
        Landed::Whole { entry, file, path, digest, .. } => (entry, Placed { digest, identity: file.place(&path)? }),
        Landed::Directory { header, digest } => {
            destination.directory(&header)?;
            (header.entry, Placed { digest, identity: None })
        }
    };
    destination.note(entry, &placed)?;
    files.complete(entry, placed);
    Ok(1)
}

#[cfg(test)]
#[path = "placing_tests.rs"]
mod tests;
