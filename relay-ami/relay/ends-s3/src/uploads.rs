//! Calls about uploads in parts.

use std::collections::{BTreeMap, HashMap};

use aws_sdk_s3::types::{ChecksumAlgorithm, ChecksumType, CompletedMultipartUpload, CompletedPart};

use super::checksum::Crc;
use super::client::Bucket;
use super::fault::{Fault, Meaning};
use super::objects::Payload;
use super::persistence::persist;

/// A part that is in the bucket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredPart {
    pub etag: String,
    pub crc: Crc,
}

/// The upload of one object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Upload {
    pub key: String,
    pub id: String,
}

/// The number that S3 gives a part.
fn number(part: u64) -> i32 {
    i32::try_from(part.saturating_add(1)).unwrap_or(i32::MAX)
}

impl Bucket {
    /// Begins an upload of an object that will have these metadata, and a checksum of its own as a whole.
    pub async fn begin_upload(&self, key: String, metadata: HashMap<String, String>) -> Result<Upload, Fault> {
        let id = persist(|| async {
            let call = self
                .s3()
                .create_multipart_upload()
                .bucket(&self.place().bucket)
                .key(&key)
                .set_expected_bucket_owner(self.place().owner.clone())
                .set_metadata(Some(metadata.clone()))
                .set_storage_class(self.written().class())
                .set_tagging(self.written().tags.clone())
                .set_server_side_encryption(self.written().encryption())
                .set_ssekms_key_id(self.written().kms_key.clone())
                .checksum_algorithm(ChecksumAlgorithm::Crc64Nvme)
                .checksum_type(ChecksumType::FullObject);
            let answer = call.send().await.map_err(|error| Fault::of(&error))?;
            answer.upload_id.ok_or_else(|| Fault::new(Meaning::Passing, "an upload without an id"))
        })
        .await?;
        Ok(Upload { key, id })
    }

    pub async fn put_part(&self, upload: &Upload, part: u64, payload: &Payload) -> Result<StoredPart, Fault> {
        self.ask(|way| async move {
            let call = way
                .client()
                .upload_part()
                .bucket(&self.place().bucket)
                .key(&upload.key)
                .upload_id(&upload.id)
                .part_number(number(part))
                .set_expected_bucket_owner(self.place().owner.clone())
                .checksum_crc64_nvme(payload.crc().text())
                .body(payload.stream());
            let call = self.sending(call.customize(), payload.crc().length());
            let call = if self.is_plain() { call } else { call.disable_payload_signing() };
            let answer = call.send().await.map_err(|error| Fault::of(&error))?;
            Ok(StoredPart { etag: answer.e_tag.unwrap_or_default(), crc: payload.crc() })
        })
        .await
    }

    /// The parts that are there.
    pub async fn parts(&self, upload: &Upload) -> Result<BTreeMap<u64, StoredPart>, Fault> {
        let (mut found, mut after) = (BTreeMap::new(), None::<String>);
        loop {
            let page = persist(|| async {
                let call = self
                    .s3()
                    .list_parts()
                    .bucket(&self.place().bucket)
                    .key(&upload.key)
                    .upload_id(&upload.id)
                    .set_expected_bucket_owner(self.place().owner.clone())
                    .set_part_number_marker(after.clone());
                call.send().await.map_err(|error| Fault::of(&error))
            })
            .await?;
            for part in page.parts.unwrap_or_default() {
                let size = part.size.and_then(|size| size.try_into().ok()).unwrap_or(0);
                let crc = part.checksum_crc64_nvme.and_then(|text| Crc::parse(&text, size));
                let at = part.part_number.and_then(|number| u64::try_from(number).ok()?.checked_sub(1));
                if let (Some(at), Some(crc)) = (at, crc) {
                    found.insert(at, StoredPart { etag: part.e_tag.unwrap_or_default(), crc });
                }
            }
            after = page.next_part_number_marker.filter(|_| page.is_truncated == Some(true));
            if after.is_none() {
                return Ok(found);
            }
        }
    }

    /// Makes the object of its parts, which are all there; its entity tag. One try: whoever calls looks what became of it.
    pub async fn complete(&self, upload: &Upload, parts: &BTreeMap<u64, StoredPart>) -> Result<String, Fault> {
        let completed = parts.iter().map(|(part, stored)| {
            let completed = CompletedPart::builder().part_number(number(*part)).e_tag(&stored.etag);
            completed.checksum_crc64_nvme(stored.crc.text()).build()
        });
        let whole = parts.values().fold(Crc::of(b""), |whole, part| whole.and(part.crc));
        let call = self
            .s3()
            .complete_multipart_upload()
            .bucket(&self.place().bucket)
            .key(&upload.key)
            .upload_id(&upload.id)
            .set_expected_bucket_owner(self.place().owner.clone())
            .multipart_upload(CompletedMultipartUpload::builder().set_parts(Some(completed.collect())).build())
            .checksum_crc64_nvme(whole.text())
            .checksum_type(ChecksumType::FullObject)
            .mpu_object_size(i64::try_from(whole.length()).unwrap_or(i64::MAX));
        let answer = self.completing(call.customize()).send().await.map_err(|error| Fault::of(&error))?;
        // An answer that was cut off names no object.
        answer.e_tag.ok_or_else(|| Fault::new(Meaning::Passing, "a completion without an entity tag"))
    }

    /// One that is not there counts as aborted.
    pub async fn abort(&self, upload: &Upload) -> Result<(), Fault> {
        let aborted = persist(|| async {
            let call = self.s3().abort_multipart_upload().bucket(&self.place().bucket).key(&upload.key).upload_id(&upload.id);
            let answer = call.set_expected_bucket_owner(self.place().owner.clone()).send().await;
            answer.map(drop).map_err(|error| Fault::of(&error))
        })
        .await;
        aborted.or_else(|fault| if fault.meaning == Meaning::NoUpload { Ok(()) } else { Err(fault) })
    }
}
