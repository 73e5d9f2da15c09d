//! The transfer plan.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::survey::LISTING_FOLDER;
use super::text::{HexDigest, PlanId, SchemaVersion1, TransferId};

/// Their numbers have seven digits in the table's keys.
const RANGES: u64 = 10_000_000;

/// The place of the listing that the plan is made of: it says what must be at the destination in the end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PlanListing {
    /// Objects of `listing/`, the source's whole listing.
    pub parts: u64,
    /// BLAKE3 of those objects, one after the other.
    pub digest: HexDigest,
    /// Folder of the listing's lines that are planned: `listing/`, or where a comparison has left some out another one.
    pub planned_folder: String,
    /// Objects of that folder.
    pub planned_parts: u64,
    /// Folder of what the comparison found equal, an object for each of `listing/`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub equal_folder: Option<String>,
}

impl PlanListing {
    /// Returns whether all lines of the listing are planned.
    #[must_use]
    pub fn is_planned_whole(&self) -> bool {
        self.planned_folder == LISTING_FOLDER
    }
}

/// The document that Plan Chunks hands to the data plane.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TransferPlan {
    pub schema_version: SchemaVersion1,
    pub transfer_id: TransferId,
    /// Whatever is kept of a plan carries it: what has another one is not believed.
    pub plan_id: PlanId,
    pub chunk_size_bytes: u64,
    pub chunks: u64,
    pub range_size: u64,
    /// Number of its first range: no two plans of a transfer have a range in common.
    pub first_range: u64,
    pub last_phase_chunks: u64,
    pub bytes: u64,
    pub files: u64,
    pub manifest_parts: Vec<String>,
    pub lanes_per_path: u32,
    /// More chunks follow, since the listing goes on: the counts are those of what is planned so far, and none is of directories.
    pub open: bool,
    /// Not while it is open, nor where nothing is moved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub listing: Option<PlanListing>,
}

impl TransferPlan {
    /// Reads a plan; the refusal names the field.
    pub fn parse(text: &[u8]) -> Result<Self, String> {
        let plan: Self = serde_json::from_slice(text).map_err(|error| error.to_string())?;
        if plan.lanes_per_path == 0 {
            return Err("lanesPerPath is 0; at least one stream is needed".to_owned());
        }
        if plan.chunks > 0 && plan.range_size == 0 {
            return Err("rangeSize is 0; a range holds at least one chunk".to_owned());
        }
        if plan.last_phase_chunks > plan.chunks {
            return Err(format!("lastPhaseChunks is {}, more than chunks ({})", plan.last_phase_chunks, plan.chunks));
        }
        if plan.open && plan.last_phase_chunks > 0 {
            return Err(format!("lastPhaseChunks is {}; while the plan is open it is 0", plan.last_phase_chunks));
        }
        if plan.listing.is_some() && plan.open {
            return Err("listing is given; while the plan is open it is not known".to_owned());
        }
        if plan.listing.is_none() && !plan.open && plan.chunks > 0 {
            return Err("listing is absent; a plan that is whole names it".to_owned());
        }
        if plan.ranges().end > RANGES {
            return Err(format!("firstRange is {}; with {} chunks it must end before {RANGES}", plan.first_range, plan.chunks));
        }
        // A BLAKE3 subtree begins at a multiple of its own size, which is a power of two of at least one 1024-byte leaf.
        if plan.chunk_size_bytes != 0 && (!plan.chunk_size_bytes.is_power_of_two() || plan.chunk_size_bytes < 1024) {
            return Err(format!("chunkSizeBytes is {}; it must be a power of two of at least 1024", plan.chunk_size_bytes));
        }
        Ok(plan)
    }

    /// Bytes of all files together, none of which is larger; not known while it is open.
    #[must_use]
    pub const fn total_bytes(&self) -> u64 {
        if self.open { u64::MAX } else { self.bytes }
    }

    /// Its ranges in the chunk table.
    #[must_use]
    pub fn ranges(&self) -> Range<u64> {
        let count = if self.chunks == 0 { 0 } else { self.chunks.div_ceil(self.range_size) };
        self.first_range..self.first_range.saturating_add(count)
    }
}
