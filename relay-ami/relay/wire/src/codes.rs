//! What stands for a kind, a proof, a reason or a flag on the wire: one byte each.

use crate::WireError;
use crate::digest::Proof;
use crate::documents::entry::Kind;
use crate::documents::event::{FailureReason, SkipReason};

pub const fn kind_byte(kind: Kind) -> u8 {
    match kind {
        Kind::File => 0,
        Kind::Directory => 1,
        Kind::Symlink => 2,
        Kind::Hardlink => 3,
        Kind::Special => 4,
    }
}

pub fn kind(byte: u8) -> Result<Kind, WireError> {
    match byte {
        0 => Ok(Kind::File),
        1 => Ok(Kind::Directory),
        2 => Ok(Kind::Symlink),
        3 => Ok(Kind::Hardlink),
        4 => Ok(Kind::Special),
        other => Err(WireError::Unknown { what: "entry kind", value: other.into() }),
    }
}

pub const fn reason_byte(reason: FailureReason) -> u8 {
    match reason {
        FailureReason::ChecksumMismatch => 1,
        FailureReason::StreamLost => 2,
        FailureReason::SourceChanged => 3,
        FailureReason::SourceUnreadable => 4,
        FailureReason::DestinationError => 5,
    }
}

pub fn reason(byte: u8) -> Result<FailureReason, WireError> {
    match byte {
        1 => Ok(FailureReason::ChecksumMismatch),
        2 => Ok(FailureReason::StreamLost),
        3 => Ok(FailureReason::SourceChanged),
        4 => Ok(FailureReason::SourceUnreadable),
        5 => Ok(FailureReason::DestinationError),
        other => Err(WireError::Unknown { what: "failure reason", value: other.into() }),
    }
}

pub const fn proof_byte(proof: Proof) -> u8 {
    match proof {
        Proof::Blake3 => 0,
        Proof::Crc64 => 1,
    }
}

pub fn proof(byte: u8) -> Result<Proof, WireError> {
    match byte {
        0 => Ok(Proof::Blake3),
        1 => Ok(Proof::Crc64),
        other => Err(WireError::Unknown { what: "proof", value: other.into() }),
    }
}

pub const fn skip_byte(reason: SkipReason) -> u8 {
    match reason {
        SkipReason::SourceChanged => 1,
        SkipReason::SourceUnreadable => 2,
        SkipReason::DestinationConflict => 3,
        SkipReason::DestinationRefused => 4,
    }
}

pub fn skip_reason(byte: u8) -> Result<SkipReason, WireError> {
    match byte {
        1 => Ok(SkipReason::SourceChanged),
        2 => Ok(SkipReason::SourceUnreadable),
        3 => Ok(SkipReason::DestinationConflict),
        4 => Ok(SkipReason::DestinationRefused),
        other => Err(WireError::Unknown { what: "skip reason", value: other.into() }),
    }
}

pub fn flag(byte: u8) -> Result<bool, WireError> {
    match byte {
        0 => Ok(false),
        1 => Ok(true),
        other => Err(WireError::Unknown { what: "flag", value: other.into() }),
    }
}
