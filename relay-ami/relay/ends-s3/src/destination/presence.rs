//! Whether a bucket itself is still there.

use std::io;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use cpt_process::thread::lock;

use super::resuming::refuse;
use crate::client::Bucket;
use crate::fault::{Fault, Meaning};

/// How old an answer may be.
const ASKED_AGAIN: Duration = Duration::from_secs(30);

/// Asks beside those who want to know.
pub struct Presence {
    bucket: Bucket,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    is_asked: bool,
    answered: Option<Instant>,
    gone: Option<Fault>,
}

impl Presence {
    pub fn new(bucket: &Bucket) -> Self {
        Self { bucket: bucket.clone(), state: Arc::default() }
    }

    /// Fails where the last answer was that there is none. Whoever asks has no time to wait for one, and a service that does not answer has not
    /// taken it away.
    pub fn check(&self) -> io::Result<()> {
        let mut state = lock(&self.state);
        if !state.is_asked && state.answered.is_none_or(|answered| answered.elapsed() >= ASKED_AGAIN) {
            state.is_asked = true;
            let (bucket, told) = (self.bucket.clone(), Arc::clone(&self.state));
            self.bucket.spawn(async move {
                let asked = bucket.page(&bucket.place().prefix, None, 1).await;
                let gone = asked.err().filter(|fault| fault.meaning == Meaning::NoBucket);
                *lock(&told) = State { is_asked: false, answered: Some(Instant::now()), gone };
            });
        }
        state.gone.clone().map_or(Ok(()), |fault| Err(refuse(fault, &self.bucket.to_string())))
    }
}
