//! Long lives: one source and one destination through many transfers, and between and amid them what happens to disks and files in
//! years. After each transfer that says that all has come, rsync judges, beside the model.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use cpt_relay::documents::attributes::{Owners, Preserve};
use cpt_relay::documents::command::Compare;

use crate::ends::Home;
use crate::interfere::{At, Op};
use crate::mounted::Mounts;
use crate::place::Place;
use crate::planned::Planned;
use crate::random::Random;
use crate::rsync;
use crate::runs::Came;
use crate::seen::{SECOND, Tree, list};
use crate::steps::{Mirror, Run};
use crate::tally::Tally;
use crate::trees;
use crate::wishes::Wish;
use crate::world::{World, Wrong};

/// Transfers of one life: one that is disturbed in each round, and one that nobody disturbs.
pub const ROUNDS: usize = 5;
const ATTEMPTS: u32 = 4;

/// What a run is to see.
pub const KINDS: [&str; 12] = [
    "both ends killed",
    "changes in place, the time put back",
    "changes of kind",
    "cp -al",
    "ends killed",
    "entries left out and named",
    "judged by rsync, by size and time",
    "judged by rsync, with each content",
    "restarts of a sender",
    "transfers to coarse times",
    "unmounts of a destination",
    "unmounts of a source's disk",
];

/// Why there are none on this machine.
pub fn lacks() -> Option<&'static str> {
    if !rustix::process::geteuid().is_root() {
        return Some("only root mounts disks, and keeps owners");
    }
    (!rsync::is_here()).then_some("rsync, which judges, is not installed")
}

/// What is mounted goes last.
pub struct Life {
    world: World,
    random: Random,
    /// What happened, in words.
    past: Vec<String>,
    _mounts: Mounts,
}

impl Life {
    pub fn new(path: &Path, seed: u64) -> Self {
        let (mut random, mut mounts, mut tally) = (Random::new(seed), Mounts::default(), Tally::default());
        let (source, mut there) = (path.join("source-0"), path.join("there"));
        fs::create_dir(&source).unwrap();
        // Of its own, or a directory of the same file system.
        if random.one_in(2) {
            let made = mounts.image(&[], &source.with_extension("below"));
            made.unwrap_or_else(|error| println!("lives: no disk of its own below a source: {error}"));
        }
        mounts.disk(&source, false).unwrap();
        trees::make(&source, seed);
        trees::make(&source.join("disk"), seed ^ 1);
        let mut time_step_ns = 1;
        if random.one_in(2) {
            // As Lustre keeps times.
            match mounts.image(&["-I", "128"], &there) {
                Ok(()) => time_step_ns = SECOND,
                Err(error) => {
                    println!("lives: no file system of whole seconds: {error}");
                    there = path.join("elsewhere");
                }
            }
        }
        let destination = there.join("destination");
        mounts.disk(&destination, true).unwrap();
        tally.count("lives");
        let preserve = Preserve {
            hard_links: true,
            sparse: true,
            owners: Some(Owners::Numeric),
            xattrs: true,
            acls: trees::has_acls(),
            special_files: true,
        };
        let keeps = random.one_in(4);
        let place = Place::Directory { path: destination, keeps, time_step_ns };
        let home = Home { path: path.to_path_buf(), attempts: ATTEMPTS, range_size: cpt_laboratory::plan::RANGE_SIZE, preserve, place };
        let past = vec![format!(
            "a destination of times in {time_step_ns} ns, which {} what it replaces",
            if keeps { "keeps" } else { "removes" }
        )];
        Self { world: World::of(home, vec![source], tally), random, past, _mounts: mounts }
    }

    pub fn tally(&self) -> &Tally {
        &self.world.tally
    }

    pub fn past(&self) -> &[String] {
        &self.past
    }

    /// Some things happen; then a transfer that is disturbed, and one that is not.
    pub fn round(&mut self) -> Wrong {
        for _ in 0..1 + self.random.below(4) {
            let (at, op) = happening(&mut self.random);
            self.count(at, op);
            self.past.push(format!("{op:?} at the {at:?}"));
            self.world.interfere(at, op);
        }
        let mut wrong = self.disturbed();
        if wrong.is_empty() {
            wrong = self.undisturbed();
        }
        wrong
    }

    fn plan(&mut self) -> Result<(), Wrong> {
        let compare = self.random.pick(&[None, Some(Compare::SizeTime), Some(Compare::Digest), Some(Compare::Digest)]);
        self.past.push(format!("a plan, compared by {compare:?}"));
        let wrong = self.world.plan(&Wish { compare, ..Wish::PLAIN });
        if wrong.is_empty() { Ok(()) } else { Err(wrong) }
    }

    fn disturbed(&mut self) -> Wrong {
        if let Err(wrong) = self.plan() {
            return wrong;
        }
        let run = self.draw();
        self.past.push(format!("{run:?}"));
        let listed = list(&self.world.sources[0]);
        let (came, wrong) = self.world.run(&run, false);
        if !wrong.is_empty() || !matches!(came, Came::Success | Came::LeftOut) {
            return wrong;
        }
        // What somebody has changed since it was listed may have come as it was or as it is: that is the model's to judge.
        let now = list(&self.world.sources[0]);
        let changed = changed(&listed, &now);
        self.judge(&changed, false)
    }

    fn undisturbed(&mut self) -> Wrong {
        if let Err(wrong) = self.plan() {
            return wrong;
        }
        if self.world.current.is_none() {
            return vec!["the plan was refused".to_owned()];
        }
        if self.random.one_in(2) {
            // It moves the change times of what was found equal, and nothing else: that keeps nothing from succeeding.
            self.count(At::Destination, Op::Snapshot);
            self.past.push("cp -al of the destination".to_owned());
            self.world.interfere(At::Destination, Op::Snapshot);
        }
        let mut wrong = self.world.must_succeed("a new plan", true);
        if wrong.is_empty() {
            wrong = self.world.mirror(&Mirror { between: None, is_tampered_with: false, again: false });
        }
        if wrong.is_empty() { self.judge(&HashSet::new(), true) } else { wrong }
    }

    fn draw(&mut self) -> Run {
        let mut run = Run::draw(&mut self.random);
        let draws = self.random.one_in(3);
        if let Some(moment) = &mut run.moment {
            if draws && moment.between.is_some() {
                moment.between = Some(Op::Unmount);
            }
            if let Some(op) = moment.between {
                count(&mut self.world.tally, At::Source, op, &self.world.sources[0]);
            }
        }
        run
    }

    fn count(&mut self, at: At, op: Op) {
        let root = match at {
            At::Source => self.world.sources[0].clone(),
            At::Destination => self.world.home.place.directory().cloned().unwrap_or_default(),
        };
        count(&mut self.world.tally, at, op, &root);
    }

    /// `changed`: what somebody has changed meanwhile. Of a mirror nothing is extra.
    fn judge(&mut self, changed: &HashSet<Vec<u8>>, is_mirror: bool) -> Wrong {
        let world = &mut self.world;
        let Some((current, destination)) = world.current.zip(world.home.place.directory()) else { return Wrong::new() };
        let by_content = world.plans[current].wish.compare != Some(Compare::SizeTime);
        let found = match rsync::differences(&world.sources[0], destination, by_content) {
            Ok(found) => found,
            Err(error) => return vec![error],
        };
        world.tally.count(if by_content { "judged by rsync, with each content" } else { "judged by rsync, by size and time" });
        if world.home.place.is_coarse() {
            world.tally.count("transfers to coarse times");
        }
        let skips = world.skips();
        skips.iter().for_each(|_| world.tally.count("entries left out and named"));
        let (plan, unseen) = (&world.plans[current], &world.unseen);
        let excused = |difference: &rsync::Difference| {
            let path = &difference.path;
            let is_named = within(path, |path| skips.contains_key(path)) || within(path, |path| changed.contains(path));
            let is_not_mirrored = difference.is_deletion() && !is_mirror;
            let is_dated_later = difference.is_time_alone('d') && !is_mirror || is_old(plan, difference);
            is_named || unseen.contains(path) || is_not_mirrored || is_dated_later
        };
        let wrong = found.iter().filter(|difference| !excused(difference));
        wrong.map(|difference| format!("rsync: {} {:?}", difference.what, OsStr::from_bytes(&difference.path))).collect()
    }
}

/// What was equal by its content keeps the time that it had.
fn is_old(plan: &Planned, difference: &rsync::Difference) -> bool {
    let is_planned = || plan.at(&difference.path).is_none_or(|listed| listed.is_planned);
    plan.is_by_content() && difference.is_time_alone('f') && !is_planned()
}

fn within(path: &[u8], is: impl Fn(&[u8]) -> bool) -> bool {
    is(path) || crate::seen::above(path).any(is)
}

/// Paths of what is another one, or is gone or new.
fn changed(before: &Tree, now: &Tree) -> HashSet<Vec<u8>> {
    let differs = |path: &&Vec<u8>| match (before.get(*path), now.get(*path)) {
        (Some(was), Some(is)) => !is.is_like(was),
        _ => true,
    };
    before.keys().chain(now.keys()).filter(differs).cloned().collect()
}

/// What happens to files and disks in years.
fn happening(random: &mut Random) -> (At, Op) {
    let which = random.below(1 << 16);
    match random.below(12) {
        0 | 1 => (At::Source, Op::Rewrite { which, time_kept: true }),
        2 => (At::Source, Op::RewriteLarge(which)),
        3 => (At::Source, Op::Snapshot),
        4 => (
            At::Source,
            random.pick(&[Op::FileToDirectory(which), Op::FileToPipe(which), Op::DirectoryToFile(which), Op::DirectoryToLink(which)]),
        ),
        5 => (At::Source, Op::Unmount),
        6 => (At::Destination, Op::Unmount),
        7 => (At::Destination, Op::draw(random)),
        8 => (At::Destination, random.pick(&[Op::Snapshot, Op::Rewrite { which, time_kept: true }, Op::FileToDirectory(which)])),
        _ => (At::Source, Op::draw_living(random)),
    }
}

/// Counts what is done, if there is something that it is done to.
fn count(tally: &mut Tally, at: At, op: Op, root: &Path) {
    let tree = list(root);
    let is_there = matches!(op, Op::Snapshot | Op::Unmount | Op::RewriteLarge(_)) || op.picked(&tree).is_some();
    let what = match op {
        Op::Rewrite { time_kept: true, .. } | Op::RewriteLarge(_) => "changes in place, the time put back",
        Op::Snapshot => "cp -al",
        Op::FileToDirectory(_) | Op::FileToPipe(_) | Op::DirectoryToFile(_) | Op::DirectoryToLink(_) => "changes of kind",
        Op::Unmount if at == At::Source => "unmounts of a source's disk",
        Op::Unmount => "unmounts of a destination",
        _ => return,
    };
    if is_there {
        tally.count(what);
    }
}
