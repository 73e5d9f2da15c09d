//! A plan by hand: in AWS, Plan Chunks makes it; with `--control-dir` this does, by the same rules.

use crate::directory::Directory;
use cpt_relay::control::{Control, ControlError};
use cpt_relay::documents::chunk::{Chunk, ChunkState, item_key, range_key};
use cpt_relay::documents::entry::{Kind, ListingEntry, Segment};
use cpt_relay::documents::plan::{PlanListing, TransferPlan};
use cpt_relay::documents::survey::{LISTING_FOLDER, Survey, part_key};
use cpt_relay::documents::text::{HexDigest, PlanId, SchemaVersion1, TransferId};

/// Chunks per range, the unit of a lease, unless the directory has others.
pub const RANGE_SIZE: u64 = 128;
/// Entries of a bundle of small ones, and bytes of their lines.
const BUNDLE_ENTRIES: usize = 2_000;
const BUNDLE_LINES_BYTES: usize = 1 << 20;
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
    make_of(control, transfer, survey, None, chunk_size, lanes)
}

/// The same of what a comparison left in the folder `changed`, beside what it found in `equal`.
pub fn make_of(
    control: &Directory,
    transfer: &TransferId,
    survey: &Survey,
    comparison: Option<(&Survey, &str, &str)>,
    chunk_size: u64,
    lanes: u32,
) -> Result<TransferPlan, ControlError> {
    let Survey::Source { parts: listed, bytes, files, listing_digest, .. } = survey else {
        return Err(malformed("survey", "is not one of a source".to_owned()));
    };
    let (parts, bytes, files, folder, equal) = match comparison {
        Some((Survey::Comparison { parts, bytes, files, .. }, folder, equal)) => (parts, bytes, files, folder, Some(equal.to_owned())),
        _ => (listed, bytes, files, LISTING_FOLDER, None),
    };
    let mut items = Items { control, transfer, plan_id: new_plan_id()?, manifest: Vec::new(), chunks: 0 };
    let mut cutter = Cutter::new(chunk_size);
    let mut last = read_listing(control, folder, *parts, |segment| items.put_all(cutter.add(segment)?, 0))?;
    items.put_all(cutter.rest(), 0)?;
    let before = items.chunks;
    // Read backwards a walk has each directory after all that it holds.
    last.reverse();
    for segment in last {
        items.put_all(cutter.add(segment)?, 1)?;
    }
    items.put_all(cutter.rest(), 1)?;
    let plan = TransferPlan {
        schema_version: SchemaVersion1,
        transfer_id: transfer.clone(),
        plan_id: items.plan_id,
        chunk_size_bytes: chunk_size,
        chunks: items.chunks,
        range_size: control.range_size(),
        first_range: 0,
        last_phase_chunks: items.chunks - before,
        bytes: *bytes,
        files: *files,
        manifest_parts: vec![MANIFEST_KEY.to_owned()],
        lanes_per_path: lanes,
        open: false,
        listing: Some(PlanListing {
            parts: *listed,
            digest: HexDigest::new(listing_digest.as_str()).map_err(|why| malformed("survey", why))?,
            planned_folder: folder.to_owned(),
            planned_parts: *parts,
            equal_folder: equal,
        }),
    };
    control.write_object(MANIFEST_KEY, items.manifest)?;
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

/// What must follow other entries: the files that hard links are names of, and what directories hold.
const fn is_last(segment: &Segment) -> bool {
    matches!(segment.kind, Kind::Directory | Kind::Hardlink)
}

/// Gives `each` all but what comes last, and that back.
fn read_listing(
    control: &Directory,
    folder: &str,
    parts: u64,
    mut each: impl FnMut(Segment) -> Result<(), ControlError>,
) -> Result<Vec<Segment>, ControlError> {
    let (mut last, mut number) = (Vec::new(), 0);
    for part in 0..parts {
        let key = part_key(folder, part);
        let text = control.read_object(&key, None)?;
        for line in text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            let entry = ListingEntry::parse(line).map_err(|why| malformed(&key, why))?;
            let segment = Segment::whole(number, entry);
            number += 1;
            if is_last(&segment) { last.push(segment) } else { each(segment)? }
        }
    }
    Ok(last)
}

/// Manifest lines that travel together; bytes of payload, entries completed.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Bundle {
    pub lines: Vec<u8>,
    pub entries: usize,
    pub bytes: u64,
    pub files: u64,
}

/// Cuts a listing as `lambdas/core/chunks/plan.py` does: `contracts/planning.json` holds both to the same chunks.
pub struct Cutter {
    chunk_size: u64,
    bundle: Bundle,
}

impl Cutter {
    #[must_use]
    pub fn new(chunk_size: u64) -> Self {
        Self { chunk_size, bundle: Bundle::default() }
    }

    /// The chunks that are complete with the next entry, whole as the listing has it.
    pub fn add(&mut self, segment: Segment) -> Result<Vec<Bundle>, ControlError> {
        if segment.length <= self.chunk_size {
            let full = self.is_full(segment.length).then(|| std::mem::take(&mut self.bundle));
            self.bundle.add(&segment)?;
            return Ok(full.into_iter().collect());
        }
        let size = segment.size;
        let part = |offset| {
            let mut part = Bundle::default();
            part.add(&Segment { offset, length: self.chunk_size.min(size - offset), ..segment.clone() })?;
            Ok(part)
        };
        (0..size).step_by(usize::try_from(self.chunk_size).unwrap_or(usize::MAX)).map(part).collect()
    }

    /// What has been added since the last chunk.
    pub fn rest(&mut self) -> Option<Bundle> {
        Some(std::mem::take(&mut self.bundle)).filter(|bundle| bundle.entries > 0)
    }

    fn is_full(&self, more: u64) -> bool {
        let Bundle { lines, entries, bytes, .. } = &self.bundle;
        *entries > 0 && (bytes + more > self.chunk_size || *entries >= BUNDLE_ENTRIES || lines.len() >= BUNDLE_LINES_BYTES)
    }
}

impl Bundle {
    fn add(&mut self, segment: &Segment) -> Result<(), ControlError> {
        let line = serde_json::to_vec(segment).map_err(|error| malformed("segment", error.to_string()))?;
        self.lines.extend_from_slice(&line);
        self.lines.push(b'\n');
        self.entries += 1;
        self.bytes += segment.length;
        self.files += u64::from(segment.kind != Kind::File || segment.offset + segment.length == segment.size);
        Ok(())
    }
}

/// Writes chunks' items and gathers their lines.
struct Items<'a> {
    control: &'a Directory,
    transfer: &'a TransferId,
    plan_id: PlanId,
    manifest: Vec<u8>,
    chunks: u64,
}

impl Items<'_> {
    fn put_all(&mut self, bundles: impl IntoIterator<Item = Bundle>, phase: u8) -> Result<(), ControlError> {
        bundles.into_iter().try_for_each(|bundle| self.put(&bundle, phase))
    }

    fn put(&mut self, bundle: &Bundle, phase: u8) -> Result<(), ControlError> {
        let start = self.manifest.len() as u64;
        self.manifest.extend_from_slice(&bundle.lines);
        self.control.put_chunk(&Chunk {
            range_key: range_key(self.transfer.as_str(), self.chunks / self.control.range_size()),
            item_key: item_key(self.chunks),
            chunk: self.chunks,
            state: ChunkState::Pending,
            attempt: 1,
            plan_id: self.plan_id.clone(),
            phase,
            manifest_key: MANIFEST_KEY.to_owned(),
            manifest_start: start,
            manifest_end: self.manifest.len() as u64,
            bytes: bundle.bytes,
            files: bundle.files,
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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use serde::Deserialize;

    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Example {
        part_bytes: u64,
        listing: Vec<Listed>,
        chunks: Vec<Expected>,
    }

    #[derive(Deserialize)]
    struct Listed {
        kind: Kind,
        path: String,
        size: u64,
    }

    /// `segments`: entry, offset and length of each.
    #[derive(Debug, Deserialize, PartialEq)]
    struct Expected {
        phase: u8,
        bytes: u64,
        files: u64,
        segments: Vec<(u64, u64, u64)>,
    }

    fn segment(number: usize, listed: &Listed) -> Segment {
        let Listed { kind, path, size } = listed;
        let (entry, source, path) = (number as u64, format!("/s/{path}"), path.clone());
        let length = if *kind == Kind::File { *size } else { 0 };
        Segment {
            entry,
            path,
            source,
            kind: *kind,
            size: *size,
            mode: 0o644,
            mtime_ns: 1,
            inode: 1,
            target: None,
            attributes: None,
            offset: 0,
            length,
            basis: false,
            same: false,
            unreadable: false,
        }
    }

    fn described(bundle: &Bundle, phase: u8) -> Expected {
        let lines = bundle.lines.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
        let segments = lines.map(|line| Segment::parse(line).unwrap()).map(|segment| (segment.entry, segment.offset, segment.length));
        Expected { phase, bytes: bundle.bytes, files: bundle.files, segments: segments.collect() }
    }

    #[test]
    fn a_listing_is_cut_as_the_control_plane_cuts_it() {
        let text = include_str!("../../../../../contracts/planning.json");
        let Example { part_bytes, listing, chunks } = serde_json::from_str(text).unwrap();
        let mut cutter = Cutter::new(part_bytes);
        let all: Vec<Segment> = listing.iter().enumerate().map(|(number, listed)| segment(number, listed)).collect();
        let (last, data): (Vec<_>, Vec<_>) = all.into_iter().partition(is_last);
        let mut cut = Vec::new();
        for (phase, segments) in [(0, data), (1, last.into_iter().rev().collect())] {
            for segment in segments {
                cut.extend(cutter.add(segment).unwrap().iter().map(|bundle| described(bundle, phase)));
            }
            cut.extend(cutter.rest().map(|bundle| described(&bundle, phase)));
        }
        assert_eq!(cut, chunks);
    }

    #[test]
    fn a_bundle_holds_2000_entries_and_about_1_mib_of_lines_at_most() {
        let entries_of_first = |path: &str| {
            let mut cutter = Cutter::new(1024);
            let listed = Listed { kind: Kind::Symlink, path: path.to_owned(), size: 0 };
            (0..).find_map(|number| cutter.add(segment(number, &listed)).unwrap().pop()).unwrap().entries
        };
        assert_eq!(entries_of_first("short"), BUNDLE_ENTRIES);
        assert!(entries_of_first(&"long/".repeat(800)) < 200);
    }
}
