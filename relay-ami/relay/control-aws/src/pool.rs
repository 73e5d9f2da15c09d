//! What a node of the pool reads and says: items under its own ARN, which is all that its role reaches.

use std::collections::BTreeMap;
use std::str::FromStr;

use super::answers::{conditional, failed, malformed};
use super::aws_items::{Item, number, text};
use super::calls::Calls;
use super::clients::{Clients, Setup};
use cpt_control::Result;
use cpt_process::stop::Stop;
use cpt_wire::documents::text::{Region, TransferId};

/// What leases' items are called before their transfer and relay.
const LEASE: &str = "lease#";
/// The item by which the control plane keeps the node alive, and the one by which the node says that it lives.
const KEEPALIVE: &str = "keepalive";
const SAID: &str = "said";
/// Bytes of why a lease did not start: an item is read twice a second.
const REASON_BYTES: usize = 1000;

/// The node's partition: region, table and ARN of the machine, with blanks between them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodePlace {
    pub region: Region,
    pub table: String,
    pub machine: String,
}

impl FromStr for NodePlace {
    type Err = String;

    fn from_str(place: &str) -> std::result::Result<Self, String> {
        let [region, table, machine] = place.split(' ').collect::<Vec<_>>()[..] else {
            return Err(format!("{place:?} has not three parts: region, table and the machine's ARN"));
        };
        if !machine.starts_with("arn:") || !machine.contains(":instance/i-") {
            return Err(format!("{machine:?} is no ARN of an instance"));
        }
        Ok(Self { region: Region::new(region)?, table: table.to_owned(), machine: machine.to_owned() })
    }
}

/// A transfer's place on this node, as the control plane has written it. Times in Unix seconds.
#[derive(Clone, Debug, PartialEq)]
pub struct Lease {
    /// Sort key of its item.
    pub record: String,
    pub transfer: TransferId,
    /// The node's, when the lease was given: of two leases of one transfer the later one counts.
    pub epoch: u64,
    /// Relay command, base64url of its JSON; None before the sender's key is known.
    pub command: Option<String>,
    /// What its daemon may send.
    pub limit: Limit,
    /// MB/s to which it falls back when the limit has ended.
    pub guarantee: f64,
    /// The node ends the lease by itself then.
    pub until: f64,
    /// The control plane has taken it back.
    pub is_ended: bool,
    /// The node has said that nothing of it runs any more.
    pub is_stopped: bool,
}

/// MB/s until then; the number goes up with each limit that a lease is told.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limit {
    pub number: u64,
    pub mb_s: f64,
    pub until: f64,
}

impl Lease {
    /// What its daemon may send at `now`, MB/s, if nothing newer is known: after the limit's end the guarantee, and never more than the
    /// limit, as others may have been given the rest meanwhile. `core/pool/pool_node.py` says the same.
    #[must_use]
    pub const fn may_send(&self, now: f64) -> f64 {
        if now < self.limit.until { self.limit.mb_s } else { self.limit.mb_s.min(self.guarantee) }
    }
}

/// Everything that is written for this node.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Standing {
    pub leases: Vec<Lease>,
    /// Unix seconds until which the pool wants the node.
    pub wanted_until: f64,
    /// Records of leases that cannot be read, and why. Nothing of them runs: what they may send is not known.
    pub unreadable: BTreeMap<String, String>,
}

/// What a node says of a lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Said<'a> {
    Listening,
    Failed(&'a str),
    Stopped,
    /// The number of the limit that its daemon applies, and the bytes that it has moved both ways.
    Applies {
        number: u64,
        bytes: u64,
    },
}

/// The node's own items.
pub struct NodeItems {
    calls: Calls,
    client: aws_sdk_dynamodb::Client,
    place: NodePlace,
}

impl NodeItems {
    /// Prepares the client; no call is made.
    pub fn new(place: NodePlace, stop: &Stop, setup: &Setup) -> Result<Self> {
        let calls = Calls::new(stop, setup.times.last_words)?;
        let client = Clients::new(calls.runtime(), &place.region.to_string(), setup)?.reports;
        Ok(Self { calls, client, place })
    }

    /// Reads all of them.
    pub fn read(&self) -> Result<Standing> {
        let what = "read the node's items";
        let query = self.client.query().table_name(&self.place.table).consistent_read(true);
        let query = query.key_condition_expression("machine = :machine").expression_attribute_values(":machine", text(&self.place.machine));
        let found = self.calls.ask(what, async { query.send().await.map_err(|error| failed(what, &error)) })?;
        let mut standing = Standing::default();
        for item in found.items() {
            match text_of(item, "record") {
                Some(KEEPALIVE) => standing.wanted_until = number_of(item, "until").unwrap_or_default(),
                Some(record) if record.starts_with(LEASE) => match lease(&self.place, record, item) {
                    Ok(lease) => standing.leases.push(lease),
                    Err(error) => drop(standing.unreadable.insert(record.to_owned(), error.to_string())),
                },
                _ => {}
            }
        }
        Ok(standing)
    }

    /// Says that the node takes leases; `version` is the daemon's.
    pub fn say_alive(&self, now: f64, version: &str) -> Result<()> {
        let update = self.client.update_item().table_name(&self.place.table);
        let update = update
            .key("machine", text(&self.place.machine))
            .key("record", text(SAID))
            .update_expression("SET #at = :at, #version = :version")
            .expression_attribute_names("#at", "saidAt")
            .expression_attribute_names("#version", "daemon")
            .expression_attribute_values(":at", number(now))
            .expression_attribute_values(":version", text(version));
        let what = "say that the node lives";
        self.calls.tell(what, async { update.send().await.map_err(|error| failed(what, &error)) }).map(drop)
    }

    /// Says what became of a lease; `false` where its item has gone.
    pub fn say(&self, record: &str, said: Said<'_>, now: f64) -> Result<bool> {
        let (name, value) = match said {
            Said::Listening => ("listeningAt", number(now)),
            Said::Stopped => ("stoppedAt", number(now)),
            Said::Failed(why) => ("failed", text(shortened(why))),
            Said::Applies { number: applied, .. } => ("applied", number(applied)),
        };
        let bytes = if let Said::Applies { bytes, .. } = said { Some(bytes) } else { None };
        let update = self.client.update_item().table_name(&self.place.table);
        let update = update
            .key("machine", text(&self.place.machine))
            .key("record", text(record))
            .update_expression(if bytes.is_some() { "SET #name = :value, #bytes = :bytes" } else { "SET #name = :value" })
            .condition_expression("attribute_exists(#record)")
            .expression_attribute_names("#name", name)
            .expression_attribute_names("#record", "record")
            .expression_attribute_values(":value", value);
        let update = match bytes {
            Some(bytes) => update.expression_attribute_names("#bytes", "bytes").expression_attribute_values(":bytes", number(bytes)),
            None => update,
        };
        let what = format!("say of {record}: {name}");
        self.calls.tell(&what, async { conditional(&what, update.send().await) })
    }
}

/// A lease that is this node's, and whose parts agree: whatever else the table has, nothing is started for it.
fn lease(place: &NodePlace, record: &str, item: &Item) -> Result<Lease> {
    let missing = |name: &str| malformed(record, format!("{name} is missing, or of another kind"));
    let named = |name: &str| text_of(item, name).ok_or_else(|| missing(name));
    let (transfer, relay, node) = (named("transferId")?, named("relayId")?, named("nodeId")?);
    if record != format!("{LEASE}{transfer}#{relay}") {
        return Err(malformed(record, format!("transferId is {transfer} and relayId {relay}; the record must name both")));
    }
    if place.machine.rsplit('/').next() != Some(node) {
        return Err(malformed(record, format!("nodeId is {node}; this is {}", place.machine)));
    }
    Ok(Lease {
        record: record.to_owned(),
        transfer: TransferId::new(transfer).map_err(|why| malformed(record, why))?,
        epoch: whole_of(item, "epoch").ok_or_else(|| missing("epoch"))?,
        command: text_of(item, "command").map(str::to_owned),
        limit: item.get("limit").and_then(|limit| limit.as_m().ok()).and_then(limit).ok_or_else(|| missing("limit"))?,
        guarantee: number_of(item, "guaranteeMBps").filter(|mb_s| *mb_s >= 0.0).unwrap_or_default(),
        until: number_of(item, "until").ok_or_else(|| missing("until"))?,
        is_ended: item.contains_key("endedAt"),
        is_stopped: item.contains_key("stoppedAt"),
    })
}

fn limit(map: &Item) -> Option<Limit> {
    let mb_s = number_of(map, "MBps").filter(|mb_s| *mb_s >= 0.0)?;
    Some(Limit { number: whole_of(map, "number")?, mb_s, until: number_of(map, "until")? })
}

fn text_of<'a>(item: &'a Item, name: &str) -> Option<&'a str> {
    item.get(name)?.as_s().ok().map(String::as_str)
}

fn number_of(item: &Item, name: &str) -> Option<f64> {
    item.get(name)?.as_n().ok()?.parse().ok().filter(|number: &f64| number.is_finite())
}

fn whole_of(item: &Item, name: &str) -> Option<u64> {
    item.get(name)?.as_n().ok()?.parse().ok()
}

/// Its end: that is where a script says why it failed.
fn shortened(why: &str) -> &str {
    let mut start = why.len().saturating_sub(REASON_BYTES);
    while !why.is_char_boundary(start) {
        start += 1;
    }
    &why[start..]
}

#[cfg(test)]
#[path = "pool_tests.rs"]
mod tests;
