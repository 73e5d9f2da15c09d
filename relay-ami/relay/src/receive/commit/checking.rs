//! Files of which all parts have come and some are in doubt. Their parts are read again beside the commits, which go on meanwhile.
//!
//! A chunk that has brought the last part of such a file is acknowledged once the file is in its place: what follows a file, its
//! directory's time or another name of it, comes after that. A receiver that is killed before is sent the chunk again, and checks again.

use std::sync::mpsc::{Receiver, SyncSender};
use std::sync::{Arc, Mutex};

use super::checkpoint::OnDisk;
use super::placing::{Tries, Unplaced, settled};
use super::verified::Verified;
use crate::receive::files::{Large, Refusal, Site};
use crate::receive::outcome::End;
use crate::thread::lock;

/// A chunk whose other entries are in their places.
pub struct Waiting {
    pub chunk: Verified,
    /// Entries that are complete by it already.
    pub complete: u64,
    pub files: Vec<Arc<Large>>,
}

/// Runs until the committer has let go of the queue.
pub fn run(site: &Site, end: &End, tries: &Tries, waiting: &Mutex<Receiver<Waiting>>, on_disk: &SyncSender<OnDisk>) {
    loop {
        // Not in the loop's head, where the lock would be held for as long as the files are read.
        let next = lock(waiting).recv();
        let Ok(Waiting { chunk, complete, files }) = next else { return };
        // The process ends: the sender hears nothing, and sends the chunk again.
        let Some(checked) = check(site, end, tries, &chunk, &files) else { continue };
        let memory = chunk.memory;
        let (mut deliveries, mut placed) = (Vec::new(), Vec::new());
        match checked {
            Ok(more) => {
                deliveries.extend(chunk.delivery());
                placed.push((chunk, complete + more));
            }
            Err(refusal) => site.refuse(&chunk.replies, chunk.chunk, chunk.attempt, refusal),
        }
        let _ = on_disk.send(OnDisk { deliveries, placed, chunks: 1, memory });
    }
}

/// Number of files that are in their places by it; none once the process is told to stop.
fn check(site: &Site, end: &End, tries: &Tries, chunk: &Verified, files: &[Arc<Large>]) -> Option<Result<u64, Refusal>> {
    let mut complete = 0;
    for file in files {
        let checked = match file.check(&site.reading(), &|| !end.stop.is_requested()) {
            Ok(None) => return None,
            Ok(Some(synced)) => settled(&*site.destination, &site.files, file.entry(), synced),
            Err(error) => Err(error),
        };
        let checked = checked.or_else(|error| {
            let unplaced = Unplaced::at(file.path(), error);
            let Some(reason) = tries.leaves_out((None, file.entry()), &unplaced, || end.check_there(site)) else {
                return Err(unplaced);
            };
            site.leave_out(&chunk.replies, (chunk.chunk, chunk.attempt), file.entry(), reason, &unplaced.error)?;
            Ok(0)
        });
        match checked {
            Ok(entries) => complete += entries,
            Err(unplaced) => return Some(Err(unplaced.into())),
        }
    }
    let call = site.disk.enter();
    let noted = site.destination.sync_notes().map_err(|error| Refusal::of(&error, "journal: "));
    drop(call);
    Some(noted.map(|()| complete))
}
