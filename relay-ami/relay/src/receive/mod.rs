//! The receiving end: verifies, writes, syncs, renames.

mod alive;
mod basis;
mod checking;
mod commit;
mod commit_queue;
mod equal_entry;
pub mod finish;
mod incoming;
mod lane;
mod large;
pub mod look;
mod placing;
mod readback;
mod reading;
pub mod same;
mod sending;
mod target;

use std::io;
use std::net::TcpListener;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use alive::Listeners;
use commit::{Refusal, Verified};
use commit_queue::CommitQueue;
use large::Files;
use reading::Reading;
use sending::Sending;

use crate::acceptor::{Acceptor, Limits};
use crate::control::{self, Control, ControlError, Seat};
use crate::defaults;
use crate::digest::Proof;
use crate::documents::attributes::Preserve;
use crate::documents::command::Verify;
use crate::documents::event::{Progress, SkipReason};
use crate::documents::plan::TransferPlan;
use crate::documents::text::TransferId;
use crate::ends::problem::in_words;
use crate::ends::{Capabilities, Destination, OpenDestination};
use crate::progress::{Counters, Reporter};
use crate::rate::RateRules;
use crate::secure::handshake::KeyCheck;
use crate::secure::keys::Identity;
use crate::stop::Stop;
use crate::stream::Replies;
use crate::thread::lock;
use crate::under_way::UnderWay;
use crate::wire::frame::Frame;

/// The input of a receiver.
pub struct Config {
    pub transfer: TransferId,
    pub seat: Seat,
    pub epoch: u64,
    /// The last report of an earlier receiver.
    pub before: Option<Progress>,
    pub destination: Box<dyn Destination>,
    /// The plan as it is now; where it is open, it is read again before the end.
    pub plan: TransferPlan,
    pub plan_key: String,
    /// Prefix of objects' keys; it ends with a slash or is empty.
    pub prefix: String,
    pub rules: RateRules,
    pub limits: Limits,
    pub verify: Verify,
    /// Threads that place files where the file system is far.
    pub placing_threads: usize,
    /// What entries may carry beyond the default. A sender that sends more is none of this transfer.
    pub preserve: Preserve,
}

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

/// State that all streams share.
struct Shared {
    transfer: TransferId,
    seat: Seat,
    epoch: u64,
    /// The plan as it was at the beginning.
    plan: TransferPlan,
    plan_key: String,
    prefix: String,
    verify: Verify,
    proof: Proof,
    placing_threads: usize,
    preserve: Preserve,
    rules: RateRules,
    control: Arc<dyn Control>,
    identity: Identity,
    peer_key: Arc<KeyCheck>,
    sender_epoch: AtomicU64,
    destination: Box<dyn OpenDestination>,
    /// The destination's name.
    path: String,
    capabilities: Capabilities,
    files: Files,
    counters: Counters,
    verified: CommitQueue<Verified>,
    sending: Sending,
    listeners: Listeners,
    /// Calls of the file system, and of the control plane.
    disk: UnderWay,
    asked: UnderWay,
    outcome: Mutex<Option<Result<Outcome, ReceiveError>>>,
    stop: Stop,
}

impl Shared {
    fn refuse(&self, replies: &Replies, chunk: u64, attempt: u32, refusal: Refusal) {
        self.counters.failed.fetch_add(1, Ordering::Relaxed);
        let _ = replies.send(&match refusal {
            Refusal::Failed { reason, message } => {
                tracing::warn!(chunk, attempt, reason = reason.as_str(), message, "chunk refused");
                Frame::Nack { chunk, attempt, reason, message }
            }
            Refusal::Full(message) => {
                tracing::warn!(chunk, attempt, reason = "destination-full", message, "chunk refused");
                Frame::Full { chunk, attempt, message }
            }
        });
    }

    /// One entry of a chunk cannot be placed; the others can. Fails where that cannot be noted.
    fn leave_out(
        &self,
        replies: &Replies,
        (chunk, attempt): (u64, u32),
        entry: u64,
        reason: SkipReason,
        why: &io::Error,
    ) -> io::Result<()> {
        tracing::warn!(chunk, entry, reason = reason.as_str(), %why, "entry refused");
        let call = self.disk.enter();
        self.files.skip(&*self.destination, entry)?;
        drop(call);
        // Where it is not heard the files of the two ends differ in the end, and it is said again.
        let _ = replies.send(&Frame::Refused { chunk, attempt, entry, reason, message: in_words(why) });
        Ok(())
    }

    /// Whoever reads again what is at the destination tells of it so.
    const fn reading(&self) -> Reading<'_> {
        Reading { disk: &self.disk, reread: &self.counters.reread }
    }

    /// Repeats what the control plane did not do until the process is told to stop.
    fn until_answered<T>(&self, what: &str, call: impl Fn() -> control::Result<T>) -> Option<T> {
        let _call = self.asked.enter();
        loop {
            match call() {
                Ok(found) => return Some(found),
                Err(error) => tracing::warn!(what, %error, "asked for again"),
            }
            if self.stop.sleep(defaults::CONTROL_PAUSE) {
                return None;
            }
        }
    }

    /// Ends the receiver where its destination was taken away; whether it is there.
    fn check_destination(&self) -> bool {
        let there = self.destination.check_there();
        there.map_err(|source| self.finished(Err(ReceiveError::Destination { path: self.path.clone(), source }))).is_ok()
    }

    fn finished(&self, outcome: Result<Outcome, ReceiveError>) {
        lock(&self.outcome).get_or_insert(outcome);
        self.stop.request();
    }
}

/// Receives until both ends have finished, or told to stop. `stop` is requested when it returns.
pub fn run(
    config: Config,
    control: Arc<dyn Control>,
    identity: Identity,
    listeners: &[TcpListener],
    stop: &Stop,
) -> Result<Outcome, ReceiveError> {
    let Config { transfer, seat, epoch, before, destination, plan, plan_key, prefix, rules, limits, verify, preserve, placing_threads } =
        config;
    let path = destination.to_string();
    let proof = verify.proof();
    let opened = destination.open(&transfer, &plan.plan_id, plan.chunk_size_bytes, proof);
    let (destination, left) = opened.map_err(|source| ReceiveError::Destination { path: path.clone(), source })?;
    let capabilities = destination.capabilities();
    if !left.placed.is_empty() || !left.begun.is_empty() {
        tracing::info!(files = left.placed.len(), begun = left.begun.len(), "goes on from an earlier receiver");
    }
    let (verified, queue) = CommitQueue::new(defaults::COMMIT_QUEUE, defaults::COMMIT_MEMORY);
    let shared = Arc::new(Shared {
        peer_key: crate::peer::pinned(Arc::clone(&control), Seat::SENDER),
        sender_epoch: AtomicU64::new(0),
        files: Files::going_on_from(left, proof),
        counters: Counters::default(),
        verified,
        sending: Sending::default(),
        listeners: Listeners::default(),
        disk: UnderWay::default(),
        asked: UnderWay::default(),
        outcome: Mutex::new(None),
        stop: stop.clone(),
        transfer,
        seat,
        epoch,
        plan,
        plan_key,
        prefix,
        verify,
        proof,
        placing_threads,
        preserve,
        rules,
        control,
        identity,
        destination,
        path,
        capabilities,
    });
    let committer = {
        let shared = Arc::clone(&shared);
        crate::thread::spawn("commit", move || commit::run(&shared, &queue))?
    };
    let watcher = {
        let shared = Arc::clone(&shared);
        let reporter = Reporter::new(seat, epoch, before, &shared.counters);
        crate::thread::spawn("watch", move || watch(&shared, reporter))?
    };
    {
        let shared = Arc::clone(&shared);
        crate::thread::spawn("alive", move || alive::run(&shared))?;
    }
    let acceptor = Acceptor::new(limits);
    while !stop.is_requested() {
        let shared = Arc::clone(&shared);
        acceptor.answer(listeners, stop, "lane", move |unauthenticated, socket| lane::serve(&shared, unauthenticated, socket));
    }
    // Verified chunks are still synced and checkpointed; without its queue the committer then ends.
    shared.verified.close();
    while !committer.is_finished() && !stop.left(defaults::STOP_TIMEOUT).is_zero() {
        std::thread::sleep(Duration::from_millis(10));
    }
    let _ = watcher.join();
    shared.destination.close();
    let outcome = lock(&shared.outcome).take();
    outcome.unwrap_or(Ok(Outcome::Stopped))
}

/// Reports progress, looks at the fence, and whether the destination is there. This end waits for the sender unless chunks wait
/// for its disk, and for the table while that does not answer; it waits for nobody while the file system keeps one of its threads.
fn watch(shared: &Shared, mut reporter: Reporter) {
    loop {
        let stopped = shared.stop.sleep(defaults::PROGRESS_INTERVAL);
        let hangs = shared.disk.longest().filter(|time| *time >= defaults::FILE_SYSTEM_SLOW);
        let waits = hangs.is_none() && (shared.verified.is_empty() || shared.asked.waits());
        (reporter.in_file_system, reporter.steps) = (hangs, shared.disk.steps());
        reporter.report(&*shared.control, &shared.counters, waits, Vec::new());
        if stopped {
            return;
        }
        shared.check_destination();
        match shared.control.fenced() {
            Ok(true) => shared.finished(Ok(Outcome::Fenced)),
            Ok(false) => {}
            Err(error) => tracing::warn!(%error, "fence"),
        }
    }
}
