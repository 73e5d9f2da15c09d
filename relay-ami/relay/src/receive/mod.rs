//! The receiving end: verifies, writes, syncs, renames.

mod asked;
mod beside;
#[cfg(test)]
mod builders;
mod commit;
mod files;
mod finish;
mod lanes;
mod outcome;
mod watch;

use std::net::TcpListener;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use beside::Beside;
use commit::Checkpoint;
use commit::{CommitQueue, Committer, Sending};
use files::{Files, Site};
use finish::Finish;
use lanes::{Gate, Intake, Lanes, Listeners, alive};
use outcome::End;
pub use outcome::{Outcome, ReceiveError};
use watch::Watch;

use crate::control::{Control, Seat};
use crate::defaults;
use crate::documents::attributes::Preserve;
use crate::documents::command::Verify;
use crate::documents::event::Progress;
use crate::documents::plan::TransferPlan;
use crate::documents::text::TransferId;
use crate::ends::Destination;
use crate::objects::digests::Digests;
use crate::progress::{Counters, Reporter};
use crate::rate::RateRules;
use crate::secure::keys::Identity;
use crate::sockets::acceptor::{Acceptor, Limits};
use crate::stop::Stop;
use crate::thread::spawn;
use crate::under_way::UnderWay;

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
    /// Other senders send chunks of the plan too.
    pub many_senders: bool,
    /// Other receivers write into the destination too.
    pub many_receivers: bool,
}

/// Receives until both ends have finished, or told to stop. `stop` is requested when it returns. Each loop gets what it needs; this
/// thread takes connections.
pub fn run(
    config: Config,
    control: Arc<dyn Control>,
    identity: Identity,
    listeners: &[TcpListener],
    stop: &Stop,
) -> Result<Outcome, ReceiveError> {
    let Config {
        transfer, seat, epoch, before, destination, plan, plan_key, prefix, rules, limits, verify, preserve, placing_threads, ..
    } = config;
    let (many_senders, many_receivers) = (config.many_senders, config.many_receivers);
    let (name, proof, part_bytes) = (destination.to_string(), verify.proof(), plan.chunk_size_bytes);
    let opened = destination.open(&transfer, &plan.plan_id, part_bytes, proof);
    let (destination, left) = opened.map_err(|source| ReceiveError::Destination { path: name.clone(), source })?;
    let capabilities = destination.capabilities();
    if !left.placed.is_empty() || !left.begun.is_empty() {
        tracing::info!(files = left.placed.len(), begun = left.begun.len(), "goes on from an earlier receiver");
    }
    let (files, disk, counters) = (Files::going_on_from(left, proof), UnderWay::default(), Counters::default());
    let files = if many_receivers { files.beside_others() } else { files };
    let site = Arc::new(Site { destination, name, capabilities, files, part_bytes, disk, counters });
    let (verified, queue) = CommitQueue::new(defaults::COMMIT_QUEUE, defaults::COMMIT_MEMORY, site.destination.most_unsynced());
    let (verified, asked, end) = (Arc::new(verified), Arc::new(UnderWay::default()), Arc::new(End::new(stop.clone())));
    let (sending, heard) = (Arc::new(Sending::default()), Arc::new(Listeners::default()));
    let peer_key = match many_senders {
        true => crate::transport::peer::pinned_senders(Arc::clone(&control), seat),
        false => crate::transport::peer::pinned(Arc::clone(&control), Seat::SENDER),
    };
    let beside = (many_senders || many_receivers).then(|| Arc::new(Beside::new(seat, epoch)));
    let total_bytes = plan.total_bytes();
    let lanes = Arc::new(Lanes {
        gate: Gate { transfer, epoch, proof, rules, identity, peer_key, sender_epochs: Mutex::default() },
        intake: Intake { site: Arc::clone(&site), verified: Arc::clone(&verified), proof, preserve, total_bytes },
        finish: Finish {
            site: Arc::clone(&site),
            seat,
            digests: Digests::new(Arc::clone(&control), &prefix, &plan.plan_id),
            control: Arc::clone(&control),
            asked: Arc::clone(&asked),
            plan,
            plan_key,
            prefix,
            proof,
            end: Arc::clone(&end),
        },
        sending: Arc::clone(&sending),
        listeners: Arc::clone(&heard),
        beside: beside.clone(),
    });
    let committer = {
        let (site, verified, end) = (Arc::clone(&site), Arc::clone(&verified), Arc::clone(&end));
        let (control, asked, stop) = (Arc::clone(&control), Arc::clone(&asked), stop.clone());
        let checkpoint = Checkpoint { site: Arc::clone(&site), verified: Arc::clone(&verified), control, asked, stop };
        let committer = Committer { site, verified, checkpoint, sending, end, verify, placing_threads };
        spawn("commit", move || committer.run(&queue))?
    };
    let watcher = {
        let reporter = Reporter::new(seat, epoch, before, &site.counters);
        let (site, verified, asked, end) = (Arc::clone(&site), Arc::clone(&verified), Arc::clone(&asked), Arc::clone(&end));
        let (control, beside) = (Arc::clone(&control), beside.clone());
        let watch = Watch { site, verified, asked, control, end, reporter, beside, many_receivers };
        // Before the first connection: one that starts again may have been given up meanwhile, or another one finishes.
        watch.look();
        spawn("watch", move || watch.run())?
    };
    {
        let (site, stop) = (Arc::clone(&site), stop.clone());
        spawn("alive", move || alive::run(&heard, &site.disk, &asked, &stop))?;
    }
    let acceptor = Acceptor::new(limits);
    while !stop.is_requested() {
        let lanes = Arc::clone(&lanes);
        acceptor.answer(listeners, stop, "lane", move |unauthenticated, socket| lanes.serve(unauthenticated, socket));
    }
    // Verified chunks are still synced and checkpointed; without its queue the committer then ends.
    verified.close();
    let given_up = beside.filter(|beside| beside.is_retired());
    let is_quiet = || committer.is_finished() && given_up.as_ref().is_none_or(|beside| beside.is_silent());
    while !is_quiet() && !stop.left(defaults::STOP_TIMEOUT).is_zero() {
        std::thread::sleep(Duration::from_millis(10));
    }
    let reporter = watcher.join();
    site.destination.close();
    if let (Some(_), Ok(mut reporter)) = (&given_up, reporter)
        && is_quiet()
    {
        reporter.has_ended = true;
        reporter.report(&*control, &site.counters, false, Vec::new());
    }
    end.take()
}
