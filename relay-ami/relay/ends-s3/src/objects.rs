//! Calls about objects.

use std::collections::HashMap;
use std::ops::Range;

use aws_sdk_s3::error::DisplayErrorContext;
use aws_sdk_s3::primitives::ByteStream;
use bytes::Bytes;
use tokio::time::timeout;

use super::calls::{Get, Got, Put, Told};
use super::checksum::Crc;
use super::client::{Bucket, STALLED};
use super::fault::{Fault, Meaning};
use super::metadata::Kept;
use super::persistence::persist;
use super::written::Written;

/// Bytes that are sent, again where they must be.
#[derive(Clone)]
pub struct Payload {
    bytes: Bytes,
    crc: Crc,
}

impl Payload {
    #[must_use]
    pub fn new(bytes: Vec<u8>) -> Self {
        let crc = Crc::of(&bytes);
        Self { bytes: bytes.into(), crc }
    }

    #[must_use]
    pub const fn crc(&self) -> Crc {
        self.crc
    }

    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The bytes, for one attempt.
    pub fn stream(&self) -> ByteStream {
        self.bytes.clone().into()
    }
}

/// What must be in an object's place so that S3 takes a write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Only {
    /// Whatever is there.
    Always,
    WhereNothingIs,
    /// Over the object with this entity tag.
    Over(String),
}

/// What is told of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Head {
    pub size: u64,
    pub etag: String,
    /// Of the whole, where it has one.
    pub crc: Option<Crc>,
    pub kept: Kept,
    /// Nanoseconds since 1970 when it was written, by the clock of S3.
    pub modified_ns: i64,
}

async fn collected(mut got: Got) -> Result<Vec<u8>, Fault> {
    let mut bytes = Vec::new();
    loop {
        match timeout(STALLED, got.body.next()).await {
            Ok(Some(Ok(more))) => bytes.extend_from_slice(&more),
            Ok(Some(Err(error))) => return Err(Fault::passing(&DisplayErrorContext(error))),
            Ok(None) => return Ok(bytes),
            Err(_) => return Err(Fault::passing(&format!("no byte came for {} s", STALLED.as_secs()))),
        }
    }
}

impl Bucket {
    /// Writes an object as a whole; its entity tag.
    pub async fn put(&self, key: &str, payload: &Payload, metadata: Option<&HashMap<String, String>>) -> Result<String, Fault> {
        self.put_if(key, payload, metadata, &Only::Always).await
    }

    /// The same, where the condition holds; else [`Meaning::Condition`](super::fault::Meaning::Condition), or `Gone` where nothing is
    /// there. An answer that was lost is followed by another attempt, whose condition does not hold where the first one was done.
    pub async fn put_if(
        &self,
        key: &str,
        payload: &Payload,
        metadata: Option<&HashMap<String, String>>,
        only: &Only,
    ) -> Result<String, Fault> {
        let headers = &self.headers(only);
        self.ask(|way| async move {
            let (key, bytes, crc) = (key, &payload.bytes, payload.crc.text());
            way.calls().put(Put { key, bytes, crc, metadata, headers: headers.clone() }).await
        })
        .await
    }

    fn headers(&self, only: &Only) -> Vec<(&'static str, String)> {
        let condition = match only {
            Only::Always => None,
            Only::WhereNothingIs => Some(("if-none-match", "*".to_owned())),
            Only::Over(etag) => Some(("if-match", etag.clone())),
        };
        let Written { storage_class, tags, kms_key } = self.written();
        let class = storage_class.iter().map(|class| ("x-amz-storage-class", class.clone()));
        let tags = tags.iter().map(|tags| ("x-amz-tagging", tags.clone()));
        let encrypted = kms_key.iter().flat_map(|key| {
            let by = ("x-amz-server-side-encryption", "aws:kms".to_owned());
            [by, ("x-amz-server-side-encryption-aws-kms-key-id", key.clone())]
        });
        condition.into_iter().chain(class).chain(tags).chain(encrypted).collect()
    }

    pub async fn head(&self, key: &str) -> Result<Head, Fault> {
        persist(|| async {
            let told = self.ways().direct_way().calls().head(key, true).await?;
            let Told { size, etag, modified, metadata, crc, .. } = told;
            Ok(Head {
                size,
                etag,
                crc: crc.and_then(|text| Crc::parse(&text, size)),
                kept: Kept::read(Some(&metadata)),
                modified_ns: modified.and_then(|time| i64::try_from(time.as_nanos()).ok()).unwrap_or(i64::MAX),
            })
        })
        .await
    }

    /// The same; none where it is not there. Whoever may list some keys only is not told that one is missing when he asks about it.
    pub async fn there(&self, key: &str) -> Result<Option<Head>, Fault> {
        match self.head(key).await {
            Ok(head) => Ok(Some(head)),
            Err(fault) if fault.meaning == Meaning::Gone => Ok(None),
            Err(_) => {
                let listed = self.page(key, None, 1).await?;
                let is_missing = listed.objects.first().is_none_or(|first| first.key != key);
                // It may have come meanwhile.
                if is_missing { Ok(None) } else { self.head(key).await.map(Some) }
            }
        }
    }

    /// Reads a range of an object that must have this entity tag.
    pub async fn read(&self, key: &str, etag: &str, range: &Range<u64>) -> Result<Vec<u8>, Fault> {
        if range.is_empty() {
            return Ok(Vec::new());
        }
        self.ask(|way| async move {
            let get = Get { key, range: Some(range.clone()), etag: Some(etag), version_id: None };
            let bytes = collected(way.calls().get(get).await?).await?;
            if bytes.len() as u64 != range.end - range.start {
                return Err(Fault::passing(&format!("{} bytes of {}", bytes.len(), range.end - range.start)));
            }
            Ok(bytes)
        })
        .await
    }

    /// Reads a small object; none where it is not there.
    pub async fn read_whole(&self, key: &str) -> Result<Vec<u8>, Fault> {
        let whole = || Get { key, range: None, etag: None, version_id: None };
        persist(|| async { collected(self.ways().direct_way().calls().get(whole()).await?).await }).await
    }

    /// Deletes an object that has this entity tag.
    pub async fn delete_this(&self, key: &str, etag: &str) -> Result<(), Fault> {
        persist(|| async {
            let call = self.s3().delete_object().bucket(&self.place().bucket).key(key).if_match(etag);
            let answer = call.set_expected_bucket_owner(self.place().owner.clone()).send().await;
            answer.map(drop).map_err(|error| Fault::of(&error))
        })
        .await
    }

    /// One that is not there counts as deleted.
    pub async fn delete(&self, key: &str) -> Result<(), Fault> {
        persist(|| async {
            let call = self.s3().delete_object().bucket(&self.place().bucket).key(key);
            let answer = call.set_expected_bucket_owner(self.place().owner.clone()).send().await;
            answer.map(drop).map_err(|error| Fault::of(&error))
        })
        .await
    }
}
