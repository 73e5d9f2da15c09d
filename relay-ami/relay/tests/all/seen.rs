//! What a transfer has left: items, events, objects, and both trees.

use cpt_relay::control::{Control as _, Seat};
use cpt_relay::documents::chunk::Chunk;
use serde_json::Value;

use super::{Transfer, list, wait_for};

impl Transfer {
    pub fn chunks(&self) -> Vec<Chunk> {
        let numbers: Vec<u64> = (0..self.plan.chunks).collect();
        self.control.chunks(&numbers).unwrap()
    }

    pub fn events(&self) -> Vec<Value> {
        let text = std::fs::read_to_string(self.directory.path().join("control/events.ndjson")).unwrap_or_default();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    pub fn wait_for_event(&self, kind: &str) -> Value {
        wait_for(kind, || self.events().into_iter().find(|event| event["type"] == kind))
    }

    /// The digests that a side has uploaded.
    pub fn digests(&self, seat: Seat) -> String {
        self.object(&format!("digests/{}/{}/part-00000.ndjson", self.plan.plan_id, seat))
    }

    pub fn object(&self, key: &str) -> String {
        std::fs::read_to_string(self.directory.path().join("control").join(key)).unwrap()
    }

    /// What the sender says that it left out.
    pub fn skipped(&self) -> Vec<Value> {
        let part = format!("control/digests/{}/skipped/part-00000.ndjson", self.plan.plan_id);
        let text = std::fs::read_to_string(self.directory.path().join(part)).unwrap_or_default();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    pub fn record(&self, name: &str) -> Option<Value> {
        let text = std::fs::read(self.directory.path().join(format!("control/records/{name}.json"))).ok()?;
        Some(serde_json::from_slice(&text).unwrap())
    }

    /// Both trees are the same, to the bit, the nanosecond and the permission; nothing else lies at the destination.
    pub fn assert_same_trees(&self) {
        match &self.shared {
            Some(shared) => (shared.assert_same)(&self.source()),
            None => assert_eq!(list(&self.source()), list(&self.destination())),
        }
    }
}
