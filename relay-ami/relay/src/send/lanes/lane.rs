//! One lane: a thread that holds a stream, and opens another one where that breaks.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use super::common::Common;
use super::link::Link;
use super::unacknowledged::Unacknowledged;
use crate::defaults::{COMES_BACK_LOOK, COMES_BACK_WITHIN, RECONNECT_PAUSE, RECONNECT_PAUSE_MAX, STACK_BYTES};
use crate::documents::command::Compress;
use crate::documents::membership::Path;
use crate::send::error::SendError;
use crate::send::reading::ChunkWriter;
use crate::send::streams::blame;
use crate::send::streams::{Handle, LaneError};
use crate::thread::lock;
use crate::transport::packing::Packer;
use crate::transport::stream::StreamError;

/// One lane of one path and generation.
pub struct Lane {
    pub common: Arc<Common>,
    pub path: Arc<Path>,
    pub number: u32,
    pub handle: Arc<Handle>,
}

impl Lane {
    /// Runs until the transfer is over or the lane is told to leave.
    pub fn run(&self) {
        let waiting = Unacknowledged::default();
        let (mut failures, mut failing_since, mut was_silent) = (0, None, false);
        let mut pause = RECONNECT_PAUSE;
        loop {
            let mut worked = false;
            let error = match self.converse(&waiting, &mut worked) {
                Ok(()) => break,
                Err(error) => error,
            };
            if self.handle.leave.load(Ordering::SeqCst) || self.common.chunks.queue.verdict().is_some() {
                break;
            }
            // A stream that worked starts the count anew.
            if worked {
                (failures, pause, failing_since) = (0, RECONNECT_PAUSE, None);
            }
            was_silent = if failures == 0 { matches!(error, LaneError::Silent) } else { was_silent };
            failures += 1;
            let since = *failing_since.get_or_insert_with(Instant::now);
            tracing::warn!(path = %self.path.path_id, lane = self.number, failures, %error, "lane broken");
            if failures == 1 || since.elapsed() < COMES_BACK_WITHIN {
                if failures > 1 && self.common.stop.sleep(COMES_BACK_LOOK) {
                    break;
                }
            } else {
                self.give_up(&waiting, &error, since, was_silent);
                if self.common.stop.sleep(pause) || self.handle.leave.load(Ordering::SeqCst) {
                    break;
                }
                pause = (pause * 2).min(RECONNECT_PAUSE_MAX);
            }
        }
        for (work, _) in waiting.take_all() {
            self.common.chunks.queue.give_back(work, &self.handle);
        }
        tracing::info!(path = %self.path.path_id, lane = self.number, "lane ends");
    }

    /// The path does not come back. Where the receiver is heard nowhere, be it for a moment, it is not the path that is lost, and the
    /// chunks wait, unless another receiver may take them meanwhile. A chunk may have broken the stream, so that costs it the attempt; no
    /// chunk silences a path.
    fn give_up(&self, waiting: &Unacknowledged, error: &LaneError, failing_since: Instant, was_silent: bool) {
        let hearing = &self.common.hearing;
        let suspect = blame::suspect(hearing, &self.path, error, failing_since);
        let is_heard = suspect.is_some() || hearing.anywhere(self.path.to, failing_since);
        if is_heard || hearing.of_another(self.path.to, failing_since) {
            for (work, sent) in waiting.take_all() {
                if was_silent || !is_heard {
                    self.common.chunks.queue.give_back(work, &self.handle);
                } else {
                    self.common.chunks.unacknowledged(work, sent, &self.handle, error.to_string());
                }
            }
        }
        if let Some(node) = suspect {
            self.common.blame.relay_lost(&self.path, node, error.to_string());
        }
    }

    /// One stream from connecting to leaving.
    fn converse(&self, waiting: &Unacknowledged, worked: &mut bool) -> Result<(), LaneError> {
        let common = &self.common;
        let opened = common.streams.open(&self.path, self.number, &self.handle).inspect_err(|error| {
            if let LaneError::OtherProof(theirs) = error {
                let (ours, theirs) = (common.reading.proof.as_str(), theirs.as_str());
                common.trouble.note(SendError::OtherProof { ours, theirs });
            }
        });
        let (sealer, reader) = opened?;
        let now = Instant::now();
        common.hearing.heard(&self.handle, now);
        let packer = (common.streams.compress == Compress::Auto).then(Packer::new).transpose().map_err(StreamError::from)?;
        let mut writer = ChunkWriter::new(sealer, packer, common.reading.by(&self.path));
        tracing::info!(path = %self.path.path_id, generation = self.path.generation, lane = self.number, "lane begins");
        let speed = self.common.pace.begins(now);
        self.handle.begins(Arc::clone(&speed), now);
        // Its path may want others.
        common.chunks.queue.wake();
        let link = Link::new(common, &self.handle, waiting, speed, now);
        let result = std::thread::scope(|scope| {
            let listener = std::thread::Builder::new().stack_size(STACK_BYTES).spawn_scoped(scope, || link.listen(reader));
            let result = listener.map_err(StreamError::from).and_then(|_| link.speak(&mut writer));
            if result.is_ok() {
                let _ = writer.sealer.close();
            }
            self.handle.cut();
            result
        });
        self.handle.ends();
        self.common.pace.ends(&link.speed);
        *worked = link.worked.load(Ordering::SeqCst);
        match (result, lock(&link.broken).take()) {
            (Ok(()), _) => Ok(()),
            (Err(_), _) if self.handle.was_silent() => Err(LaneError::Silent),
            // What the listener saw is the cause; that writing failed is its consequence.
            (Err(_), Some(cause)) => Err(cause.into()),
            (Err(error), None) => Err(error.into()),
        }
    }
}

#[cfg(test)]
#[path = "lane_tests.rs"]
mod tests;
