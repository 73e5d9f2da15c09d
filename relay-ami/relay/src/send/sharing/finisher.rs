//! The end of a transfer of several senders or receivers, as one of its senders sees it: it finishes, or leaves that to another one.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::finishing::{Sight, Step};
use super::others::Others;
use super::ranges::Ranges;
use super::retirement::Retirements;
use super::state::{Sharing, Target};
use crate::control::leases::Finish;
use crate::control::{Control, Seat};
use crate::defaults::WATCH_INTERVAL;
use crate::documents::plan::TransferPlan;
use crate::send::error::SendError;
use crate::send::queue::WorkQueue;
use crate::thread::spawn;

/// Who finishes is looked at so often.
const FINISH_INTERVAL: Duration = Duration::from_secs(1);
/// A sender that could not read something waits so long for another one to finish: all know within a second or two that all is settled.
const YIELDS: Duration = Duration::from_secs(5);

/// The loop of a sender once all ranges are settled.
pub struct Finisher<'a> {
    pub plan: &'a TransferPlan,
    pub ranges: &'a Ranges,
    pub sharing: &'a Sharing,
    pub others: &'a Arc<Others>,
}

impl Finisher<'_> {
    /// Runs until the transfer is over.
    pub fn run(&self, mut retirements: Retirements) -> Result<(), SendError> {
        let (sharing, queue) = (self.sharing, &*self.others.items.chunks.queue);
        let (mut feeding, mut held): (Option<JoinHandle<_>>, Option<Finish>) = (None, None);
        let begun = Instant::now();
        while !self.others.is_over() {
            if let Some(ended) = feeding.take_if(|thread: &mut JoinHandle<_>| thread.is_finished()) {
                ended.join().unwrap_or_else(|_| Err(SendError::Plan("the feeder panicked".to_owned())))?;
            }
            let own = |held: &Finish| (held.seat, held.epoch) == (sharing.seat, sharing.epoch);
            if held.is_none_or(|held| !own(&held)) {
                held = self.others.items.questions.until_answered("finish", || Ok(self.control().finish()?))?.flatten();
            }
            let yields = begun.elapsed() < YIELDS && sharing.has_others() && self.others.items.chunks.skipped.has_unread();
            let pause = match self.step(&mut retirements, held, yields, queue) {
                Step::Take(finish, retired) => {
                    if sharing.many_receivers {
                        queue.shut();
                    }
                    let take = || Ok(self.control().take_finish(&finish, retired.as_ref())?);
                    if self.others.items.questions.until_answered("take the finish", take)? == Some(true) {
                        tracing::info!(receiver = %finish.receiver, "this sender finishes");
                        held = Some(finish);
                        continue;
                    }
                    FINISH_INTERVAL
                }
                Step::LeaveIt => {
                    sharing.aim(Target::Nobody);
                    FINISH_INTERVAL
                }
                Step::AwaitReceiver => {
                    if sharing.many_receivers {
                        queue.shut();
                    }
                    sharing.aim(Target::All);
                    WATCH_INTERVAL
                }
                Step::AwaitClosed(receiver) => {
                    sharing.aim(Target::Only(receiver));
                    WATCH_INTERVAL
                }
                Step::Gather(receiver) => {
                    sharing.aim(Target::Only(receiver));
                    queue.gather(receiver);
                    queue.wait(WATCH_INTERVAL);
                    continue;
                }
                Step::Finish(receiver) => {
                    sharing.aim(if sharing.many_receivers { Target::Only(receiver) } else { Target::All });
                    if !queue.is_planned() {
                        self.others.items.chunks.planned(self.plan);
                        feeding = Some(self.feed()?);
                    }
                    FINISH_INTERVAL
                }
            };
            self.others.stop.sleep(pause);
        }
        Ok(())
    }

    fn control(&self) -> &dyn Control {
        &*self.others.items.control
    }

    fn step(&self, retirements: &mut Retirements, held: Option<Finish>, yields: bool, queue: &WorkQueue) -> Step {
        let sharing = self.sharing;
        let Some(members) = sharing.members() else { return Step::AwaitReceiver };
        retirements.follow(&members);
        retirements.ask(self.control());
        let receivers = retirements.receivers();
        let paths: BTreeSet<Seat> = members.paths.iter().filter(|path| path.from == sharing.seat).map(|path| path.to).collect();
        let paths: Vec<Seat> = paths.into_iter().filter(|seat| receivers.contains(seat)).collect();
        let gathered = queue.gathered();
        Sight {
            seat: sharing.seat,
            epoch: sharing.epoch,
            many_receivers: sharing.many_receivers,
            held,
            retired: retirements.holding(),
            reached: &sharing.reached(),
            paths: &paths,
            gathered,
            yields,
            are_closed: sharing.many_receivers
                && gathered.is_none()
                && held.filter(|held| held.seat == sharing.seat).is_some_and(|held| {
                    let others = receivers.iter().filter(|seat| **seat != held.receiver);
                    others.into_iter().all(|seat| self.is_closed(*seat, held))
                }),
        }
        .step()
    }

    /// Returns whether a receiver says that it writes nothing any more, for this very lease: before it was taken, or while another
    /// receiver was named, it may have opened again.
    fn is_closed(&self, receiver: Seat, held: Finish) -> bool {
        match self.control().progress(receiver) {
            Ok(progress) => progress.is_some_and(|progress| progress.closed_for == Some(held.into())),
            Err(error) => {
                tracing::warn!(%receiver, %error, "progress");
                false
            }
        }
    }

    /// A thread that feeds all that is left: this one has to see whether the receiver is lost meanwhile.
    fn feed(&self) -> Result<JoinHandle<Result<bool, SendError>>, SendError> {
        let (others, plan) = (Arc::clone(self.others), self.plan.clone());
        let fed: BTreeSet<u64> = plan.ranges().filter(|range| self.ranges.is_fed(*range)).collect();
        Ok(spawn("rest", move || others.feed(&plan, |range| fed.contains(&range)))?)
    }
}
