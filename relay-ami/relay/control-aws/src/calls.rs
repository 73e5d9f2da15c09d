//! Waits for calls, and not for longer than the process is to live.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use tokio::runtime::Runtime;

use cpt_control::{ControlError, Result};
use cpt_process::stop::Stop;

/// How often a call that waits looks whether the process is to stop: no more than a timer costs.
const STOP_LOOK: Duration = Duration::from_millis(100);

/// Runs calls from threads that block.
pub struct Calls {
    /// Gone only while this is dropped.
    runtime: Option<Runtime>,
    stop: Stop,
    last_words: Duration,
}

impl Calls {
    pub fn new(stop: &Stop, last_words: Duration) -> Result<Self> {
        let unavailable = |error: std::io::Error| ControlError::Unavailable { what: "runtime".to_owned(), why: error.to_string() };
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().map_err(unavailable)?;
        Ok(Self { runtime: Some(runtime), stop: stop.clone(), last_words })
    }

    /// # Panics
    /// Never: the runtime is there until this is dropped.
    #[allow(clippy::expect_used, reason = "an Option only so that dropping can take it")]
    pub fn runtime(&self) -> &Runtime {
        self.runtime.as_ref().expect("until it is dropped")
    }

    /// Asks what this end wants to know: no answer is of use to a process that ends.
    pub fn ask<T>(&self, what: &str, call: impl Future<Output = Result<T>>) -> Result<T> {
        self.within(what, Duration::ZERO, call)
    }

    /// Says what this end has to say: once the process is to end, all of it has `last_words` together.
    pub fn tell<T>(&self, what: &str, call: impl Future<Output = Result<T>>) -> Result<T> {
        self.within(what, self.last_words, call)
    }

    fn within<T>(&self, what: &str, after_stop: Duration, call: impl Future<Output = Result<T>>) -> Result<T> {
        let over = async {
            while !self.stop.is_requested() {
                tokio::time::sleep(STOP_LOOK).await;
            }
            tokio::time::sleep(self.stop.left(after_stop)).await;
        };
        let first = async {
            let (mut call, mut over) = (pin!(call), pin!(over));
            poll_fn(|context| match call.as_mut().poll(context) {
                Poll::Ready(result) => Poll::Ready(Some(result)),
                Poll::Pending => over.as_mut().poll(context).map(|()| None),
            })
            .await
        };
        let ended = || Err(ControlError::Unavailable { what: what.to_owned(), why: "the process was told to stop".to_owned() });
        self.runtime().block_on(first).unwrap_or_else(ended)
    }
}

impl Drop for Calls {
    /// Does not wait: a name server that does not answer holds a thread for half a minute.
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}
