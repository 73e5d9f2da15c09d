//! Files on their way from the partial directory to their places.

use std::collections::{BTreeMap, HashSet};
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

/// Places the chunks of a batch.
pub struct Placing<'a> {
    tempo: Tempo,
    tries: &'a Tries,
    threads: usize,
    disk: &'a UnderWay,
}

impl<'a> Placing<'a> {
    /// With so many threads where the file system is far.
    pub fn new(threads: usize, is_far: bool, tries: &'a Tries, disk: &'a UnderWay) -> Self {
        Self { tempo: Tempo::of(is_far), tries, threads, disk }
    }

    /// What has come of each. An entry that cannot be placed for a reason of its own is left out. The `call` goes on with each entry.
    pub fn place_all(&mut self, site: &Site, end: &End, chunks: &mut [&mut Verified], call: &Call) -> Vec<Result<Come, Unplaced>> {
        let landed = chunks.iter_mut().map(|chunk| (chunk.chunk, std::mem::take(&mut chunk.landed))).collect();
        let placed = self.place_each(&*site.destination, &site.files, landed, call);
        chunks.iter_mut().zip(placed).map(|(chunk, placed)| self.come(site, end, chunk, placed)).collect()
    }

    fn come(&self, site: &Site, end: &End, chunk: &Verified, placed: Vec<Placement>) -> Result<Come, Unplaced> {
        let mut come = Come::default();
        let mut placed = placed.into_iter();
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

    /// The result of each entry of each chunk. Where the destination fails, nothing more of the chunk is placed.
    fn place_each(
        &mut self,
        destination: &dyn OpenDestination,
        files: &Files,
        chunks: Vec<(u64, Vec<Landed>)>,
        call: &Call,
    ) -> Vec<Vec<Placement>> {
        let is_far = self.threads > 1 && self.tempo.is_slow();
        groups(chunks, is_far).into_iter().flat_map(|group| self.place_group(destination, files, group, call)).collect()
    }

    fn place_group(&mut self, destination: &dyn OpenDestination, files: &Files, group: Group, call: &Call) -> Vec<Vec<Placement>> {
        let Group { order, chunks, .. } = group;
        let is_at_once = order != Order::AsItCame;
        let disk = self.disk;
        let place = |(chunk, item): (usize, Landed)| {
            // One that does not return is seen though others do.
            let _own = is_at_once.then(|| disk.enter());
            let (entry, path) = (item.entry(), item.path().to_vec());
            let (result, time) = timed(|| place(destination, files, item));
            call.goes_on();
            (chunk, (entry, result.map_err(|error| Unplaced::at(&path, error))), time)
        };
        let (threads, ahead) = if is_at_once { (self.threads, AHEAD_NAMES) } else { (1, 1) };
        let mut placed: Vec<Vec<Placement>> = chunks.iter().map(|landed| Vec::with_capacity(landed.len())).collect();
        let (mut left, mut failed) = (order.of(chunks).into_iter().peekable(), HashSet::new());
        loop {
            let (mut next, mut level) = (Vec::new(), None);
            while next.len() < ahead {
                let Some((chunk, item)) = left.next_if(|(_, item)| order.joins(item, level)) else { break };
                if !failed.contains(&chunk) {
                    level = Some(depth(&item));
                    next.push((chunk, item));
                }
            }
            if next.is_empty() {
                return placed;
            }
            for (chunk, result, time) in thread::map(threads, next, place) {
                self.tempo.note(time);
                if fails(&result) {
                    failed.insert(chunk);
                }
                placed[chunk].push(result);
            }
        }
    }
}

/// Which of a group's items are placed at once where the file system is far.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Order {
    /// All: nothing in them must follow anything else.
    AtOnce,
    /// Directories of one depth, the deepest first: each has its time after all that it holds.
    Upwards,
    /// None.
    AsItCame,
}

impl Order {
    /// The items of all chunks, each with which chunk it is of, in this order.
    fn of(self, chunks: Vec<Vec<Landed>>) -> Vec<(usize, Landed)> {
        let mut items = by_turns(chunks);
        if self == Self::Upwards {
            items.sort_by_key(|(_, item)| std::cmp::Reverse(depth(item)));
        }
        items
    }

    /// Whether an item is placed beside others that lie so deep.
    fn joins(self, item: &Landed, level: Option<usize>) -> bool {
        self != Self::Upwards || level.is_none_or(|level| level == depth(item))
    }
}

/// Directories above what lands there.
fn depth(item: &Landed) -> usize {
    item.path().iter().filter(|byte| **byte == b'/').count()
}

/// Chunks that are placed together.
struct Group {
    order: Order,
    numbers: HashSet<u64>,
    chunks: Vec<Vec<Landed>>,
}

/// In their order. Of a chunk that came on two streams the second finds the first in its place.
fn groups(chunks: Vec<(u64, Vec<Landed>)>, is_far: bool) -> Vec<Group> {
    let is_free = |item: &Landed| matches!(item, Landed::Whole { kind, .. } if *kind != Kind::Hardlink);
    let order_of = |landed: &[Landed]| match landed {
        _ if !is_far => Order::AsItCame,
        _ if landed.iter().all(is_free) => Order::AtOnce,
        _ if landed.iter().all(|item| matches!(item, Landed::Directory { .. })) => Order::Upwards,
        _ => Order::AsItCame,
    };
    let mut groups: Vec<Group> = Vec::new();
    for (number, landed) in chunks {
        let order = order_of(&landed);
        match groups.last_mut() {
            Some(group) if order == Order::AtOnce && group.order == order && !group.numbers.contains(&number) => {
                group.numbers.insert(number);
                group.chunks.push(landed);
            }
            _ => groups.push(Group { order, numbers: HashSet::from([number]), chunks: vec![landed] }),
        }
    }
    groups
}

/// The items of several lists by turns: those of one chunk are often of one directory, which takes one change at a time.
fn by_turns<T>(lists: Vec<Vec<T>>) -> Vec<(usize, T)> {
    let mut items: Vec<(usize, (usize, T))> = lists
        .into_iter()
        .enumerate()
        .flat_map(|(list, items)| items.into_iter().enumerate().map(move |(at, item)| (at, (list, item))))
        .collect();
    items.sort_by_key(|(at, _)| *at);
    items.into_iter().map(|(_, item)| item).collect()
}

/// Returns whether the destination takes nothing more, whatever the entry.
fn fails((_, result): &Placement) -> bool {
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
