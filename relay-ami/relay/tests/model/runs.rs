//! One run of both ends, disturbed at a counted moment or not, and what came of it.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::time::{Duration, Instant};

use cpt_relay::control::Seat;
use cpt_relay::digest::Proof;
use cpt_relay::documents::command::Verify;
use cpt_relay::documents::leases::BudgetLease;
use cpt_relay::documents::membership::{Membership, Path};
use cpt_relay::documents::plan::TransferPlan;
use cpt_relay::documents::text::{Address, PathId, SchemaVersion1};

use crate::PATIENCE;
use crate::budget::{self, Meter};
use crate::ends::{Ended, Running};
use crate::interfere::At;
use crate::kept::Before;
use crate::moments::{Counted, Moment as Gate};
use crate::seen::{Tree, list};
use crate::steps::{Action, As, End, Run};
use crate::watched::Change;
use crate::world::{World, Wrong};

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Came {
    Success,
    /// Of all but what was named.
    LeftOut,
    Stopped,
    Failed(String),
}

/// Both ends of a run under way.
struct Ends {
    sender: Running,
    receiver: Running,
    gate: Option<Gate>,
}

impl World {
    pub fn run(&mut self, run: &Run, with_directory_times: bool) -> (Came, Wrong) {
        self.tally.count("runs");
        let before = self.home.place.list();
        let Some(plan) = self.transfer_plan() else { return self.run_without_plan(before) };
        let is_undisturbed = self.is_undisturbed(run);
        let current = self.current;
        let is_quiet = !run.has_changes() && !self.is_its_own_source();
        let sources: Vec<Tree> = self.sources.iter().map(|root| list(root)).collect();
        let others = self.plans.iter_mut().enumerate().filter(|(number, _)| Some(*number) != current);
        others.for_each(|(_, plan)| plan.is_disturbed = true);
        let before = Before { kept: self.home.place.kept(), there: before };
        let (before, ended) = match self.start(run, &plan) {
            Ok(mut ends) => self.attend(run, &plan, &mut ends, before),
            Err(ended) => (before, Ok((None, ended))),
        };
        if run.living.is_some() {
            self.source_changed();
        }
        let after = self.home.place.list();
        let files = sources.iter().flat_map(Tree::values).map(|found| found.inode);
        self.count_bucket(run);
        let living = if run.has_changes() && self.home.place.directory().is_some() { files.collect() } else { HashSet::new() };
        let mut wrong = self.check_always(&before.there, &after, &living);
        wrong.extend(self.check_kept(&before, &after, &living));
        self.note_linked(&after, &living);
        for (root, before) in self.sources.iter().zip(&sources).filter(|_| is_quiet) {
            wrong.extend(changed(before, &list(root)).map(|path| format!("{path:?} is the source's and has changed by a run")));
        }
        if run.leased.is_some() {
            self.tally.count("runs: with a budget");
            budget::check(run, self, &mut wrong);
        }
        let (sender, receiver) = match ended {
            Ok(ended) => ended,
            Err(hang) => {
                wrong.push(hang);
                return (Came::Stopped, wrong);
            }
        };
        for (name, end) in [("sender", sender.as_ref()), ("receiver", Some(&receiver))] {
            if let Some(Ended::Dishonest(how)) = end {
                wrong.push(format!("the {name} ended with {how}"));
            }
        }
        let came = self.came(sender, &receiver, &after, with_directory_times, &mut wrong);
        if is_undisturbed && !matches!(came, Came::Success | Came::LeftOut) {
            wrong.push(format!("nobody has changed anything since the plan was made, and the run came to {came:?}"));
        }
        // Whoever comes next finds what this one has left.
        current.into_iter().for_each(|current| self.plans[current].is_disturbed = true);
        (came, wrong)
    }

    /// Whether it arrives within a source.
    fn is_its_own_source(&self) -> bool {
        let Some(place) = self.home.place.directory() else { return false };
        let place = place.canonicalize().unwrap_or_else(|_| place.clone());
        self.sources.iter().any(|root| place.starts_with(root))
    }

    /// Whether nobody has done anything since the plan was made, and nobody does in this run.
    fn is_undisturbed(&self, run: &Run) -> bool {
        let is_quiet = run.moment.is_none() && run.living.is_none() && run.mount.is_none();
        is_quiet && self.intact && self.current.is_some_and(|current| !self.plans[current].is_disturbed)
    }

    fn came(&mut self, sender: Option<Ended>, receiver: &Ended, after: &Tree, with_directory_times: bool, wrong: &mut Wrong) -> Came {
        match (sender, receiver) {
            (Some(Ended::Success), receiver) => {
                if let Ended::Failed(why) = receiver {
                    wrong.push(format!("the sender says success, the receiver {why}"));
                }
                let skips = self.skips();
                // What a kind cannot have at all is missed by nobody once a restored table says that it was delivered.
                let can = self.home.place.capabilities();
                let plan = self.current.map(|current| &self.plans[current]);
                let is_beyond =
                    |path: &[u8]| plan.is_some_and(|plan| plan.at(path).is_some_and(|listed| listed.is_beyond(&can, plan.chunk_bytes())));
                if skips.keys().any(|path| !is_beyond(path)) {
                    wrong.push(format!("the sender says success, and {skips:?} is left out"));
                }
                wrong.extend(self.check_agreed(after, with_directory_times, &skips));
                self.tally.count("runs: succeeded");
                Came::Success
            }
            (Some(ended @ Ended::Failed(_)), Ended::Success) if is_delivered(&ended) => {
                let skips = self.skips();
                if skips.is_empty() {
                    wrong.push("something is left out, and nothing is named".to_owned());
                }
                wrong.extend(self.check_agreed(after, with_directory_times, &skips));
                self.tally.count("runs: with files left out");
                Came::LeftOut
            }
            (Some(Ended::Failed(why)), _) => {
                self.tally.count("runs: failed with a reason");
                Came::Failed(why)
            }
            (_, Ended::Failed(why)) => {
                self.tally.count("runs: failed with a reason");
                Came::Failed(why.clone())
            }
            (_, Ended::Success) if self.intact && !self.has_failed_chunks() => {
                // Nobody is left to say so, and it is so.
                let skips = self.skips();
                wrong.extend(self.check_agreed(after, with_directory_times, &skips));
                self.tally.count("runs: agreed without a sender");
                Came::Stopped
            }
            _ => Came::Stopped,
        }
    }

    /// The program says what it lacks.
    fn run_without_plan(&self, before: Tree) -> (Came, Wrong) {
        if self.home.place.directory().is_none() {
            return (Came::Stopped, Wrong::new());
        }
        let mut wrong = self.check_always(&before, &self.home.place.list(), &HashSet::new());
        match self.home.receiver_process(Verify::Digest) {
            Err(Ended::Failed(why)) => return (Came::Failed(why), wrong),
            Err(ended) => wrong.push(format!("without a plan: {ended:?}")),
            Ok(_) => wrong.push("a receiver runs without a plan".to_owned()),
        }
        (Came::Stopped, wrong)
    }

    fn start(&mut self, run: &Run, plan: &TransferPlan) -> Result<Ends, Ended> {
        let after = run.moment.as_ref().map(|moment| moment.after);
        let (receiver, gate) = self.receiver(run, plan, after, budget::first_lease(run, self))?;
        let sender = self.sender(run, plan);
        Ok(Ends { sender, receiver, gate })
    }

    /// Both ends of a plan's runs have the same proof.
    pub fn verify(&self, run: &Run) -> Verify {
        match self.current.map(|current| &self.plans[current].wish) {
            Some(wish) if wish.crc64 => Verify::Crc64,
            _ if run.readback => Verify::Readback,
            _ => Verify::Digest,
        }
    }

    /// What the runs of the current plan digest files with.
    pub fn proof(&self) -> Proof {
        self.verify(&Run::PLAIN).proof()
    }

    /// A receiver, of which the sender is told.
    fn receiver(
        &mut self,
        run: &Run,
        plan: &TransferPlan,
        after: Option<u64>,
        lease: Option<BudgetLease>,
    ) -> Result<(Running, Option<Gate>), Ended> {
        let verify = self.verify(run);
        self.spoil_service(run);
        let (running, address, gate) = match run.receiver {
            As::Process if self.home.place.address().is_some() => {
                let (running, address) = self.home.receiver_process(verify)?;
                (running, address, None)
            }
            _ => {
                let (counted, gate) = Counted::new(self.home.directory(), after);
                let destination = self.destination(run);
                let (running, address) = self.home.receiver_thread(plan, verify, &counted, destination);
                (running, address, gate)
            }
        };
        self.generation += 1;
        let path_id = PathId::new("direct").unwrap();
        let path = Path {
            path_id,
            generation: self.generation,
            hops: Vec::new(),
            receiver: Address(address),
            lanes: run.lanes,
            store: false,
            from: Seat::SENDER,
            to: Seat::RECEIVER,
        };
        let (schema_version, bandwidth_limit_mbps, budget_lease) = (SchemaVersion1, run.rate_mbps, lease);
        let membership = Membership {
            schema_version,
            version: 0,
            paths: vec![path],
            probes: Vec::new(),
            bandwidth_limit_mbps,
            budget_lease,
            limit_lease: None,
            paused: false,
            retired: Vec::new(),
            shares: Vec::new(),
        };
        self.home.directory().put_membership(&membership).unwrap();
        Ok((running, gate))
    }

    fn sender(&mut self, run: &Run, plan: &TransferPlan) -> Running {
        let serial = self.next_serial();
        let living = run.living.map(|(of, at, op)| (self.sources[0].clone(), Change { of, at, op, serial }));
        if living.is_some() {
            self.tally.count("living: while it is read");
        }
        match run.sender {
            As::Process => self.home.sender_process(self.verify(run)),
            As::Thread => self.home.sender_thread(plan, self.verify(run).proof(), living),
        }
    }

    /// Until both ends have ended: how they did, and the destination as it was before, or after the last interference.
    #[allow(clippy::type_complexity)]
    fn attend(
        &mut self,
        run: &Run,
        plan: &TransferPlan,
        ends: &mut Ends,
        mut before: Before,
    ) -> (Before, Result<(Option<Ended>, Ended), String>) {
        // Where a part of the control plane is gone an end may wait until it comes back, or until it is told to stop.
        let deadline = Instant::now() + if self.intact { PATIENCE } else { Duration::from_secs(2) };
        let delivered = self.delivered_chunks();
        let mut moment = run.moment.as_ref();
        let (mut sender, mut receiver) = (None, None);
        // The end that is to be started again once it has ended.
        let (mut again, mut is_sender_new, mut is_receiver_new) = (None, false, false);
        let mut meter = Meter::new();
        loop {
            meter.look(self);
            if let Some(due) = moment {
                let is_reached = match &ends.gate {
                    Some(gate) => gate.reached.try_recv().is_ok(),
                    None => self.delivered_chunks() >= delivered + due.after,
                };
                if is_reached {
                    moment = None;
                    again = self.act(&due.action, ends).filter(|_| due.again);
                    if matches!(due.action, Action::Interfere(..)) {
                        before = Before { kept: self.home.place.kept(), there: self.home.place.list() };
                    }
                    ends.gate.iter().for_each(Gate::go_on);
                }
            }
            sender = sender.or_else(|| ends.sender.ended());
            receiver = receiver.or_else(|| ends.receiver.ended());
            if again == Some(End::Sender) && sender.as_ref().is_some_and(|ended| !is_delivered(ended)) && receiver.is_none() {
                (again, sender, is_sender_new) = (None, None, true);
                self.tally.count("restarts of a sender");
                self.between(run);
                ends.sender = self.sender(run, plan);
            }
            // A receiver that had heard of the end before the stopped sender did is needed once more by the next one.
            let is_needed = sender.is_none() && is_sender_new && receiver == Some(Ended::Success);
            if is_needed || again == Some(End::Receiver) && receiver.is_some() && sender.is_none() {
                (again, is_sender_new, is_receiver_new) = (None, false, true);
                self.tally.count("restarts of a receiver");
                match self.receiver(run, plan, None, budget::present_lease(self)) {
                    Ok((running, _)) => (ends.receiver, receiver) = (running, None),
                    Err(ended) => receiver = Some(ended),
                }
            }
            match (&sender, &receiver) {
                (Some(_), Some(receiver)) => return (before, Ok((sender.clone(), receiver.clone()))),
                (Some(ended), None) if !is_delivered(ended) => ends.receiver.stop(),
                // Started anew after the one before had agreed: nobody is left to tell it, and the teardown stops it.
                (Some(_), None) if is_receiver_new => ends.receiver.stop(),
                (None, Some(ended)) if *ended != Ended::Success => ends.sender.stop(),
                _ => {}
            }
            if Instant::now() > deadline && !self.intact {
                ends.sender.stop();
                ends.receiver.stop();
            }
            if Instant::now() > deadline + if self.intact { Duration::ZERO } else { PATIENCE } {
                return (
                    before,
                    Err(format!("after {PATIENCE:?} the sender has ended as {sender:?}, the receiver as {receiver:?}; {}", self.states())),
                );
            }
            std::thread::sleep(Duration::from_millis(3));
        }
    }

    /// What somebody does to the source while there is no sender.
    fn between(&mut self, run: &Run) {
        if let Some(op) = run.moment.as_ref().and_then(|moment| moment.between) {
            self.tally.count("living: between two senders");
            self.interfere(At::Source, op);
        }
    }

    /// The end that it takes, where it takes one of them.
    fn act(&mut self, action: &Action, ends: &mut Ends) -> Option<End> {
        match action {
            Action::Stop(end) => {
                self.tally.count("ends stopped");
                ends.of(*end).stop();
                Some(*end)
            }
            Action::Kill(end) => {
                self.tally.count("ends killed");
                self.count_killed(*end);
                ends.of(*end).kill();
                Some(*end)
            }
            Action::KillBoth => {
                self.tally.count("both ends killed");
                self.count_killed(End::Receiver);
                ends.sender.kill();
                ends.receiver.kill();
                None
            }
            Action::Interfere(at, op) => {
                self.tally.count(if *at == At::Source {
                    "living: while data moves"
                } else {
                    "changes at the destination while data moves"
                });
                self.interfere(*at, *op);
                None
            }
        }
    }
}

/// What is another one, or is gone or new.
pub fn changed<'a>(before: &'a Tree, after: &'a Tree) -> impl Iterator<Item = &'a OsStr> {
    let gone = before.iter().filter(|(path, was)| !after.get(*path).is_some_and(|now| now.is_like(was)));
    let new = after.iter().filter(|(path, _)| !before.contains_key(*path));
    gone.chain(new).map(|(path, _)| OsStr::from_bytes(path))
}

/// Whether a sender has delivered all, but for what it has named.
fn is_delivered(ended: &Ended) -> bool {
    match ended {
        Ended::Success => true,
        Ended::Failed(why) => why.starts_with("FilesSkipped"),
        _ => false,
    }
}

impl Ends {
    fn of(&mut self, end: End) -> &mut Running {
        match end {
            End::Sender => &mut self.sender,
            End::Receiver => &mut self.receiver,
        }
    }
}
