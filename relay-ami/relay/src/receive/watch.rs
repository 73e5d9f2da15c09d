//! The loop that reports the receiver's progress, and looks at the fence and whether the destination is there.

use std::sync::Arc;

use super::beside::Beside;
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
    /// None where the transfer has one sender and one receiver.
    pub beside: Option<Arc<Beside>>,
    pub many_receivers: bool,
}

impl Watch {
    /// Runs until the process is told to stop. This end waits for the sender unless chunks wait for its disk, and for the table while
    /// that does not answer; it waits for nobody while the file system keeps one of its threads. Returns who reports.
    pub fn run(mut self) -> Reporter {
        loop {
            let stopped = self.rest();
            let disk = &self.site.disk;
            let hangs = disk.longest().filter(|time| *time >= defaults::FILE_SYSTEM_SLOW);
            let waits = hangs.is_none() && (self.verified.is_empty() || self.asked.waits());
            (self.reporter.in_file_system, self.reporter.steps) = (hangs, disk.steps());
            self.reporter.report(&*self.control, &self.site.counters, waits, Vec::new());
            self.verified.allow(self.site.destination.most_unsynced());
            if stopped {
                return self.reporter;
            }
            if !self.end.check_there(&self.site) && self.beside.as_deref().is_some_and(Beside::is_closed) {
                return self.reporter;
            }
            match self.control.fenced() {
                Ok(true) => self.end.finished(Ok(Outcome::Fenced)),
                Ok(false) => {}
                Err(error) => tracing::warn!(%error, "fence"),
            }
        }
    }

    /// Until the next report is due: at once where there is something new to tell the others. Returns whether the process is to stop.
    fn rest(&mut self) -> bool {
        let Some(beside) = self.beside.clone() else { return self.end.stop.sleep(defaults::PROGRESS_INTERVAL) };
        loop {
            if self.end.stop.sleep(defaults::WATCH_INTERVAL) {
                return true;
            }
            self.look();
            let told = beside.settle(self.verified.is_empty(), || self.site.files.let_go());
            if told.closed_for.is_some() {
                self.end.closed();
            }
            if told != self.reporter.told {
                self.reporter.told = told;
                return false;
            }
            if self.reporter.age() >= defaults::PROGRESS_INTERVAL.as_secs_f64() {
                return false;
            }
        }
    }

    /// Looks who was given up, and who finishes.
    pub fn look(&self) {
        let Some(beside) = self.beside.as_deref() else { return };
        match self.control.membership() {
            Ok(membership) => membership.iter().for_each(|membership| beside.heed(membership)),
            Err(error) => tracing::warn!(%error, "membership"),
        }
        if self.many_receivers {
            match self.control.finish() {
                Ok(finish) => beside.follow(finish.as_ref()),
                Err(error) => tracing::warn!(%error, "finish"),
            }
        }
        if beside.is_retired() {
            // Others work with what is here.
            beside.leave();
            self.end.finished(Ok(Outcome::Fenced));
        }
    }
}
