//! What an object's own request says of it, for many objects at once.

use std::sync::Arc;

use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use super::keys::nanoseconds;
use super::state::tag;
use crate::calls::Told;
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
    let told = persist(|| async { bucket.ways().direct_way().calls().head(&key, false).await }).await?;
    Ok(Head {
        size: told.size,
        tag: tag(&told.etag),
        modified_ns: told.modified.as_ref().map_or(0, nanoseconds),
        archived: archived(&told),
        kept: Kept::read(Some(&told.metadata)),
    })
}

/// A copy that was restored is there as long as its header says so.
fn archived(told: &Told) -> Option<&'static str> {
    let cold = match told.storage_class.as_deref() {
        Some("GLACIER") => Some("GLACIER"),
        Some("DEEP_ARCHIVE") => Some("DEEP_ARCHIVE"),
        _ => told.archive_status.as_ref().map(|_| "INTELLIGENT_TIERING"),
    };
    let is_restored = told.restore.as_deref().is_some_and(|restore| restore.contains("ongoing-request=\"false\""));
    cold.filter(|_| !is_restored)
}
