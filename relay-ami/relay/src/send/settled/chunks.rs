//! The state of every chunk of the plan at this end: waiting, delivered with its digests, failed and announced.

use std::collections::HashSet;
use std::ops::Range;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, OnceLock};

use super::failures::Failure;
use super::ledger::Ledger;
use crate::digest::{Digest, Proof};
use crate::documents::chunk::{Chunk, ChunkState};
use crate::documents::event::FailureReason;
use crate::documents::plan::TransferPlan;
use crate::entry_table::EntryTable;
use crate::progress::Counters;
use crate::send::noted::sent_object::SentRange;
use crate::send::noted::{Earlier, Sent, SentJournal, Skipped, States};
use crate::send::queue::{Patience, WorkQueue};
use crate::send::sharing::Own;
use crate::send::streams::Handle;
use crate::send::work::Work;
use crate::thread::lock;

/// Messages to a thread of this end, which ends once this is closed and all were read.
struct Mailbox<T>(Mutex<Option<Sender<T>>>);

impl<T> Mailbox<T> {
    fn new() -> (Self, Receiver<T>) {
        let (sender, receiver) = channel();
        (Self(Mutex::new(Some(sender))), receiver)
    }

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

/// The chunks of the plan.
pub struct Chunks {
    pub queue: Arc<WorkQueue>,
    pub counters: Counters,
    pub skipped: Arc<Skipped>,
    pub sent_journal: Arc<SentJournal>,
    pub states: Arc<States>,
    /// Digests of the entries that are delivered.
    digests: Arc<EntryTable<Digest>>,
    ledger: Mutex<Ledger>,
    part_bytes: u64,
    /// Those of the whole plan.
    ranges: OnceLock<Range<u64>>,
    failures: Mailbox<Failure>,
    recalls: Mailbox<Vec<u64>>,
    /// Delivered parts that other senders have read in another state of their file.
    doubtful: Mutex<HashSet<u64>>,
    /// Delivered chunks of which this end cannot tell what they stood for, and that were not sent again yet.
    unknown: Mutex<HashSet<u64>>,
    /// Leased ranges, where other senders have some too.
    own: Option<Arc<Own>>,
}

/// Whose deliveries a report counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// This sender's, of whatever process.
    Here,
    /// Another sender's, which reports them itself.
    Elsewhere,
}

/// Queues for threads of their own.
pub struct Inboxes {
    /// Attempts that failed.
    pub failures: Receiver<Failure>,
    /// Delivered chunks whose digests are not known here.
    pub recalls: Receiver<Vec<u64>>,
}

impl Chunks {
    /// `sent_journal`: with what earlier senders have noted; `earlier`: likewise; `digests`: empty; `own`: what is noted for other senders,
    /// and then it is known only in the end how many chunks there are.
    #[must_use]
    pub fn new(
        plan: &TransferPlan,
        proof: Proof,
        patience: Patience,
        sent_journal: SentJournal,
        earlier: Earlier,
        digests: EntryTable<Digest>,
        own: Option<Arc<Own>>,
    ) -> (Self, Inboxes) {
        let sent_journal = Arc::new(sent_journal);
        let states = Arc::new(States::going_on_from(earlier.begun, plan.chunk_size_bytes));
        let digests = Arc::new(digests);
        let (failures, failed) = Mailbox::new();
        let (recalls, recalled) = Mailbox::new();
        let chunks = Self {
            queue: Arc::new(WorkQueue::new(&TransferPlan { open: plan.open || own.is_some(), ..plan.clone() }, patience)),
            ranges: OnceLock::new(),
            counters: Counters::default(),
            skipped: Arc::new(Skipped::going_on_from(earlier.left_out, Arc::clone(&sent_journal), own.is_some())),
            sent_journal,
            ledger: Mutex::new(Ledger::new(Arc::clone(&digests), Arc::clone(&states), proof)),
            states,
            digests,
            part_bytes: plan.chunk_size_bytes,
            failures,
            recalls,
            doubtful: Mutex::default(),
            unknown: Mutex::default(),
            own,
        };
        if !plan.open && chunks.own.is_none() {
            chunks.planned(plan);
        }
        (chunks, Inboxes { failures: failed, recalls: recalled })
    }

    /// It is known how many chunks there are.
    pub fn planned(&self, plan: &TransferPlan) {
        self.queue.planned(plan);
        // It becomes whole once.
        let _ = self.ranges.set(plan.ranges());
    }

    /// The ranges of the plan; none before it is whole.
    pub fn ranges(&self) -> Range<u64> {
        self.ranges.get().cloned().unwrap_or_default()
    }

    /// The receiver has acknowledged the chunk; what of it was sent on this stream counts from now on, unless another lane's copy does.
    pub fn delivered(&self, work: &Work, sent: Option<Sent>) {
        if !work.flight.settle() {
            return;
        }
        self.settled_for_others(work.chunk, sent.as_ref());
        if let Some(sent) = sent {
            lock(&self.ledger).note(sent, self.part_bytes);
        }
        if !work.again {
            self.counters.delivered(work.bytes, work.files);
        }
        self.queue.delivered(work);
    }

    /// Chunks that an earlier process delivered, or that were given up.
    pub fn settled_before<'a>(&self, chunks: impl Iterator<Item = &'a Chunk>, origin: Origin) {
        let mut unknown = Vec::new();
        for chunk in chunks {
            if chunk.state == ChunkState::Delivered {
                match origin {
                    Origin::Here => self.counters.delivered(chunk.bytes, chunk.files),
                    Origin::Elsewhere => self.counters.delivered_elsewhere(chunk.bytes, chunk.files),
                }
                if !self.settle(chunk.chunk) {
                    unknown.push(chunk.chunk);
                    self.queue.recalls(1);
                }
            } else {
                self.settled_for_others(chunk.chunk, None);
            }
            self.queue.settle_before(chunk);
        }
        if !unknown.is_empty() {
            self.recalls.send(unknown);
        }
    }

    /// What another sender, or an earlier process of this one, has written down of a range that is to be settled now. A part of another state
    /// than those that are known is as if nothing were noted: the source is read again for it, which tells whether the file has changed.
    pub fn sent_elsewhere(&self, range: SentRange) {
        self.skipped.left_out_elsewhere(range.left_out);
        let mut ledger = lock(&self.ledger);
        for (chunk, sent) in range.chunks {
            match &sent {
                Sent::Part { .. } if !self.states.agrees(&sent) => {
                    tracing::warn!(chunk, "a part of another state of its file: read again");
                    lock(&self.doubtful).insert(chunk);
                }
                _ => ledger.hold(chunk, sent),
            }
        }
    }

    /// The table says that the chunk is delivered; `false` where nothing tells what it stood for.
    fn settle(&self, chunk: u64) -> bool {
        let mut ledger = lock(&self.ledger);
        // What was sent last counts.
        let earlier = self.sent_journal.take(chunk);
        let found = ledger.settle(chunk).or(earlier);
        found
            .map(|sent| {
                self.settled_for_others(chunk, Some(&sent));
                ledger.note(sent, self.part_bytes);
            })
            .is_some()
    }

    /// Chunks come again for the sake of these entries, of which the receiver has dropped what it had: what was sent or noted before does not
    /// count, since the source may be of another state by now.
    pub fn forget(&self, chunks: impl Iterator<Item = u64>, entries: &[u64]) {
        let mut ledger = lock(&self.ledger);
        for chunk in chunks {
            lock(&self.unknown).remove(&chunk);
            self.sent_journal.take(chunk);
            ledger.settle(chunk);
        }
        entries.iter().for_each(|entry| ledger.forget(*entry));
    }

    /// A chunk that failed here turns out to be delivered.
    pub fn delivered_after_all(&self, work: &Work) {
        if !work.again {
            self.counters.delivered(work.bytes, work.files);
        }
        if self.settle(work.chunk) {
            self.queue.recalled();
        } else {
            self.recalls.send(vec![work.chunk]);
        }
    }

    /// The digests of a delivered chunk have been read from the source again.
    pub fn recalled(&self, chunk: u64, sent: Sent) {
        self.settled_for_others(chunk, Some(&sent));
        lock(&self.ledger).note(sent, self.part_bytes);
        self.queue.recalled();
    }

    /// Returns whether a delivered part is to be read again because another sender has read it in another state of its file. Where the
    /// file has changed, the ends differ about it in the end, and it comes again as a whole.
    pub fn is_doubtful(&self, chunk: u64) -> bool {
        lock(&self.doubtful).contains(&chunk)
    }

    /// Nothing tells what a delivered chunk stood for: what it held comes again in the end.
    pub fn unknown(&self, chunk: u64) {
        lock(&self.unknown).insert(chunk);
        self.settled_for_others(chunk, None);
        self.queue.recalled();
    }

    /// Delivered chunks of which nothing tells what they stood for.
    pub fn of_unknown_content(&self) -> HashSet<u64> {
        lock(&self.unknown).clone()
    }

    /// The source of a delivered chunk is not what was sent any more.
    pub fn lost(&self, work: &Work, why: String) {
        self.settled_for_others(work.chunk, None);
        self.queue.lost(work, why);
    }

    /// Takes the table's word on chunks that failed.
    pub fn decide(&self, items: &[Chunk]) {
        let delivered = self.queue.decide(items);
        items.iter().filter(|item| item.state == ChunkState::Failed).for_each(|item| self.settled_for_others(item.chunk, None));
        delivered.iter().for_each(|work| self.delivered_after_all(work));
    }

    /// A chunk is delivered or given up; other senders may have to know what it stood for.
    fn settled_for_others(&self, chunk: u64, sent: Option<&Sent>) {
        if let Some(own) = &self.own {
            own.chunk_settled(chunk, sent);
        }
    }

    /// An attempt is over on this lane; where no other lane has the chunk, the table decides how it goes on.
    pub fn failed(&self, work: Work, lane: &Arc<Handle>, reason: FailureReason, message: String) {
        let failure = Failure { chunk: work.chunk, attempt: work.attempt, path: lane.path.to_string(), reason, message };
        if self.queue.failed(work, lane) {
            self.counters.failed.fetch_add(1, Ordering::Relaxed);
            self.failures.send(failure);
        }
    }

    /// As [`failed`](Self::failed), of a chunk that may have arrived: what was sent counts if the table says so.
    pub fn unacknowledged(&self, work: Work, sent: Option<Sent>, lane: &Arc<Handle>, message: String) {
        if let Some(sent) = sent {
            lock(&self.ledger).hold(work.chunk, sent);
        }
        self.failed(work, lane, FailureReason::StreamLost, message);
    }

    /// Returns whether all chunks are delivered.
    pub fn is_complete(&self) -> bool {
        self.queue.given_up().is_empty()
    }

    /// The digests of the delivered entries that are not left out, ascending.
    pub fn digests(&self) -> impl Iterator<Item = (u64, Digest)> + '_ {
        let skipped: HashSet<u64> = self.skipped.entries().into_iter().map(|(entry, _)| entry).collect();
        self.digests.iter().filter(move |(entry, _)| !skipped.contains(entry))
    }

    /// Nothing goes out any more; the threads that read the inboxes end.
    pub fn close(&self) {
        self.queue.close();
        self.failures.close();
        self.recalls.close();
        if let Some(own) = &self.own {
            own.close();
        }
    }
}

#[cfg(test)]
#[path = "chunks_tests.rs"]
mod tests;
