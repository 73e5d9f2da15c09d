//! The versioned record of paths that the sender follows.

use serde::{Deserialize, Serialize};

use super::leases::{BudgetLease, LimitLease};
use super::seat::{Role, Seat, is_receiver, is_sender, receiver, sender};
use super::text::{Address, PathId, SchemaVersion1};

/// Lanes of a path: 5 Gbit/s over 100 ms fill the 4 MiB buffers of 32 streams by half.
pub const MAX_LANES_PER_PATH: u32 = 32;
/// Relays of one path, as in the contract: one beside each end, and two regions between.
pub const MAX_HOPS: usize = 4;

/// A relay to go through.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Hop {
    pub node_id: String,
    /// The address to which the previous hop connects.
    pub address: Address,
}

/// One way from sender to receiver.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Path {
    pub path_id: PathId,
    /// Changes when a hop is replaced.
    pub generation: u64,
    /// Relays in order; empty for the direct path.
    pub hops: Vec<Hop>,
    /// The address to which the last hop connects.
    pub receiver: Address,
    /// TCP streams.
    pub lanes: u32,
    /// Its relays lead from both ends, which are beside each other, to the store of a bucket, which the last one dials in place of the
    /// receiver: what comes on its lanes is exchanged with the bucket through them.
    #[serde(default, skip_serializing_if = "is_false")]
    pub store: bool,
    #[serde(default = "sender", skip_serializing_if = "is_sender")]
    pub from: Seat,
    #[serde(default = "receiver", skip_serializing_if = "is_receiver")]
    pub to: Seat,
}

impl Path {
    /// The relays through which its lanes lead.
    #[must_use]
    pub fn between_ends(&self) -> &[Hop] {
        if self.store { &[] } else { &self.hops }
    }
}

/// A seat that was given up while others of its side go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Retired {
    pub seat_id: Seat,
    /// Processes of this epoch and of earlier ones count no more.
    pub epoch: u64,
    /// Nothing of it will ever write again.
    pub is_gone: bool,
}

/// The bounds of one sender where there are several.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Share {
    pub seat_id: Seat,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bandwidth_limit_mbps: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget_lease: Option<BudgetLease>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit_lease: Option<LimitLease>,
}

/// What bounds one sender.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bounds<'a> {
    /// Mbit/s of the transfer's own limit.
    pub mbps: Option<f64>,
    pub budget: Option<&'a BudgetLease>,
    pub common: Option<&'a LimitLease>,
}

/// A pre-test to run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Probe {
    pub path: Path,
    /// Measuring time per hop, seconds.
    pub seconds: f64,
    /// The relay, from 0, at which measuring begins: the hops before it only lead there.
    #[serde(default, skip_serializing_if = "is_first")]
    pub measure_from: usize,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes the field by reference")]
fn is_first(measure_from: &usize) -> bool {
    *measure_from == 0
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Membership {
    pub schema_version: SchemaVersion1,
    pub version: u64,
    pub paths: Vec<Path>,
    pub probes: Vec<Probe>,
    /// Upper bound on the sender's rate, Mbit/s.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bandwidth_limit_mbps: Option<u64>,
    /// Absent where the transfer has no budget.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget_lease: Option<BudgetLease>,
    /// Absent where no limit over several transfers holds for this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit_lease: Option<LimitLease>,
    /// No chunk is begun before this is gone.
    #[serde(default, skip_serializing_if = "is_false")]
    pub paused: bool,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub retired: Vec<Retired>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shares: Vec<Share>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes the field by reference")]
const fn is_false(value: &bool) -> bool {
    !*value
}

impl Membership {
    /// What bounds the sender in a seat.
    #[must_use]
    pub fn bounds(&self, seat: Seat) -> Bounds<'_> {
        match self.shares.iter().find(|share| share.seat_id == seat) {
            Some(share) => {
                Bounds { mbps: share.bandwidth_limit_mbps, budget: share.budget_lease.as_ref(), common: share.limit_lease.as_ref() }
            }
            None => Bounds {
                mbps: self.bandwidth_limit_mbps.map(|mbps| mbps as f64),
                budget: self.budget_lease.as_ref(),
                common: self.limit_lease.as_ref(),
            },
        }
    }

    /// The epoch up to which processes of a seat count no more.
    #[must_use]
    pub fn retired(&self, seat: Seat) -> Option<&Retired> {
        self.retired.iter().find(|retired| retired.seat_id == seat)
    }

    /// Reads a membership document; the refusal names the field.
    pub fn parse(text: &[u8]) -> Result<Self, String> {
        let membership: Self = serde_json::from_slice(text).map_err(|error| error.to_string())?;
        for path in membership.paths.iter().chain(membership.probes.iter().map(|probe| &probe.path)) {
            if path.from.role != Role::Sender || path.to.role != Role::Receiver {
                return Err(format!(
                    "path {}: it leads from {} to {}; it must lead from a sender to a receiver",
                    path.path_id, path.from, path.to
                ));
            }
            if path.lanes == 0 {
                return Err(format!("path {}: lanes is 0; a path has at least one stream", path.path_id));
            }
            if path.lanes > MAX_LANES_PER_PATH {
                return Err(format!("path {}: lanes is {}; at most {MAX_LANES_PER_PATH} are possible", path.path_id, path.lanes));
            }
            if path.store && path.hops.is_empty() {
                return Err(format!("path {}: it leads to a store, and has no hops; it must have at least one", path.path_id));
            }
            if path.hops.len() > MAX_HOPS {
                return Err(format!("path {}: {} hops; at most {MAX_HOPS} are possible", path.path_id, path.hops.len()));
            }
        }
        if membership.bandwidth_limit_mbps == Some(0) {
            return Err("bandwidthLimitMbps is 0; it must be positive, or absent".to_owned());
        }
        for lease in membership.shares.iter().map(|share| &share.budget_lease).chain([&membership.budget_lease]).flatten() {
            lease.check()?;
        }
        for lease in membership.shares.iter().map(|share| &share.limit_lease).chain([&membership.limit_lease]).flatten() {
            lease.check()?;
        }
        for share in &membership.shares {
            if share.bandwidth_limit_mbps.is_some_and(|mbps| !(mbps > 0.0 && mbps.is_finite())) {
                return Err(format!("share of {}: bandwidthLimitMbps must be positive, or absent", share.seat_id));
            }
        }
        for probe in &membership.probes {
            if !(probe.seconds >= 0.0 && probe.seconds.is_finite()) {
                return Err(format!("probe of {}: seconds is {}; it must not be negative", probe.path.path_id, probe.seconds));
            }
        }
        Ok(membership)
    }
}
