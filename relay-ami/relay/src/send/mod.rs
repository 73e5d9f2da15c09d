//! The sending end: reads the plan's chunks, keeps lanes on all paths busy, lets the table decide about failed chunks.

#[cfg(test)]
mod builders;
mod error;
mod feeder;
mod lanes;
mod manifests;
mod noted;
mod questions;
mod queue;
mod range_items;
mod reading;
mod settled;
mod sharing;
mod streams;
mod watch;
mod work;

use std::fs::File;
use std::io;
use std::sync::Arc;
use std::time::Duration;

pub use error::SendError;
use error::Trouble;
use feeder::Feeder;
use lanes::{Common, Lanes, Lease};
use manifests::Manifests;
use noted::SentJournal;
pub use noted::sent_journal;
use questions::Questions;
pub use queue::Patience;
use range_items::RangeItems;
use reading::Reading;
pub use settled::outcome::describe;
use settled::{Chunks, Ending, Inboxes, Recall, Repairs};
pub use settled::{Outcome, Totals};
use settled::{decisions, failures};
use sharing::{Others, Own, Settling, Sharing, SharingFeeder};
use streams::{Blame, Hearing, Keepalives, Pace, PeerKeys, Pretests, Streams, hearing};
use watch::Watch;
pub use work::GivenUp;

use crate::control::leases::Owner;
use crate::control::{Control, Seat};
use crate::digest::Proof;
use crate::documents::command::Compress;
use crate::documents::event::Progress;
use crate::documents::plan::TransferPlan;
use crate::ends::Source;
use crate::entry_table::EntryTable;
use crate::epoch::start_of;
use crate::objects::digests::Digests;
use crate::progress::Reporter;
use crate::rate::{Bucket, RateRules};
use crate::secure::keys::{Identity, random};
use crate::stop::Stop;
use crate::thread::spawn;
use crate::transport::route::Router;

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
    pub router: Arc<Router>,
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
    /// Other senders send chunks of the plan too.
    pub many_senders: bool,
    /// Other receivers write into the destination too.
    pub many_receivers: bool,
}

/// Sends until both ends have finished, or told to stop. Each loop gets what it needs; the last one is this thread's.
pub fn run(config: Config, control: Arc<dyn Control>, stop: &Stop) -> Result<Outcome, SendError> {
    let Config { seat, epoch, before, journal, plan, plan_key, prefix, source, router, identity, rules, .. } = config;
    let Config { keepalive, patience, compress, proof, overflow, has_fixed_lanes, many_senders, many_receivers, .. } = config;
    let serial = u64::from_be_bytes(random().map_err(io::Error::other)?);
    let (sent_journal, earlier) = SentJournal::go_on(journal, &plan.plan_id, proof);
    let (own, settled) = (many_senders || many_receivers).then(|| Own::new(plan.range_size)).unzip();
    let (sharing, own) = (own.as_ref().map(|_| Arc::new(Sharing::new(seat, epoch, many_receivers))), own.map(Arc::new));
    let digests = EntryTable::new(overflow);
    let (chunks, Inboxes { failures, recalls }) = Chunks::new(&plan, proof, patience, sent_journal, earlier, digests, own.clone());
    let chunks = Arc::new(chunks);
    let reading = Reading::new(source, proof, Arc::clone(&chunks.skipped), Arc::clone(&chunks.states));
    let digests = Digests::new(Arc::clone(&control), &prefix, &plan.plan_id);
    let folder = digests.folder().to_owned();
    let manifests = Manifests { control: Arc::clone(&control), prefix };
    let questions = Arc::new(Questions::new(Arc::clone(&chunks.queue), stop.clone()));
    let ending = Arc::new(Ending {
        seat,
        control: Arc::clone(&control),
        digests,
        manifests: manifests.clone(),
        questions: Arc::clone(&questions),
        chunks: Arc::clone(&chunks),
        repairs: Repairs::default(),
    });
    let peer_keys = PeerKeys::new(Arc::clone(&control));
    let transfer = router.transfer.clone();
    let streams = Arc::new(Streams { seat, epoch, proof, compress, router, identity, peer_keys, rules, limit: Bucket::unlimited() });
    let (hearing, trouble) = (Arc::new(Hearing::default()), Arc::new(Trouble::default()));
    let common = Common {
        streams: Arc::clone(&streams),
        chunks: Arc::clone(&chunks),
        reading: reading.clone(),
        ending: Arc::clone(&ending),
        hearing: Arc::clone(&hearing),
        blame: Blame::new(transfer.clone(), epoch, Arc::clone(&control)),
        pace: Pace::default(),
        lease: Lease::of_start(start_of(epoch)),
        trouble: Arc::clone(&trouble),
        stop: stop.clone(),
    };
    {
        let (control, stop, chunks) = (Arc::clone(&control), stop.clone(), Arc::clone(&chunks));
        spawn("failures", move || failures::run(&*control, &transfer, &stop, &failures, || chunks.queue.undecided()))?;
    }
    {
        let (control, chunks, stop) = (Arc::clone(&control), Arc::clone(&chunks), stop.clone());
        let recall = Recall { control, manifests: manifests.clone(), reading, chunks, stop };
        spawn("recall", move || recall.run(&recalls))?;
    }
    let feeder = {
        let (control, chunks, stop) = (Arc::clone(&control), Arc::clone(&chunks), stop.clone());
        let (owner, questions) = (Owner { seat, epoch, process: format!("{seat}-{epoch}-{serial:016x}") }, Arc::clone(&questions));
        let items = RangeItems { control, manifests, questions, chunks };
        match (&sharing, own, settled) {
            (Some(sharing), Some(own), Some(settled)) => {
                let written = Settling::start(&items, &owner, (&plan.plan_id, proof), folder.clone(), &stop, settled)?;
                let others = Arc::new(Others { items, proof, folder, stop: stop.clone() });
                let feeder = SharingFeeder { plan, plan_key, owner, others, sharing: Arc::clone(sharing), own, written };
                spawn("feeder", move || feeder.run())?
            }
            _ => {
                let feeder = Feeder { plan, plan_key, owner, items, stop };
                spawn("feeder", move || feeder.run())?
            }
        }
    };
    {
        let (control, chunks, stop) = (Arc::clone(&control), Arc::clone(&chunks), stop.clone());
        spawn("decisions", move || decisions::run(&*control, &chunks, &stop))?;
    }
    {
        let (queue, stop) = (Arc::clone(&chunks.queue), stop.clone());
        spawn("hearing", move || hearing::run(&hearing, &stop, || queue.is_over()))?;
    }
    let pretests = Arc::new(Pretests::new(Arc::clone(&streams), Arc::clone(&control)));
    let lanes = Lanes::new(Arc::new(common), pretests, has_fixed_lanes, sharing.clone());
    let reporter = Reporter::new(seat, epoch, before, &chunks.counters);
    let (keepalives, feeder, stop) = (Keepalives::new(keepalive), Some(feeder), stop.clone());
    Watch { control, streams, chunks, ending, questions, trouble, stop, lanes, reporter, keepalives, sharing, feeder }.run()
}
