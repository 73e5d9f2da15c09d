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
        for probe in &membership.probes {
            if !(probe.seconds >= 0.0 && probe.seconds.is_finite()) {
                return Err(format!("probe of {}: seconds is {}; it must not be negative", probe.path.path_id, probe.seconds));
            }
        }
        Ok(membership)
    }
}
