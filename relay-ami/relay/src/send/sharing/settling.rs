//! Writes down what the chunks of a settled range stood for, then says in the table that it is settled.

use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

use super::own::SettledRange;
use crate::control::leases::Owner;
use crate::control::{Control, ControlError};
use crate::defaults::CONTROL_PAUSE;
use crate::digest::Proof;
use crate::documents::text::PlanId;
use crate::send::noted::sent_object;
use crate::send::range_items::RangeItems;
use crate::send::settled::Chunks;
use crate::stop::Stop;
use crate::thread::spawn;

/// A range that is settled, and whose lease says so.
pub struct WrittenRange(pub u64);

/// The loop that settles ranges: a thread of its own, since its calls may wait for the control plane while chunks go on.
pub struct Settling {
    pub control: Arc<dyn Control>,
    pub owner: Owner,
    pub plan: PlanId,
    pub proof: Proof,
    /// Of digests, without a slash at its end.
    pub folder: String,
    pub chunks: Arc<Chunks>,
    pub written: Sender<WrittenRange>,
    pub stop: Stop,
}

impl Settling {
    /// Starts the thread. What is written comes out of the receiver.
    pub fn start(
        items: &RangeItems,
        owner: &Owner,
        (plan, proof): (&PlanId, Proof),
        folder: String,
        stop: &Stop,
        settled: Receiver<SettledRange>,
    ) -> io::Result<Receiver<WrittenRange>> {
        let (written, receiver) = channel();
        let (control, chunks) = (Arc::clone(&items.control), Arc::clone(&items.chunks));
        let settling = Self { control, owner: owner.clone(), plan: plan.clone(), proof, folder, chunks, written, stop: stop.clone() };
        spawn("settling", move || settling.run(&settled))?;
        Ok(receiver)
    }

    /// Runs until the end closes `settled`, or is told to stop.
    pub fn run(&self, settled: &Receiver<SettledRange>) {
        while let Ok(SettledRange { range, sent }) = settled.recv() {
            let left_out = self.chunks.skipped.take_fresh();
            let key = sent_object::key(&self.folder, range);
            let settle = || {
                let object = sent_object::write(&self.plan, self.proof, &sent, &left_out);
                let object = object.map_err(|error| ControlError::Malformed { what: key.clone(), why: error.to_string() })?;
                self.control.write_object(&key, object)?;
                self.control.settle(range, &self.owner)
            };
            let is_own = loop {
                match settle() {
                    Ok(is_own) => break is_own,
                    Err(error) => tracing::warn!(range, %error, "settle"),
                }
                if self.stop.sleep(CONTROL_PAUSE) || self.chunks.queue.is_over() {
                    return;
                }
            };
            if is_own {
                tracing::info!(range, chunks = sent.len(), left_out = left_out.len(), "range settled");
                let _ = self.written.send(WrittenRange(range));
            } else {
                tracing::warn!(range, "another sender has its lease by now");
            }
        }
    }
}
