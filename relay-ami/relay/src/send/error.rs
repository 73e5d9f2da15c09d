//! Why the sender cannot go on.

use std::io;
use std::sync::Mutex;

use crate::control::ControlError;
use crate::defaults;
use crate::thread::lock;

/// The sender cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum SendError {
    #[error("plan: {0}")]
    Plan(String),
    #[error("sender: {0}")]
    Io(#[from] io::Error),
    /// It has no room, or its file system fails, for longer than is waited for it; what it said.
    #[error("{0}")]
    DestinationFull(String),
    /// The receiver digests otherwise, so nothing that is sent could count.
    #[error("verify is for {ours} here, and for {theirs} at the receiver; both ends of a transfer need the same")]
    OtherProof { ours: &'static str, theirs: &'static str },
    /// This machine can read nothing of the source any more, and others send too.
    #[error("{} entries in a row could not be read on this machine; others send what it lacks", defaults::MOST_UNREAD)]
    Unread,
    #[error(transparent)]
    Control(#[from] ControlError),
}

/// The error that keeps this end from finishing: the first that one of its threads has met.
#[derive(Default)]
pub struct Trouble(Mutex<Option<SendError>>);

impl Trouble {
    pub fn note(&self, error: SendError) {
        lock(&self.0).get_or_insert(error);
    }

    pub fn take(&self) -> Option<SendError> {
        lock(&self.0).take()
    }
}
