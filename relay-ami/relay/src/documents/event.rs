//! Events that the ends put on the bus, and the progress they report.

use serde::Serialize;

use super::text::{SchemaVersion1, TransferId};

/// Class of a failed attempt: what the retry policy decides on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum FailureReason {
    ChecksumMismatch,
    StreamLost,
    SourceChanged,
    SourceUnreadable,
    DestinationError,
}

impl FailureReason {
    /// The contract's word for it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ChecksumMismatch => "checksum-mismatch",
            Self::StreamLost => "stream-lost",
            Self::SourceChanged => "source-changed",
            Self::SourceUnreadable => "source-unreadable",
            Self::DestinationError => "destination-error",
        }
    }
}

/// Detail of an event; `type` equals the detail-type.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "type", rename_all_fields = "camelCase")]
pub enum Event {
    #[serde(rename = "Chunk Failed")]
    ChunkFailed {
        schema_version: SchemaVersion1,
        transfer_id: TransferId,
        chunk: u64,
        attempt: u32,
        path_id: String,
        reason: FailureReason,
        message: String,
    },
    #[serde(rename = "Relay Lost")]
    RelayLost { schema_version: SchemaVersion1, transfer_id: TransferId, path_id: String, node_id: String, message: String },
    #[serde(rename = "Transfer Delivered")]
    TransferDelivered {
        schema_version: SchemaVersion1,
        transfer_id: TransferId,
        epoch: u64,
        bytes: u64,
        files: u64,
        chunks: u64,
        sent_bytes: u64,
        #[serde(skip_serializing_if = "is_zero")]
        repaired_chunks: u64,
    },
    #[serde(rename = "Transfer Failed")]
    TransferFailed { schema_version: SchemaVersion1, transfer_id: TransferId, side: String, epoch: u64, error: String, cause: String },
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde hands over a reference")]
const fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl Event {
    /// The record that says the same to whoever the event wakes; an event alone proves nothing. A failed chunk's is its item.
    #[must_use]
    pub fn record(&self) -> Option<String> {
        match self {
            Self::ChunkFailed { .. } => None,
            Self::RelayLost { node_id, .. } => Some(format!("lost#{node_id}")),
            Self::TransferDelivered { .. } => Some("outcome#sender".to_owned()),
            Self::TransferFailed { side, .. } => Some(format!("outcome#{side}")),
        }
    }

    /// The detail-type that rules match on.
    #[must_use]
    pub const fn detail_type(&self) -> &'static str {
        match self {
            Self::ChunkFailed { .. } => "Chunk Failed",
            Self::RelayLost { .. } => "Relay Lost",
            Self::TransferDelivered { .. } => "Transfer Delivered",
            Self::TransferFailed { .. } => "Transfer Failed",
        }
    }
}

/// One live lane of the sender.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LaneProgress {
    pub path_id: String,
    pub lane: u32,
    /// Bytes delivered by it.
    pub bytes: u64,
    #[serde(rename = "rateMBps")]
    pub rate_mbps: f64,
}

/// What an end reports every two seconds.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Progress {
    pub schema_version: SchemaVersion1,
    pub epoch: u64,
    pub sequence: u64,
    pub bytes: u64,
    /// Payload bytes that went out or came in, repeated ones included.
    pub moved_bytes: u64,
    pub chunks: u64,
    pub files: u64,
    pub failed_chunks: u64,
    #[serde(rename = "rateMBps")]
    pub rate_mbps: f64,
    /// Unix time, seconds.
    pub at: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_byte_at: Option<f64>,
    /// Of the oldest call of the file system that has not returned, by this end's own clock.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub in_file_system_seconds: Option<f64>,
    pub lanes: Vec<LaneProgress>,
}
