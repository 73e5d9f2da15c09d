//! A bucket that a receiver has open.

use std::collections::{BTreeMap, HashSet};
use std::io;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use cpt_ends::{Capabilities, Gathered, GoesOn, LargeFile, Left, OpenDestination, Placed, SmallFile, View};
use cpt_process::thread::lock;
use cpt_wire::digest::{Digest, Proof};
use cpt_wire::documents::entry::Kind;
use cpt_wire::documents::seat::Seat;
use cpt_wire::documents::text::{PlanId, TransferId};
use cpt_wire::frame::SegmentHeader;

use super::large::Large;
use super::lines::{Begun, Line};
use super::notes::Notes;
use super::others::Others;
use super::path::{key, may_have_parts};
use super::presence::Presence;
use super::removal::remove_all;
use super::resuming::refuse;
use super::small::Small;
use super::under_way::Inner;
use super::view::Sight;
use super::{CAPABILITIES, PARTIAL};
use crate::client::Bucket;
use crate::fault::Fault;
use crate::uploads::Upload;

/// From one note of what has come to the next: ten a second cost 18 cents an hour. What comes meanwhile waits for the next one, and may be
/// as much as `UNSYNCED`: 1.3 GB/s, as much as 16 requests bring.
const PAUSE: Duration = Duration::from_millis(100);
/// Of one object.
const MOST_PARTS: u64 = 10_000;
/// Bytes in memory that wait to be sent or put, and parts where these are larger than that.
const UNSYNCED: u64 = 128 << 20;
const UNSYNCED_PARTS: u64 = 4;

/// What files under way have in common.
pub struct Shared {
    pub bucket: Bucket,
    pub part_size: u64,
    pub notes: Notes,
    /// None where this receiver is the only one.
    pub others: Option<Others>,
    pub large: Mutex<BTreeMap<u64, Arc<Inner>>>,
}

impl Shared {
    /// A large file is in its place.
    pub fn over(&self, entry: u64) {
        lock(&self.large).remove(&entry);
    }

    pub fn flush(&self) -> io::Result<()> {
        self.bucket.wait(self.notes.flush()).map_err(|fault| refuse(fault, "notes"))
    }
}

/// What is below a prefix, for one receiver.
pub struct Opened {
    pub shared: Arc<Shared>,
    pub seat: Seat,
    /// Beginning of the keys of all that this transfer keeps there.
    pub folder: String,
    /// What notes are of: a plan, its parts and digests, and how objects are written.
    pub of: String,
    /// What earlier receivers have begun, and of which nothing has come yet.
    pub begun: Mutex<BTreeMap<u64, Begun>>,
    pub presence: Presence,
}

impl Opened {
    pub fn new(
        bucket: &Bucket,
        transfer: &TransferId,
        (seat, has_others): (Seat, bool),
        (plan, part_size, proof): (&PlanId, u64, Proof),
    ) -> io::Result<(Self, Left)> {
        let failed = |fault: Fault| refuse(fault, &bucket.to_string());
        let folder = bucket.place().key(&format!("{PARTIAL}{transfer}/"));
        let of = format!("{plan} {part_size} {}{}", proof.as_str(), bucket.written().mark());
        let own = format!("{folder}{seat}/");
        let others = has_others.then(|| bucket.wait(Others::open(bucket, &folder, &of))).transpose().map_err(failed)?;
        let (notes, known, strays) = Notes::open(bucket, own.clone(), of.clone()).map_err(failed)?;
        let notes = if has_others { bucket.wait(notes.beside_others()).map_err(failed)? } else { notes };
        strays.iter().try_for_each(|upload| bucket.wait(bucket.abort(upload))).map_err(failed)?;
        let left = Left { placed: known.placed, begun: known.begun.keys().copied().collect() };
        let shared = Shared { bucket: bucket.clone(), part_size, notes, others, large: Mutex::default() };
        let presence = Presence::new(bucket, has_others.then_some(own));
        Ok((Self { shared: Arc::new(shared), seat, folder, of, begun: Mutex::new(known.begun), presence }, left))
    }

    pub fn abort(&self, upload: &Upload) -> io::Result<()> {
        self.shared.bucket.wait(self.shared.bucket.abort(upload)).map_err(|fault| refuse(fault, &upload.key))
    }
}

impl Opened {
    fn key_of_small(&self, header: &SegmentHeader) -> io::Result<String> {
        let key = key(self.shared.bucket.place(), &header.path)?;
        if header.kind == Kind::File {
            return Ok(key);
        }
        Err(io::Error::new(io::ErrorKind::InvalidInput, "a bucket has files only"))
    }
}

impl OpenDestination for Opened {
    fn capabilities(&self) -> Capabilities {
        CAPABILITIES
    }

    fn small(&self, header: &SegmentHeader) -> io::Result<Box<dyn SmallFile>> {
        let key = self.key_of_small(header)?;
        Ok(Box::new(Small::new(&self.shared, key, header)))
    }

    fn small_by(&self, header: &SegmentHeader, path: &str) -> io::Result<Box<dyn SmallFile>> {
        let key = self.key_of_small(header)?;
        Ok(Box::new(Small::new(&self.shared, key, header).by(path)))
    }

    fn large(&self, header: &SegmentHeader) -> io::Result<(Box<dyn LargeFile>, BTreeMap<u64, Digest>)> {
        let key = key(self.shared.bucket.place(), &header.path)?;
        if header.size > MOST_PARTS.saturating_mul(self.shared.part_size) {
            let why = format!("an object has at most {MOST_PARTS} parts, and this one would have more of {} bytes", self.shared.part_size);
            return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
        }
        if !may_have_parts(&key) {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "its name has control characters, with which no object comes in parts",
            ));
        }
        // One of which an earlier header was wrong is begun anew: parts of both would get the same numbers.
        let before = lock(&self.shared.large).remove(&header.entry);
        if let Some(before) = before {
            self.shared.bucket.wait(before.abort()).map_err(|fault| refuse(fault, &key))?;
        }
        let begun = lock(&self.begun).remove(&header.entry);
        let (file, kept) = match begun {
            Some(begun) => self.resumed(header, &key, begun)?,
            None => (Inner::new(&self.shared, header, key, None), BTreeMap::new()),
        };
        let file = Arc::new(file);
        lock(&self.shared.large).insert(header.entry, Arc::clone(&file));
        Ok((Box::new(Large(file)), kept))
    }

    /// Its name is part of keys, and nothing else.
    fn directory(&self, header: &SegmentHeader) -> io::Result<()> {
        key(self.shared.bucket.place(), &header.path).map(drop)
    }

    fn most_unsynced(&self) -> Option<u64> {
        let others = self.shared.bucket.ways().count() as u64;
        Some(UNSYNCED.max(UNSYNCED_PARTS * self.shared.part_size) + UNSYNCED * others)
    }

    fn pause(&self) -> Duration {
        PAUSE
    }

    /// A part that was brought has arrived, or has failed, and says so itself.
    fn sync(&self) -> io::Result<()> {
        Ok(())
    }

    fn note(&self, entry: u64, placed: &Placed) -> io::Result<()> {
        self.shared.notes.add(&Line::placed(entry, placed));
        Ok(())
    }

    fn forget(&self, entry: u64) -> io::Result<()> {
        self.shared.notes.add(&Line::Forgotten { entry });
        Ok(())
    }

    fn sync_notes(&self) -> io::Result<()> {
        self.shared.flush()
    }

    fn abandon(&self, entry: u64) -> io::Result<()> {
        let file = lock(&self.shared.large).remove(&entry);
        if let Some(file) = file {
            self.shared.bucket.wait(file.abort()).map_err(|fault| refuse(fault, "a file that is given up"))?;
        }
        let begun = lock(&self.begun).remove(&entry);
        if let Some(begun) = begun {
            self.abort(&begun.upload)?;
            self.shared.notes.add(&Line::UploadOver { entry });
        }
        if let Some(others) = &self.shared.others {
            self.shared.bucket.wait(others.forget(entry)).map_err(|fault| refuse(fault, "the note of an upload"))?;
        }
        Ok(())
    }

    fn view(&self) -> Box<dyn View + '_> {
        Box::new(Sight::new(&self.shared.bucket, 1))
    }

    fn check_there(&self) -> io::Result<()> {
        self.presence.check()
    }

    fn gather(&self, in_doubt: &[Seat], goes_on: GoesOn<'_>) -> io::Result<Gathered> {
        match &self.shared.others {
            Some(others) => self.take_over(others, in_doubt, goes_on),
            None => Err(io::ErrorKind::Unsupported.into()),
        }
    }

    fn finish(&self, removed: &dyn Fn()) -> io::Result<()> {
        self.presence.is_over();
        let left: HashSet<u64> = lock(&self.begun).keys().chain(lock(&self.shared.large).keys()).copied().collect();
        for entry in left {
            self.abandon(entry)?;
            removed();
        }
        remove_all(&self.shared.bucket, &self.folder, removed)
    }

    fn close(&self) {
        if let Err(error) = self.leave() {
            tracing::warn!(%error, "the last notes");
        }
    }
}
