//! The loop that reports the receiver's progress, and looks at the fence and whether the destination is there.

use std::sync::Arc;

use super::commit::CommitQueue;
use super::commit::Verified;
use super::files::Site;
use super::outcome::{End, Outcome};
use crate::control::Control;
use crate::defaults;
use crate::progress::Reporter;
use crate::under_way::UnderWay;

/// The loop's state, and what it looks at.
pub struct Watch {
    pub site: Arc<Site>,
    pub verified: Arc<CommitQueue<Verified>>,
    /// Calls of the control plane.
    pub asked: Arc<UnderWay>,
    pub control: Arc<dyn Control>,
    pub end: Arc<End>,
    pub reporter: Reporter,
}

impl Watch {
    /// Runs until the process is told to stop. This end waits for the sender unless chunks wait for its disk, and for the table while
    /// that does not answer; it waits for nobody while the file system keeps one of its threads.
    pub fn run(mut self) {
        loop {
            let stopped = self.end.stop.sleep(defaults::PROGRESS_INTERVAL);
            let disk = &self.site.disk;
            let hangs = disk.longest().filter(|time| *time >= defaults::FILE_SYSTEM_SLOW);
            let waits = hangs.is_none() && (self.verified.is_empty() || self.asked.waits());
            (self.reporter.in_file_system, self.reporter.steps) = (hangs, disk.steps());
            self.reporter.report(&*self.control, &self.site.counters, waits, Vec::new());
            if stopped {
                return;
            }
            self.end.check_there(&self.site);
            match self.control.fenced() {
                Ok(true) => self.end.finished(Ok(Outcome::Fenced)),
                Ok(false) => {}
                Err(error) => tracing::warn!(%error, "fence"),
            }
        }
    }
}
