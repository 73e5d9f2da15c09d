//! A plan by hand: in AWS, Plan Chunks makes it; with `--control-dir` this does, by the same rules.

use crate::directory::Directory;
use cpt_relay::control::{Control, ControlError};
use cpt_relay::documents::chunk::{Chunk, ChunkState, item_key, range_key};
use cpt_relay::documents::entry::{Kind, ListingEntry, Segment};
use cpt_relay::documents::plan::{PlanListing, TransferPlan};
use cpt_relay::documents::survey::{LISTING_FOLDER, Survey, listing_key};
use cpt_relay::documents::text::{HexDigest, PlanId, SchemaVersion1, TransferId};

/// Chunks per range: the unit of a lease.
pub const RANGE_SIZE: u64 = 128;
/// Entries of a bundle of small ones.
const BUNDLE_ENTRIES: usize = 2_000;
const MANIFEST_KEY: &str = "manifest/part-00000.ndjson";
/// Where the plan lies in a control directory.
pub const PLAN_KEY: &str = "plan.json";

/// Plans what `survey` listed into `control`: manifest, chunk items, plan. `chunk_size` is a power of two.
pub fn make(
    control: &Directory,
    transfer: &TransferId,
    survey: &Survey,
    chunk_size: u64,
    lanes: u32,
) -> Result<TransferPlan, ControlError> {
    let Survey::Source { parts, bytes, files, listing_digest, .. } = survey else {
        return Err(malformed("survey", "is not one of a source".to_owned()));
    };
    let mut planner = Planner { control, transfer, plan_id: new_plan_id()?, manifest: Vec::new(), bundle: Bundle::default(), chunks: 0 };
    let mut directories = read_listing(control, *parts, |segment| planner.add(segment, chunk_size))?;
    planner.take(0)?;
    directories.sort_by_key(|directory| std::cmp::Reverse(directory.path.matches('/').count()));
    let before = planner.chunks;
    for directory in &directories {
        planner.bundle_up(directory, 1, 0)?;
    }
    planner.take(1)?;
    let plan = TransferPlan {
        schema_version: SchemaVersion1,
        transfer_id: transfer.clone(),
        plan_id: planner.plan_id,
        chunk_size_bytes: chunk_size,
        chunks: planner.chunks,
        range_size: RANGE_SIZE,
        first_range: 0,
        last_phase_chunks: planner.chunks - before,
        bytes: *bytes,
        files: *files,
        manifest_parts: vec![MANIFEST_KEY.to_owned()],
        lanes_per_path: lanes,
        open: false,
        listing: Some(PlanListing {
            parts: *parts,
            digest: HexDigest::new(listing_digest.as_str()).map_err(|why| malformed("survey", why))?,
            planned_folder: LISTING_FOLDER.to_owned(),
            planned_parts: *parts,
            equal_folder: None,
        }),
    };
    control.write_object(MANIFEST_KEY, planner.manifest)?;
    control.write_object(PLAN_KEY, serde_json::to_vec_pretty(&plan).map_err(|error| malformed(PLAN_KEY, error.to_string()))?)?;
    Ok(plan)
}

fn new_plan_id() -> Result<PlanId, ControlError> {
    let bits = cpt_relay::secure::keys::random::<16>().map_err(|error| malformed("plan id", error.to_string()))?;
    PlanId::new(format!("{:032x}", u128::from_be_bytes(bits))).map_err(|why| malformed("plan id", why))
}

fn malformed(what: &str, why: String) -> ControlError {
    ControlError::Malformed { what: what.to_owned(), why }
}

/// Gives files and links to `each`, directories back.
fn read_listing(
    control: &Directory,
    parts: u64,
    mut each: impl FnMut(Segment) -> Result<(), ControlError>,
) -> Result<Vec<Segment>, ControlError> {
    let mut directories = Vec::new();
    let mut number = 0;
    for part in 0..parts {
        let key = listing_key(part);
        let text = control.read_object(&key, None)?;
        for line in text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            let entry = ListingEntry::parse(line).map_err(|why| malformed(&key, why))?;
            let ListingEntry { path, source, kind, size, mode, mtime_ns, inode, target } = entry;
            let segment = Segment { entry: number, path, source, kind, size, mode, mtime_ns, inode, target, offset: 0, length: size };
            number += 1;
            if segment.kind == Kind::Directory { directories.push(segment) } else { each(segment)? }
        }
    }
    Ok(directories)
}

#[derive(Default)]
struct Bundle {
    lines: Vec<u8>,
    entries: usize,
    bytes: u64,
    files: u64,
}

struct Planner<'a> {
    control: &'a Directory,
    transfer: &'a TransferId,
    plan_id: PlanId,
    manifest: Vec<u8>,
    bundle: Bundle,
    chunks: u64,
}

impl Planner<'_> {
    fn add(&mut self, segment: Segment, chunk_size: u64) -> Result<(), ControlError> {
        if segment.size <= chunk_size {
            return self.bundle_up(&segment, 0, chunk_size);
        }
        self.take(0)?;
        for offset in (0..segment.size).step_by(usize::try_from(chunk_size).unwrap_or(usize::MAX)) {
            let part = Segment { offset, length: chunk_size.min(segment.size - offset), ..segment.clone() };
            self.bundle_up(&part, 0, 0)?;
            self.take(0)?;
        }
        Ok(())
    }

    fn bundle_up(&mut self, segment: &Segment, phase: u8, limit: u64) -> Result<(), ControlError> {
        let full = self.bundle.entries >= BUNDLE_ENTRIES || self.bundle.bytes + segment.length > limit;
        if full && self.bundle.entries > 0 && (phase == 0 || self.bundle.entries >= BUNDLE_ENTRIES) {
            self.take(phase)?;
        }
        let line = serde_json::to_vec(segment).map_err(|error| malformed("segment", error.to_string()))?;
        self.bundle.lines.extend_from_slice(&line);
        self.bundle.lines.push(b'\n');
        self.bundle.entries += 1;
        self.bundle.bytes += segment.length;
        self.bundle.files += u64::from(segment.offset + segment.length == segment.size);
        Ok(())
    }

    fn take(&mut self, phase: u8) -> Result<(), ControlError> {
        let Bundle { lines, entries, bytes, files } = std::mem::take(&mut self.bundle);
        if entries == 0 {
            return Ok(());
        }
        let start = self.manifest.len() as u64;
        self.manifest.extend_from_slice(&lines);
        self.control.put_chunk(&Chunk {
            range_key: range_key(self.transfer.as_str(), self.chunks / RANGE_SIZE),
            item_key: item_key(self.chunks),
            chunk: self.chunks,
            state: ChunkState::Pending,
            attempt: 1,
            plan_id: self.plan_id.clone(),
            phase,
            manifest_key: MANIFEST_KEY.to_owned(),
            manifest_start: start,
            manifest_end: self.manifest.len() as u64,
            bytes,
            files,
            expires_at: None,
            not_before: None,
            reason: None,
            digest: None,
            path_id: None,
            lane: None,
            started_at: None,
            delivered_at: None,
            failed_attempt: None,
        })?;
        self.chunks += 1;
        Ok(())
    }
}
