//! The receiving end: verifies, writes, syncs, renames.

mod commit;
pub mod finish;
mod lane;
mod large;
mod tree;

use std::io;
use std::net::TcpListener;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use commit::Verified;
use large::Files;
use tree::Tree;

use crate::control::{Control, ControlError, Side};
use crate::defaults;
use crate::documents::event::FailureReason;
use crate::documents::plan::TransferPlan;
use crate::documents::text::TransferId;
use crate::progress::{Counters, Reporter};
use crate::rate::RateRules;
use crate::secure::handshake::KeyCheck;
use crate::secure::keys::Identity;
use crate::stop::Stop;
use crate::stream::Replies;
use crate::thread::lock;
use crate::wire::frame::Frame;

/// What a receiver needs to know.
pub struct Config {
    pub transfer: TransferId,
    pub epoch: u64,
    pub destination: PathBuf,
    pub plan: TransferPlan,
    /// Of the keys of objects, ends with a slash or is empty.
    pub prefix: String,
    pub rules: RateRules,
}

/// The receiver cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum ReceiveError {
    #[error("destination {path}: {source}")]
    Destination { path: PathBuf, source: io::Error },
    #[error("receiver: {0}")]
    Io(#[from] io::Error),
    #[error(transparent)]
    Control(#[from] ControlError),
}

/// How it ended.
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

/// What all streams share.
struct Shared {
    transfer: TransferId,
    epoch: u64,
    prefix: String,
    part_size: u64,
    rules: RateRules,
    control: Arc<dyn Control>,
    identity: Identity,
    peer_key: Arc<KeyCheck>,
    sender_epoch: AtomicU64,
    tree: Tree,
    files: Files,
    counters: Counters,
    queue: Mutex<Option<SyncSender<Verified>>>,
    /// Chunks that are verified and not acknowledged.
    outstanding: AtomicU64,
    sync_failures: AtomicU64,
    outcome: Mutex<Option<Outcome>>,
    stop: Stop,
}

impl Shared {
    fn commit(&self, verified: Verified) {
        self.outstanding.fetch_add(1, Ordering::SeqCst);
        let queue = lock(&self.queue).clone();
        // Without a queue the process is ending; the sender hears nothing and sends the chunk again.
        if let Some(queue) = queue {
            let _ = queue.send(verified);
        }
    }

    fn settled(&self, chunks: u64) {
        self.outstanding.fetch_sub(chunks, Ordering::SeqCst);
    }

    fn outstanding(&self) -> u64 {
        self.outstanding.load(Ordering::SeqCst)
    }

    fn refuse(&self, replies: &Replies, chunk: u64, attempt: u32, reason: FailureReason, message: String) {
        tracing::warn!(chunk, attempt, reason = reason.as_str(), message, "chunk refused");
        self.counters.failed.fetch_add(1, Ordering::Relaxed);
        let _ = replies.send(&Frame::Nack { chunk, attempt, reason, message });
    }

    fn finished(&self, outcome: Outcome) {
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
    let Config { transfer, epoch, destination, plan, prefix, rules } = config;
    let tree = Tree::open(&destination, &transfer).map_err(|source| ReceiveError::Destination { path: destination, source })?;
    let (sender, queue) = sync_channel(defaults::COMMIT_QUEUE);
    let shared = Arc::new(Shared {
        peer_key: crate::peer::pinned(Arc::clone(&control), Side::Sender),
        sender_epoch: AtomicU64::new(0),
        part_size: plan.chunk_size_bytes,
        files: Files::default(),
        counters: Counters::default(),
        queue: Mutex::new(Some(sender)),
        outstanding: AtomicU64::new(0),
        sync_failures: AtomicU64::new(0),
        outcome: Mutex::new(None),
        stop: stop.clone(),
        transfer,
        epoch,
        prefix,
        rules,
        control,
        identity,
        tree,
    });
    let committer = {
        let shared = Arc::clone(&shared);
        crate::thread::spawn("commit", move || commit::run(&shared, &queue))?
    };
    let watcher = {
        let shared = Arc::clone(&shared);
        crate::thread::spawn("watch", move || watch(&shared))?
    };
    while !stop.is_requested() {
        match stop.accept(listeners, Duration::from_secs(1)) {
            Ok(Some(socket)) => {
                let shared = Arc::clone(&shared);
                if let Err(error) = crate::thread::spawn("lane", move || lane::serve(&shared, socket)) {
                    tracing::warn!(%error, "no thread for a connection");
                    stop.sleep(Duration::from_millis(100));
                }
            }
            Ok(None) => {}
            Err(error) => {
                tracing::warn!(%error, "accept");
                stop.sleep(Duration::from_millis(100));
            }
        }
    }
    // Verified chunks are still synced and checkpointed; without its queue the committer then ends.
    lock(&shared.queue).take();
    let deadline = Instant::now() + defaults::STOP_TIMEOUT;
    while !committer.is_finished() && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(10));
    }
    let _ = watcher.join();
    let outcome = lock(&shared.outcome).clone();
    Ok(outcome.unwrap_or(Outcome::Stopped))
}

/// Reports progress and looks at the fence. This end waits for the sender unless chunks wait for its disk or the table.
fn watch(shared: &Shared) {
    let mut reporter = Reporter::new(Side::Receiver, shared.epoch);
    loop {
        let stopped = shared.stop.sleep(defaults::PROGRESS_INTERVAL);
        let waits = shared.outstanding() == 0;
        reporter.report(&*shared.control, &shared.counters, waits, Vec::new());
        if stopped {
            return;
        }
        match shared.control.fenced() {
            Ok(true) => shared.finished(Outcome::Fenced),
            Ok(false) => {}
            Err(error) => tracing::warn!(%error, "fence"),
        }
    }
}
