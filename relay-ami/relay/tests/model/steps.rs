//! What may happen, and in which order it does.

use crate::interfere::{At, Op};
use crate::mount_faults::MountFault;
use crate::random::Random;
use crate::seats_drawn::Seats;
use crate::watched::Of;
use crate::wishes::Wish;

/// Steps of the longest sequence.
pub const MOST_STEPS: usize = 24;

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
    /// What somebody does to the source before that.
    pub between: Option<Op>,
}

#[derive(Clone, Debug)]
pub struct Run {
    pub sender: As,
    pub receiver: As,
    pub lanes: u32,
    pub rate_mbps: Option<u64>,
    /// Bytes that a budget bears at first; it bears twice as many whenever somebody has looked at the meter.
    pub leased: Option<u64>,
    pub readback: bool,
    pub moment: Option<Moment>,
    /// What somebody does to the source while it is read.
    pub living: Option<(Of, u64, Op)>,
    /// Of a destination in memory.
    pub mount: Option<MountFault>,
}

/// A mirror of what is planned: what the source does not have is listed, and removed once that was confirmed.
#[derive(Clone, Debug)]
pub struct Mirror {
    /// What somebody does at the destination after the list was made.
    pub between: Option<Op>,
    /// Somebody adds a line to the list that was confirmed.
    pub is_tampered_with: bool,
    /// The removal is called once more.
    pub again: bool,
}

#[derive(Clone, Debug)]
pub enum Step {
    /// Lists a source and plans it under the name that every plan here has.
    Plan(Wish),
    Run(Run),
    /// A whole transfer of several machines at each end, some of which are lost.
    Seats(Seats),
    Interfere(At, Op),
    /// The destination gets copies of what the source has: the same, and such as differ in one thing.
    Copies(u64),
    Mirror(Mirror),
    /// A transfer of a directory to where it is, or into itself.
    OntoItself(u64),
    /// The control directory goes, or a part of it.
    Drop(Option<&'static str>),
    Backup,
    Restore,
}

impl Run {
    /// Both ends to the end, as cheap as it goes.
    pub const PLAIN: Self = Self {
        sender: As::Thread,
        receiver: As::Thread,
        lanes: 2,
        rate_mbps: None,
        leased: None,
        readback: false,
        moment: None,
        living: None,
        mount: None,
    };

    pub fn draw(random: &mut Random) -> Self {
        let run = Self::draw_changes(random);
        // Few runs are without changes, and what somebody has changed is seen by no look at what was.
        let mount = match run.has_changes() {
            true => random.one_in(3).then(|| MountFault::draw_lost(random)),
            false => (!random.one_in(4)).then(|| MountFault::draw_old(random)),
        };
        Self { mount, ..run }
    }

    fn draw_changes(random: &mut Random) -> Self {
        let mut run = Self { lanes: 1 + u32::try_from(random.below(3)).unwrap(), readback: random.one_in(4), ..Self::PLAIN };
        if random.one_in(12) {
            run.leased = Some(1 << (12 + random.below(8)));
        }
        if random.one_in(12) {
            (run.sender, run.receiver) = (As::Process, As::Process);
        }
        if random.one_in(8) {
            run.sender = As::Thread;
            let of = random.pick(&[Of::Opened, Of::Read, Of::Looked]);
            run.living = Some((of, 1 + random.below(25) as u64, Op::draw_living(random)));
            return run;
        }
        let end = random.pick(&[End::Sender, End::Sender, End::Sender, End::Receiver, End::Receiver]);
        let action = match random.below(16) {
            0..3 => Action::Stop(end),
            3..7 => Action::Kill(end),
            7..10 => Action::KillBoth,
            10..13 => Action::Interfere(At::Source, Op::draw_living(random)),
            _ => Action::Interfere(At::Destination, Op::draw(random)),
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
        // Parts of two states of a file come together only where it is large and some of it has gone.
        let large = Op::RewriteLarge(random.below(1 << 16));
        let (again, between) = (!random.one_in(6), if random.one_in(2) { large } else { Op::draw_living(random) });
        let between = (again && !random.one_in(8)).then_some(between);
        run.moment = Some(Moment { after: 1 + random.below(6) as u64, action, again, between });
        run
    }
}

impl Moment {
    pub const fn ends_a_sender(&self) -> bool {
        matches!(self.action, Action::KillBoth | Action::Kill(End::Sender) | Action::Stop(End::Sender))
    }
}

impl Run {
    /// Whether somebody changes something in this run, at either end.
    pub fn has_changes(&self) -> bool {
        let is_change = |moment: &Moment| moment.between.is_some() || matches!(moment.action, Action::Interfere(..));
        self.living.is_some() || self.moment.as_ref().is_some_and(is_change)
    }
}

impl Mirror {
    fn draw(random: &mut Random) -> Self {
        let op = Op::draw(random);
        Self { between: random.one_in(2).then_some(op), is_tampered_with: random.one_in(4), again: random.one_in(2) }
    }
}

/// Three steps to a few more than twenty; the first ones plan.
pub fn draw(random: &mut Random) -> Vec<Step> {
    let mut steps = Vec::new();
    if random.one_in(2) {
        steps.push(Step::Copies(random.next()));
    }
    steps.push(Step::Plan(Wish::draw(random, 0)));
    for _ in 0..2 + random.below(MOST_STEPS - 3) {
        steps.push(match random.below(27) {
            0..7 => Step::Run(Run::draw(random)),
            7..10 => {
                let source = usize::from(random.one_in(4));
                Step::Plan(Wish::draw(random, source))
            }
            10..14 => Step::Interfere(At::Destination, Op::draw(random)),
            14..16 => Step::Interfere(At::Source, Op::draw_living(random)),
            16..18 => Step::Copies(random.next()),
            18..22 => Step::Mirror(Mirror::draw(random)),
            22 if random.one_in(3) => Step::OntoItself(random.next()),
            22 if random.one_in(4) => Step::Drop(None),
            22 => {
                let parts = ["chunks", "digests", "leases", "records", "manifest", "plan.json", "listing", "equal"];
                Step::Drop(Some(random.pick(&parts)))
            }
            23 => Step::Backup,
            24 | 25 => Step::Restore,
            // Each takes seconds: four processes and more, some of which stand still for a while.
            26 if !random.one_in(3) => Step::Seats(Seats::draw(random)),
            // Undisturbed: what was planned must come.
            _ => Step::Run(Run::PLAIN),
        });
    }
    steps
}
