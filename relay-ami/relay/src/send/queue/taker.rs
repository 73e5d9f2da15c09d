//! A lane as the work queue sees it, and what the work queue has for it.

use std::sync::Arc;
use std::time::Duration;

use crate::send::streams::Handle;
use crate::send::streams::Rest;
use crate::send::work::Work;

/// A lane as the work queue sees it.
pub trait Taker {
    fn handle(&self) -> &Arc<Handle>;
    /// Returns whether the lane ends.
    fn leaves(&self) -> bool;
    /// Returns whether it wants no more, near the end in view of the rest.
    fn is_full(&self, rest: Option<Rest>) -> bool;
    /// Returns whether the budget bears so many bytes more, and sets money for them aside if so; else the next chunk waits for it.
    fn affords(&self, bytes: u64) -> bool;
    /// The same for a second copy, which nobody waits for.
    fn affords_copy(&self, bytes: u64) -> bool;
    /// Returns how long it would take for so many bytes more; none where it is not known, or nothing may be sent twice without need: while
    /// what it took is not answered, for example.
    fn time_for(&self, bytes: u64) -> Option<Duration>;
}

/// The next task of a lane.
#[derive(Debug)]
pub enum Next {
    Send(Work),
    /// Let the receiver take over what came to the others.
    Gather,
    /// All chunks are settled; this lane closes the transfer.
    Finish,
    /// Nothing more for this lane.
    Leave,
}
