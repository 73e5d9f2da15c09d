//! The relay command: what an SSM command tells this daemon.

use serde::{Deserialize, de::DeserializeOwned};

use super::end::{End, SourceEnd};
pub use super::options::{Compare, Compress, Overwrite, SourcePath, Verify};
use super::percent;
pub use super::role_commands::*;
use super::seat::{Role, Seat};

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
        match self.end() {
            Some(End::Source(SourceEnd::Machine(machine))) => at_least_one("end.paths", machine.paths.len())?,
            Some(End::Source(SourceEnd::Hdfs(hdfs))) => at_least_one("end.paths", hdfs.paths.len())?,
            _ => {}
        }
        match self {
            Self::ScanSource(scan) => match (scan.key_parts, &scan.end) {
                (Some(parts), SourceEnd::Machine(_) | SourceEnd::Hdfs(_)) => Err(format!("keyParts is {parts}; only a bucket has keys")),
                (parts, _) => positive("keyParts", parts.map_or(1, u64::from)),
            },
            Self::ScanDigests(_) | Self::ScanDestination(_) | Self::ScanComparison(_) | Self::ScanMark(_) => Ok(()),
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
                .and(at_least_one("senderRouteKeys", relay.sender_route_keys.len()))
                .and(positive("idleSeconds", relay.idle_seconds)),
            Self::ProbeListen(probe) => at_least_one("listen", probe.listen.len()).and(duration(probe.seconds)),
            Self::ProbeConnect(probe) => duration(probe.seconds),
        }
    }
}

fn read<T: DeserializeOwned>(text: &[u8]) -> Result<T, String> {
    serde_json::from_slice(text).map_err(|error| error.to_string())
}
