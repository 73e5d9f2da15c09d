//! An end of a transfer as a command names it: where data lies, or where it goes. Each kind has fields of its own.

use serde::{Deserialize, Serialize};

use super::attributes::Preserve;
use super::options::SourcePath;
use super::text::{AbsolutePath, UserText};

/// Where data lies.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "camelCase")]
pub enum SourceEnd {
    Machine(MachineSource),
}

/// Where data goes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "camelCase")]
pub enum DestinationEnd {
    Machine(MachineDestination),
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

fn is_default(preserve: &Preserve) -> bool {
    *preserve == Preserve::default()
}
