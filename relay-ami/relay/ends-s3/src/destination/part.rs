//! One part on its way into an upload.

use std::future::Future;

use tokio::sync::watch::{self, Receiver};

use crate::client::Bucket;
use crate::fault::{Fault, Meaning};
use crate::objects::Payload;
use crate::uploads::StoredPart;

/// What becomes of a part that is sent.
#[derive(Clone)]
pub struct Transit {
    /// What is sent, for whoever wants to see that it is what was meant.
    pub payload: Payload,
    result: Receiver<Option<Result<StoredPart, Fault>>>,
}

impl Transit {
    /// Sends a part beside this thread, after the one that was sent before under the same number: the last one that was meant counts.
    pub fn begin(
        bucket: &Bucket,
        payload: Payload,
        before: Option<Self>,
        send: impl Future<Output = Result<StoredPart, Fault>> + Send + 'static,
    ) -> Self {
        let (tell, result) = watch::channel(None);
        bucket.spawn(async move {
            if let Some(before) = before {
                let _ = before.end().await;
            }
            let _ = tell.send(Some(send.await));
        });
        Self { payload, result }
    }

    /// Waits for its end.
    pub async fn end(mut self) -> Result<StoredPart, Fault> {
        let ended = self.result.wait_for(Option::is_some).await.map(|result| result.clone());
        ended.ok().flatten().unwrap_or_else(|| Err(Fault::new(Meaning::Passing, "the part was not sent to its end")))
    }
}
