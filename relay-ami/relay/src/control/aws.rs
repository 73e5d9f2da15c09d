//! The control plane in AWS: DynamoDB, S3, EventBridge. Credentials come from IMDSv2 alone.

use std::collections::HashMap;
use std::error::Error as StdError;
use std::future::Future;
use std::ops::Range;

use aws_config::imds::credentials::ImdsCredentialsProvider;
use aws_config::retry::RetryConfig;
use aws_config::{BehaviorVersion, Region};
use aws_sdk_dynamodb::error::{DisplayErrorContext, SdkError};
use aws_sdk_dynamodb::operation::update_item::UpdateItemError;
use aws_sdk_dynamodb::operation::update_item::builders::UpdateItemFluentBuilder;
use aws_sdk_dynamodb::types::{AttributeValue, KeysAndAttributes};
use aws_sdk_eventbridge::types::PutEventsRequestEntry;
use tokio::runtime::Runtime;
use tokio::task::JoinSet;

use super::aws_items::{self, Item, number, text};
use super::chunk_changes;
use super::{Control, ControlError, Delivery, KeyRecord, ProbeResult, Result, Side, unix_now};
use crate::defaults::{LEASE_KEPT, TABLE_CONCURRENCY};
use crate::documents::chunk::{Chunk, item_key, range_key};
use crate::documents::command::ControlPlace;
use crate::documents::event::{Event, FailureReason, Progress};
use crate::documents::membership::Membership;
use crate::documents::text::{PathId, TransferId};

/// Source of the events of both ends.
const EVENT_SOURCE: &str = "cpt.agent";
/// Attempts of one call by the SDK: waits of 1, 2, 4, … 20 s at most, about 1 minute in all, then the caller decides.
const CALL_ATTEMPTS: u32 = 8;
/// PutEvents' per-entry failures are asked again so many times: 0.2 + 0.4 + … s, 6 s in all.
const EVENT_ATTEMPTS: u32 = 6;
/// Keys of one BatchGetItem.
const BATCH_KEYS: usize = 100;

/// What a record is given, by name.
type Attributes = Vec<(&'static str, AttributeValue)>;

/// One transfer's control plane in AWS.
pub struct Aws {
    runtime: Runtime,
    dynamodb: aws_sdk_dynamodb::Client,
    s3: aws_sdk_s3::Client,
    events: aws_sdk_eventbridge::Client,
    place: ControlPlace,
    transfer: TransferId,
    range_size: u64,
}

impl Aws {
    /// Prepares the clients; no call is made. `range_size` is 1 until the plan is known.
    pub fn new(place: &ControlPlace, transfer: &TransferId) -> Result<Self> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .map_err(|error| ControlError::Unavailable { what: "runtime".to_owned(), why: error.to_string() })?;
        let config = runtime.block_on(
            aws_config::defaults(BehaviorVersion::latest())
                .region(Region::new(place.region.to_string()))
                .credentials_provider(ImdsCredentialsProvider::builder().build())
                .retry_config(RetryConfig::adaptive().with_max_attempts(CALL_ATTEMPTS))
                .load(),
        );
        // An emulator has no host name per bucket.
        let s3 = aws_sdk_s3::config::Builder::from(&config).force_path_style(config.endpoint_url().is_some()).build();
        Ok(Self {
            dynamodb: aws_sdk_dynamodb::Client::new(&config),
            s3: aws_sdk_s3::Client::from_conf(s3),
            events: aws_sdk_eventbridge::Client::new(&config),
            runtime,
            place: place.clone(),
            transfer: transfer.clone(),
            range_size: 1,
        })
    }

    /// The same, knowing how many chunks a range holds.
    #[must_use]
    pub fn with_range_size(self, range_size: u64) -> Self {
        Self { range_size: range_size.max(1), ..self }
    }

    fn call<T, E: StdError>(&self, what: &str, future: impl Future<Output = std::result::Result<T, E>>) -> Result<T> {
        self.runtime.block_on(future).map_err(|error| unavailable(what, &error))
    }

    fn record(&self, record: &str) -> Result<Option<Item>> {
        let get = self.dynamodb.get_item().table_name(&self.place.transfers_table);
        let get = get.key("transferId", text(self.transfer.as_str())).key("record", text(record)).consistent_read(true);
        Ok(self.call(&format!("read record {record}"), get.send())?.item)
    }

    /// An update of a record that names these attributes and no others: the policy of ends allows those of agents alone.
    fn update_record(&self, record: &str, attributes: Attributes) -> UpdateItemFluentBuilder {
        let assignments: Vec<String> = (0..attributes.len()).map(|at| format!("#a{at} = :a{at}")).collect();
        let mut update = self.dynamodb.update_item().table_name(&self.place.transfers_table);
        update = update.key("transferId", text(self.transfer.as_str())).key("record", text(record));
        update = update.update_expression(format!("SET {}", assignments.join(", ")));
        for (at, (name, value)) in attributes.into_iter().enumerate() {
            update = update.expression_attribute_names(format!("#a{at}"), name).expression_attribute_values(format!(":a{at}"), value);
        }
        update
    }

    fn write_record(&self, record: &str, mut attributes: Attributes, epoch: u64) -> Result<()> {
        attributes.push(("epoch", number(epoch)));
        // A daemon of an earlier epoch that still runs must not speak for the later one.
        let update = self.update_record(record, attributes).condition_expression("attribute_not_exists(epoch) OR epoch <= :epoch");
        let update = update.expression_attribute_values(":epoch", number(epoch));
        conditional(&format!("write record {record}"), self.runtime.block_on(update.send())).map(drop)
    }

    fn chunk_key(&self, chunk: u64) -> Item {
        let range = range_key(&self.transfer, chunk / self.range_size);
        HashMap::from([("rangeKey".to_owned(), text(range)), ("itemKey".to_owned(), text(item_key(chunk)))])
    }

    /// An update of a chunk's item that holds only while it is PENDING in this attempt.
    fn update_pending(&self, chunk: u64, attempt: u32) -> UpdateItemFluentBuilder {
        self.dynamodb
            .update_item()
            .table_name(&self.place.chunks_table)
            .set_key(Some(self.chunk_key(chunk)))
            .condition_expression(chunk_changes::GUARD)
            .expression_attribute_names("#state", "state")
            .expression_attribute_values(":pending", text("PENDING"))
            .expression_attribute_values(":attempt", number(attempt))
    }
}

fn unavailable(what: &str, error: &dyn StdError) -> ControlError {
    ControlError::Unavailable { what: what.to_owned(), why: DisplayErrorContext(error).to_string() }
}

fn malformed(what: impl Into<String>, why: String) -> ControlError {
    ControlError::Malformed { what: what.into(), why }
}

/// `true`: written; `false`: the item has moved on.
fn conditional<T>(
    what: &str,
    result: std::result::Result<T, SdkError<UpdateItemError, impl std::fmt::Debug + Send + Sync + 'static>>,
) -> Result<bool> {
    match result {
        Ok(_) => Ok(true),
        Err(SdkError::ServiceError(error)) if matches!(error.err(), UpdateItemError::ConditionalCheckFailedException(_)) => Ok(false),
        Err(error) => Err(unavailable(what, &error)),
    }
}

impl Control for Aws {
    fn read_object(&self, key: &str, range: Option<Range<u64>>) -> Result<Vec<u8>> {
        let what = format!("read s3://{}/{key}", self.place.bucket);
        let range = range.map(|range| format!("bytes={}-{}", range.start, range.end.saturating_sub(1)));
        let get = self.s3.get_object().bucket(&self.place.bucket).key(key).set_range(range);
        let object = self.call(&what, get.send())?;
        Ok(self.call(&what, object.body.collect())?.to_vec())
    }

    fn write_object(&self, key: &str, bytes: Vec<u8>) -> Result<()> {
        let what = format!("write s3://{}/{key}", self.place.bucket);
        self.call(&what, self.s3.put_object().bucket(&self.place.bucket).key(key).body(bytes.into()).send()).map(drop)
    }

    fn lease(&self, range: u64, owner: &str, epoch: u64) -> Result<()> {
        let what = format!("lease range {range}");
        let update = self.dynamodb.update_item().table_name(&self.place.chunks_table);
        let update = update
            .key("rangeKey", text(range_key(&self.transfer, range)))
            .key("itemKey", text("lease"))
            .update_expression(chunk_changes::LEASE)
            .condition_expression(chunk_changes::LEASE_GUARD)
            .expression_attribute_names("#owner", "owner")
            .expression_attribute_names("#epoch", "epoch")
            .expression_attribute_values(":owner", text(owner))
            .expression_attribute_values(":epoch", number(epoch))
            .expression_attribute_values(":expiresAt", number(format!("{:.0}", unix_now() + LEASE_KEPT.as_secs_f64())));
        match conditional(&what, self.runtime.block_on(update.send()))? {
            true => Ok(()),
            false => Err(ControlError::LeaseLost { range, owner: "another sender of the same or a later epoch".to_owned() }),
        }
    }

    fn range_chunks(&self, range: u64) -> Result<Vec<Chunk>> {
        let what = format!("query range {range}");
        let query = self.dynamodb.query().table_name(&self.place.chunks_table).consistent_read(true);
        // Chunks' keys are digits; `lease` sorts after them.
        let query = query
            .key_condition_expression("rangeKey = :range AND itemKey < :letters")
            .expression_attribute_values(":range", text(range_key(&self.transfer, range)))
            .expression_attribute_values(":letters", text("a"));
        let pages = query.into_paginator().items().send();
        let items = self.call(&what, async { pages.collect::<std::result::Result<Vec<Item>, _>>().await })?;
        items.iter().map(|item| aws_items::chunk(item).map_err(|why| malformed(&*what, why))).collect()
    }

    fn chunks(&self, chunks: &[u64]) -> Result<Vec<Chunk>> {
        let mut found = Vec::with_capacity(chunks.len());
        for batch in chunks.chunks(BATCH_KEYS) {
            let keys = batch.iter().map(|chunk| self.chunk_key(*chunk)).collect();
            let request = KeysAndAttributes::builder().set_keys(Some(keys)).consistent_read(true).build();
            let request = request.map_err(|error| unavailable("read chunks", &error))?;
            let get = self.dynamodb.batch_get_item().request_items(&self.place.chunks_table, request);
            // Keys that come back unprocessed are read in the next second's round.
            for item in self.call("read chunks", get.send())?.responses.unwrap_or_default().into_values().flatten() {
                found.push(aws_items::chunk(&item).map_err(|why| malformed("read chunks", why))?);
            }
        }
        Ok(found)
    }

    fn deliver(&self, deliveries: &[Delivery]) -> Result<()> {
        for batch in deliveries.chunks(TABLE_CONCURRENCY) {
            let mut writes = JoinSet::new();
            for delivery in batch {
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
                writes.spawn_on(async move { conditional(&what, update.send().await) }, self.runtime.handle());
            }
            for result in self.runtime.block_on(writes.join_all()) {
                result?;
            }
        }
        Ok(())
    }

    fn note_failure(&self, chunk: u64, attempt: u32, reason: FailureReason) -> Result<bool> {
        let update = self
            .update_pending(chunk, attempt)
            .update_expression(chunk_changes::NOTE_FAILURE)
            .expression_attribute_values(":failedAttempt", number(attempt))
            .expression_attribute_values(":reason", text(reason.as_str()));
        conditional(&format!("note the failure of chunk {chunk}"), self.runtime.block_on(update.send()))
    }

    fn publish_key(&self, side: Side, key: &KeyRecord) -> Result<()> {
        let mut attributes = vec![("tlsPublicKey", text(&key.tls_public_key))];
        attributes.extend(key.route_public_key.as_ref().map(|value| ("routePublicKey", text(value))));
        attributes.extend(key.address.as_ref().map(|value| ("address", text(value))));
        self.write_record(&format!("key#{}", side.as_str()), attributes, key.epoch)
    }

    fn key(&self, side: Side) -> Result<Option<KeyRecord>> {
        let name = format!("key#{}", side.as_str());
        self.record(&name)?.map(|item| aws_items::key(&item).map_err(|why| malformed(name, why))).transpose()
    }

    fn membership(&self) -> Result<Option<Membership>> {
        let Some(item) = self.record("membership")? else { return Ok(None) };
        let document = item.get("document").and_then(|value| value.as_s().ok());
        let document = document.ok_or_else(|| malformed("membership", "has no attribute document".to_owned()))?;
        Membership::parse(document.as_bytes()).map(Some).map_err(|why| malformed("membership", why))
    }

    fn write_progress(&self, side: Side, progress: &Progress) -> Result<()> {
        let document = serde_json::to_string(progress).map_err(|error| malformed("progress", error.to_string()))?;
        let attributes = vec![("document", text(document)), ("sequence", number(progress.sequence))];
        self.write_record(&format!("progress#{}", side.as_str()), attributes, progress.epoch)
    }

    fn write_probe(&self, path: &PathId, result: &ProbeResult) -> Result<()> {
        let mut attributes = vec![("generation", number(result.generation))];
        attributes.extend(result.inter_region_mbps.map(|rate| ("interRegionMBps", number(format!("{rate:.3}")))));
        attributes.extend(result.intra_region_mbps.map(|rate| ("intraRegionMBps", number(format!("{rate:.3}")))));
        attributes.extend(result.error.as_ref().map(|why| ("error", text(why))));
        let update = self.update_record(&format!("probe#{path}"), attributes);
        self.call(&format!("write probe of {path}"), update.send()).map(drop)
    }

    fn fenced(&self) -> Result<bool> {
        Ok(aws_items::is_set(self.record("transfer")?.unwrap_or_default().get("fenced")))
    }

    fn put_event(&self, event: &Event) -> Result<()> {
        let detail = serde_json::to_string(event).map_err(|error| malformed("event", error.to_string()))?;
        let entry = PutEventsRequestEntry::builder().source(EVENT_SOURCE).detail_type(event.detail_type()).detail(detail);
        let entry = entry.event_bus_name(&self.place.bus).build();
        let what = format!("put event {}", event.detail_type());
        let mut why = String::new();
        for attempt in 0..EVENT_ATTEMPTS {
            if attempt > 0 {
                std::thread::sleep(std::time::Duration::from_millis(100 << attempt));
            }
            // The call succeeds even when the entry did not: each entry has its own error.
            let answer = self.call(&what, self.events.put_events().entries(entry.clone()).send())?;
            match answer.entries().first().and_then(|entry| entry.error_code().map(|code| (code, entry.error_message()))) {
                None => return Ok(()),
                Some((code, message)) => why = format!("{code}: {}", message.unwrap_or_default()),
            }
        }
        Err(ControlError::Unavailable { what, why })
    }
}
