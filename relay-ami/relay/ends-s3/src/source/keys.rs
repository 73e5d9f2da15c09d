//! Pages of a bucket's keys, in the order of their bytes.

use aws_sdk_s3::primitives::DateTime;
use aws_sdk_s3::types::{self, EncodingType, ObjectStorageClass, OptionalObjectAttributes};

use super::state::tag;
use crate::client::Bucket;
use crate::fault::Fault;
use crate::keys::decoded;
use crate::persistence::persist;

/// What a listing says of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Object {
    pub key: String,
    pub size: u64,
    /// Of its entity tag.
    pub tag: u64,
    pub modified_ns: i64,
    /// The storage class of one that has to be restored before it can be read.
    pub archived: Option<&'static str>,
}

/// Some keys, each after the one before it.
#[derive(Debug, Default)]
pub struct Page {
    pub objects: Vec<Object>,
    pub is_last: bool,
}

/// Whoever has keys.
pub trait Keys: Sync {
    /// The first keys that begin with `prefix` and come after `after`: as many as one request brings. Fails in words.
    fn page(&self, prefix: &str, after: &str) -> Result<Page, String>;
}

impl Keys for Bucket {
    fn page(&self, prefix: &str, after: &str) -> Result<Page, String> {
        let mut page = Page::default();
        let mut token = None;
        // A page may be empty and not the last one.
        while page.objects.is_empty() && !page.is_last {
            let request = self
                .s3()
                .list_objects_v2()
                .bucket(&self.place().bucket)
                .set_expected_bucket_owner(self.place().owner.clone())
                .prefix(prefix)
                // Keys may hold what no XML can.
                .encoding_type(EncodingType::Url)
                .optional_object_attributes(OptionalObjectAttributes::RestoreStatus)
                .set_start_after(Some(after.to_owned()).filter(|after| !after.is_empty()))
                .set_continuation_token(token.take());
            let call = || async { request.clone().send().await.map_err(|error| Fault::of(&error)) };
            let answer = self.wait(persist(call)).map_err(|fault| fault.to_string())?;
            page.is_last = !answer.is_truncated.unwrap_or(false);
            token = answer.next_continuation_token.clone();
            page.is_last |= token.is_none();
            for found in answer.contents.unwrap_or_default() {
                page.objects.push(object(&found)?);
            }
        }
        Ok(page)
    }
}

fn object(found: &types::Object) -> Result<Object, String> {
    let encoded = found.key.as_deref().unwrap_or_default();
    let key = decoded(encoded).ok_or_else(|| format!("the listing names {encoded:?}, which is no encoded key"))?;
    let is_restored = found.restore_status.as_ref().is_some_and(|status| status.restore_expiry_date.is_some());
    let cold = match found.storage_class {
        Some(ObjectStorageClass::Glacier) => Some("GLACIER"),
        Some(ObjectStorageClass::DeepArchive) => Some("DEEP_ARCHIVE"),
        _ => None,
    };
    Ok(Object {
        size: found.size.and_then(|size| u64::try_from(size).ok()).unwrap_or_default(),
        tag: tag(found.e_tag.as_deref().unwrap_or_default()),
        modified_ns: found.last_modified.as_ref().map_or(0, nanoseconds),
        archived: cold.filter(|_| !is_restored),
        key,
    })
}

/// Since 1970.
pub fn nanoseconds(time: &DateTime) -> i64 {
    i64::try_from(time.as_nanos()).unwrap_or_default()
}
