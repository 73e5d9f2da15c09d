//! Plain files in a directory as the control plane; both ends see the directory.
//!
//! `{key}` objects (plan.json, manifest/…, listing/…, digests/…) · `chunks/{chunk}.json` · `leases/{range}.json` ·
//! `records/*.json` (membership, key-…, progress-…, probe-…, transfer) · `events.ndjson` · `lock`.

use std::fs::{self, File, OpenOptions};
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use super::leases::{FinishLease, Lease, is_retired};
use cpt_relay::control::leases::{Finish, Leased, Owner};
use cpt_relay::control::{Control, ControlError, Delivery, KeyRecord, ProbeResult, Result, Seat, Undelivered};
use cpt_relay::documents::chunk::{Chunk, ChunkState, item_key};
use cpt_relay::documents::event::{Event, FailureReason, Progress};
use cpt_relay::documents::membership::{Membership, Retired};
use cpt_relay::documents::text::PathId;

/// A control plane in a directory.
#[derive(Debug)]
pub struct Directory {
    root: PathBuf,
    range_size: u64,
    /// Attempts that the directory's own retry policy allows; `None`: somebody else edits the items.
    max_attempts: Option<u32>,
}

#[derive(Deserialize)]
struct TransferRecord {
    fenced: bool,
}

fn unavailable(path: &Path) -> impl FnOnce(std::io::Error) -> ControlError + '_ {
    move |error| ControlError::Unavailable { what: path.display().to_string(), why: error.to_string() }
}

fn malformed(path: &Path, why: String) -> ControlError {
    ControlError::Malformed { what: path.display().to_string(), why }
}

impl Directory {
    /// Opens `root`, making it where it is absent. `range_size` is the plan's.
    pub fn open(root: impl Into<PathBuf>, range_size: u64, max_attempts: Option<u32>) -> Result<Self> {
        let root = root.into();
        for part in ["chunks", "leases", "records"] {
            let directory = root.join(part);
            fs::create_dir_all(&directory).map_err(unavailable(&directory))?;
        }
        Ok(Self { root, range_size, max_attempts })
    }

    /// Chunks per range of plans that are made here.
    #[must_use]
    pub const fn range_size(&self) -> u64 {
        self.range_size
    }

    /// Forgets an earlier transfer: its keys and leases would mislead the next one's daemons.
    pub fn clear(&self) -> Result<()> {
        for part in ["chunks", "leases", "records", "digests"] {
            let directory = self.root.join(part);
            match fs::remove_dir_all(&directory) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(unavailable(&directory)(error)),
                _ => {}
            }
        }
        let _ = fs::remove_file(self.root.join("events.ndjson"));
        Self::open(&self.root, self.range_size, self.max_attempts).map(drop)
    }

    /// Does something while nobody writes: whoever is frozen amid a write would hold up all others, as DynamoDB never does.
    pub fn while_nobody_writes(&self, act: impl FnOnce()) -> Result<()> {
        let _lock = self.locked()?;
        act();
        Ok(())
    }

    /// All conditional writes go one at a time, as DynamoDB's do per item.
    fn locked(&self) -> Result<File> {
        let path = self.root.join("lock");
        let file = OpenOptions::new().create(true).truncate(false).write(true).open(&path).map_err(unavailable(&path))?;
        flock(&file, FlockOperation::LockExclusive).map_err(|error| unavailable(&path)(error.into()))?;
        Ok(file)
    }

    fn read<T: DeserializeOwned>(path: &Path) -> Result<Option<T>> {
        match fs::read(path) {
            Ok(text) => serde_json::from_slice(&text).map(Some).map_err(|error| malformed(path, error.to_string())),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(unavailable(path)(error)),
        }
    }

    /// Readers see the old file or the new one. Each write has a temporary file of its own: two threads may write the same record.
    fn write(path: &Path, bytes: &[u8]) -> Result<()> {
        static WRITES: AtomicU64 = AtomicU64::new(0);
        let parent = path.parent().unwrap_or(path);
        fs::create_dir_all(parent).map_err(unavailable(parent))?;
        let temporary = path.with_extension(format!("{}-{}.new", std::process::id(), WRITES.fetch_add(1, Ordering::Relaxed)));
        fs::write(&temporary, bytes).and_then(|()| fs::rename(&temporary, path)).map_err(unavailable(path))
    }

    fn write_json<T: Serialize>(path: &Path, value: &T) -> Result<()> {
        let text = serde_json::to_vec(value).map_err(|error| malformed(path, error.to_string()))?;
        Self::write(path, &text)
    }

    fn record(&self, name: &str) -> PathBuf {
        self.root.join("records").join(format!("{name}.json"))
    }

    fn lease_path(&self, range: u64) -> PathBuf {
        self.root.join("leases").join(format!("{range:07}.json"))
    }

    fn finish_path(&self) -> PathBuf {
        self.root.join("leases/finish.json")
    }

    fn chunk_path(&self, chunk: u64) -> PathBuf {
        self.root.join("chunks").join(format!("{}.json", item_key(chunk)))
    }

    fn chunk(&self, chunk: u64) -> Result<Option<Chunk>> {
        let path = self.chunk_path(chunk);
        Self::read::<Chunk>(&path)?.map(Chunk::checked).transpose().map_err(|why| malformed(&path, why))
    }

    /// Writes or replaces a chunk item.
    pub fn put_chunk(&self, chunk: &Chunk) -> Result<()> {
        Self::write_json(&self.chunk_path(chunk.chunk), chunk)
    }

    /// Writes the membership that the sender follows.
    pub fn put_membership(&self, membership: &Membership) -> Result<()> {
        Self::write_json(&self.record("membership"), membership)
    }
}

impl Control for Directory {
    fn read_object(&self, key: &str, range: Option<Range<u64>>) -> Result<Vec<u8>> {
        let path = self.root.join(key);
        let Some(range) = range else { return fs::read(&path).map_err(unavailable(&path)) };
        let mut file = File::open(&path).map_err(unavailable(&path))?;
        let mut bytes = Vec::new();
        file.seek(SeekFrom::Start(range.start)).map_err(unavailable(&path))?;
        file.take(range.end - range.start).read_to_end(&mut bytes).map_err(unavailable(&path))?;
        Ok(bytes)
    }

    fn write_object(&self, key: &str, bytes: Vec<u8>) -> Result<()> {
        Self::write(&self.root.join(key), &bytes)
    }

    fn lease(&self, range: u64, owner: &Owner, retired: Option<&Retired>) -> Result<bool> {
        let _lock = self.locked()?;
        let path = self.lease_path(range);
        if let Some(held) = Self::read::<Lease>(&path)? {
            if held.seat != owner.seat && !is_retired(retired, held.seat, held.epoch) {
                return Ok(false);
            }
            if held.seat == owner.seat && held.epoch >= owner.epoch && held.process != owner.process {
                return Err(ControlError::LeaseLost { range, owner: format!("{} {}", held.seat, held.process) });
            }
        }
        Self::write_json(&path, &Lease::of(owner, false)).map(|()| true)
    }

    fn leases(&self, ranges: &[u64]) -> Result<Vec<Option<Leased>>> {
        let held = |range: &u64| Ok(Self::read::<Lease>(&self.lease_path(*range))?.map(|lease| lease.held()));
        ranges.iter().map(held).collect()
    }

    fn settle(&self, range: u64, owner: &Owner) -> Result<bool> {
        let _lock = self.locked()?;
        let path = self.lease_path(range);
        let is_own = Self::read::<Lease>(&path)?.is_some_and(|held| held == Lease::of(owner, held.settled));
        if is_own {
            Self::write_json(&path, &Lease::of(owner, true))?;
        }
        Ok(is_own)
    }

    fn finish(&self) -> Result<Option<Finish>> {
        Ok(Self::read::<FinishLease>(&self.finish_path())?.map(|lease| lease.held()))
    }

    fn take_finish(&self, finish: &Finish, retired: Option<&Retired>) -> Result<bool> {
        let _lock = self.locked()?;
        let is_free = self.finish()?.is_none_or(|held| match held.seat == finish.seat {
            true => held.epoch <= finish.epoch,
            false => is_retired(retired, held.seat, held.epoch),
        });
        if is_free {
            Self::write_json(&self.finish_path(), &FinishLease { seat: finish.seat, epoch: finish.epoch, receiver: finish.receiver })?;
        }
        Ok(is_free)
    }

    fn range_chunks(&self, range: u64) -> Result<Vec<Chunk>> {
        let numbers: Vec<u64> = (range * self.range_size..(range + 1) * self.range_size).collect();
        self.chunks(&numbers)
    }

    fn chunks(&self, chunks: &[u64]) -> Result<Vec<Chunk>> {
        chunks.iter().filter_map(|chunk| self.chunk(*chunk).transpose()).collect()
    }

    fn deliver(&self, deliveries: &[Delivery]) -> Result<Vec<Undelivered>> {
        let _lock = self.locked()?;
        let mut undelivered = Vec::new();
        for delivery in deliveries {
            match self.chunk(delivery.chunk)? {
                Some(item) if item.state == ChunkState::Pending && item.attempt == delivery.attempt => self.put_chunk(&Chunk {
                    state: ChunkState::Delivered,
                    digest: Some(delivery.digest.clone()),
                    path_id: Some(delivery.path_id.clone()),
                    lane: Some(delivery.lane),
                    started_at: Some(delivery.started_at),
                    delivered_at: Some(delivery.delivered_at),
                    ..item
                })?,
                item => undelivered.extend(Undelivered::unless_written(delivery, item.as_ref())),
            }
        }
        Ok(undelivered)
    }

    fn note_failure(&self, chunk: u64, attempt: u32, reason: FailureReason) -> Result<bool> {
        let _lock = self.locked()?;
        match self.chunk(chunk)? {
            Some(item) if item.state == ChunkState::Pending && item.attempt == attempt => {
                let failed = Chunk { failed_attempt: Some(attempt), reason: Some(reason.as_str().to_owned()), ..item };
                // At once: nobody else would decide about it if the process were killed before it tells.
                self.put_chunk(&match self.max_attempts {
                    Some(max) if attempt < max => Chunk { attempt: attempt + 1, ..failed },
                    Some(_) => Chunk { state: ChunkState::Failed, ..failed },
                    None => failed,
                })?;
                Ok(true)
            }
            _ => Ok(false),
        }
    }

    fn publish_key(&self, seat: Seat, key: &KeyRecord) -> Result<bool> {
        Self::write_json(&self.record(&format!("key-{seat}")), key).map(|()| true)
    }

    fn key(&self, seat: Seat) -> Result<Option<KeyRecord>> {
        Self::read(&self.record(&format!("key-{seat}")))
    }

    fn membership(&self) -> Result<Option<Membership>> {
        let path = self.record("membership");
        match fs::read(&path) {
            Ok(text) => Membership::parse(&text).map(Some).map_err(|why| malformed(&path, why)),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(unavailable(&path)(error)),
        }
    }

    fn progress(&self, seat: Seat) -> Result<Option<Progress>> {
        Self::read(&self.record(&format!("progress-{seat}")))
    }

    fn write_progress(&self, seat: Seat, progress: &Progress) -> Result<()> {
        Self::write_json(&self.record(&format!("progress-{seat}")), progress)
    }

    fn write_probe(&self, path: &PathId, result: &ProbeResult) -> Result<()> {
        Self::write_json(&self.record(&format!("probe-{path}")), result)
    }

    fn fenced(&self) -> Result<bool> {
        Ok(Self::read::<TransferRecord>(&self.record("transfer"))?.is_some_and(|record| record.fenced))
    }

    fn note_event(&self, record: &str, event: &Event, _epoch: u64) -> Result<()> {
        Self::write_json(&self.record(&record.replace('#', "-")), event)
    }

    fn put_event(&self, event: &Event) -> Result<()> {
        let path = self.root.join("events.ndjson");
        let mut line = serde_json::to_vec(event).map_err(|error| malformed(&path, error.to_string()))?;
        line.push(b'\n');
        OpenOptions::new().create(true).append(true).open(&path).and_then(|mut file| file.write_all(&line)).map_err(unavailable(&path))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn chunk() -> Chunk {
        let text = include_str!("../../../../../contracts/examples/good/chunk/pending.json");
        Chunk { chunk: 0, item_key: item_key(0), attempt: 1, ..Chunk::parse(text.as_bytes()).unwrap() }
    }

    /// A sender that is killed before it tells of the failure leaves no chunk that nobody decides about.
    #[test]
    fn a_failed_attempt_is_decided_with_its_note() {
        let folder = tempfile::tempdir().unwrap();
        let control = Directory::open(folder.path(), 128, Some(2)).unwrap();
        control.put_chunk(&chunk()).unwrap();
        for (attempt, after, state) in [(1, 2, ChunkState::Pending), (2, 2, ChunkState::Failed)] {
            assert!(control.note_failure(0, attempt, FailureReason::StreamLost).unwrap());
            let item = control.chunks(&[0]).unwrap().remove(0);
            assert_eq!((item.attempt, item.state, item.failed_attempt), (after, state, Some(attempt)));
        }
        assert!(!control.note_failure(0, 1, FailureReason::StreamLost).unwrap(), "the item has moved on");
    }

    #[test]
    fn threads_that_write_one_record_at_once_all_succeed() {
        let folder = tempfile::tempdir().unwrap();
        let control = Directory::open(folder.path(), 128, None).unwrap();
        let key = KeyRecord { epoch: 1, tls_public_key: "key".to_owned(), route_public_key: None, address: None };
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| (0..50).for_each(|_| assert!(control.publish_key(Seat::RECEIVER, &key).unwrap())));
            }
        });
        assert_eq!(control.key(Seat::RECEIVER).unwrap(), Some(key));
        assert_eq!(std::fs::read_dir(folder.path().join("records")).unwrap().count(), 1);
    }
}
