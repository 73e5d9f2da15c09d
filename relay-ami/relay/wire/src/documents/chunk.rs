//! Items of the chunk table.

use serde::{Deserialize, Serialize};

use super::text::{HexDigest, PlanId};

/// Stored state. IN_FLIGHT is not stored: it is PENDING under a live lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum ChunkState {
    Pending,
    Delivered,
    Failed,
}

/// One item of the chunk table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Chunk {
    pub range_key: String,
    pub item_key: String,
    pub chunk: u64,
    pub state: ChunkState,
    /// Attempt this state belongs to, from 1.
    pub attempt: u32,
    pub plan_id: PlanId,
    /// 0: data; 1: directories, after all data.
    pub phase: u8,
    /// Below the prefix of what the ends share.
    pub manifest_key: String,
    pub manifest_start: u64,
    pub manifest_end: u64,
    pub bytes: u64,
    pub files: u64,
    /// Unix time, seconds: DynamoDB removes the item.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<u64>,
    /// Unix time, seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_before: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<HexDigest>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lane: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_at: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delivered_at: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed_attempt: Option<u32>,
}

/// Partition key of a range of chunks: what their transfer shares its records by (by hand its id), and the range.
#[must_use]
pub fn range_key(partition: &str, range: u64) -> String {
    format!("{partition}#{range:07}")
}

/// Sort key of a chunk.
#[must_use]
pub fn item_key(chunk: u64) -> String {
    format!("{chunk:09}")
}

impl Chunk {
    /// Reads an item; the refusal names the field.
    pub fn parse(text: &[u8]) -> Result<Self, String> {
        serde_json::from_slice::<Self>(text).map_err(|error| error.to_string())?.checked()
    }

    /// The rules that the types do not hold.
    pub fn checked(self) -> Result<Self, String> {
        let range = self.range_key.rsplit_once('#').is_some_and(|(partition, range)| !partition.is_empty() && digits(range, 7));
        if !range {
            return Err(format!("rangeKey is {:?}; it must be the partition of the transfer, '#' and 7 digits", self.range_key));
        }
        if !digits(&self.item_key, 9) {
            return Err(format!("itemKey is {:?}; it must be 9 digits", self.item_key));
        }
        if self.attempt == 0 || self.failed_attempt == Some(0) {
            return Err("attempt is 0; attempts count from 1".to_owned());
        }
        if self.phase > 1 {
            return Err(format!("phase is {}; it must be 0 or 1", self.phase));
        }
        if [self.not_before, self.started_at, self.delivered_at].iter().flatten().any(|time| *time < 0.0) {
            return Err("a time is negative; times are Unix seconds".to_owned());
        }
        if self.manifest_end < self.manifest_start {
            return Err(format!("manifestEnd {} lies before manifestStart {}", self.manifest_end, self.manifest_start));
        }
        Ok(self)
    }
}

fn digits(text: &str, count: usize) -> bool {
    text.len() == count && text.bytes().all(|b| b.is_ascii_digit())
}
