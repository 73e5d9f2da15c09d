//! A chunk's writing, as the lane that sends it sees it.

use std::sync::atomic::Ordering;

use super::unacknowledged::Unacknowledged;
use crate::documents::entry::Segment;
use crate::progress::Counters;
use crate::send::reading::{Caller, Offers};
use crate::send::streams::Handle;
use crate::send::work::Work;
use crate::transport::had::LEAST_BYTES;

/// One chunk on one lane.
pub struct Sending<'a> {
    pub counters: &'a Counters,
    pub offers: &'a Offers,
    pub handle: &'a Handle,
    pub waiting: &'a Unacknowledged,
    pub work: &'a Work,
    /// Waits for the receiver's answer to an offer; none where the stream is broken.
    pub has: &'a dyn Fn() -> Option<Vec<u8>>,
}

impl Caller for Sending<'_> {
    fn moved(&self, bytes: u64, wire: u64) {
        self.counters.moved(bytes);
        self.counters.saved(bytes - wire);
        self.handle.moved.fetch_add(bytes, Ordering::Relaxed);
    }

    fn reread(&self, bytes: u64) {
        self.counters.reread.fetch_add(bytes, Ordering::Relaxed);
    }

    /// The receiver may refuse it before its end, or acknowledge another lane's copy.
    fn goes_on(&self) -> bool {
        self.waiting.holds(self.work.chunk) && !self.work.flight.is_settled()
    }

    /// Once: where it failed, what was there may have been the reason.
    fn offers(&self, segment: &Segment) -> bool {
        segment.basis && self.work.attempt == 1 && self.offers.is_worth(segment.entry)
    }

    /// Once, as above. All of the file or nothing: so one with holes is sent.
    fn copies(&self, segment: &Segment) -> bool {
        let is_first = self.work.attempt == 1 && !self.work.again;
        let has_holes = segment.attributes.as_ref().is_some_and(|attributes| attributes.sparse);
        segment.same && !segment.is_part() && segment.length >= LEAST_BYTES && is_first && !has_holes
    }

    fn has(&self, segment: &Segment) -> Option<Vec<u8>> {
        let blocks = (self.has)()?;
        self.offers.note(segment.entry, blocks.iter().any(|byte| *byte != 0));
        Some(blocks)
    }
}
