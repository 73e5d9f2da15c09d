//! How objects are written: what S3 keeps of them beside bytes and metadata.

use aws_sdk_s3::types::{ServerSideEncryption, StorageClass};

/// The same for all objects of a transfer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// As S3 calls it; none: STANDARD.
    pub storage_class: Option<String>,
    /// As a query string.
    pub tags: Option<String>,
    /// The ARN of a key of KMS; none: what the bucket encrypts with by itself.
    pub kms_key: Option<String>,
}

impl Written {
    /// Of what receivers keep for those to come: read again at any time, and no data of anybody's.
    #[must_use]
    pub fn of_notes(&self) -> Self {
        Self { storage_class: None, tags: None, kms_key: self.kms_key.clone() }
    }

    pub(crate) fn class(&self) -> Option<StorageClass> {
        self.storage_class.as_deref().map(StorageClass::from)
    }

    pub(crate) fn encryption(&self) -> Option<ServerSideEncryption> {
        self.kms_key.is_some().then_some(ServerSideEncryption::AwsKms)
    }

    /// Tells it from others, for notes: parts of an upload that was begun otherwise are of no use. Empty for the default.
    pub(crate) fn mark(&self) -> String {
        if *self == Self::default() {
            return String::new();
        }
        let hash = blake3::hash(format!("{:?}", (&self.storage_class, &self.tags, &self.kms_key)).as_bytes());
        format!(" {}", &hash.to_hex()[..16])
    }
}
