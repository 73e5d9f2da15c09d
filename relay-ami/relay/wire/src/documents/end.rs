//! An end of a transfer as a command names it: where data lies, or where it goes. Each kind has fields of its own.

use std::num::{NonZeroU16, NonZeroU64};

use serde::{Deserialize, Serialize};

use super::attributes::Preserve;
use super::options::SourcePath;
use super::text::{AbsolutePath, AccountId, BucketName, HdfsUser, KeyArn, KeyPrefix, Region, SnapshotName, UserText};
use super::written::{ObjectTags, StorageClass};

/// Where data lies.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "camelCase")]
pub enum SourceEnd {
    Machine(MachineSource),
    Bucket(SourceBucket),
    Hdfs(HdfsSource),
}

/// Where data goes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "camelCase")]
pub enum DestinationEnd {
    Machine(MachineDestination),
    Bucket(DestinationBucket),
    Hdfs(HdfsDestination),
}

impl DestinationEnd {
    /// What is kept of each entry beyond the default.
    #[must_use]
    pub const fn preserve(&self) -> Preserve {
        match self {
            Self::Machine(machine) => machine.preserve,
            Self::Bucket(bucket) => bucket.preserve,
            Self::Hdfs(hdfs) => hdfs.preserve,
        }
    }
}

/// The end of a command that has one.
#[derive(Clone, Copy, Debug)]
pub enum End<'a> {
    Source(&'a SourceEnd),
    Destination(&'a DestinationEnd),
}

/// Paths of a machine's file systems: nothing else is read, whatever a manifest names.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct MachineSource {
    pub paths: Vec<SourcePath>,
    /// The user that does the work; the default is the one that the daemon is started as.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_as: Option<UserText>,
    /// What is kept of each entry beyond the default.
    #[serde(default, skip_serializing_if = "is_default")]
    pub preserve: Preserve,
}

/// A directory of a machine's file systems.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct MachineDestination {
    pub path: AbsolutePath,
    /// The user that does the work; the default is the owner of the directory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_as: Option<UserText>,
    /// What is kept of each entry beyond the default: the unit of the receiver has the capabilities for it.
    #[serde(default, skip_serializing_if = "is_default")]
    pub preserve: Preserve,
}

/// What lies below a prefix of a bucket: nothing else is read, whatever a manifest names.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SourceBucket {
    pub bucket: BucketName,
    pub prefix: KeyPrefix,
    pub region: Region,
    /// The account that must own the bucket.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<AccountId>,
    /// What is kept of each entry beyond the default.
    #[serde(default, skip_serializing_if = "is_default")]
    pub preserve: Preserve,
    #[serde(default, skip_serializing_if = "is_default")]
    pub archived: ArchivedRule,
}

/// What becomes of objects that would have to be restored before they can be read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ArchivedRule {
    /// They are a problem of the listing.
    #[default]
    Refuse,
    /// They are left out, and counted.
    Skip,
    /// They are listed as the others: the control plane has them restored before anything is read.
    Restore,
}

/// What lies below a prefix of a bucket: nothing else is written.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct DestinationBucket {
    pub bucket: BucketName,
    pub prefix: KeyPrefix,
    pub region: Region,
    /// The account that must own the bucket.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<AccountId>,
    /// What is kept of each entry beyond the default.
    #[serde(default, skip_serializing_if = "is_default")]
    pub preserve: Preserve,
    /// Where S3 keeps what is written; the default is STANDARD.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub storage_class: Option<StorageClass>,
    /// Of each object.
    #[serde(default, skip_serializing_if = "ObjectTags::is_empty")]
    pub tags: ObjectTags,
    /// The key that encrypts what is written; the default is the bucket's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kms_key_id: Option<KeyArn>,
}

/// Two snapshots of one directory of HDFS.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SnapshotDiff {
    pub from: SnapshotName,
    pub to: SnapshotName,
}

/// Paths of the HDFS that the machine is a worker of: nothing else is read, whatever a manifest names.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct HdfsSource {
    pub paths: Vec<SourcePath>,
    /// The user of HDFS as whom they are read.
    pub user: HdfsUser,
    /// The user of the machine that does the work; the default is the one that the daemon is started as.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_as: Option<UserText>,
    /// Only what is different between these snapshots of each path is listed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub snapshot_diff: Option<SnapshotDiff>,
    /// What is kept of each entry beyond the default.
    #[serde(default, skip_serializing_if = "is_default")]
    pub preserve: Preserve,
}

/// A directory of the HDFS that the machine is a worker of.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct HdfsDestination {
    pub path: AbsolutePath,
    /// The user of HDFS as whom it is written, and to whom files belong.
    pub user: HdfsUser,
    /// The user of the machine that does the work; the default is the one that the daemon is started as.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_as: Option<UserText>,
    /// Replicas of each block; the default is the cluster's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replication: Option<NonZeroU16>,
    /// Bytes of a block; the default is the cluster's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub block_size_bytes: Option<NonZeroU64>,
    /// What a mirror removes goes into the user's trash.
    #[serde(default, skip_serializing_if = "is_default")]
    pub trash: bool,
    /// What is kept of each entry beyond the default.
    #[serde(default, skip_serializing_if = "is_default")]
    pub preserve: Preserve,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
