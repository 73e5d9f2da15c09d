//! A control plane in memory.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Mutex;

use crate::control::leases::{Finish, Leased, Owner};
use crate::control::{Control, ControlError, Delivery, KeyRecord, ProbeResult, Result, Seat, Undelivered};
use crate::documents::chunk::Chunk;
use crate::documents::event::{Event, FailureReason, Progress};
use crate::documents::membership::{Membership, Retired};
use crate::documents::text::PathId;
use crate::thread::lock;

/// Keeps objects and chunk items, and notes what it is told; it takes whatever it is given.
#[derive(Default)]
pub struct InMemory {
    pub objects: Mutex<BTreeMap<String, Vec<u8>>>,
    pub chunks: Mutex<Vec<Chunk>>,
    pub events: Mutex<Vec<Event>>,
    pub leases: Mutex<BTreeMap<u64, Leased>>,
    pub finish: Mutex<Option<Finish>>,
    pub progress: Mutex<BTreeMap<Seat, Progress>>,
    pub membership: Mutex<Option<Membership>>,
}

impl Control for InMemory {
    fn read_object(&self, key: &str, range: Option<Range<u64>>) -> Result<Vec<u8>> {
        let absent = || ControlError::Refused { what: key.to_owned(), why: "is not there".to_owned() };
        let bytes = lock(&self.objects).get(key).cloned().ok_or_else(absent)?;
        Ok(range.map_or_else(|| bytes.clone(), |range| bytes[range.start as usize..bytes.len().min(range.end as usize)].to_vec()))
    }

    fn write_object(&self, key: &str, bytes: Vec<u8>) -> Result<()> {
        lock(&self.objects).insert(key.to_owned(), bytes);
        Ok(())
    }

    fn lease(&self, range: u64, owner: &Owner, retired: Option<&Retired>) -> Result<bool> {
        let mut leases = lock(&self.leases);
        match leases.get(&range) {
            Some(held) if held.seat != owner.seat && retired.is_none_or(|retired| retired.seat_id != held.seat) => Ok(false),
            _ => {
                leases.insert(range, Leased { seat: owner.seat, epoch: owner.epoch, is_settled: false });
                Ok(true)
            }
        }
    }

    fn leases(&self, ranges: &[u64]) -> Result<Vec<Option<Leased>>> {
        Ok(ranges.iter().map(|range| lock(&self.leases).get(range).copied()).collect())
    }

    fn settle(&self, range: u64, owner: &Owner) -> Result<bool> {
        let mut leases = lock(&self.leases);
        let held = leases.get_mut(&range).filter(|held| held.seat == owner.seat);
        Ok(held.map(|held| held.is_settled = true).is_some())
    }

    fn finish(&self) -> Result<Option<Finish>> {
        Ok(*lock(&self.finish))
    }

    fn take_finish(&self, finish: &Finish, retired: Option<&Retired>) -> Result<bool> {
        let mut held = lock(&self.finish);
        let is_free = held.is_none_or(|held| held.seat == finish.seat || retired.is_some_and(|retired| retired.seat_id == held.seat));
        if is_free {
            *held = Some(*finish);
        }
        Ok(is_free)
    }

    fn range_chunks(&self, _range: u64) -> Result<Vec<Chunk>> {
        Ok(lock(&self.chunks).clone())
    }

    fn chunks(&self, chunks: &[u64]) -> Result<Vec<Chunk>> {
        Ok(lock(&self.chunks).iter().filter(|item| chunks.contains(&item.chunk)).cloned().collect())
    }

    fn deliver(&self, _deliveries: &[Delivery]) -> Result<Vec<Undelivered>> {
        Ok(Vec::new())
    }

    fn note_failure(&self, _chunk: u64, _attempt: u32, _reason: FailureReason) -> Result<bool> {
        Ok(true)
    }

    fn publish_key(&self, _seat: Seat, _key: &KeyRecord) -> Result<bool> {
        Ok(true)
    }

    fn key(&self, _seat: Seat) -> Result<Option<KeyRecord>> {
        Ok(None)
    }

    fn membership(&self) -> Result<Option<Membership>> {
        Ok(lock(&self.membership).clone())
    }

    fn progress(&self, seat: Seat) -> Result<Option<Progress>> {
        Ok(lock(&self.progress).get(&seat).cloned())
    }

    fn write_progress(&self, _seat: Seat, _progress: &Progress) -> Result<()> {
        Ok(())
    }

    fn write_probe(&self, _path: &PathId, _result: &ProbeResult) -> Result<()> {
        Ok(())
    }

    fn fenced(&self) -> Result<bool> {
        Ok(false)
    }

    fn note_event(&self, _record: &str, _event: &Event, _epoch: u64) -> Result<()> {
        Ok(())
    }

    fn put_event(&self, event: &Event) -> Result<()> {
        lock(&self.events).push(event.clone());
        Ok(())
    }
}
