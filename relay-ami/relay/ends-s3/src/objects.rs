//! Calls about objects.

use std::collections::HashMap;
use std::ops::Range;

use aws_sdk_s3::primitives::ByteStream;
use aws_sdk_s3::types::ChecksumMode;
use bytes::Bytes;

use super::checksum::Crc;
use super::client::Bucket;
use super::fault::Fault;
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

/// What is told of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Head {
    pub size: u64,
    pub etag: String,
    /// Of the whole, where it has one.
    pub crc: Option<Crc>,
    pub kept: Kept,
}

impl Bucket {
    /// Writes an object as a whole; its entity tag.
    pub async fn put(&self, key: &str, payload: &Payload, metadata: Option<&HashMap<String, String>>) -> Result<String, Fault> {
        persist(|| async {
            let call = self
                .s3()
                .put_object()
                .bucket(&self.place().bucket)
                .key(key)
                .set_expected_bucket_owner(self.place().owner.clone())
                .set_metadata(metadata.cloned())
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
                etag: answer.e_tag.unwrap_or_default(),
            })
        })
        .await
    }

    /// Reads a range of an object that must have this entity tag.
    pub async fn read(&self, key: &str, etag: &str, range: &Range<u64>) -> Result<Vec<u8>, Fault> {
        if range.is_empty() {
            return Ok(Vec::new());
        }
        persist(|| async {
            let call = self
                .s3()
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
