//! One part on its way into an upload.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;

use tokio::sync::watch::{self, Receiver};
use tokio::task::AbortHandle;

use crate::client::Bucket;
use crate::fault::{Fault, Meaning};
use crate::objects::Payload;
use crate::uploads::StoredPart;

type Told = Receiver<Option<Result<StoredPart, Fault>>>;

/// What becomes of a part that is sent.
#[derive(Clone)]
pub struct Transit {
    /// What is sent, for whoever wants to see that it is what was meant.
    pub payload: Payload,
    result: Told,
    /// The same bytes, which were sent before and may have come too.
    overtaken: Option<Told>,
    sending: AbortHandle,
}

/// Ends what is sent when it is dropped, if that has not ended by itself.
struct Ended(AbortHandle);

impl Drop for Ended {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Transit {
    /// Sends a part beside this thread. Of one that was sent before under the same number with other bytes the end is awaited first, as the
    /// last one that was meant counts. The same bytes may have gone by a slower way: whichever of both comes first counts, and the other one
    /// ends there, as the memory, the turn and the link that it holds are of no more use.
    pub fn begin(
        bucket: &Bucket,
        payload: Payload,
        before: Option<Self>,
        send: impl Future<Output = Result<StoredPart, Fault>> + Send + 'static,
    ) -> Self {
        let (tell, result) = watch::channel(None);
        let is_same = before.as_ref().is_some_and(|before| before.payload.crc() == payload.crc());
        let overtaken = before.as_ref().filter(|_| is_same).map(|before| before.result.clone());
        let sending = bucket.spawn(async move {
            let ended = match before {
                Some(before) if is_same => {
                    let _overtaken = Ended(before.sending.clone());
                    either(before.end(), send).await
                }
                Some(before) => {
                    before.settle().await;
                    send.await
                }
                None => send.await,
            };
            let _ = tell.send(Some(ended));
        });
        Self { payload, result, overtaken, sending: sending.abort_handle() }
    }

    /// Waits for its end.
    pub async fn end(self) -> Result<StoredPart, Fault> {
        end_of(self.result).await
    }

    /// Waits until nothing of it is on its way; whether any of it has come, or may have.
    pub async fn settle(self) -> bool {
        let overtaken = match self.overtaken {
            Some(overtaken) => may_have_come(overtaken).await,
            None => false,
        };
        end_of(self.result).await.is_ok() || overtaken
    }
}

/// What was ended before it was answered may have come.
async fn may_have_come(mut told: Told) -> bool {
    told.wait_for(Option::is_some).await.map_or(true, |result| result.as_ref().is_some_and(Result::is_ok))
}

async fn end_of(mut told: Told) -> Result<StoredPart, Fault> {
    let ended = told.wait_for(Option::is_some).await.map(|result| result.clone());
    ended.ok().flatten().unwrap_or_else(|| Err(Fault::new(Meaning::Passing, "the part was not sent to its end")))
}

/// The first success of two; where both fail, the failure of the second.
async fn either<T, E>(one: impl Future<Output = Result<T, E>>, other: impl Future<Output = Result<T, E>>) -> Result<T, E> {
    let (mut one, mut other) = (pin!(one), pin!(other));
    let (mut one_failed, mut other_failed) = (false, None);
    poll_fn(|context| {
        if !one_failed && let Poll::Ready(ended) = one.as_mut().poll(context) {
            if ended.is_ok() {
                return Poll::Ready(ended);
            }
            one_failed = true;
        }
        if other_failed.is_none()
            && let Poll::Ready(ended) = other.as_mut().poll(context)
        {
            match ended {
                Ok(found) => return Poll::Ready(Ok(found)),
                Err(error) => other_failed = Some(error),
            }
        }
        if !one_failed {
            return Poll::Pending;
        }
        other_failed.take().map_or(Poll::Pending, |error| Poll::Ready(Err(error)))
    })
    .await
}

#[cfg(test)]
mod tests {
    use std::future::{pending, ready};
    use std::pin::Pin;
    use std::task::{Context, Waker};

    use aws_smithy_runtime_api::client::http::{HttpConnector, HttpConnectorFuture, SharedHttpConnector, http_client_fn};
    use aws_smithy_runtime_api::client::orchestrator::HttpRequest;

    use super::*;
    use crate::client::{Place, Setup};

    type Answer = Pin<Box<dyn Future<Output = Result<u8, u8>>>>;

    fn now(one: Answer, other: Answer) -> Poll<Result<u8, u8>> {
        pin!(either(one, other)).poll(&mut Context::from_waker(Waker::noop()))
    }

    #[test]
    fn of_two_that_are_sent_the_first_that_comes_counts_and_both_must_fail_to_fail() {
        let on_its_way = || -> Answer { Box::pin(pending()) };
        let came = |value| -> Answer { Box::pin(ready(Ok(value))) };
        let failed = |value| -> Answer { Box::pin(ready(Err(value))) };
        assert_eq!(now(on_its_way(), came(2)), Poll::Ready(Ok(2)));
        assert_eq!(now(came(1), on_its_way()), Poll::Ready(Ok(1)));
        assert_eq!(now(failed(1), came(2)), Poll::Ready(Ok(2)));
        assert_eq!(now(came(1), failed(2)), Poll::Ready(Ok(1)));
        assert_eq!(now(failed(1), on_its_way()), Poll::Pending);
        assert_eq!(now(on_its_way(), failed(2)), Poll::Pending);
        assert_eq!(now(failed(1), failed(2)), Poll::Ready(Err(2)));
    }

    /// Whose calls nobody answers.
    fn unanswered() -> Bucket {
        #[derive(Debug)]
        struct Silent;
        impl HttpConnector for Silent {
            fn call(&self, _: HttpRequest) -> HttpConnectorFuture {
                HttpConnectorFuture::new(pending())
            }
        }
        let http = http_client_fn(|_, _| SharedHttpConnector::new(Silent));
        let place = Place { bucket: "there".to_owned(), prefix: String::new(), region: "eu-west-1".to_owned(), owner: None };
        Bucket::new(place, Setup { endpoint: None, http, credentials: Setup::keys("id", "secret", None) }).unwrap()
    }

    #[test]
    fn of_the_same_bytes_that_are_sent_twice_the_copy_that_is_still_on_its_way_is_ended() {
        let (bucket, payload) = (unanswered(), Payload::new(vec![1]));
        let stored = StoredPart { etag: "tag".to_owned(), crc: payload.crc() };
        let (held, ended) = tokio::sync::oneshot::channel::<()>();
        let slow = Transit::begin(&bucket, payload.clone(), None, async move {
            let _held = held;
            pending().await
        });
        let fast = Transit::begin(&bucket, payload, Some(slow), ready(Ok(stored.clone())));
        assert_eq!(bucket.wait(fast.clone().end()).unwrap(), stored);
        assert!(bucket.wait(ended).is_err(), "nothing holds what the slow one held");
        assert!(bucket.wait(fast.settle()), "it may have come nevertheless");
    }

    #[test]
    fn a_copy_that_has_failed_has_not_come_and_the_other_one_goes_on() {
        let (bucket, payload) = (unanswered(), Payload::new(vec![1]));
        let fault = || Fault::new(Meaning::Passing, "lost");
        let first = Transit::begin(&bucket, payload.clone(), None, ready(Err(fault())));
        bucket.wait(first.clone().end()).unwrap_err();
        let second = Transit::begin(&bucket, payload, Some(first), ready(Err(fault())));
        assert!(!bucket.wait(second.settle()));
    }
}
