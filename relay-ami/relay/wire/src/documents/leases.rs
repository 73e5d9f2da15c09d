//! What is granted to a sender for a while: money, and a share of a limit.

use serde::{Deserialize, Serialize};

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

    pub(super) fn check(&self) -> Result<(), String> {
        let amounts = [("at", self.at), ("usd", self.usd), ("usdPerGb", self.usd_per_gb), ("usdPerHour", self.usd_per_hour)];
        match amounts.into_iter().find(|(_, value)| !(*value >= 0.0 && value.is_finite())) {
            Some((name, value)) => Err(format!("budgetLease.{name} is {value}; it must not be negative")),
            None => Ok(()),
        }
    }
}

/// The sender's part of a limit over several transfers, renewed while somebody shares that limit out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct LimitLease {
    /// Grows with each renewal.
    pub number: u64,
    /// Mbit/s; 0: no chunk is begun before there is more.
    pub mbps: f64,
    /// What is left of it once it has ended.
    pub safe_mbps: f64,
    /// It ends so long after the sender has first seen its number.
    pub seconds: f64,
}

impl LimitLease {
    pub(super) fn check(&self) -> Result<(), String> {
        let amounts = [("mbps", self.mbps), ("safeMbps", self.safe_mbps), ("seconds", self.seconds)];
        match amounts.into_iter().find(|(_, value)| !(*value >= 0.0 && value.is_finite())) {
            Some((name, value)) => Err(format!("limitLease.{name} is {value}; it must not be negative")),
            None => Ok(()),
        }
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
