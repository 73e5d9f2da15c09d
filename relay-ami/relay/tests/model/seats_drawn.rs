//! Transfers of several machines at each end, as they are drawn; what must hold after one.

use std::collections::HashSet;

use cpt_laboratory::plan;
use cpt_relay::documents::seat::Role;

use crate::kept::Before;
use crate::random::Random;
use crate::runs::changed;
use crate::seats::Site;
use crate::seen::{Tree, list};
use crate::steps::Run;
use crate::tally::Tally;
use crate::wishes::Wish;
use crate::world::{World, Wrong};

/// Chunks per range: small, so that each sender of a small tree has some.
const RANGE_SIZE: u64 = 4;

/// What happens to a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// Its daemon is killed, and another one started.
    Kill,
    /// It is killed and never comes back.
    Lose,
    /// It stands still, and wakes before anybody gives it up.
    Freeze,
    /// It stands still, is given up, and wakes while the others go on.
    GiveUp,
    /// The same, and it wakes after success.
    Oversleep,
    /// A person takes it back.
    Drain,
}

impl What {
    const ALL: [Self; 6] = [Self::Kill, Self::Lose, Self::Freeze, Self::GiveUp, Self::Oversleep, Self::Drain];

    /// What may happen to the last machine of a side.
    pub const fn of_the_last(self) -> Self {
        match self {
            Self::Lose | Self::Drain => Self::Kill,
            Self::GiveUp | Self::Oversleep => Self::Freeze,
            Self::Kill | Self::Freeze => self,
        }
    }

    /// As what it is counted.
    pub const fn counted(self, role: Role) -> &'static str {
        match (self, role) {
            (Self::Kill, Role::Sender) => "seats: senders killed and started again",
            (Self::Kill, Role::Receiver) => "seats: receivers killed and started again",
            (Self::Lose, Role::Sender) => "seats: senders lost",
            (Self::Lose, Role::Receiver) => "seats: receivers lost",
            (Self::Freeze, Role::Sender) => "seats: senders frozen and woken",
            (Self::Freeze, Role::Receiver) => "seats: receivers frozen and woken",
            (Self::GiveUp | Self::Oversleep, Role::Sender) => "seats: senders given up while frozen",
            (Self::GiveUp | Self::Oversleep, Role::Receiver) => "seats: receivers given up while frozen",
            (Self::Drain, Role::Sender) => "seats: senders drained",
            (Self::Drain, Role::Receiver) => "seats: receivers drained",
        }
    }
}

/// What every run is to see of several machines.
pub const KINDS: [&str; 12] = [
    "seats: senders killed and started again",
    "seats: receivers killed and started again",
    "seats: senders lost",
    "seats: receivers lost",
    "seats: senders frozen and woken",
    "seats: receivers frozen and woken",
    "seats: senders given up while frozen",
    "seats: receivers given up while frozen",
    "seats: senders drained",
    "seats: receivers drained",
    "seats: retired",
    "seats: transfers",
];

/// Once so many chunks have arrived, something happens to one of those of a side that are left and awake.
#[derive(Clone, Debug)]
pub struct Fault {
    pub after: u64,
    pub role: Role,
    pub which: usize,
    pub what: What,
}

#[derive(Clone, Debug)]
pub struct Seats {
    pub wish: Wish,
    pub senders: usize,
    pub receivers: usize,
    pub lanes: u32,
    /// Of all senders together.
    pub rate_mbps: u64,
    /// In the order of their moments.
    pub faults: Vec<Fault>,
}

impl Seats {
    pub fn draw(random: &mut Random) -> Self {
        let wish = Wish { meanwhile: None, ..Wish::draw(random, 0) };
        let fault = |random: &mut Random| Fault {
            after: random.below(12) as u64,
            role: random.pick(&[Role::Sender, Role::Receiver]),
            which: random.below(3),
            what: random.pick(&What::ALL),
        };
        let mut faults: Vec<Fault> = (0..3 + random.below(5)).map(|_| fault(random)).collect();
        faults.sort_by_key(|fault| fault.after);
        let three = |random: &mut Random| 2 + usize::from(random.one_in(4));
        let (senders, receivers, lanes) = (three(random), three(random), 1 + u32::try_from(random.below(2)).unwrap());
        Self { wish, senders, receivers, lanes, rate_mbps: random.pick(&[2, 4, 16]), faults }
    }
}

impl Tally {
    /// How often something has happened to a machine.
    pub fn faults(&self) -> u64 {
        KINDS[..10].iter().map(|kind| self.of(kind)).sum()
    }
}

impl World {
    /// Plans anew and brings all, whatever happens to machines. Runs that come after it need a plan of their own: a transfer keeps its seats.
    pub fn seats(&mut self, seats: &Seats) -> Wrong {
        // What several machines write into is a directory that all of them see.
        if self.home.place.directory().is_none() {
            return Wrong::new();
        }
        self.home.range_size = RANGE_SIZE;
        let mut wrong = self.plan(&seats.wish);
        if wrong.is_empty() && self.current.is_some() {
            self.tally.count("seats: transfers");
            wrong = self.brought_by(seats);
        }
        self.home.range_size = plan::RANGE_SIZE;
        self.home.directory().clear().unwrap();
        let _ = std::fs::remove_file(self.home.control().join(plan::PLAN_KEY));
        (self.current, self.intact) = (None, false);
        wrong
    }

    fn brought_by(&mut self, seats: &Seats) -> Wrong {
        let (current, verify) = (self.current, self.verify(&Run::PLAIN));
        let (can, there) = (self.home.place.capabilities(), self.home.place.list());
        for path in current.map(|current| self.plans[current].in_the_way(&there, &can)).unwrap_or_default() {
            self.home.place.remove(&path);
        }
        self.plans.iter_mut().for_each(|plan| plan.is_disturbed = true);
        let before = Before { kept: self.home.place.kept(), there: self.home.place.list() };
        let sources: Vec<Tree> = self.sources.iter().map(|root| list(root)).collect();
        let site = Site::begin(&self.home, seats, verify).and_then(|mut site| {
            site.run(|| self.delivered_chunks())?;
            Ok(site)
        });
        let (after, mut wrong) = (self.home.place.list(), Wrong::new());
        let tally = match site.and_then(|mut site| site.wake().map(|()| site)) {
            Ok(site) => std::mem::take(&mut { site }.tally),
            Err(why) => return [why, self.states()].into_iter().chain(self.last_said()).collect(),
        };
        wrong.extend(names(&after, &self.home.place.list()).map(|path| format!("{path} was changed by a machine that woke after success")));
        self.tally.add(&tally);
        wrong.extend(self.check_always(&before.there, &after, &HashSet::new()));
        wrong.extend(self.check_kept(&before, &after, &HashSet::new()));
        for (root, before) in self.sources.iter().zip(&sources) {
            wrong.extend(names(before, &list(root)).map(|path| format!("{path} is the source's and has changed by a run")));
        }
        let skips = self.skips();
        wrong.extend(self.check_agreed(&after, true, &skips));
        if wrong.is_empty() {
            wrong = self.check_left_out("a transfer of several machines");
        }
        wrong
    }
}

/// Lines of each machine's log that are told of a failure.
const TOLD: usize = 12;

impl World {
    /// What the machines have said last.
    fn last_said(&self) -> Wrong {
        let logs = std::fs::read_dir(&self.home.path).into_iter().flatten().flatten().map(|entry| entry.path());
        let logs = logs.filter(|path| path.extension().is_some_and(|extension| extension == "log"));
        let said = logs.map(|path| {
            let text = std::fs::read_to_string(&path).unwrap_or_default();
            let lines: Vec<&str> = text.lines().rev().filter(|line| !line.contains("progress")).take(TOLD).collect();
            format!("{:?}: {}", path.file_stem(), lines.into_iter().rev().collect::<Vec<_>>().join("\n    "))
        });
        said.collect()
    }
}

fn names<'a>(before: &'a Tree, after: &'a Tree) -> impl Iterator<Item = String> {
    changed(before, after).map(|path| format!("{path:?}"))
}
