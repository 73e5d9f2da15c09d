//! What the sender follows: its paths, and bounds on its rate and its money.

use cpt_relay::control::Control as _;
use cpt_relay::documents::leases::BudgetLease;
use cpt_relay::documents::membership::{self, Membership, Probe};
use cpt_relay::documents::text::SchemaVersion1;

use super::Transfer;

impl Transfer {
    pub fn members(&self, paths: Vec<membership::Path>) {
        self.members_with_probes(paths, Vec::new());
    }

    pub fn members_with_probes(&self, paths: Vec<membership::Path>, probes: Vec<Probe>) {
        let (bandwidth_limit_mbps, budget_lease) = (self.limit_mbps, self.lease.clone());
        let schema_version = SchemaVersion1;
        self.control
            .put_membership(&Membership {
                schema_version,
                version: 0,
                paths,
                probes,
                bandwidth_limit_mbps,
                budget_lease,
                limit_lease: None,
                paused: false,
                retired: Vec::new(),
                shares: Vec::new(),
            })
            .unwrap();
    }

    /// From now on.
    pub fn grant(&mut self, lease: BudgetLease) {
        self.lease = Some(lease);
        if let Some(Membership { paths, probes, .. }) = self.control.membership().unwrap() {
            self.members_with_probes(paths, probes);
        }
    }

    /// From now on.
    pub fn limit(&mut self, limit_mbps: Option<u64>) {
        self.limit_mbps = limit_mbps;
        if let Some(Membership { paths, probes, .. }) = self.control.membership().unwrap() {
            self.members_with_probes(paths, probes);
        }
    }
}
