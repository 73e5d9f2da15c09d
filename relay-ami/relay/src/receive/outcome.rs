//! The end of a receiver.

use std::io;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use super::files::Site;
use crate::control::ControlError;
use crate::stop::Stop;
use crate::thread::lock;

/// The receiver cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum ReceiveError {
    #[error("destination {path}: {source}")]
    Destination { path: String, source: io::Error },
    #[error("receiver: {0}")]
    Io(#[from] io::Error),
    #[error(transparent)]
    Control(#[from] ControlError),
}

/// The end of a receiver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Both ends have the same files.
    Agreed,
    /// They have not; in words.
    Disagreed(String),
    /// Told to stop by a signal.
    Stopped,
    /// Told to stop by the control plane.
    Fenced,
}

/// Where whichever loop ends the receiver says why; what is said first counts.
pub struct End {
    outcome: Mutex<Option<Result<Outcome, ReceiveError>>>,
    pub stop: Stop,
    has_closed: AtomicBool,
}

impl End {
    /// `stop` is requested once something was said.
    pub const fn new(stop: Stop) -> Self {
        Self { outcome: Mutex::new(None), stop, has_closed: AtomicBool::new(false) }
    }

    /// It takes nothing any more since another receiver finishes. Whoever has finished removes what was left here, even if its answer
    /// then reaches nobody and this one is asked again.
    pub fn closed(&self) {
        self.has_closed.store(true, Ordering::SeqCst);
    }

    pub fn finished(&self, outcome: Result<Outcome, ReceiveError>) {
        lock(&self.outcome).get_or_insert(outcome);
        self.stop.request();
    }

    /// Ends the receiver where its destination was taken away, or what it had there once all may be in its place; whether it is there.
    pub fn check_there(&self, site: &Site) -> bool {
        let Err(source) = site.destination.check_there() else { return true };
        let has_closed = self.has_closed.load(Ordering::SeqCst);
        self.finished(if has_closed { Ok(Outcome::Stopped) } else { Err(ReceiveError::Destination { path: site.name.clone(), source }) });
        false
    }

    /// Why the receiver has ended.
    pub fn take(&self) -> Result<Outcome, ReceiveError> {
        lock(&self.outcome).take().unwrap_or(Ok(Outcome::Stopped))
    }
}
