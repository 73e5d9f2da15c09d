//! The control plane in AWS: DynamoDB, S3, EventBridge. Credentials come from IMDSv2 alone. Time limits: `clients`.

use std::collections::HashMap;
use std::error::Error as StdError;
use std::future::Future;
use std::ops::Range;
use std::time::Duration;

use aws_sdk_dynamodb::error::ProvideErrorMetadata;
use aws_sdk_dynamodb::operation::update_item::builders::UpdateItemFluentBuilder;
use aws_sdk_dynamodb::types::{AttributeValue, KeysAndAttributes};
use aws_sdk_eventbridge::types::PutEventsRequestEntry;
use tokio::task::JoinSet;

use super::answers::{conditional, failed, malformed, unavailable};
use super::aws_items::{self, Item, list, number, text};
use super::calls::Calls;
use super::chunk_changes;
use super::clients::{Clients, Setup, Times};
use cpt_control::defaults::TABLE_CONCURRENCY;
use cpt_control::leases::{Finish, Leased, Owner};
use cpt_control::{Control, ControlError, Delivery, KeyRecord, ProbeResult, Result, Seat, Undelivered, until_answered};
use cpt_process::stop::Stop;
use cpt_wire::documents::chunk::{Chunk, item_key, range_key};
use cpt_wire::documents::command::ControlPlace;
use cpt_wire::documents::event::{Event, FailureReason, Progress};
use cpt_wire::documents::membership::{Membership, Retired};
use cpt_wire::documents::text::PathId;

/// Source of the events of both ends.
const EVENT_SOURCE: &str = "cpt.agent";
/// An object whose body broke off is asked for again so many times, after pauses of 1, 2 and 4 s; then the caller decides.
const BODY_ATTEMPTS: u32 = 4;
/// PutEvents' per-entry failures are asked again so many times: 0.2 + 0.4 + … s, 6 s in all.
const EVENT_ATTEMPTS: u32 = 6;
/// Keys that come back unprocessed are asked for again so many times, after 1 + 2 + 4 s.
const UNPROCESSED_ATTEMPTS: u32 = 3;
/// Keys of one BatchGetItem.
const BATCH_KEYS: usize = 100;

/// Attributes of a record, by name.
pub(super) type Attributes = Vec<(&'static str, AttributeValue)>;

/// One transfer's control plane in AWS.
pub struct Aws {
    pub(super) calls: Calls,
    clients: Clients,
    times: Times,
    pub(super) place: ControlPlace,
    range_size: u64,
    stop: Stop,
    /// How long an object is asked for again, beyond the SDK's retries.
    patience: Duration,
}

impl Aws {
    /// Prepares the clients; no call is made. It knows no ranges until the plan is known. No call outlasts `stop` for long.
    pub fn new(place: &ControlPlace, stop: &Stop, setup: &Setup) -> Result<Self> {
        let calls = Calls::new(stop, setup.times.last_words)?;
        let clients = Clients::new(calls.runtime(), &place.region.to_string(), setup)?;
        let (times, stop, patience) = (setup.times, stop.clone(), Duration::ZERO);
        Ok(Self { calls, clients, times, place: place.clone(), range_size: 1, stop, patience })
    }

    /// The same for whoever has nothing else to do: objects are asked for and written again for so long.
    #[must_use]
    pub fn with_patience(self, patience: Duration) -> Self {
        Self { patience, ..self }
    }

    /// The same, knowing how many chunks a range holds.
    #[must_use]
    pub fn with_range_size(self, range_size: u64) -> Self {
        Self { range_size: range_size.max(1), ..self }
    }

    fn ask<T, E: StdError + ProvideErrorMetadata>(&self, what: &str, call: impl Future<Output = std::result::Result<T, E>>) -> Result<T> {
        self.calls.ask(what, async { call.await.map_err(|error| failed(what, &error)) })
    }

    pub(super) fn tell<T, E: StdError + ProvideErrorMetadata>(
        &self,
        what: &str,
        call: impl Future<Output = std::result::Result<T, E>>,
    ) -> Result<T> {
        self.calls.tell(what, async { call.await.map_err(|error| failed(what, &error)) })
    }

    /// A conditional write; `false` where the item has moved on.
    pub(super) fn change(&self, what: &str, update: UpdateItemFluentBuilder) -> Result<bool> {
        self.calls.tell(what, async { conditional(what, update.send().await) })
    }

    pub(super) fn record(&self, record: &str) -> Result<Option<Item>> {
        let get = self.clients.reports.get_item().table_name(&self.place.transfers_table);
        let get = get.key("transferId", text(self.place.partition.as_str())).key("record", text(record)).consistent_read(true);
        Ok(self.ask(&format!("read record {record}"), get.send())?.item)
    }

    /// An update of a record that names these attributes and no others: the policy of ends allows those of agents alone.
    pub(super) fn update_record(&self, record: &str, attributes: Attributes) -> UpdateItemFluentBuilder {
        let assignments: Vec<String> = (0..attributes.len()).map(|at| format!("#a{at} = :a{at}")).collect();
        let mut update = self.clients.reports.update_item().table_name(&self.place.transfers_table);
        update = update.key("transferId", text(self.place.partition.as_str())).key("record", text(record));
        update = update.update_expression(format!("SET {}", assignments.join(", ")));
        for (at, (name, value)) in attributes.into_iter().enumerate() {
            update = update.expression_attribute_names(format!("#a{at}"), name).expression_attribute_values(format!(":a{at}"), value);
        }
        update
    }

    /// The same with the epoch of the process that writes, under a condition on `:epoch`.
    fn update_of_epoch(&self, record: &str, mut attributes: Attributes, epoch: u64, condition: &str) -> UpdateItemFluentBuilder {
        attributes.push(("epoch", number(epoch)));
        let update = self.update_record(record, attributes).condition_expression(condition);
        update.expression_attribute_values(":epoch", number(epoch))
    }

    fn write_record(&self, record: &str, attributes: Attributes, epoch: u64) -> Result<()> {
        // A daemon of an earlier epoch that still runs must not speak for the later one.
        let update = self.update_of_epoch(record, attributes, epoch, "attribute_not_exists(epoch) OR epoch <= :epoch");
        self.change(&format!("write record {record}"), update).map(drop)
    }

    fn chunk_key(&self, chunk: u64) -> Item {
        self.key_in_range(chunk / self.range_size, &item_key(chunk))
    }

    /// One attempt at an object, or at a range of it as far as the object goes: neither shorter nor longer than that.
    async fn object(&self, what: &str, key: &str, range: Option<&Range<u64>>) -> std::result::Result<Vec<u8>, Broken> {
        let bytes = range.map(|range| format!("bytes={}-{}", range.start, range.end.saturating_sub(1)));
        let get = self.clients.s3.get_object().bucket(&self.place.bucket).key(key).set_range(bytes);
        let mut object = get.send().await.map_err(|error| Broken::Head(failed(what, &error)))?;
        let length = object.content_length().and_then(|length| u64::try_from(length).ok());
        let broken = |why: String| Broken::Body(ControlError::Unavailable { what: what.to_owned(), why });
        let time = self.times.body(length.unwrap_or_default());
        let body = tokio::time::timeout(time, std::mem::take(&mut object.body).collect()).await;
        let body = body.map_err(|_| broken(format!("the body of {length:?} bytes did not come within {time:?}")))?;
        let body = body.map_err(|error| Broken::Body(unavailable(what, &error)))?.to_vec();
        // `bytes 5-9/10`: where the object ends before the range does, its size says so.
        let size = object.content_range.as_deref().and_then(|text| text.rsplit('/').next()?.parse::<u64>().ok());
        let wanted = range.map(|range| range.end.min(size.unwrap_or(range.end)).saturating_sub(range.start)).or(length);
        match wanted {
            Some(wanted) if wanted != body.len() as u64 => Err(broken(format!("{} bytes came; {wanted} are right", body.len()))),
            _ => Ok(body),
        }
    }

    /// Returns what the table has in place of deliveries that it did not take; nothing of those that it has as they are, since the answer
    /// to an earlier write was lost.
    fn look_after(&self, deliveries: &[&Delivery]) -> Result<Vec<Undelivered>> {
        let numbers: Vec<u64> = deliveries.iter().map(|delivery| delivery.chunk).collect();
        let items: HashMap<u64, Chunk> = self.chunks(&numbers)?.into_iter().map(|item| (item.chunk, item)).collect();
        Ok(deliveries.iter().filter_map(|delivery| Undelivered::unless_written(delivery, items.get(&delivery.chunk))).collect())
    }

    /// Items of the chunk table that are there, in any order.
    pub(super) fn items(&self, what: &str, keys: &[Item]) -> Result<Vec<Item>> {
        let mut found = Vec::with_capacity(keys.len());
        for batch in keys.chunks(BATCH_KEYS) {
            let request = KeysAndAttributes::builder().set_keys(Some(batch.to_vec())).consistent_read(true).build();
            let request = request.map_err(|error| unavailable(what, &error))?;
            let mut left = HashMap::from([(self.place.chunks_table.clone(), request)]);
            // A table that is throttled leaves some out: asked for again, since one that is left out would count as gone.
            for attempt in 0..=UNPROCESSED_ATTEMPTS {
                let get = self.clients.chunks.batch_get_item().set_request_items(Some(left));
                let answer = self.ask(what, get.send())?;
                found.extend(answer.responses.unwrap_or_default().into_values().flatten());
                left = answer.unprocessed_keys.unwrap_or_default();
                if left.is_empty() {
                    break;
                }
                if attempt == UNPROCESSED_ATTEMPTS || self.stop.sleep(self.times.pause * (1 << attempt)) {
                    return Err(ControlError::Unavailable { what: what.to_owned(), why: "some were left unprocessed".to_owned() });
                }
            }
        }
        Ok(found)
    }

    /// The key of an item that a range has besides its chunks.
    pub(super) fn key_in_range(&self, range: u64, item: &str) -> Item {
        let range = range_key(self.place.partition.as_str(), range);
        HashMap::from([("rangeKey".to_owned(), text(range)), ("itemKey".to_owned(), text(item))])
    }

    pub(super) fn update_chunks(&self) -> UpdateItemFluentBuilder {
        self.clients.chunks.update_item().table_name(&self.place.chunks_table)
    }

    /// An update of a chunk's item that holds only while it is PENDING in this attempt.
    fn update_pending(&self, chunk: u64, attempt: u32) -> UpdateItemFluentBuilder {
        self.update_chunks()
            .set_key(Some(self.chunk_key(chunk)))
            .condition_expression(chunk_changes::GUARD)
            .expression_attribute_names("#state", "state")
            .expression_attribute_values(":pending", text("PENDING"))
            .expression_attribute_values(":attempt", number(attempt))
    }
}

/// The point at which reading an object broke off.
enum Broken {
    Head(ControlError),
    Body(ControlError),
}

impl Control for Aws {
    fn read_object(&self, key: &str, range: Option<Range<u64>>) -> Result<Vec<u8>> {
        let what = format!("read s3://{}/{key}", self.place.bucket);
        let read = async || {
            let mut pause = self.times.pause;
            for _ in 1..BODY_ATTEMPTS {
                match self.object(&what, key, range.as_ref()).await {
                    // The SDK has repeated all it may where the head did not come.
                    Err(Broken::Head(error)) => return Err(error),
                    Err(Broken::Body(error)) => tracing::warn!(%error, "asked for again"),
                    Ok(bytes) => return Ok(bytes),
                }
                tokio::time::sleep(pause).await;
                pause *= 2;
            }
            self.object(&what, key, range.as_ref()).await.map_err(|(Broken::Head(error) | Broken::Body(error))| error)
        };
        until_answered(&self.stop, self.patience, || self.calls.ask(&what, read()))
    }

    fn write_object(&self, key: &str, bytes: Vec<u8>) -> Result<()> {
        let what = format!("write s3://{}/{key}", self.place.bucket);
        let times = aws_sdk_s3::config::Builder::new().timeout_config(self.times.writing(bytes.len() as u64));
        let put = || self.clients.s3.put_object().bucket(&self.place.bucket).key(key).body(bytes.clone().into());
        let write = || self.ask(&what, put().customize().config_override(times.clone()).send());
        until_answered(&self.stop, self.patience, write).map(drop)
    }

    fn lease(&self, range: u64, owner: &Owner, retired: Option<&Retired>) -> Result<bool> {
        self.take_lease(range, owner, retired)
    }

    fn leases(&self, ranges: &[u64]) -> Result<Vec<Option<Leased>>> {
        self.read_leases(ranges)
    }

    fn settle(&self, range: u64, owner: &Owner) -> Result<bool> {
        self.settle_range(range, owner)
    }

    fn finish(&self) -> Result<Option<Finish>> {
        self.read_finish()
    }

    fn take_finish(&self, finish: &Finish, retired: Option<&Retired>) -> Result<bool> {
        self.lease_finish(finish, retired)
    }

    fn range_chunks(&self, range: u64) -> Result<Vec<Chunk>> {
        let what = format!("query range {range}");
        let query = self.clients.chunks.query().table_name(&self.place.chunks_table).consistent_read(true);
        // Chunks' keys are digits; `lease` sorts after them.
        let query = query
            .key_condition_expression("rangeKey = :range AND itemKey < :letters")
            .expression_attribute_values(":range", text(range_key(self.place.partition.as_str(), range)))
            .expression_attribute_values(":letters", text("a"));
        let pages = query.into_paginator().items().send();
        let items = self.ask(&what, async { pages.collect::<std::result::Result<Vec<Item>, _>>().await })?;
        items.iter().map(|item| aws_items::chunk(item).map_err(|why| malformed(&*what, why))).collect()
    }

    fn chunks(&self, chunks: &[u64]) -> Result<Vec<Chunk>> {
        let keys: Vec<Item> = chunks.iter().map(|chunk| self.chunk_key(*chunk)).collect();
        let items = self.items("read chunks", &keys)?;
        items.iter().map(|item| aws_items::chunk(item).map_err(|why| malformed("read chunks", why))).collect()
    }

    fn deliver(&self, deliveries: &[Delivery]) -> Result<Vec<Undelivered>> {
        let mut moved_on = Vec::new();
        for batch in deliveries.chunks(TABLE_CONCURRENCY) {
            let mut writes = JoinSet::new();
            for (at, delivery) in batch.iter().enumerate() {
                let update = self
                    .update_pending(delivery.chunk, delivery.attempt)
                    .update_expression(chunk_changes::DELIVER)
                    .expression_attribute_values(":state", text("DELIVERED"))
                    .expression_attribute_values(":digest", text(delivery.digest.as_str()))
                    .expression_attribute_values(":pathId", text(&delivery.path_id))
                    .expression_attribute_values(":lane", number(delivery.lane))
                    .expression_attribute_values(":startedAt", number(format!("{:.3}", delivery.started_at)))
                    .expression_attribute_values(":deliveredAt", number(format!("{:.3}", delivery.delivered_at)));
                let what = format!("deliver chunk {}", delivery.chunk);
                writes.spawn_on(
                    async move { conditional(&what, update.send().await).map(|written| (at, written)) },
                    self.calls.runtime().handle(),
                );
            }
            for result in self.calls.tell("deliver chunks", async { Ok(writes.join_all().await) })? {
                if let (at, false) = result? {
                    moved_on.extend(batch.get(at));
                }
            }
        }
        self.look_after(&moved_on)
    }

    fn note_failure(&self, chunk: u64, attempt: u32, reason: FailureReason) -> Result<bool> {
        let update = self
            .update_pending(chunk, attempt)
            .update_expression(chunk_changes::NOTE_FAILURE)
            .expression_attribute_values(":failedAttempt", number(attempt))
            .expression_attribute_values(":reason", text(reason.as_str()));
        self.change(&format!("note the failure of chunk {chunk}"), update)
    }

    fn publish_key(&self, seat: Seat, key: &KeyRecord) -> Result<bool> {
        let mut attributes = vec![("tlsPublicKey", text(&key.tls_public_key))];
        attributes.extend(key.route_public_key.as_ref().map(|value| ("routePublicKey", text(value))));
        attributes.extend(key.address.as_ref().map(|value| ("address", text(value))));
        let name = format!("key#{seat}");
        // A write whose answer was lost is repeated, and finds its own key.
        let guard = "attribute_not_exists(epoch) OR epoch < :epoch OR (epoch = :epoch AND tlsPublicKey = :key)";
        let update = self.update_of_epoch(&name, attributes, key.epoch, guard);
        self.change(&format!("write record {name}"), update.expression_attribute_values(":key", text(&key.tls_public_key)))
    }

    fn key(&self, seat: Seat) -> Result<Option<KeyRecord>> {
        let name = format!("key#{seat}");
        self.record(&name)?.map(|item| aws_items::key(&item).map_err(|why| malformed(name, why))).transpose()
    }

    fn membership(&self) -> Result<Option<Membership>> {
        let Some(item) = self.record("membership")? else { return Ok(None) };
        // Ends may write an attribute `document`, and none of this name.
        let document = item.get("membership").and_then(|value| value.as_s().ok());
        let document = document.ok_or_else(|| malformed("membership", "has no attribute membership".to_owned()))?;
        Membership::parse(document.as_bytes()).map(Some).map_err(|why| malformed("membership", why))
    }

    fn progress(&self, seat: Seat) -> Result<Option<Progress>> {
        let name = format!("progress#{seat}");
        let Some(item) = self.record(&name)? else { return Ok(None) };
        let document = item.get("document").and_then(|value| value.as_s().ok()).map_or("", |document| document);
        serde_json::from_str(document).map(Some).map_err(|error| malformed(name, error.to_string()))
    }

    fn write_progress(&self, seat: Seat, progress: &Progress) -> Result<()> {
        let document = serde_json::to_string(progress).map_err(|error| malformed("progress", error.to_string()))?;
        let attributes = vec![("document", text(document)), ("sequence", number(progress.sequence))];
        self.write_record(&format!("progress#{seat}"), attributes, progress.epoch)
    }

    fn write_probe(&self, path: &PathId, result: &ProbeResult) -> Result<()> {
        let mut attributes = vec![("generation", number(result.generation))];
        attributes.extend(result.inter_region_mb_s.map(|rate| ("interRegionMBps", number(format!("{rate:.3}")))));
        attributes.extend(result.intra_region_mb_s.map(|rate| ("intraRegionMBps", number(format!("{rate:.3}")))));
        let rate = |rate: &f64| number(format!("{rate:.3}"));
        attributes.extend((!result.hops_mb_s.is_empty()).then(|| ("hopsMBps", list(result.hops_mb_s.iter().map(rate)))));
        attributes.extend(result.error.as_ref().map(|why| ("error", text(why))));
        let update = self.update_record(&format!("probe#{path}"), attributes);
        self.tell(&format!("write probe of {path}"), update.send()).map(drop)
    }

    fn fenced(&self) -> Result<bool> {
        Ok(aws_items::is_set(self.record("fence")?.unwrap_or_default().get("fenced")))
    }

    fn note_event(&self, record: &str, event: &Event, epoch: u64) -> Result<()> {
        let document = serde_json::to_string(event).map_err(|error| malformed("event", error.to_string()))?;
        self.write_record(record, vec![("document", text(document))], epoch)
    }

    fn put_event(&self, event: &Event) -> Result<()> {
        let detail = serde_json::to_string(event).map_err(|error| malformed("event", error.to_string()))?;
        let entry = PutEventsRequestEntry::builder().source(EVENT_SOURCE).detail_type(event.detail_type()).detail(detail);
        let entry = entry.event_bus_name(&self.place.bus).build();
        let what = format!("put event {}", event.detail_type());
        let put = async {
            let mut why = String::new();
            for attempt in 0..EVENT_ATTEMPTS {
                if attempt > 0 {
                    tokio::time::sleep(Duration::from_millis(100 << attempt)).await;
                }
                // The call succeeds even when the entry did not: each entry has its own error.
                let answer = self.clients.events.put_events().entries(entry.clone()).send().await.map_err(|error| failed(&what, &error))?;
                match answer.entries().first().and_then(|entry| entry.error_code().map(|code| (code, entry.error_message()))) {
                    None => return Ok(()),
                    Some((code, message)) => why = format!("{code}: {}", message.unwrap_or_default()),
                }
            }
            Err(ControlError::Unavailable { what: what.clone(), why })
        };
        self.calls.tell(&what, put)
    }
}
