//! What an object's own request says of it, for many objects at once.

use std::sync::Arc;

use aws_sdk_s3::operation::head_object::HeadObjectOutput;
use aws_sdk_s3::types::StorageClass;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use super::keys::nanoseconds;
use super::state::tag;
use crate::client::Bucket;
use crate::fault::Fault;
use crate::metadata::Kept;
use crate::persistence::persist;

/// Requests under way: at 30 ms each some 2 000 a second, and a prefix of S3 takes 5 500.
const AT_ONCE: usize = 64;

/// An object as it is when it is asked for.
#[derive(Debug)]
pub struct Head {
    pub size: u64,
    pub tag: u64,
    pub modified_ns: i64,
    /// The storage class of one that has to be restored before it can be read.
    pub archived: Option<&'static str>,
    pub kept: Kept,
}

/// Whoever can be asked for objects.
pub trait Heads: Sync {
    /// In the order of the keys.
    fn heads(&self, keys: &[&str]) -> Vec<Result<Head, Fault>>;
}

impl Heads for Bucket {
    fn heads(&self, keys: &[&str]) -> Vec<Result<Head, Fault>> {
        self.wait(async {
            let (mut tasks, room) = (JoinSet::new(), Arc::new(Semaphore::new(AT_ONCE)));
            for (number, key) in keys.iter().enumerate() {
                let (bucket, key, room) = (self.clone(), (*key).to_owned(), Arc::clone(&room));
                tasks.spawn(async move {
                    let _held = room.acquire().await;
                    (number, head(&bucket, key).await)
                });
            }
            let mut answers = tasks.join_all().await;
            answers.sort_by_key(|(number, _)| *number);
            answers.into_iter().map(|(_, answer)| answer).collect()
        })
    }
}

async fn head(bucket: &Bucket, key: String) -> Result<Head, Fault> {
    let place = bucket.place();
    let request = bucket.s3().head_object().bucket(&place.bucket).key(key).set_expected_bucket_owner(place.owner.clone());
    let answer = persist(|| async { request.clone().send().await.map_err(|error| Fault::of(&error)) }).await?;
    Ok(Head {
        size: answer.content_length.and_then(|size| u64::try_from(size).ok()).unwrap_or_default(),
        tag: tag(answer.e_tag.as_deref().unwrap_or_default()),
        modified_ns: answer.last_modified.as_ref().map_or(0, nanoseconds),
        archived: archived(&answer),
        kept: Kept::read(answer.metadata.as_ref()),
    })
}

/// A copy that was restored is there as long as its header says so.
fn archived(answer: &HeadObjectOutput) -> Option<&'static str> {
    let cold = match answer.storage_class {
        Some(StorageClass::Glacier) => Some("GLACIER"),
        Some(StorageClass::DeepArchive) => Some("DEEP_ARCHIVE"),
        _ => answer.archive_status.as_ref().map(|_| "INTELLIGENT_TIERING"),
    };
    let is_restored = answer.restore.as_deref().is_some_and(|restore| restore.contains("ongoing-request=\"false\""));
    cold.filter(|_| !is_restored)
}
