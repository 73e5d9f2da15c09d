//! Whether a bucket itself is still there.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use cpt_process::thread::lock;

use super::resuming::refuse;
use crate::client::Bucket;
use crate::fault::{Fault, Meaning};

/// How old an answer may be.
const ASKED_AGAIN: Duration = Duration::from_secs(30);
/// Of receivers beside others: one that has closed ends once it sees that all notes are gone.
const NOTES_ASKED_AGAIN: Duration = Duration::from_secs(2);

/// Asks beside those who want to know.
pub struct Presence {
    bucket: Bucket,
    /// Beginning of the keys of this receiver's own notes, where another one may remove them.
    notes: Option<String>,
    state: Arc<Mutex<State>>,
    is_over: AtomicBool,
}

#[derive(Default)]
struct State {
    is_asked: bool,
    answered: Option<Instant>,
    gone: Option<Fault>,
}

impl Presence {
    pub fn new(bucket: &Bucket, notes: Option<String>) -> Self {
        Self { bucket: bucket.clone(), notes, state: Arc::default(), is_over: AtomicBool::default() }
    }

    /// This receiver itself removes its notes.
    pub fn is_over(&self) {
        self.is_over.store(true, Ordering::SeqCst);
    }

    /// Asks whether whoever has finished has removed this receiver's notes; `false` where that is not known.
    pub fn are_notes_gone(&self) -> bool {
        let asked = self.notes.as_ref().map(|notes| self.bucket.wait(self.bucket.page(notes, None, 1)));
        self.is_over.load(Ordering::SeqCst) || matches!(asked, Some(Ok(page)) if page.objects.is_empty())
    }

    /// Fails where the last answer was that there is none, or no notes any more. Whoever asks has no time to wait for one, and a service that does not answer has not
    /// taken it away.
    pub fn check(&self) -> io::Result<()> {
        if self.is_over.load(Ordering::SeqCst) {
            return Ok(());
        }
        let again = if self.notes.is_some() { NOTES_ASKED_AGAIN } else { ASKED_AGAIN };
        let mut state = lock(&self.state);
        if !state.is_asked && state.answered.is_none_or(|answered| answered.elapsed() >= again) {
            state.is_asked = true;
            let (bucket, told, notes) = (self.bucket.clone(), Arc::clone(&self.state), self.notes.clone());
            self.bucket.spawn(async move {
                let asked = bucket.page(notes.as_ref().unwrap_or(&bucket.place().prefix), None, 1).await;
                let gone = match asked {
                    Ok(page) if notes.is_some() && page.objects.is_empty() => {
                        Some(Fault::new(Meaning::NoBucket, "the notes of this receiver are not there any more"))
                    }
                    Ok(_) => None,
                    Err(fault) => Some(fault).filter(|fault| fault.meaning == Meaning::NoBucket),
                };
                *lock(&told) = State { is_asked: false, answered: Some(Instant::now()), gone };
            });
        }
        state.gone.clone().map_or(Ok(()), |fault| Err(refuse(fault, &self.bucket.to_string())))
    }
}
