//! The sending end: reads the plan's chunks, keeps lanes on all paths busy, lets the table decide about failed chunks.

#[cfg(test)]
mod builders;
mod feeder;
mod lanes;
mod noted;
mod questions;
mod queue;
pub(crate) mod reading;
mod settled;
mod streams;
mod work;

use std::fs::File;
use std::io;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};

use lanes::lease::Lease;
use lanes::paths::Lanes;
pub use noted::sent_journal;
use noted::sent_journal::SentJournal;
pub use queue::held::Patience;
use reading::chunk_writer::Reading;
use reading::offers::Offers;
use settled::chunks::{Chunks, Inboxes};
use settled::outcome::outcome;
pub use settled::outcome::{Outcome, Totals, describe};
use settled::repair::Repairs;
use settled::{failures, recall};
use streams::blame::Blame;
use streams::greeting::Streams;
use streams::hearing::{self, Hearing};
use streams::keepalive::Keepalives;
use streams::pace::Pace;
use streams::pretest::Pretests;
pub use work::GivenUp;

use crate::control::{Control, ControlError, Seat, unix_now};
use crate::defaults;
use crate::digest::{Digest, Proof};
use crate::documents::command::Compress;
use crate::documents::event::Progress;
use crate::documents::plan::TransferPlan;
use crate::ends::Source;
use crate::entry_table::EntryTable;
use crate::epoch::start_of;
use crate::progress::Reporter;
use crate::rate::{Bucket, RateRules};
use crate::receive::finish::Digests;
use crate::route::Router;
use crate::secure::keys::Identity;
use crate::stop::Stop;
use crate::thread::lock;
use crate::under_way::UnderWay;

/// The input of a sender.
pub struct Config {
    pub seat: Seat,
    pub epoch: u64,
    /// The last report of an earlier sender.
    pub before: Option<Progress>,
    /// Journal of what each chunk stood for; none for a sender that is not started again.
    pub journal: Option<File>,
    /// For digests that have no room in memory.
    pub overflow: Option<File>,
    /// The plan as it is now; where it is open the sender follows it.
    pub plan: TransferPlan,
    pub plan_key: String,
    /// Prefix of objects' keys; it ends with a slash or is empty.
    pub prefix: String,
    pub source: Arc<dyn Source>,
    pub router: Router,
    pub identity: Identity,
    pub rules: RateRules,
    /// Pause between two keepalives to a relay.
    pub keepalive: Duration,
    /// With a destination that takes nothing.
    pub patience: Patience,
    pub compress: Compress,
    /// As the receiver's.
    pub proof: Proof,
    /// Paths keep the lanes that the membership gives them.
    pub has_fixed_lanes: bool,
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
    /// The receiver digests otherwise, so nothing that is sent could count.
    #[error("verify is for {ours} here, and for {theirs} at the receiver; both ends of a transfer need the same")]
    OtherProof { ours: &'static str, theirs: &'static str },
    #[error(transparent)]
    Control(#[from] ControlError),
}

/// State that all threads share.
struct Shared {
    seat: Seat,
    /// The plan as it was at the beginning.
    plan: TransferPlan,
    plan_key: String,
    whole_plan: OnceLock<TransferPlan>,
    /// Names this process in leases.
    owner: String,
    /// Prefix of objects' keys.
    prefix: String,
    control: Arc<dyn Control>,
    chunks: Chunks,
    streams: Arc<Streams>,
    pretests: Arc<Pretests>,
    hearing: Hearing,
    blame: Blame,
    pace: Pace,
    repairs: Repairs,
    offers: Offers,
    reading: Reading,
    compress: Compress,
    lease: Lease,
    /// The error that keeps this end from finishing.
    trouble: Mutex<Option<SendError>>,
    /// Calls of the control plane without which it does not get on.
    asked: UnderWay,
    stop: Stop,
}

impl Shared {
    /// The plan, once it is known how many chunks there are.
    fn planned(&self, plan: TransferPlan) {
        self.chunks.queue.planned(&plan);
        // It becomes whole once.
        let _ = self.whole_plan.set(plan);
    }

    fn whole_plan(&self) -> &TransferPlan {
        self.whole_plan.get().unwrap_or(&self.plan)
    }

    /// Uploads the digests of all entries for the receiver's look and for Verify Transfer, and what was left out. Returns how many
    /// digests they are, and the digest of them all.
    fn upload(&self) -> Option<(u64, Digest)> {
        let skipped = format!("{}digests/{}/skipped/", self.prefix, self.plan.plan_id);
        let upload = || {
            let uploaded = self.digests().upload(self.seat, self.chunks.digests())?;
            self.chunks.skipped.upload(&*self.control, &skipped)?;
            Ok(uploaded)
        };
        self.or_trouble(self.until_answered("digests", upload))?
    }

    fn digests(&self) -> Digests<'_> {
        Digests { control: &*self.control, prefix: &self.prefix, plan: &self.plan.plan_id }
    }

    /// Sets money for so many bytes aside, if there is enough.
    fn affords(&self, bytes: u64) -> bool {
        self.lease.set_aside(bytes, self.chunks.counters.sent(), Instant::now())
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
}

/// Sends until both ends have finished, or told to stop.
pub fn run(config: Config, control: Arc<dyn Control>, stop: &Stop) -> Result<Outcome, SendError> {
    let Config {
        seat,
        epoch,
        before,
        journal,
        plan,
        plan_key,
        prefix,
        source,
        router,
        identity,
        rules,
        keepalive,
        patience,
        compress,
        proof,
        overflow,
        has_fixed_lanes,
    } = config;
    let serial = u64::from_be_bytes(crate::secure::keys::random().map_err(io::Error::other)?);
    let (sent_journal, earlier) = SentJournal::go_on(journal, &plan.plan_id, proof);
    let (chunks, Inboxes { failures, recalls }) = Chunks::new(&plan, proof, patience, sent_journal, earlier, EntryTable::new(overflow));
    let (skipped, states) = (Arc::clone(&chunks.skipped), Arc::clone(&chunks.states));
    let peer_key = crate::peer::pinned(Arc::clone(&control), Seat::RECEIVER);
    let streams = Arc::new(Streams { epoch, proof, router, identity, peer_key, rules, limit: Bucket::unlimited() });
    let shared = Arc::new(Shared {
        seat,
        owner: format!("{seat}-{epoch}-{serial:016x}"),
        whole_plan: OnceLock::new(),
        pretests: Arc::new(Pretests::new(Arc::clone(&streams), Arc::clone(&control))),
        repairs: Repairs::default(),
        offers: Offers::default(),
        reading: Reading { source, proof, skipped, states, helpers: Arc::default() },
        trouble: Mutex::default(),
        asked: UnderWay::default(),
        hearing: Hearing::default(),
        blame: Blame::default(),
        pace: Pace::default(),
        lease: Lease::of_start(start_of(epoch)),
        stop: stop.clone(),
        compress,
        plan,
        plan_key,
        prefix,
        control,
        chunks,
        streams,
    });
    {
        let shared = Arc::clone(&shared);
        let run = move || {
            let undecided = || shared.chunks.queue.undecided();
            failures::run(&*shared.control, &shared.streams.router.transfer, &shared.stop, &failures, undecided);
        };
        crate::thread::spawn("failures", run)?;
    }
    {
        let shared = Arc::clone(&shared);
        crate::thread::spawn("recall", move || recall::run(&shared, &recalls))?;
    }
    let feeder = {
        let shared = Arc::clone(&shared);
        crate::thread::spawn("feeder", move || feeder::run(&shared))?
    };
    {
        let shared = Arc::clone(&shared);
        crate::thread::spawn("decisions", move || questions::decisions(&shared))?;
    }
    {
        let shared = Arc::clone(&shared);
        crate::thread::spawn("hearing", move || hearing::run(&shared))?;
    }
    let mut lanes = Lanes::new(has_fixed_lanes);
    let reporter = Reporter::new(seat, epoch, before, &shared.chunks.counters);
    let result = watch(&shared, &mut lanes, reporter, Keepalives::new(keepalive), feeder);
    if !matches!(result, Ok(Outcome::Stopped)) {
        shared.chunks.queue.close();
    }
    let is_agreed = shared.chunks.queue.verdict().is_some();
    lanes.end(&shared, if is_agreed { defaults::PARTING_TIMEOUT } else { stop.left(defaults::STOP_TIMEOUT) });
    shared.chunks.close();
    result
}

/// Follows membership, fence and progress until the end.
fn watch(
    shared: &Arc<Shared>,
    lanes: &mut Lanes,
    mut reporter: Reporter,
    mut keepalives: Keepalives,
    feeder: std::thread::JoinHandle<Result<(), SendError>>,
) -> Result<Outcome, SendError> {
    let mut feeder = Some(feeder);
    let mut next_watch = Instant::now();
    loop {
        if shared.stop.is_requested() {
            return Ok(Outcome::Stopped);
        }
        if let Some(verdict) = shared.chunks.queue.verdict() {
            let seconds = reporter.age();
            reporter.report(&*shared.control, &shared.chunks.counters, true, lanes.progress(seconds));
            return Ok(outcome(shared, verdict));
        }
        if let Some(why) = shared.chunks.queue.is_full() {
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
            // Without a path, with nothing but chunks that others decide about, without an answer of the control plane, or while the
            // receiver works on what it has, this end is not the one that stands still.
            let waits = !lanes.any_path
                || shared.chunks.queue.waits_for_others()
                || shared.asked.waits()
                || shared.lease.is_used_up(Instant::now(), Duration::ZERO)
                || shared.hearing.is_at_work(Instant::now());
            let seconds = reporter.age();
            reporter.report(&*shared.control, &shared.chunks.counters, waits, lanes.progress(seconds));
            match shared.control.fenced() {
                Ok(true) => return Ok(Outcome::Fenced),
                Ok(false) => {}
                Err(error) => tracing::warn!(%error, "fence"),
            }
        }
        lanes.grow(shared)?;
        let now = Instant::now();
        shared.chunks.queue.wait(next_watch.saturating_duration_since(now).min(lanes.rests_for(now)));
    }
}

fn follow(shared: &Arc<Shared>, lanes: &mut Lanes, keepalives: &mut Keepalives) -> Result<(), SendError> {
    match shared.control.membership() {
        Ok(Some(membership)) => {
            shared.streams.limit.set_megabits(membership.bandwidth_limit_mbps);
            shared.lease.renew(membership.budget_lease.as_ref(), Instant::now(), unix_now());
            lanes.follow(shared, &membership)?;
            if shared.lease.is_used_up(Instant::now(), defaults::DRAIN_TIMEOUT) {
                keepalives.end(&shared.streams, &membership, Instant::now());
            } else {
                keepalives.follow(&shared.streams, shared.chunks.counters.chunks.load(Ordering::Relaxed), &membership);
            }
        }
        Ok(None) => {}
        // The paths of a second ago still serve.
        Err(error) => tracing::warn!(%error, "membership"),
    }
    shared.chunks.queue.wake();
    lanes.reap();
    Ok(())
}
