//! What a command tells each role of the daemon.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::end::{DestinationEnd, SourceEnd};
use super::options::{Compare, Compress, Overwrite, Verify};
use super::seat::{Seat, is_receiver, receiver};
use super::selection::Selection;
use super::text::{
    Address, AnnouncementKey, DirectoryId, HexDigest, KeepName, LandingPath, MarkName, Partition, Region, RouteKeyText, SchemaVersion1,
    TransferId,
};

/// The control plane in the home region.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ControlPlace {
    pub region: Region,
    pub bucket: String,
    /// Key prefix of what the ends of this transfer share, ends with a slash.
    pub prefix: String,
    /// Partition of their records, and the beginning of those of their chunks.
    pub partition: Partition,
    pub transfers_table: String,
    pub chunks_table: String,
    pub bus: String,
}

/// The part of a relay command that is for one machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RelayMachine {
    pub node_id: String,
    pub listen: Vec<Address>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_to_live_seconds: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bandwidth_limit_mbps: Option<u64>,
}

/// Makes the struct of one role, with what all of them carry.
macro_rules! command {
    ($(#[$doc:meta])* $name:ident { $($(#[$field_doc:meta])* $field:ident: $type:ty,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        #[serde(rename_all = "camelCase", deny_unknown_fields)]
        pub struct $name {
            pub schema_version: SchemaVersion1,
            pub role: String,
            pub transfer_id: TransferId,
            $($(#[$field_doc])* pub $field: $type,)*
        }
    };
}

command!(
    /// List the source.
    ScanSource {
        side: String,
        control: ControlPlace,
        end: SourceEnd,
        /// Below the prefix: where what is listed so far is announced.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        announce: Option<AnnouncementKey>,
        /// Below the prefix: parts of a list of keys. Of a bucket only these are listed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        key_parts: Option<u32>,
        /// What of the paths is listed.
        #[serde(default)]
        select: Selection,
        /// With `Auto`, the survey says how well the data packs.
        #[serde(default)]
        compress: Compress,
        /// Files that cannot be read are listed like all others: the sender will leave them out, by name.
        #[serde(default)]
        list_unreadable: bool,
        /// At the top of the destination: nothing of the source may land there.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        keep_replaced: Option<KeepName>,
    }
);
command!(
    /// Check the destination.
    ScanDestination {
        side: String,
        /// For a bucket, whose credentials come through it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        control: Option<ControlPlace>,
        end: DestinationEnd,
        /// At the top of the destination: what is replaced will be kept there.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        keep_replaced: Option<KeepName>,
        /// Which of the destination's machines looks.
        #[serde(default = "receiver", skip_serializing_if = "is_receiver")]
        seat: Seat,
        /// Nothing at the destination changes, not even for a moment: HDFS is not tried with a byte.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        dry_run: bool,
    }
);
command!(
    /// Digest what was listed at the source.
    ScanDigests {
        side: String,
        control: ControlPlace,
        /// As in the scan that listed them.
        end: SourceEnd,
        parts: u64,
    }
);
command!(
    /// Compare the listing with what is at the destination.
    ScanComparison {
        side: String,
        control: ControlPlace,
        end: DestinationEnd,
        parts: u64,
        compare: Compare,
        #[serde(default)]
        overwrite: Overwrite,
        /// What is the same is sent all the same.
        #[serde(default)]
        resend_all: bool,
        /// Below the prefix, ends with a slash: what is to be sent.
        folder: String,
        /// Likewise: what is there already.
        equal_folder: String,
    }
);
command!(
    /// Find what the destination has and the source does not.
    ScanExtras {
        side: String,
        control: ControlPlace,
        end: DestinationEnd,
        parts: u64,
        listing_digest: HexDigest,
        /// Objects of the list of what was left out at the source, and their digest.
        #[serde(default)]
        unselected_parts: u64,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        unselected_digest: Option<HexDigest>,
        /// What of the destination is mirrored; the default is all of it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        within: Option<Vec<LandingPath>>,
        /// Those that one source path brings each: of each it is said whether most of it would go.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        apart: Vec<LandingPath>,
        /// Directories that lead to what arrives, and that no source has: these and those above them are no extras.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        above: Vec<LandingPath>,
        #[serde(default)]
        select: Selection,
        /// Below the prefix, ends with a slash: where the extras are listed.
        folder: String,
        /// As of the comparison: with `Never` nothing makes way for what the source has.
        #[serde(default)]
        overwrite: Overwrite,
        /// At the top of the destination: what was replaced is kept there, and stays.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        keep_replaced: Option<KeepName>,
    }
);
command!(
    /// Put a mark into the destination, or take it away again.
    ScanMark {
        side: String,
        end: DestinationEnd,
        name: MarkName,
        /// Whether it is to be there.
        present: bool,
    }
);
command!(
    /// Look for the mark in directories of the source's machine.
    ScanMarked {
        side: String,
        end: SourceEnd,
        name: MarkName,
        /// Absolute paths, percent-encoded.
        directories: Vec<String>,
    }
);
command!(
    /// Remove extras that were listed.
    Delete {
        control: ControlPlace,
        /// The epoch of the start that has brought everything: what comes later makes this order void.
        epoch: u64,
        end: DestinationEnd,
        /// Below the prefix, ends with a slash: the list.
        folder: String,
        parts: u64,
        digest: HexDigest,
        /// Which directory the list is of.
        directory: DirectoryId,
        /// Below the prefix, ends with a slash: where what is still there is listed.
        remaining_folder: String,
        /// Only what is in the way of what the source has; without this, only what is not.
        #[serde(default)]
        in_the_way: bool,
        /// At the top of the destination: what is removed is kept there.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        keep_replaced: Option<KeepName>,
    }
);
command!(
    /// Receive into a directory.
    Receive {
        control: ControlPlace,
        seat: Seat,
        epoch: u64,
        listen: Vec<Address>,
        end: DestinationEnd,
        plan: String,
        #[serde(default)]
        verify: Verify,
        /// Directories that lead to what arrives, and that no source has: these and those above them are made as others would make them.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        above: Vec<LandingPath>,
        /// At the top of the destination: what is replaced is kept there.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        keep_replaced: Option<KeepName>,
        /// Other senders send chunks of the plan too.
        #[serde(default)]
        many_senders: bool,
        /// Other receivers write into the directory too.
        #[serde(default)]
        many_receivers: bool,
    }
);
command!(
    /// Send the chunks of a plan.
    Send {
        control: ControlPlace,
        seat: Seat,
        epoch: u64,
        plan: String,
        /// As in the scan that listed them.
        end: SourceEnd,
        keepalive_seconds: u64,
        #[serde(default)]
        compress: Compress,
        /// As the receiver's.
        #[serde(default)]
        verify: Verify,
        /// Other senders send chunks of the plan too.
        #[serde(default)]
        many_senders: bool,
        /// Other receivers write into the directory too.
        #[serde(default)]
        many_receivers: bool,
    }
);
command!(
    /// Pass streams on.
    Relay {
        sender_route_keys: Vec<RouteKeyText>,
        idle_seconds: u64,
        /// By instance id: one SSM command goes to all of them.
        machines: BTreeMap<String, RelayMachine>,
    }
);
command!(
    /// Accept probes for a while.
    ProbeListen { mode: String, listen: Vec<Address>, seconds: f64, }
);
command!(
    /// Connect to a listening probe.
    ProbeConnect { mode: String, address: Address, seconds: f64, }
);
