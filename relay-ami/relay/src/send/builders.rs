//! Plans, chunks and segments as the tests of the sending end want them.

use std::sync::Arc;
use std::time::Duration;

use crate::control::{Seat, unix_now};
use crate::documents::chunk::{Chunk, ChunkState};
use crate::documents::entry::Segment;
use crate::documents::event::Progress;
use crate::documents::membership::{Membership, Path, Retired};
use crate::documents::plan::TransferPlan;
use crate::documents::text::{Address, PathId, PlanId, SchemaVersion1, TransferId};
use crate::send::queue::Taker;
use crate::send::streams::{Handle, Rest};
use crate::send::work::Work;

/// One chunk of data, then directories in three chunks.
pub fn plan() -> TransferPlan {
    TransferPlan {
        schema_version: SchemaVersion1,
        transfer_id: TransferId::new("t").unwrap(),
        plan_id: PlanId::new("0".repeat(32)).unwrap(),
        chunk_size_bytes: 1024,
        chunks: 4,
        range_size: 128,
        first_range: 0,
        last_phase_chunks: 3,
        bytes: 0,
        files: 0,
        manifest_parts: Vec::new(),
        lanes_per_path: 1,
        open: false,
        listing: None,
    }
}

/// The first attempt of a chunk of `plan`.
pub fn work(chunk: u64) -> Work {
    let (phase, manifest) = (u8::from(chunk > 0), Arc::from(&b""[..]));
    Work { chunk, attempt: 1, phase, bytes: 0, files: 0, manifest, again: false, flight: Arc::default() }
}

/// A lane that takes whatever there is.
pub struct Idle(pub Arc<Handle>);

impl Idle {
    pub fn on(path: &str) -> Self {
        Self(Arc::new(Handle::new(PathId::new(path).unwrap())))
    }
}

impl Taker for Idle {
    fn handle(&self) -> &Arc<Handle> {
        &self.0
    }

    fn leaves(&self) -> bool {
        false
    }

    fn is_full(&self, _rest: Option<Rest>) -> bool {
        false
    }

    fn affords(&self, _bytes: u64) -> bool {
        true
    }

    fn affords_copy(&self, _bytes: u64) -> bool {
        true
    }

    fn time_for(&self, _bytes: u64) -> Option<Duration> {
        None
    }
}

/// The item as the table holds it; `not_before` seconds from now.
pub fn item(chunk: u64, state: ChunkState, attempt: u32, not_before: Option<f64>) -> Chunk {
    let mut item: Chunk = serde_json::from_value(serde_json::json!({
        "rangeKey": "t#0000000", "itemKey": format!("{chunk:09}"), "chunk": chunk, "state": "PENDING", "attempt": attempt, "planId": "0".repeat(32),
        "phase": u8::from(chunk > 0), "manifestKey": "m", "manifestStart": 0, "manifestEnd": 1, "bytes": 0, "files": 0,
    }))
    .unwrap();
    item.state = state;
    item.not_before = not_before.map(|seconds| unix_now() + seconds);
    item
}

/// A file of 7 bytes, whole.
pub fn segment(entry: u64, path: &str) -> Segment {
    let line = format!(
        r#"{{"entry":{entry},"path":"{path}","source":"/s/{path}","kind":"file","size":7,"mode":420,"mtimeNs":1,"inode":1,"offset":0,"length":7}}"#
    );
    Segment::parse(line.as_bytes()).unwrap()
}

/// A membership with a direct path to each of these receivers.
pub fn membership(version: u64, receivers: &[&str], retired: Vec<Retired>) -> Membership {
    let address = Address(std::net::SocketAddrV4::new([10, 0, 0, 1].into(), 1));
    let path = |to: &&str| Path {
        path_id: PathId::new(format!("direct-{to}")).unwrap(),
        generation: 1,
        hops: Vec::new(),
        receiver: address,
        lanes: 1,
        store: false,
        from: Seat::SENDER,
        to: Seat::new(to).unwrap(),
    };
    Membership {
        schema_version: SchemaVersion1,
        version,
        paths: receivers.iter().map(path).collect(),
        probes: Vec::new(),
        bandwidth_limit_mbps: None,
        budget_lease: None,
        limit_lease: None,
        paused: false,
        retired,
        shares: Vec::new(),
    }
}

/// A receiver's report, of one that follows this version of the membership.
pub fn report(membership_version: Option<u64>) -> Progress {
    Progress {
        schema_version: SchemaVersion1,
        epoch: 1,
        sequence: 1,
        bytes: 0,
        moved_bytes: 0,
        saved_bytes: 0,
        chunks: 0,
        files: 0,
        failed_chunks: 0,
        rate_mb_s: 0.0,
        at: 0.0,
        first_byte_at: None,
        in_file_system_seconds: None,
        membership_version,
        closed_for: None,
        has_ended: false,
        lanes: Vec::new(),
    }
}
