//! What may happen, and in which order it does.

use crate::interfere::{At, Op};
use crate::random::Random;

/// Steps of the longest sequence.
pub const MOST_STEPS: usize = 30;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    Sender,
    Receiver,
}

/// Whether an end is a thread of this process, or the program itself, which can be killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum As {
    Thread,
    Process,
}

#[derive(Clone, Debug)]
pub enum Action {
    /// SIGTERM, or what a thread has in its place.
    Stop(End),
    Kill(End),
    KillBoth,
    Interfere(At, Op),
}

/// What happens once so many chunks were delivered in this run.
#[derive(Clone, Debug)]
pub struct Moment {
    pub after: u64,
    pub action: Action,
    /// Whether the end that was stopped or killed is started again while the other one stays.
    pub again: bool,
}

#[derive(Clone, Debug)]
pub struct Run {
    pub sender: As,
    pub receiver: As,
    pub lanes: u32,
    pub rate_mbps: Option<u64>,
    pub readback: bool,
    pub moment: Option<Moment>,
}

#[derive(Clone, Debug)]
pub enum Step {
    /// Lists a source and plans it under the name that every plan here has.
    Plan {
        source: usize,
        chunk_kib: u64,
        by_name: bool,
    },
    Run(Run),
    Interfere(At, Op),
    /// The control directory goes, or a part of it.
    Drop(Option<&'static str>),
    Backup,
    Restore,
}

impl Run {
    /// Both ends to the end, as cheap as it goes.
    pub const PLAIN: Self = Self { sender: As::Thread, receiver: As::Thread, lanes: 2, rate_mbps: None, readback: false, moment: None };

    fn draw(random: &mut Random) -> Self {
        let mut run = Self { lanes: 1 + u32::try_from(random.below(3)).unwrap(), readback: random.one_in(4), ..Self::PLAIN };
        if random.one_in(12) {
            (run.sender, run.receiver) = (As::Process, As::Process);
        }
        if random.one_in(3) {
            return run;
        }
        let end = random.pick(&[End::Sender, End::Receiver]);
        let action = match random.below(8) {
            0..2 => Action::Stop(end),
            2..4 => Action::Kill(end),
            4 => Action::KillBoth,
            _ => Action::Interfere(random.pick(&[At::Destination, At::Destination, At::Source]), Op::draw(random)),
        };
        let is_killed = |one| matches!(&action, Action::KillBoth) || matches!(&action, Action::Kill(end) if *end == one);
        for (kind, one) in [(&mut run.sender, End::Sender), (&mut run.receiver, End::Receiver)] {
            if is_killed(one) {
                *kind = As::Process;
            }
        }
        // A thread stands still while something is changed, so that it is known to have happened before the end.
        if matches!(action, Action::Interfere(..)) {
            run.receiver = As::Thread;
        }
        run.rate_mbps = random.pick(&[None, Some(4), Some(16)]);
        run.moment = Some(Moment { after: 1 + random.below(12) as u64, action, again: random.one_in(2) });
        run
    }
}

/// Three to thirty steps; the first one plans.
pub fn draw(random: &mut Random) -> Vec<Step> {
    let mut steps = vec![plan(random, 0)];
    for _ in 0..2 + random.below(MOST_STEPS - 3) {
        steps.push(match random.below(20) {
            0..6 => Step::Run(Run::draw(random)),
            6..8 => {
                let source = usize::from(random.one_in(4));
                plan(random, source)
            }
            8..15 => Step::Interfere(At::Destination, Op::draw(random)),
            15..17 => Step::Interfere(At::Source, Op::draw(random)),
            17 if random.one_in(2) => Step::Drop(None),
            17 => Step::Drop(Some(random.pick(&["chunks", "digests", "leases", "records", "manifest", "plan.json"]))),
            18 => Step::Backup,
            _ => Step::Restore,
        });
    }
    steps
}

fn plan(random: &mut Random, source: usize) -> Step {
    Step::Plan { source, chunk_kib: random.pick(&[16, 16, 32]), by_name: random.one_in(6) }
}
