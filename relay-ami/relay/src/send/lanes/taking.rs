//! Which chunks a lane takes: not more than it gets over, than is left for it, and than the budget bears.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::link::Link;
use crate::defaults::LANE_WINDOW;
use crate::send::queue::Taker;
use crate::send::reading::ChunkWriter;
use crate::send::streams::{Handle, Rest};
use crate::thread::lock;
use crate::transport::stream::StreamError;
use crate::wire::frame::Frame;

impl Taker for Link<'_> {
    fn handle(&self) -> &Arc<Handle> {
        self.handle
    }

    /// Also of a lane that waits for something to do: told to leave, it is to go at its next look.
    fn leaves(&self) -> bool {
        if self.handle.leave.load(Ordering::SeqCst) {
            self.over.store(true, Ordering::SeqCst);
        }
        self.over.load(Ordering::SeqCst)
    }

    fn is_full(&self, rest: Option<Rest>) -> bool {
        let leaves = self.handle.leave.load(Ordering::SeqCst);
        leaves || self.waiting.len() >= LANE_WINDOW || rest.is_some_and(|rest| self.leaves_it_to_others(rest))
    }

    fn affords(&self, bytes: u64) -> bool {
        let common = self.common;
        let affords = common.affords(bytes);
        if !affords {
            common.lease.refused(Instant::now());
        }
        affords
    }

    fn affords_copy(&self, bytes: u64) -> bool {
        self.common.affords(bytes)
    }

    /// A second copy would wait for the receiver's disk as the first one does, and take its share of a rate that a person has set.
    fn time_for(&self, bytes: u64) -> Option<Duration> {
        let common = self.common;
        let may_be_twice = !self.waiting.is_wanted() && !common.hearing.is_busy(self.handle.to) && common.streams.limit.is_unlimited();
        self.speed.time_for(bytes, Instant::now()).filter(|_| may_be_twice)
    }
}

impl Link<'_> {
    /// Not for longer than this lane would have taken itself: what it believes of the others may have ceased to be true.
    fn leaves_it_to_others(&self, rest: Rest) -> bool {
        let now = Instant::now();
        let Some(own) = self.common.pace.holds_up(&self.speed, rest, now) else { return false };
        let (since, longest) = *lock(&self.leaving_since).get_or_insert((now, own));
        now.saturating_duration_since(since) < longest
    }

    /// Whoever repeats what another stream began may have to wait for money.
    pub(super) fn until_affordable(&self, writer: &mut ChunkWriter, bytes: u64) -> Result<(), StreamError> {
        let common = self.common;
        let mut is_first = true;
        while !self.affords(bytes) {
            let leaves = self.handle.leave.load(Ordering::SeqCst) || common.stop.is_requested() || common.chunks.queue.is_over();
            if leaves || lock(&self.broken).is_some() {
                return Err(StreamError::Ended);
            }
            if std::mem::take(&mut is_first) {
                writer.frame(&Frame::Pause)?;
            }
            common.chunks.queue.wait(Duration::from_secs(1));
        }
        Ok(())
    }
}
