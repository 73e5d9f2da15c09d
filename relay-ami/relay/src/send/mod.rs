//! The sending end: reads the plan's chunks, keeps lanes on all paths busy, lets the table decide about failed chunks.

mod asking;
mod blame;
mod chunk;
mod failures;
mod feeder;
mod growth;
mod handle;
mod held;
mod keepalive;
mod lane;
mod ledger;
mod outcome;
mod pace;
mod paths;
mod pretest;
mod recall;
mod repair;
mod skipped;
mod state;
mod work_queue;

use std::collections::BTreeMap;
use std::io;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};

use blame::Blame;
use chunk::Sent;
use failures::Failure;
pub use held::Patience;
use keepalive::Keepalives;
use ledger::Ledger;
use outcome::outcome;
pub use outcome::{Outcome, Totals, describe};
use pace::Pace;
use paths::Lanes;
use repair::Repairs;
use skipped::Skipped;
pub use work_queue::GivenUp;
use work_queue::{Work, WorkQueue};

use crate::control::{Control, ControlError, Side};
use crate::defaults;
use crate::digest::Digest;
use crate::documents::chunk::{Chunk, ChunkState};
use crate::documents::event::FailureReason;
use crate::documents::plan::TransferPlan;
use crate::documents::text::PathId;
use crate::ends::Source;
use crate::progress::{Counters, Reporter};
use crate::rate::{Bucket, RateRules};
use crate::receive::finish::Digests;
use crate::route::Router;
use crate::secure::handshake::KeyCheck;
use crate::secure::keys::Identity;
use crate::stop::Stop;
use crate::thread::lock;
use crate::under_way::UnderWay;

/// What a sender needs to know.
pub struct Config {
    pub epoch: u64,
    /// As it is now; where it is open the sender follows it.
    pub plan: TransferPlan,
    pub plan_key: String,
    /// Of the keys of objects, ends with a slash or is empty.
    pub prefix: String,
    pub source: Arc<dyn Source>,
    pub router: Router,
    pub identity: Identity,
    pub rules: RateRules,
    /// How often each relay is kept alive.
    pub keepalive: Duration,
    /// With a destination that takes nothing.
    pub patience: Patience,
}

/// The sender cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum SendError {
    #[error("plan: {0}")]
    Plan(String),
    #[error("sender: {0}")]
    Io(#[from] io::Error),
    /// It has no room, or its file system fails, for longer than is waited for it; what it said.
    #[error("{0}")]
    DestinationFull(String),
    #[error(transparent)]
    Control(#[from] ControlError),
}

/// Messages to a thread of this end, which ends once this is closed and all were read.
struct Mailbox<T>(Mutex<Option<Sender<T>>>);

impl<T> Mailbox<T> {
    /// Once it is closed the end is ending: nobody needs the message.
    fn send(&self, message: T) {
        if let Some(sender) = &*lock(&self.0) {
            let _ = sender.send(message);
        }
    }

    fn close(&self) {
        lock(&self.0).take();
    }
}

/// What all threads share.
struct Shared {
    epoch: u64,
    /// As it was at the beginning.
    plan: TransferPlan,
    plan_key: String,
    whole_plan: OnceLock<TransferPlan>,
    /// Names this process in leases.
    owner: String,
    control: Arc<dyn Control>,
    router: Router,
    identity: Identity,
    peer_key: Arc<KeyCheck>,
    rules: RateRules,
    /// As the membership has it.
    limit: Arc<Bucket>,
    work_queue: WorkQueue,
    ledger: Mutex<Ledger>,
    source: Arc<dyn Source>,
    skipped: Arc<Skipped>,
    counters: Counters,
    failures: Mailbox<Failure>,
    recalls: Mailbox<Vec<u64>>,
    repairs: Repairs,
    /// What keeps this end from finishing.
    trouble: Mutex<Option<SendError>>,
    /// Calls of the control plane without which it does not get on.
    asked: UnderWay,
    /// Of the keys of objects.
    prefix: String,
    blame: Blame,
    pretests: Mutex<()>,
    pace: Pace,
    stop: Stop,
}

impl Shared {
    /// The plan, once it is known how many chunks there are.
    fn planned(&self, plan: TransferPlan) {
        self.work_queue.planned(&plan);
        // It becomes whole once.
        let _ = self.whole_plan.set(plan);
    }

    fn whole_plan(&self) -> &TransferPlan {
        self.whole_plan.get().unwrap_or(&self.plan)
    }

    fn delivered(&self, work: &Work, sent: Option<Sent>) {
        if let Some(sent) = sent {
            lock(&self.ledger).note(sent, self.plan.chunk_size_bytes);
        }
        if !work.again {
            self.counters.delivered(work.bytes, work.files);
        }
        self.work_queue.delivered(work);
    }

    /// Chunks that an earlier process delivered, or that were given up.
    fn settled_before<'a>(&self, chunks: impl Iterator<Item = &'a Chunk>) {
        let mut unknown = Vec::new();
        for chunk in chunks {
            if chunk.state == ChunkState::Delivered {
                self.counters.delivered(chunk.bytes, chunk.files);
                unknown.push(chunk.chunk);
                self.work_queue.recalls(1);
            }
            self.work_queue.settle_before(chunk);
        }
        if !unknown.is_empty() {
            self.recalls.send(unknown);
        }
    }

    /// A chunk that failed here turns out to be delivered.
    fn delivered_after_all(&self, work: &Work) {
        if !work.again {
            self.counters.delivered(work.bytes, work.files);
        }
        if lock(&self.ledger).settle(work.chunk, self.plan.chunk_size_bytes) {
            self.work_queue.recalled();
        } else {
            self.recalls.send(vec![work.chunk]);
        }
    }

    /// Uploads the digests of all entries for the receiver's look and for Verify Transfer, and what was left out.
    fn upload(&self, digests: &BTreeMap<u64, Digest>) -> Option<()> {
        let upload = || {
            self.digests().upload(Side::Sender, digests)?;
            Ok(self.skipped.upload(&*self.control, &format!("{}digests/{}/skipped/", self.prefix, self.plan.plan_id))?)
        };
        self.or_trouble(self.until_answered("digests", upload))?
    }

    fn digests(&self) -> Digests<'_> {
        Digests { control: &*self.control, prefix: &self.prefix, plan: &self.plan.plan_id }
    }

    /// Without a result the process ends.
    fn or_trouble<T>(&self, result: Result<T, SendError>) -> Option<T> {
        match result {
            Ok(found) => Some(found),
            Err(error) => {
                lock(&self.trouble).get_or_insert(error);
                None
            }
        }
    }

    fn failed(&self, work: Work, path: &PathId, reason: FailureReason, message: String) {
        self.counters.failed.fetch_add(1, Ordering::Relaxed);
        let failure = Failure { chunk: work.chunk, attempt: work.attempt, path: path.to_string(), reason, message };
        self.work_queue.failed(work);
        self.failures.send(failure);
    }

    /// Whether all chunks are delivered, and the digests of the entries that are not left out.
    fn totals(&self) -> (bool, BTreeMap<u64, Digest>) {
        let mut digests = lock(&self.ledger).whole().clone();
        for (entry, _) in self.skipped.entries() {
            digests.remove(&entry);
        }
        (self.work_queue.given_up().is_empty(), digests)
    }
}

/// Sends until both ends have finished, or told to stop.
pub fn run(config: Config, control: Arc<dyn Control>, stop: &Stop) -> Result<Outcome, SendError> {
    let (failures, reported) = channel();
    let (recalls, asked) = channel();
    let Config { epoch, plan, plan_key, prefix, source, router, identity, rules, keepalive, patience } = config;
    let serial = u64::from_be_bytes(crate::secure::keys::random().map_err(io::Error::other)?);
    let shared = Arc::new(Shared {
        owner: format!("sender-{epoch}-{serial:016x}"),
        peer_key: crate::peer::pinned(Arc::clone(&control), Side::Receiver),
        limit: Bucket::unlimited(),
        work_queue: WorkQueue::new(&plan, patience),
        whole_plan: OnceLock::new(),
        plan_key,
        ledger: Mutex::default(),
        source,
        skipped: Arc::default(),
        counters: Counters::default(),
        failures: Mailbox(Mutex::new(Some(failures))),
        recalls: Mailbox(Mutex::new(Some(recalls))),
        repairs: Repairs::default(),
        trouble: Mutex::default(),
        asked: UnderWay::default(),
        prefix,
        blame: Blame::default(),
        pretests: Mutex::default(),
        pace: Pace::default(),
        stop: stop.clone(),
        epoch,
        plan,
        control,
        router,
        identity,
        rules,
    });
    {
        let shared = Arc::clone(&shared);
        crate::thread::spawn("failures", move || failures::run(&shared, &reported))?;
    }
    {
        let shared = Arc::clone(&shared);
        crate::thread::spawn("recall", move || recall::run(&shared, &asked))?;
    }
    let feeder = {
        let shared = Arc::clone(&shared);
        crate::thread::spawn("feeder", move || feeder::run(&shared))?
    };
    {
        let shared = Arc::clone(&shared);
        crate::thread::spawn("decisions", move || asking::decisions(&shared))?;
    }
    let mut lanes = Lanes::new();
    let result = watch(&shared, &mut lanes, Keepalives::new(keepalive), feeder);
    if !matches!(result, Ok(Outcome::Stopped)) {
        shared.work_queue.close();
    }
    lanes.end(&shared, stop.left(defaults::STOP_TIMEOUT));
    shared.work_queue.close();
    shared.failures.close();
    shared.recalls.close();
    result
}

/// Follows membership, fence and progress until the end.
fn watch(
    shared: &Arc<Shared>,
    lanes: &mut Lanes,
    mut keepalives: Keepalives,
    feeder: std::thread::JoinHandle<Result<(), SendError>>,
) -> Result<Outcome, SendError> {
    let mut reporter = Reporter::new(Side::Sender, shared.epoch);
    let mut feeder = Some(feeder);
    let mut next_watch = Instant::now();
    loop {
        if shared.stop.is_requested() {
            return Ok(Outcome::Stopped);
        }
        if let Some(verdict) = shared.work_queue.verdict() {
            let seconds = reporter.age();
            reporter.report(&*shared.control, &shared.counters, true, lanes.progress(seconds));
            return Ok(outcome(shared, verdict));
        }
        if let Some(why) = shared.work_queue.is_full() {
            return Err(SendError::DestinationFull(why));
        }
        if let Some(error) = lock(&shared.trouble).take() {
            return Err(error);
        }
        if feeder.as_ref().is_some_and(std::thread::JoinHandle::is_finished)
            && let Some(ended) = feeder.take()
        {
            ended.join().unwrap_or_else(|_| Err(SendError::Plan("the feeder panicked".to_owned())))?;
        }
        if Instant::now() >= next_watch {
            next_watch = Instant::now() + defaults::WATCH_INTERVAL;
            follow(shared, lanes, &mut keepalives)?;
        }
        if reporter.age() >= defaults::PROGRESS_INTERVAL.as_secs_f64() {
            // Without a path, with nothing but chunks that others decide about, or without an answer of the control plane, this end
            // is not the one that stands still.
            let waits = !lanes.any_path || shared.work_queue.waits_for_others() || shared.asked.waits();
            let seconds = reporter.age();
            reporter.report(&*shared.control, &shared.counters, waits, lanes.progress(seconds));
            match shared.control.fenced() {
                Ok(true) => return Ok(Outcome::Fenced),
                Ok(false) => {}
                Err(error) => tracing::warn!(%error, "fence"),
            }
        }
        shared.work_queue.wait(next_watch.saturating_duration_since(Instant::now()));
    }
}

fn follow(shared: &Arc<Shared>, lanes: &mut Lanes, keepalives: &mut Keepalives) -> Result<(), SendError> {
    match shared.control.membership() {
        Ok(Some(membership)) => {
            shared.limit.set_megabits(membership.bandwidth_limit_mbps);
            lanes.follow(shared, &membership)?;
            keepalives.follow(shared, &membership);
        }
        Ok(None) => {}
        // The paths of a second ago still serve.
        Err(error) => tracing::warn!(%error, "membership"),
    }
    shared.work_queue.wake();
    lanes.reap();
    Ok(())
}
