//! The versioned record of paths that the sender follows.

use serde::{Deserialize, Serialize};

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

/// Money that the sender may still spend, renewed with each look at the meter: what it sends and the time that passes both use it up.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct BudgetLease {
    /// The start whose processes hold it; those of another one hold none.
    pub start: u64,
    /// Unix time at which it was granted, seconds.
    pub at: f64,
    /// Bytes on the wire that the start had reported by then: they are paid for.
    pub sent_bytes: u64,
    /// Dollars for all that comes after.
    pub usd: f64,
    pub usd_per_gb: f64,
    /// Of relays and control plane, whatever is sent.
    pub usd_per_hour: f64,
}

impl BudgetLease {
    /// Returns whether `sent_bytes` on the wire, of all processes of the start, are paid for `seconds` after it was granted.
    #[must_use]
    pub fn bears(&self, sent_bytes: u64, seconds: f64) -> bool {
        let bytes = sent_bytes.saturating_sub(self.sent_bytes) as f64;
        bytes / 1e9 * self.usd_per_gb + seconds.max(0.0) / 3600.0 * self.usd_per_hour <= self.usd
    }

    fn check(&self) -> Result<(), String> {
        let amounts = [("at", self.at), ("usd", self.usd), ("usdPerGb", self.usd_per_gb), ("usdPerHour", self.usd_per_hour)];
        match amounts.into_iter().find(|(_, value)| !(*value >= 0.0 && value.is_finite())) {
            Some((name, value)) => Err(format!("budgetLease.{name} is {value}; it must not be negative")),
            None => Ok(()),
        }
    }
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
}

impl Membership {
    /// Reads a membership document; the refusal names the field.
    pub fn parse(text: &[u8]) -> Result<Self, String> {
        let membership: Self = serde_json::from_slice(text).map_err(|error| error.to_string())?;
        for path in membership.paths.iter().chain(membership.probes.iter().map(|probe| &probe.path)) {
            if path.lanes == 0 {
                return Err(format!("path {}: lanes is 0; a path has at least one stream", path.path_id));
            }
            if path.lanes > MAX_LANES_PER_PATH {
                return Err(format!("path {}: lanes is {}; at most {MAX_LANES_PER_PATH} are possible", path.path_id, path.lanes));
            }
            if path.hops.len() > MAX_HOPS {
                return Err(format!("path {}: {} hops; at most {MAX_HOPS} are possible", path.path_id, path.hops.len()));
            }
        }
        if membership.bandwidth_limit_mbps == Some(0) {
            return Err("bandwidthLimitMbps is 0; it must be positive, or absent".to_owned());
        }
        if let Some(lease) = &membership.budget_lease {
            lease.check()?;
        }
        for probe in &membership.probes {
            if !(probe.seconds >= 0.0 && probe.seconds.is_finite()) {
                return Err(format!("probe of {}: seconds is {}; it must not be negative", probe.path.path_id, probe.seconds));
            }
        }
        Ok(membership)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Case {
        name: String,
        lease: BudgetLease,
        sent_bytes: u64,
        seconds: f64,
        bears: bool,
    }

    #[test]
    fn a_lease_bears_what_the_contract_says() {
        let contract: serde_json::Value = serde_json::from_str(include_str!("../../../../../contracts/budget-lease.json")).unwrap();
        let cases: Vec<Case> = serde_json::from_value(contract["cases"].clone()).unwrap();
        assert!(cases.iter().any(|case| case.bears) && cases.iter().any(|case| !case.bears));
        for Case { name, lease, sent_bytes, seconds, bears } in cases {
            assert_eq!(lease.bears(sent_bytes, seconds), bears, "{name}");
        }
    }
}
