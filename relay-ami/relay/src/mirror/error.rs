//! Why extras were not found, or not all removed.

use crate::control::ControlError;

/// Why extras were not found, or not all removed.
#[derive(Debug, thiserror::Error)]
pub enum MirrorError {
    #[error(transparent)]
    Control(#[from] ControlError),
    /// The destination cannot be gone through, or is another directory than before.
    #[error(transparent)]
    Destination(#[from] std::io::Error),
    /// Whoever ordered it has ended this transfer, or begun its ends anew.
    #[error("the order does not hold any more")]
    Void,
}
