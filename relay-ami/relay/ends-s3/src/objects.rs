//! Calls about objects.

use std::collections::HashMap;
use std::ops::Range;

use aws_sdk_s3::primitives::ByteStream;
use aws_sdk_s3::types::ChecksumMode;
use bytes::Bytes;

use super::checksum::Crc;
use super::client::Bucket;
use super::fault::{Fault, Meaning};
use super::metadata::Kept;
use super::persistence::persist;

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
        let (absent, over) = match only {
            Only::Always => (None, None),
            Only::WhereNothingIs => (Some("*".to_owned()), None),
            Only::Over(etag) => (None, Some(etag.clone())),
        };
        let (absent, over) = (&absent, &over);
        self.ask(|s3| async move {
            let call = s3
                .put_object()
                .bucket(&self.place().bucket)
                .key(key)
                .set_expected_bucket_owner(self.place().owner.clone())
                .set_metadata(metadata.cloned())
                .set_if_none_match(absent.clone())
                .set_if_match(over.clone())
                .set_storage_class(self.written().class())
                .set_tagging(self.written().tags.clone())
                .set_server_side_encryption(self.written().encryption())
                .set_ssekms_key_id(self.written().kms_key.clone())
                .checksum_crc64_nvme(payload.crc().text())
                .body(payload.stream());
            let call = self.sending(call.customize(), payload.crc().length());
            let call = if self.is_plain() { call } else { call.disable_payload_signing() };
            let answer = call.send().await;
            answer.map(|answer| answer.e_tag.unwrap_or_default()).map_err(|error| Fault::of(&error))
        })
        .await
    }

    pub async fn head(&self, key: &str) -> Result<Head, Fault> {
        persist(|| async {
            let call = self
                .s3()
                .head_object()
                .bucket(&self.place().bucket)
                .key(key)
                .set_expected_bucket_owner(self.place().owner.clone())
                .checksum_mode(ChecksumMode::Enabled);
            let answer = call.send().await.map_err(|error| Fault::of(&error))?;
            let size = answer.content_length.and_then(|size| size.try_into().ok()).unwrap_or(0);
            Ok(Head {
                size,
                kept: Kept::read(answer.metadata.as_ref()),
                crc: answer.checksum_crc64_nvme.and_then(|text| Crc::parse(&text, size)),
                modified_ns: answer.last_modified.and_then(|time| i64::try_from(time.as_nanos()).ok()).unwrap_or(i64::MAX),
                etag: answer.e_tag.unwrap_or_default(),
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
        self.ask(|s3| async move {
            let call = s3
                .get_object()
                .bucket(&self.place().bucket)
                .key(key)
                .set_expected_bucket_owner(self.place().owner.clone())
                .if_match(etag)
                .range(format!("bytes={}-{}", range.start, range.end - 1));
            let answer = call.send().await.map_err(|error| Fault::of(&error))?;
            let bytes = answer.body.collect().await.map_err(|error| Fault::passing(&error))?.to_vec();
            if bytes.len() as u64 != range.end - range.start {
                return Err(Fault::passing(&format!("{} bytes of {}", bytes.len(), range.end - range.start)));
            }
            Ok(bytes)
        })
        .await
    }

    /// Reads a small object; none where it is not there.
    pub async fn read_whole(&self, key: &str) -> Result<Vec<u8>, Fault> {
        persist(|| async {
            let call = self.s3().get_object().bucket(&self.place().bucket).key(key);
            let call = call.set_expected_bucket_owner(self.place().owner.clone());
            let answer = call.send().await.map_err(|error| Fault::of(&error))?;
            Ok(answer.body.collect().await.map_err(|error| Fault::passing(&error))?.to_vec())
        })
        .await
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
