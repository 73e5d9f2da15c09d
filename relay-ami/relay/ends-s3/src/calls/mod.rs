//! The calls of which a transfer of small objects makes one for each: an object is put, read, or asked about.
//!
//! The SDK makes every other call, and has no part in these: for an object of 10 KiB its layers take most of the time of a processor that
//! the whole transfer takes (`docs/design/069`). Connections, names, proxies, TLS, signatures and addresses are the SDK's here too.

mod address;
mod answer;
mod budget;
mod client;
mod signature;
mod skew;

use std::collections::HashMap;
use std::ops::Range;
use std::time::Duration;

use aws_sdk_s3::primitives::{ByteStream, DateTime, DateTimeFormat};
use aws_smithy_runtime_api::client::orchestrator::HttpResponse;
use aws_smithy_runtime_api::http::Headers;
use bytes::Bytes;

pub(crate) use address::Address;
pub(crate) use client::Calls;

use crate::client::{STALLED, patience};
use crate::fault::Fault;
use client::Request;

const METADATA: &str = "x-amz-meta-";

/// An object that is written whole.
pub(crate) struct Put<'a> {
    pub key: &'a str,
    pub bytes: &'a Bytes,
    /// As headers have it.
    pub crc: String,
    pub metadata: Option<&'a HashMap<String, String>>,
    /// Headers beside those: conditions, class, tags, keys.
    pub headers: Vec<(&'static str, String)>,
}

/// What is read of an object.
pub(crate) struct Get<'a> {
    pub key: &'a str,
    pub range: Option<Range<u64>>,
    /// The object must have this entity tag.
    pub etag: Option<&'a str>,
    pub version_id: Option<&'a str>,
}

/// An answer with an object's bytes.
pub(crate) struct Got {
    pub etag: String,
    pub version_id: Option<String>,
    pub modified_seconds: i64,
    pub content_range: Option<String>,
    pub length: u64,
    pub body: ByteStream,
}

/// What is told of an object.
pub(crate) struct Told {
    pub size: u64,
    pub etag: String,
    pub modified: Option<DateTime>,
    pub metadata: HashMap<String, String>,
    pub crc: Option<String>,
    pub storage_class: Option<String>,
    pub archive_status: Option<String>,
    pub restore: Option<String>,
}

impl Calls {
    /// PutObject: the entity tag of what was written.
    pub async fn put(&self, put: Put<'_>) -> Result<String, Fault> {
        let Put { key, bytes, crc, metadata, mut headers } = put;
        headers.extend([
            ("content-type", "application/octet-stream".to_owned()),
            ("content-length", bytes.len().to_string()),
            ("x-amz-checksum-crc64nvme", crc),
        ]);
        let named = metadata.into_iter().flatten().map(|(name, value)| (format!("{METADATA}{name}"), value.clone()));
        let request = Request {
            method: "PUT",
            key,
            query: "x-id=PutObject".to_owned(),
            headers: headers.into_iter().map(|(name, value)| (name.to_owned(), value)).chain(named).collect(),
            body: bytes.clone(),
            patience: patience(bytes.len() as u64),
        };
        let answer = self.call(&request).await?;
        Ok(text(answer.headers(), "etag").unwrap_or_default())
    }

    /// GetObject.
    pub async fn get(&self, get: Get<'_>) -> Result<Got, Fault> {
        let Get { key, range, etag, version_id } = get;
        let mut headers = Vec::new();
        if let Some(range) = range {
            headers.push(("range".to_owned(), format!("bytes={}-{}", range.start, range.end.saturating_sub(1))));
        }
        headers.extend(etag.map(|etag| ("if-match".to_owned(), etag.to_owned())));
        let version = version_id.map(|id| format!("&versionId={}", address::encoded(id))).unwrap_or_default();
        let query = format!("x-id=GetObject{version}");
        let answer = self.call(&Request { method: "GET", key, query, headers, body: Bytes::new(), patience: STALLED }).await?;
        let headers = answer.headers();
        Ok(Got {
            etag: text(headers, "etag").unwrap_or_default(),
            version_id: text(headers, "x-amz-version-id"),
            modified_seconds: modified(headers)?.map_or(0, |time| time.secs()),
            content_range: text(headers, "content-range"),
            length: length(headers),
            body: ByteStream::new(HttpResponse::into_body(answer)),
        })
    }

    /// HeadObject; with the checksum of the whole, where that is asked for and the object has one.
    pub async fn head(&self, key: &str, has_checksum: bool) -> Result<Told, Fault> {
        let headers = if has_checksum { vec![("x-amz-checksum-mode".to_owned(), "ENABLED".to_owned())] } else { Vec::new() };
        let request = Request { method: "HEAD", key, query: String::new(), headers, body: Bytes::new(), patience: STALLED };
        let answer = self.call(&request).await?;
        let headers = answer.headers();
        let metadata = headers.iter().filter_map(|(name, value)| Some((name.strip_prefix(METADATA)?.to_owned(), value.to_owned())));
        Ok(Told {
            size: length(headers),
            etag: text(headers, "etag").unwrap_or_default(),
            modified: modified(headers)?,
            metadata: metadata.collect(),
            crc: text(headers, "x-amz-checksum-crc64nvme"),
            storage_class: text(headers, "x-amz-storage-class"),
            archive_status: text(headers, "x-amz-archive-status"),
            restore: text(headers, "x-amz-restore"),
        })
    }
}

fn text(headers: &Headers, name: &str) -> Option<String> {
    headers.get(name).map(str::to_owned)
}

fn length(headers: &Headers) -> u64 {
    headers.get("content-length").and_then(|text| text.parse().ok()).unwrap_or_default()
}

fn modified(headers: &Headers) -> Result<Option<DateTime>, Fault> {
    let Some(text) = headers.get("last-modified") else { return Ok(None) };
    let time = DateTime::from_str(text, DateTimeFormat::HttpDate);
    time.map(Some).map_err(|error| Fault::passing(&format!("the time {text:?} of an object: {error}")))
}

/// Limits of the calls.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    pub connect: Duration,
    /// Attempts of one call, the first one included.
    pub attempts: u32,
}
