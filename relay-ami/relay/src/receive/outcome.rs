//! The end of a receiver.

use std::io;
use std::sync::Mutex;

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
}

impl End {
    /// `stop` is requested once something was said.
    pub const fn new(stop: Stop) -> Self {
        Self { outcome: Mutex::new(None), stop }
    }

    pub fn finished(&self, outcome: Result<Outcome, ReceiveError>) {
        lock(&self.outcome).get_or_insert(outcome);
        self.stop.request();
    }

    /// Ends the receiver where its destination was taken away; whether it is there.
    pub fn check_there(&self, site: &Site) -> bool {
        let there = site.destination.check_there();
        there.map_err(|source| self.finished(Err(ReceiveError::Destination { path: site.name.clone(), source }))).is_ok()
    }

    /// Why the receiver has ended.
    pub fn take(&self) -> Result<Outcome, ReceiveError> {
        lock(&self.outcome).take().unwrap_or(Ok(Outcome::Stopped))
    }
}
