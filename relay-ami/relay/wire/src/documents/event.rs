//! Events that the ends put on the bus, and the progress they report.

use serde::{Deserialize, Serialize};

use super::seat::{ClosedFor, Seat, is_sender};
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

/// Why an entry was left out, while what stands beside it arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SkipReason {
    /// It is not what the listing says any more, or is gone.
    SourceChanged,
    SourceUnreadable,
    /// Something of another kind is in its place, or in the place of a directory above it.
    DestinationConflict,
    /// The destination's file system does not take this entry: its name, its size, its attributes.
    DestinationRefused,
}

impl SkipReason {
    /// The contract's word for it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::SourceChanged => "source-changed",
            Self::SourceUnreadable => "source-unreadable",
            Self::DestinationConflict => "destination-conflict",
            Self::DestinationRefused => "destination-refused",
        }
    }
}

/// The failure that ended a daemon, by the name that the state machine catches; see `contracts/failures.json`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(Deserialize))]
pub enum Failure {
    ChunksFailed,
    ControlUnavailable,
    CredentialsRefused,
    DestinationError,
    DestinationFull,
    DigestMismatch,
    ListenFailed,
    NoKey,
    NoReceiver,
    NotEnoughMemory,
    NotReady,
    Output,
    PlanInvalid,
    RateRules,
    ReadyFile,
    ReceiverError,
    RelayError,
    RunAs,
    SenderError,
    Signals,
    SurveyProblem,
    TooFewOpenFiles,
    WorkingDirectory,
}

/// Large files that were copied to another inode, as somebody who was given up might still have written into them.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Copied {
    pub bytes: u64,
    /// In which all was gathered.
    pub seconds: f64,
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
    /// A process that works for a bucket's seat waits for credentials.
    #[serde(rename = "Credentials Wanted")]
    CredentialsWanted { schema_version: SchemaVersion1, transfer_id: TransferId, seat: Seat, process: String },
    #[serde(rename = "Transfer Delivered")]
    TransferDelivered {
        schema_version: SchemaVersion1,
        transfer_id: TransferId,
        /// Of the sender that finished.
        #[serde(skip_serializing_if = "is_sender")]
        seat: Seat,
        epoch: u64,
        bytes: u64,
        files: u64,
        chunks: u64,
        sent_bytes: u64,
        /// Bytes of those for which nothing went out: of holes, and by packing.
        #[serde(skip_serializing_if = "is_zero")]
        saved_bytes: u64,
        /// Bytes of chunks that went out on a second path too, since the first was cut off or late.
        #[serde(skip_serializing_if = "is_zero")]
        hedged_bytes: u64,
        #[serde(skip_serializing_if = "is_zero")]
        repaired_chunks: u64,
        /// Entries that were left out; everything else arrived.
        #[serde(skip_serializing_if = "is_zero")]
        skipped: u64,
        /// Entries that are kept of what the transfer has replaced or removed.
        #[serde(skip_serializing_if = "is_zero")]
        kept: u64,
        #[serde(skip_serializing_if = "Option::is_none")]
        copied: Option<Copied>,
    },
    #[serde(rename = "Transfer Failed")]
    TransferFailed {
        schema_version: SchemaVersion1,
        transfer_id: TransferId,
        side: String,
        seat: Seat,
        epoch: u64,
        error: Failure,
        cause: String,
    },
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde hands over a reference")]
const fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl Event {
    /// The record that says the same to whoever the event wakes; an event alone proves nothing. A failed chunk's is its item, and
    /// whoever wants credentials has published a key.
    #[must_use]
    pub fn record(&self) -> Option<String> {
        match self {
            Self::ChunkFailed { .. } | Self::CredentialsWanted { .. } => None,
            Self::RelayLost { node_id, .. } => Some(format!("lost#{node_id}")),
            Self::TransferDelivered { seat, .. } | Self::TransferFailed { seat, .. } => Some(format!("outcome#{seat}")),
        }
    }

    /// The detail-type that rules match on.
    #[must_use]
    pub const fn detail_type(&self) -> &'static str {
        match self {
            Self::ChunkFailed { .. } => "Chunk Failed",
            Self::RelayLost { .. } => "Relay Lost",
            Self::CredentialsWanted { .. } => "Credentials Wanted",
            Self::TransferDelivered { .. } => "Transfer Delivered",
            Self::TransferFailed { .. } => "Transfer Failed",
        }
    }
}

/// One live lane of the sender.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LaneProgress {
    pub path_id: String,
    pub lane: u32,
    /// Bytes delivered by it.
    pub bytes: u64,
    #[serde(rename = "rateMBps")]
    pub rate_mb_s: f64,
}

/// An end's report, made every two seconds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Progress {
    pub schema_version: SchemaVersion1,
    pub epoch: u64,
    pub sequence: u64,
    pub bytes: u64,
    /// Payload bytes that went out or came in, repeated ones included.
    pub moved_bytes: u64,
    /// Bytes of those for which nothing went out: of holes, and by packing.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub saved_bytes: u64,
    pub chunks: u64,
    pub files: u64,
    pub failed_chunks: u64,
    #[serde(rename = "rateMBps")]
    pub rate_mb_s: f64,
    /// Unix time, seconds.
    pub at: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_byte_at: Option<f64>,
    /// Age of the oldest call of the file system that has not returned, by this end's own clock.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub in_file_system_seconds: Option<f64>,
    /// Of a receiver: the version of the membership whose retired senders it has cut off.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub membership_version: Option<u64>,
    /// Of a receiver that leaves the finish to another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub closed_for: Option<ClosedFor>,
    /// Of a retired seat, in its last report: nothing of this process is written any more.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub has_ended: bool,
    pub lanes: Vec<LaneProgress>,
}

/// Three decimals are enough to read.
#[must_use]
pub fn round(rate: f64) -> f64 {
    (rate * 1000.0).round() / 1000.0
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::Failure;

    #[test]
    fn failures_are_those_of_the_contract() {
        let contract: serde_json::Value = serde_json::from_str(include_str!("../../../../../contracts/failures.json")).unwrap();
        let daemon = serde_json::json!("daemon");
        let told = contract["failures"].as_object().unwrap().iter();
        let told = told.filter(|(_, failure)| failure["raisedBy"].as_array().unwrap().contains(&daemon)).map(|(name, _)| name.as_str());
        let logged = contract["onlyInLogs"]["names"].as_array().unwrap().iter().filter_map(|name| name.as_str());
        // Where serde refuses a name, it lists all that there are.
        let refusal = serde_json::from_str::<Failure>("\"\"").unwrap_err().to_string();
        let failures: BTreeSet<&str> = refusal.split('`').skip(3).step_by(2).collect();
        assert_eq!(failures, told.chain(logged).collect());
    }
}
