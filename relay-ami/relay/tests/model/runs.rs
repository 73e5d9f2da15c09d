//! One run of both ends, disturbed at a counted moment or not, and what came of it.

use std::time::{Duration, Instant};

use cpt_relay::documents::command::Verify;
use cpt_relay::documents::membership::{Membership, Path};
use cpt_relay::documents::plan::TransferPlan;
use cpt_relay::documents::text::{Address, PathId, SchemaVersion1};

use crate::PATIENCE;
use crate::ends::{Ended, Running};
use crate::moments::{Counted, Moment as Gate};
use crate::steps::{Action, As, End, Run};
use crate::trees::{Tree, list};
use crate::world::{World, Wrong};

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Came {
    Success,
    Stopped,
    Failed(String),
}

/// What was seen, so that a run that tests nothing is noticed.
#[derive(Clone, Copy, Default)]
pub struct Tally {
    pub runs: u64,
    pub successes: u64,
    pub failures: u64,
    pub kills: u64,
    pub stops: u64,
    /// Interferences while data moved.
    pub moments: u64,
}

/// Both ends of a run under way.
struct Ends {
    sender: Running,
    receiver: Running,
    gate: Option<Gate>,
}

impl World {
    pub fn run(&mut self, run: &Run, with_directory_times: bool) -> (Came, Wrong) {
        self.tally.runs += 1;
        let before = list(&self.home.destination());
        let Some(plan) = self.transfer_plan() else { return self.run_without_plan(before) };
        let (before, ended) = match self.start(run, &plan) {
            Ok(mut ends) => self.attend(run, &plan, &mut ends, before),
            Err(ended) => (before, Ok((None, ended))),
        };
        let after = list(&self.home.destination());
        let mut wrong = self.check_always(&before, &after);
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
        let came = match (sender, receiver) {
            (Some(Ended::Success), receiver) => {
                if let Ended::Failed(why) = receiver {
                    wrong.push(format!("the sender says success, the receiver {why}"));
                }
                wrong.extend(self.check_success(&after, with_directory_times));
                self.tally.successes += 1;
                Came::Success
            }
            (Some(Ended::Failed(why)), _) | (_, Ended::Failed(why)) => {
                self.tally.failures += 1;
                Came::Failed(why)
            }
            _ => Came::Stopped,
        };
        (came, wrong)
    }

    /// The program says what it lacks.
    fn run_without_plan(&self, before: Tree) -> (Came, Wrong) {
        let mut wrong = self.check_always(&before, &list(&self.home.destination()));
        match self.home.receiver_process(Verify::Digest) {
            Err(Ended::Failed(why)) => return (Came::Failed(why), wrong),
            Err(ended) => wrong.push(format!("without a plan: {ended:?}")),
            Ok(_) => wrong.push("a receiver runs without a plan".to_owned()),
        }
        (Came::Stopped, wrong)
    }

    fn start(&mut self, run: &Run, plan: &TransferPlan) -> Result<Ends, Ended> {
        let after = run.moment.as_ref().map(|moment| moment.after);
        let (receiver, gate) = self.receiver(run, plan, after)?;
        let sender = self.sender(run, plan);
        Ok(Ends { sender, receiver, gate })
    }

    /// A receiver, of which the sender is told.
    fn receiver(&mut self, run: &Run, plan: &TransferPlan, after: Option<u64>) -> Result<(Running, Option<Gate>), Ended> {
        let verify = if run.readback { Verify::Readback } else { Verify::Digest };
        let (running, address, gate) = match run.receiver {
            As::Process => {
                let (running, address) = self.home.receiver_process(verify)?;
                (running, address, None)
            }
            As::Thread => {
                let (counted, gate) = Counted::new(self.home.directory(), after);
                let (running, address) = self.home.receiver_thread(plan, verify, &counted);
                (running, address, gate)
            }
        };
        self.generation += 1;
        let path_id = PathId::new("direct").unwrap();
        let path = Path { path_id, generation: self.generation, hops: Vec::new(), receiver: Address(address), lanes: run.lanes };
        let bandwidth_limit_mbps = run.rate_mbps;
        let membership =
            Membership { schema_version: SchemaVersion1, version: 0, paths: vec![path], probes: Vec::new(), bandwidth_limit_mbps };
        self.home.directory().put_membership(&membership).unwrap();
        Ok((running, gate))
    }

    fn sender(&self, run: &Run, plan: &TransferPlan) -> Running {
        match run.sender {
            As::Process => self.home.sender_process(),
            As::Thread => self.home.sender_thread(plan),
        }
    }

    /// Until both ends have ended: how they did, and the destination as it was before, or after the last interference.
    #[allow(clippy::type_complexity)]
    fn attend(
        &mut self,
        run: &Run,
        plan: &TransferPlan,
        ends: &mut Ends,
        mut before: Tree,
    ) -> (Tree, Result<(Option<Ended>, Ended), String>) {
        // Where a part of the control plane is gone an end may wait until it comes back, or until it is told to stop.
        let deadline = Instant::now() + if self.intact { PATIENCE } else { Duration::from_secs(2) };
        let delivered = self.delivered_chunks();
        let mut moment = run.moment.as_ref();
        let (mut sender, mut receiver) = (None, None);
        // The end that is to be started again once it has ended.
        let (mut again, mut is_sender_new, mut is_receiver_new) = (None, false, false);
        loop {
            if let Some(due) = moment {
                let is_reached = match &ends.gate {
                    Some(gate) => gate.reached.try_recv().is_ok(),
                    None => self.delivered_chunks() >= delivered + due.after,
                };
                if is_reached {
                    moment = None;
                    again = self.act(&due.action, ends).filter(|_| due.again);
                    if matches!(due.action, Action::Interfere(..)) {
                        before = list(&self.home.destination());
                    }
                    ends.gate.iter().for_each(Gate::go_on);
                }
            }
            sender = sender.or_else(|| ends.sender.ended());
            receiver = receiver.or_else(|| ends.receiver.ended());
            if again == Some(End::Sender) && sender.as_ref().is_some_and(|ended| *ended != Ended::Success) && receiver.is_none() {
                (again, sender, is_sender_new) = (None, None, true);
                ends.sender = self.sender(run, plan);
            }
            // A receiver that had heard of the end before the stopped sender did is needed once more by the next one.
            let is_needed = sender.is_none() && is_sender_new && receiver == Some(Ended::Success);
            if is_needed || again == Some(End::Receiver) && receiver.is_some() && sender.is_none() {
                (again, is_sender_new, is_receiver_new) = (None, false, true);
                match self.receiver(run, plan, None) {
                    Ok((running, _)) => (ends.receiver, receiver) = (running, None),
                    Err(ended) => receiver = Some(ended),
                }
            }
            match (&sender, &receiver) {
                (Some(_), Some(receiver)) => return (before, Ok((sender.clone(), receiver.clone()))),
                (Some(ended), None) if *ended != Ended::Success => ends.receiver.stop(),
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

    /// The end that it takes, where it takes one of them.
    fn act(&mut self, action: &Action, ends: &mut Ends) -> Option<End> {
        match action {
            Action::Stop(end) => {
                self.tally.stops += 1;
                ends.of(*end).stop();
                Some(*end)
            }
            Action::Kill(end) => {
                self.tally.kills += 1;
                ends.of(*end).kill();
                Some(*end)
            }
            Action::KillBoth => {
                self.tally.kills += 2;
                ends.sender.kill();
                ends.receiver.kill();
                None
            }
            Action::Interfere(at, op) => {
                self.tally.moments += 1;
                self.interfere(*at, *op);
                None
            }
        }
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

impl Tally {
    pub const fn add(&mut self, other: &Self) {
        self.runs += other.runs;
        self.successes += other.successes;
        self.failures += other.failures;
        self.kills += other.kills;
        self.stops += other.stops;
        self.moments += other.moments;
    }
}

impl std::fmt::Display for Tally {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { runs, successes, failures, kills, stops, moments } = self;
        write!(formatter, "{runs} runs ({successes} succeeded, {failures} failed with a reason), {kills} ends killed, {stops} stopped, ")?;
        write!(formatter, "{moments} changes while data moved")
    }
}
