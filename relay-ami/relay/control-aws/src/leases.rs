//! Leases of ranges and of the finish, in the chunk table beside the chunks: `lease` in each range, `finish` in the first.

use aws_sdk_dynamodb::operation::update_item::builders::UpdateItemFluentBuilder;

use super::answers::malformed;
use super::aws::Aws;
use super::aws_items::{self, Item, number, text};
use super::chunk_changes;
use cpt_control::leases::{Finish, Leased, Owner};
use cpt_control::{ControlError, Result, unix_now};
use cpt_wire::documents::membership::Retired;
use cpt_wire::documents::seat::Seat;

/// DynamoDB removes the item of a lease so long after it was taken: twice the 15 days that an execution may run.
const LEASE_KEPT_SECONDS: f64 = 30.0 * 86_400.0;
const LEASE: &str = "lease";
const FINISH: &str = "finish";
/// The range whose item of this name is the finish's, whatever the plan: whoever starts another run removes it.
const FIRST: u64 = 0;

impl Aws {
    pub(super) fn take_lease(&self, range: u64, owner: &Owner, retired: Option<&Retired>) -> Result<bool> {
        let what = format!("lease range {range}");
        let update = self.update_lease(range, LEASE, chunk_changes::LEASE, chunk_changes::LEASE_GUARD, retired);
        let update = update
            .expression_attribute_names("#owner", "owner")
            .expression_attribute_names("#epoch", "epoch")
            .expression_attribute_names("#seat", "seat")
            .expression_attribute_values(":owner", text(&owner.process))
            .expression_attribute_values(":epoch", number(owner.epoch))
            .expression_attribute_values(":seat", text(owner.seat.to_string()))
            .expression_attribute_values(":settled", aws_items::flag(false))
            .expression_attribute_values(":expiresAt", expires_at());
        if self.change(&what, update)? {
            return Ok(true);
        }
        match self.read_leases(&[range])?.into_iter().flatten().next() {
            Some(held) if held.seat != owner.seat => Ok(false),
            _ => Err(ControlError::LeaseLost { range, owner: "another process of this seat, of the same or a later epoch".to_owned() }),
        }
    }

    pub(super) fn read_leases(&self, ranges: &[u64]) -> Result<Vec<Option<Leased>>> {
        let keys: Vec<Item> = ranges.iter().map(|range| self.key_in_range(*range, LEASE)).collect();
        let items = self.items("read leases", &keys)?;
        let held = |key: &Item| {
            let item = items.iter().find(|item| item.get("rangeKey") == key.get("rangeKey"))?;
            Some(leased(item).map_err(|why| malformed("lease", why)))
        };
        keys.iter().map(|key| held(key).transpose()).collect()
    }

    pub(super) fn settle_range(&self, range: u64, owner: &Owner) -> Result<bool> {
        let update = self.update_lease(range, LEASE, chunk_changes::SETTLE, chunk_changes::SETTLE_GUARD, None);
        let update = update
            .expression_attribute_names("#owner", "owner")
            .expression_attribute_names("#epoch", "epoch")
            .expression_attribute_values(":owner", text(&owner.process))
            .expression_attribute_values(":epoch", number(owner.epoch))
            .expression_attribute_values(":settled", aws_items::flag(true));
        self.change(&format!("settle range {range}"), update)
    }

    pub(super) fn read_finish(&self) -> Result<Option<Finish>> {
        let found = self.items("read the finish", &[self.key_in_range(FIRST, FINISH)])?;
        found.first().map(|item| finish(item).map_err(|why| malformed("finish", why))).transpose()
    }

    pub(super) fn lease_finish(&self, finish: &Finish, retired: Option<&Retired>) -> Result<bool> {
        let update = self.update_lease(FIRST, FINISH, chunk_changes::FINISH, chunk_changes::FINISH_GUARD, retired);
        let update = update
            .expression_attribute_names("#epoch", "epoch")
            .expression_attribute_names("#seat", "seat")
            .expression_attribute_values(":seat", text(finish.seat.to_string()))
            .expression_attribute_values(":epoch", number(finish.epoch))
            .expression_attribute_values(":receiver", text(finish.receiver.to_string()))
            .expression_attribute_values(":expiresAt", expires_at());
        self.change("lease the finish", update)
    }

    /// An update of an item under a condition, which also holds where the item is a retired seat's.
    fn update_lease(&self, range: u64, item: &str, change: &str, guard: &str, retired: Option<&Retired>) -> UpdateItemFluentBuilder {
        let update = self.update_chunks().set_key(Some(self.key_in_range(range, item))).update_expression(change);
        let Some(retired) = retired else { return update.condition_expression(guard) };
        update
            .condition_expression(format!("{guard}{}", chunk_changes::TAKEOVER))
            .expression_attribute_values(":retiredSeat", text(retired.seat_id.to_string()))
            .expression_attribute_values(":retiredEpoch", number(retired.epoch))
    }
}

fn expires_at() -> aws_sdk_dynamodb::types::AttributeValue {
    number(format!("{:.0}", unix_now() + LEASE_KEPT_SECONDS))
}

fn leased(item: &Item) -> std::result::Result<Leased, String> {
    let seat = item.get("seat").map_or(Ok(Seat::SENDER), |_| seat(item, "seat"))?;
    Ok(Leased { seat, epoch: epoch(item)?, is_settled: aws_items::is_set(item.get("settled")) })
}

fn finish(item: &Item) -> std::result::Result<Finish, String> {
    Ok(Finish { seat: seat(item, "seat")?, epoch: epoch(item)?, receiver: seat(item, "receiver")? })
}

fn seat(item: &Item, name: &str) -> std::result::Result<Seat, String> {
    let text = item.get(name).and_then(|value| value.as_s().ok());
    Seat::new(text.ok_or_else(|| format!("has no attribute {name}"))?)
}

fn epoch(item: &Item) -> std::result::Result<u64, String> {
    let number = item.get("epoch").and_then(|value| value.as_n().ok()).and_then(|number| number.parse().ok());
    number.ok_or_else(|| "has no attribute epoch that is a number".to_owned())
}
