//! The relay command: what an SSM command tells this daemon.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize, de::DeserializeOwned};

use super::end::{DestinationEnd, End, SourceEnd};
pub use super::options::{Compare, Compress, Overwrite, SourcePath, Verify};
use super::percent;
use super::seat::{Role, Seat};
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
        end: DestinationEnd,
        /// At the top of the destination: what is replaced will be kept there.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        keep_replaced: Option<KeepName>,
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
    }
);
command!(
    /// Pass streams on.
    Relay {
        sender_route_key: RouteKeyText,
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

/// A day: nobody waits longer for an answer.
pub const MAX_PROBE_SECONDS: f64 = 86_400.0;
/// A day: a relay that nobody asks for is not to cost more.
const MAX_TIME_TO_LIVE_SECONDS: u64 = 86_400;

/// A relay-command document.
#[derive(Clone, Debug, PartialEq)]
pub enum Command {
    ScanSource(ScanSource),
    ScanDestination(ScanDestination),
    ScanDigests(ScanDigests),
    ScanComparison(ScanComparison),
    ScanExtras(ScanExtras),
    ScanMark(ScanMark),
    ScanMarked(ScanMarked),
    Delete(Delete),
    Receive(Receive),
    Send(Send),
    Relay(Relay),
    ProbeListen(ProbeListen),
    ProbeConnect(ProbeConnect),
}

#[derive(Deserialize)]
struct Discriminants {
    role: String,
    side: Option<String>,
    mode: Option<String>,
}

impl Command {
    /// Reads a command; the refusal names the field, its value and what would be right.
    pub fn parse(text: &[u8]) -> Result<Self, String> {
        let kind: Discriminants = serde_json::from_slice(text).map_err(|error| error.to_string())?;
        let command = match (kind.role.as_str(), kind.side.as_deref(), kind.mode.as_deref()) {
            ("scan", Some("source"), _) => Self::ScanSource(read(text)?),
            ("scan", Some("destination"), _) => Self::ScanDestination(read(text)?),
            ("scan", Some("digests"), _) => Self::ScanDigests(read(text)?),
            ("scan", Some("comparison"), _) => Self::ScanComparison(read(text)?),
            ("scan", Some("extras"), _) => Self::ScanExtras(read(text)?),
            ("scan", Some("mark"), _) => Self::ScanMark(read(text)?),
            ("scan", Some("marked"), _) => Self::ScanMarked(read(text)?),
            ("scan", side, _) => {
                return Err(format!("side is {side:?}; a scan's side is source, destination, digests, comparison, extras, mark or marked"));
            }
            ("delete", ..) => Self::Delete(read(text)?),
            ("receive", ..) => Self::Receive(read(text)?),
            ("send", ..) => Self::Send(read(text)?),
            ("relay", ..) => Self::Relay(read(text)?),
            ("probe", _, Some("listen")) => Self::ProbeListen(read(text)?),
            ("probe", _, Some("connect")) => Self::ProbeConnect(read(text)?),
            ("probe", _, mode) => return Err(format!("mode is {mode:?}; a probe's mode is \"listen\" or \"connect\"")),
            (role, ..) => return Err(format!("role is {role:?}; it must be scan, delete, receive, send, relay or probe")),
        };
        command.check()?;
        Ok(command)
    }

    /// The end that it reads or writes; a relay and a probe have none.
    #[must_use]
    pub const fn end(&self) -> Option<End<'_>> {
        match self {
            Self::ScanSource(ScanSource { end, .. })
            | Self::ScanDigests(ScanDigests { end, .. })
            | Self::ScanMarked(ScanMarked { end, .. })
            | Self::Send(Send { end, .. }) => Some(End::Source(end)),
            Self::ScanDestination(ScanDestination { end, .. })
            | Self::ScanComparison(ScanComparison { end, .. })
            | Self::ScanExtras(ScanExtras { end, .. })
            | Self::ScanMark(ScanMark { end, .. })
            | Self::Delete(Delete { end, .. })
            | Self::Receive(Receive { end, .. }) => Some(End::Destination(end)),
            Self::Relay(_) | Self::ProbeListen(_) | Self::ProbeConnect(_) => None,
        }
    }

    fn check(&self) -> Result<(), String> {
        let at_least_one =
            |name: &str, length: usize| if length == 0 { Err(format!("{name} is empty; name at least one")) } else { Ok(()) };
        let positive = |name: &str, value: u64| if value == 0 { Err(format!("{name} is 0; it must be at least 1")) } else { Ok(()) };
        let duration = |seconds: f64| {
            // A time that no clock can hold would end the daemon.
            let right = (0.0..=MAX_PROBE_SECONDS).contains(&seconds);
            if right { Ok(()) } else { Err(format!("seconds is {seconds}; it must be from 0 to {MAX_PROBE_SECONDS}")) }
        };
        let seat_of = |role: Role, seat: Seat| {
            if seat.role == role { Ok(()) } else { Err(format!("seat is {seat}, which is none of a {}", role.as_str())) }
        };
        let life = |name: &str, seconds: u64| {
            let right = (1..=MAX_TIME_TO_LIVE_SECONDS).contains(&seconds);
            if right { Ok(()) } else { Err(format!("{name} is {seconds}; it must be from 1 to {MAX_TIME_TO_LIVE_SECONDS}")) }
        };
        if let Some(End::Source(SourceEnd::Machine(machine))) = self.end() {
            at_least_one("end.paths", machine.paths.len())?;
        }
        match self {
            Self::ScanSource(_) | Self::ScanDigests(_) | Self::ScanDestination(_) | Self::ScanComparison(_) | Self::ScanMark(_) => Ok(()),
            Self::ScanMarked(scan) => {
                let encoded = |path: &String| path.starts_with('/') && percent::decode(path).is_ok();
                match scan.directories.iter().find(|path| !encoded(path)) {
                    Some(path) => Err(format!("directories has {path:?}; each is an absolute path, percent-encoded")),
                    None => at_least_one("directories", scan.directories.len()),
                }
            }
            // Without their digest, what they protect is not known to be all.
            Self::ScanExtras(scan) if scan.unselected_parts > 0 && scan.unselected_digest.is_none() => {
                Err(format!("unselectedDigest is missing; unselectedParts is {}", scan.unselected_parts))
            }
            Self::ScanExtras(scan) => at_least_one("within", scan.within.as_ref().map_or(1, Vec::len)),
            Self::Delete(delete) => positive("epoch", delete.epoch).and(positive("parts", delete.parts)),
            Self::Receive(receive) => at_least_one("listen", receive.listen.len())
                .and(positive("epoch", receive.epoch))
                .and(seat_of(Role::Receiver, receive.seat)),
            Self::Send(send) => {
                positive("epoch", send.epoch).and(seat_of(Role::Sender, send.seat)).and(life("keepaliveSeconds", send.keepalive_seconds))
            }
            Self::Relay(relay) => relay
                .machines
                .values()
                .try_fold((), |(), machine| {
                    at_least_one("listen", machine.listen.len())
                        .and(life("timeToLiveSeconds", machine.time_to_live_seconds.unwrap_or(1)))
                        .and(positive("bandwidthLimitMbps", machine.bandwidth_limit_mbps.unwrap_or(1)))
                })
                .and(at_least_one("machines", relay.machines.len()))
                .and(positive("idleSeconds", relay.idle_seconds)),
            Self::ProbeListen(probe) => at_least_one("listen", probe.listen.len()).and(duration(probe.seconds)),
            Self::ProbeConnect(probe) => duration(probe.seconds),
        }
    }
}

fn read<T: DeserializeOwned>(text: &[u8]) -> Result<T, String> {
    serde_json::from_slice(text).map_err(|error| error.to_string())
}
