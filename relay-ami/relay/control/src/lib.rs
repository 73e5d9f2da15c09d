//! What the ends need of the control plane, and nothing else: objects, the chunk store, membership, keys, progress, events.
//! AWS implements it, and in the laboratory plain files in a directory.

#![deny(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used))]

pub mod defaults;
pub mod leases;

use std::ops::Range;
use std::sync::OnceLock;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use crate::defaults::CONTROL_PAUSE;
use crate::leases::{Finish, Leased, Owner};
use cpt_process::stop::Stop;
use cpt_wire::documents::chunk::{Chunk, ChunkState};
use cpt_wire::documents::event::{Event, FailureReason, Progress};
use cpt_wire::documents::membership::{Membership, Retired};
pub use cpt_wire::documents::seat::{Role, Seat};
use cpt_wire::documents::text::{HexDigest, PathId};

/// The control plane did not do what was asked.
#[derive(Debug, thiserror::Error)]
pub enum ControlError {
    /// It may work later; the SDK's own retries are used up.
    #[error("{what}: {why}")]
    Unavailable { what: String, why: String },
    /// It answered that this is not allowed or not there. That may be mended while an end runs; one that starts says so at once.
    #[error("{what}: {why}")]
    Refused { what: String, why: String },
    /// It holds something that this daemon cannot read.
    #[error("{what}: {why}")]
    Malformed { what: String, why: String },
    /// Another sender of the same or a later epoch owns the range.
    #[error("range {range} is leased by {owner}: a newer sender runs")]
    LeaseLost { range: u64, owner: String },
}

impl ControlError {
    /// Returns whether the same call may work later: everything but what no repetition changes.
    #[must_use]
    pub const fn may_pass(&self) -> bool {
        matches!(self, Self::Unavailable { .. } | Self::Refused { .. })
    }
}

/// Repeats a call that nobody answers for `time`, or until the stop is wanted.
pub fn until_answered<T>(stop: &Stop, time: Duration, call: impl Fn() -> Result<T>) -> Result<T> {
    let until = Instant::now() + time;
    loop {
        match call() {
            Err(error @ ControlError::Unavailable { .. }) if Instant::now() < until && !stop.is_requested() => {
                tracing::warn!(%error, "asked for again");
                stop.sleep(CONTROL_PAUSE);
            }
            other => return other,
        }
    }
}

/// An end's public keys, each base64url.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct KeyRecord {
    pub epoch: u64,
    /// SubjectPublicKeyInfo, DER.
    pub tls_public_key: String,
    /// The sender's key: Ed25519, 32 bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub route_public_key: Option<String>,
    /// The receiver's address: `ip:port`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
}

/// A chunk that is on the receiver's disk.
#[derive(Clone, Debug, PartialEq)]
pub struct Delivery {
    pub chunk: u64,
    pub attempt: u32,
    pub digest: HexDigest,
    pub path_id: String,
    pub lane: u32,
    /// Unix times, seconds.
    pub started_at: f64,
    pub delivered_at: f64,
}

/// A delivery that the table did not take, since the chunk has moved on: its next attempt or its end is decided.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Undelivered {
    pub chunk: u64,
    /// The table's content, in words.
    pub why: String,
}

impl Undelivered {
    /// None where the item is DELIVERED, of whatever digest: what came last is in place, and both ends are compared in the end.
    pub fn unless_written(delivery: &Delivery, item: Option<&Chunk>) -> Option<Self> {
        let why = match item {
            Some(item) if item.state == ChunkState::Delivered => return None,
            Some(item) => {
                let state = format!("{:?}", item.state).to_uppercase();
                format!("the table has it as {state} in attempt {}; this was attempt {}", item.attempt, delivery.attempt)
            }
            None => "the table does not have it any more".to_owned(),
        };
        Some(Self { chunk: delivery.chunk, why })
    }
}

/// A pre-test's result for one path and generation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ProbeResult {
    pub generation: u64,
    #[serde(rename = "interRegionMBps", skip_serializing_if = "Option::is_none")]
    pub inter_region_mb_s: Option<f64>,
    #[serde(rename = "intraRegionMBps", skip_serializing_if = "Option::is_none")]
    pub intra_region_mb_s: Option<f64>,
    /// Of each hop between relays that was measured, in their order; those after one that failed are absent.
    #[serde(rename = "hopsMBps", default, skip_serializing_if = "Vec::is_empty")]
    pub hops_mb_s: Vec<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

pub type Result<T> = std::result::Result<T, ControlError>;

/// One transfer's control plane. Calls block; all are safe to repeat.
pub trait Control: Send + Sync {
    /// An object, or a range of its bytes.
    fn read_object(&self, key: &str, range: Option<Range<u64>>) -> Result<Vec<u8>>;
    fn write_object(&self, key: &str, bytes: Vec<u8>) -> Result<()>;
    /// Takes the lease of a range: where nobody has it, an earlier process of the same seat, or one that is `retired`. `false` where
    /// another seat has it; an error where a later process of the same seat does.
    fn lease(&self, range: u64, owner: &Owner, retired: Option<&Retired>) -> Result<bool>;
    /// The leases of ranges, in their order; none of one that nobody has.
    fn leases(&self, ranges: &[u64]) -> Result<Vec<Option<Leased>>>;
    /// Notes that a range is settled; `false` where `owner` does not have its lease any more.
    fn settle(&self, range: u64, owner: &Owner) -> Result<bool>;
    /// The lease of the finish; none where nobody has it.
    fn finish(&self) -> Result<Option<Finish>>;
    /// Takes the lease of the finish, or changes its receiver: where nobody has it, a process of the same seat, or one that is
    /// `retired`. `false` where another seat has it.
    fn take_finish(&self, finish: &Finish, retired: Option<&Retired>) -> Result<bool>;
    /// The chunk items of a range, ascending.
    fn range_chunks(&self, range: u64) -> Result<Vec<Chunk>>;
    /// Chunk items by number, as they are now.
    fn chunks(&self, chunks: &[u64]) -> Result<Vec<Chunk>>;
    /// PENDING → DELIVERED where state and attempt still match; a repeated delivery is fine. What the table has otherwise is
    /// returned: it is not delivered.
    fn deliver(&self, deliveries: &[Delivery]) -> Result<Vec<Undelivered>>;
    /// Notes that an attempt failed; `false` when the item has moved on.
    fn note_failure(&self, chunk: u64, attempt: u32, reason: FailureReason) -> Result<bool>;
    /// Publishes keys in an epoch that no other process has: `false` where one of this epoch or a later one has published its own.
    fn publish_key(&self, seat: Seat, key: &KeyRecord) -> Result<bool>;
    fn key(&self, seat: Seat) -> Result<Option<KeyRecord>>;
    fn membership(&self) -> Result<Option<Membership>>;
    /// The last report of an end.
    fn progress(&self, seat: Seat) -> Result<Option<Progress>>;
    fn write_progress(&self, seat: Seat, progress: &Progress) -> Result<()>;
    fn write_probe(&self, path: &PathId, result: &ProbeResult) -> Result<()>;
    /// Returns whether the control plane wants both ends to stop.
    fn fenced(&self) -> Result<bool>;
    /// Writes what an event says into a record, unless one of a later epoch is there.
    fn note_event(&self, record: &str, event: &Event, epoch: u64) -> Result<()>;
    fn put_event(&self, event: &Event) -> Result<()>;
}

/// Notes an event in its record, then puts it: its readers act on the record, and look there when the event is lost.
pub fn tell(control: &dyn Control, event: &Event, epoch: u64) -> Result<()> {
    if let Some(record) = event.record() {
        control.note_event(&record, event, epoch)?;
    }
    control.put_event(event)
}

/// Returns Unix time in seconds: the machine's clock when the process first asked, and what has passed since.
///
/// So it does not jump with the clock. Reports are divided by differences of their times, and a transfer's length is a difference of
/// its chunks' times: a rate over an hour that never was would cost a relay its place, and spoil report and profiles.
#[must_use]
pub fn unix_now() -> f64 {
    static FIRST: OnceLock<(Instant, f64)> = OnceLock::new();
    let (asked, time) = FIRST.get_or_init(|| {
        let time = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |time| time.as_secs_f64());
        (Instant::now(), time)
    });
    time + asked.elapsed().as_secs_f64()
}
