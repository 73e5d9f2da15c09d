//! One sequence: what is there, and what each step does to it.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};

use cpt_laboratory::plan;
use cpt_relay::control::Control as _;
use cpt_relay::digest::Digest;
use cpt_relay::documents::attributes::{Owners, Preserve};
use cpt_relay::documents::plan::TransferPlan;

use crate::bucket::BucketPlace;
use crate::ends::Home;
use crate::interfere::{At, Op, Spoil, added, remove};
use crate::place::{Place, lesser};
use crate::planned::Planned;
use crate::random::Random;
use crate::seen::{PARTIAL, Tree, list};
use crate::steps::Step;
use crate::tally::Tally;
use crate::trees;

/// Attempts of a chunk: a stream that a killed end breaks costs one.
const ATTEMPTS: u32 = 4;

/// What is wrong, in words.
pub type Wrong = Vec<String>;

pub struct World {
    pub home: Home,
    pub sources: Vec<PathBuf>,
    pub plans: Vec<Planned>,
    /// The plan that the control directory holds, and whether it holds all of it.
    pub current: Option<usize>,
    pub intact: bool,
    backup: Option<(Option<usize>, bool)>,
    /// Contents that were whole at some time, by path: nothing else may ever stand under a final name.
    pub whole: HashMap<Vec<u8>, HashSet<Digest>>,
    /// Contents that somebody gave to partial files, which may go to any place.
    pub spoiled: HashSet<Digest>,
    /// Files at the destination that somebody has written into without another change time, which has whole seconds there.
    pub hurried: HashSet<u64>,
    /// Partial files that somebody has touched: what the receiver has made of one since, nobody knows.
    pub spoiled_files: HashSet<u64>,
    /// Names that somebody gave to partial files: what is received into those shows there too, as it must.
    pub shared: HashSet<Vec<u8>>,
    /// Files at the destination that somebody has changed since the last plan was made, and that look as they did.
    pub unseen: HashSet<Vec<u8>>,
    serial: u64,
    pub generation: u64,
    pub tally: Tally,
}

impl World {
    pub fn new(path: &Path, seed: u64) -> Self {
        let sources: Vec<PathBuf> = ["source-0", "source-1"].iter().map(|name| path.join(name)).collect();
        // The second is nearly the same, as a source is a week later.
        sources.iter().for_each(|source| trees::make(source, seed));
        let mut random = Random::new(seed ^ 1);
        for serial in 0..6 {
            let _ = Op::draw(&mut random).apply(&sources[1], 1_000_000 + serial);
        }
        let (mut tally, destination) = (Tally::default(), path.join("destination"));
        let mut kept = Tally::default();
        let mut preserve = if random.one_in(2) { preserve(&mut random, &mut kept) } else { Preserve::default() };
        // A third of them, without a draw: the others draw all as they did before.
        let is_bucket = seed % 3 == 2;
        if !is_bucket {
            tally.add(&kept);
        }
        let place = if is_bucket {
            tally.count("buckets");
            // A request that asks for more is refused.
            preserve = Preserve { sparse: preserve.sparse, owners: preserve.owners, ..Preserve::default() };
            Place::Bucket(BucketPlace::new(seed / 3))
        } else if seed % 2 == 1 {
            Place::in_memory(lesser(seed / 2, &mut random, &mut tally))
        } else {
            fs::create_dir(&destination).unwrap();
            // Half of them: no draw, so that a seed draws all else as it did before.
            let keeps = seed.is_multiple_of(4);
            if keeps {
                tally.count("destinations that keep what is replaced");
            }
            Place::Directory { path: destination, keeps, time_step_ns: 1 }
        };
        Self::of(Home { path: path.to_path_buf(), attempts: ATTEMPTS, range_size: plan::RANGE_SIZE, preserve, place }, sources, tally)
    }

    /// Without any plan.
    pub fn of(home: Home, sources: Vec<PathBuf>, tally: Tally) -> Self {
        Self {
            home,
            sources,
            plans: Vec::new(),
            current: None,
            intact: false,
            backup: None,
            whole: HashMap::new(),
            spoiled: HashSet::new(),
            hurried: HashSet::new(),
            spoiled_files: HashSet::new(),
            shared: HashSet::new(),
            unseen: HashSet::new(),
            serial: 0,
            generation: 0,
            tally,
        }
    }

    /// A number that names and contents are made of, each another one.
    pub const fn next_serial(&mut self) -> u64 {
        self.serial += 1;
        self.serial
    }

    pub fn step(&mut self, step: &Step) -> Wrong {
        match step {
            Step::Plan(wish) => return self.plan(wish),
            Step::Run(run) => return self.run(run, false).1,
            Step::Seats(seats) => return self.seats(seats),
            Step::Mirror(mirror) => return self.mirror(mirror),
            Step::OntoItself(seed) => return self.onto_itself(*seed),
            Step::Copies(seed) => self.copies(*seed),
            Step::Interfere(at, op) => {
                self.tally.count(if *at == At::Source { "living: between runs" } else { "changes at the destination between runs" });
                self.interfere(*at, *op);
            }
            Step::Drop(part) => {
                self.tally.count("control directories that lose something");
                let path = part.map_or_else(|| self.home.control(), |part| self.home.control().join(part));
                if path.exists() {
                    remove(&path).unwrap();
                }
                self.intact &= matches!(part, Some("digests" | "leases"));
                self.current = self.current.filter(|_| !matches!(part, None | Some("plan.json")));
            }
            Step::Backup => {
                let (from, to) = (self.home.control(), self.home.path.join("backup"));
                if from.exists() {
                    let _ = fs::remove_dir_all(&to);
                    copy(&from, &to);
                    self.backup = Some((self.current, self.intact));
                }
            }
            Step::Restore => {
                if let Some((current, intact)) = self.backup {
                    self.tally.count("control directories that are restored");
                    let _ = fs::remove_dir_all(self.home.control());
                    copy(&self.home.path.join("backup"), &self.home.control());
                    (self.current, self.intact) = (current, intact);
                    self.plans.iter_mut().for_each(|plan| plan.is_disturbed = true);
                }
            }
        }
        Wrong::new()
    }

    pub fn transfer_plan(&self) -> Option<TransferPlan> {
        let text = self.home.directory().read_object(plan::PLAN_KEY, None).ok()?;
        TransferPlan::parse(&text).ok()
    }

    pub fn interfere(&mut self, at: At, op: Op) {
        let serial = self.next_serial();
        match at {
            At::Source => drop(op.apply(&self.sources[0], serial)),
            At::Destination => {
                let before = self.home.place.list();
                self.home.place.change(op, serial);
                self.note_unseen(&before);
                self.note_dressed(&before);
            }
        }
        if matches!(op, Op::Partial(_, Spoil::HardLink)) {
            self.shared.insert(added(serial).into_bytes());
        }
        // What is linked at one end from the other one is changed at both.
        self.source_changed();
        self.destination_changed(true);
        if matches!(op, Op::Partial(..)) {
            self.note_spoiled();
        }
    }

    /// What was written into a file in the second of its last change, and its time put back, nobody can see but who reads it all again.
    fn note_unseen(&mut self, before: &Tree) {
        for (path, now) in if self.home.place.is_coarse() { self.home.place.list() } else { Tree::new() } {
            let Some(was) = before.get(&path).filter(|was| was.digest != now.digest) else { continue };
            if (was.inode, was.ctime_ns) == (now.inode, now.ctime_ns) {
                self.hurried.insert(now.inode);
            }
            if was.is_told_by_as(&now) {
                self.tally.count("changes in a second that a file system does not divide");
                self.plans.iter_mut().for_each(|plan| plan.note_unseen(&path, now.digest));
                self.unseen.insert(path);
            }
        }
    }

    /// What somebody has put into a bucket may have the bytes of what was there, and be told from it by nobody but who asks about it.
    pub fn note_dressed(&mut self, before: &Tree) {
        let now = if self.home.place.bucket().is_some() { self.home.place.list() } else { Tree::new() };
        for (path, now) in now.iter().filter(|(path, now)| before.get(*path) != Some(now)) {
            self.plans.iter_mut().for_each(|plan| plan.note_dressed(path, now));
        }
    }

    /// Somebody has changed, or may have changed, what is to be read.
    pub fn source_changed(&mut self) {
        for root in &self.sources {
            let tree = list(root);
            self.plans.iter_mut().for_each(|plan| plan.source_changed(root, &tree));
        }
        self.note_contents();
    }

    /// Notes what is at the destination, and whether somebody else has changed it.
    pub fn destination_changed(&mut self, by_whom: bool) {
        let (tree, can) = (self.home.place.list(), self.home.place.capabilities());
        self.plans.iter_mut().for_each(|plan| plan.destination_changed(&tree, &can, by_whom));
        for (path, found) in tree {
            self.whole.entry(path).or_default().insert(found.digest);
        }
    }

    /// A name at the destination of a source's file that somebody has written into shows that from now on.
    pub fn note_linked(&mut self, there: &Tree, living: &HashSet<u64>) {
        for (path, found) in there.iter().filter(|(_, found)| living.contains(&found.inode)) {
            self.whole.entry(path.clone()).or_default().insert(found.digest);
        }
    }

    pub fn note_contents(&mut self) {
        for listed in self.plans.iter().flat_map(|plan| &plan.listed) {
            self.whole.entry(listed.path.clone()).or_default().extend(&listed.contents);
        }
    }

    fn note_spoiled(&mut self) {
        let Some(root) = self.home.place.directory() else { return };
        let ours = fs::read_dir(root).into_iter().flatten().flatten().map(|entry| entry.path());
        let is_ours = |path: &PathBuf| path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(PARTIAL));
        for (_, found) in ours.filter(is_ours).flat_map(|path| list(&path)) {
            self.spoiled.insert(found.digest);
            self.spoiled_files.insert(found.inode);
        }
    }
}

/// Some of what can be kept.
fn preserve(random: &mut Random, tally: &mut Tally) -> Preserve {
    let is_root = rustix::process::geteuid().is_root();
    let mut keeps = |what: &'static str, can: bool| {
        if !can {
            return false;
        }
        let keeps = !random.one_in(4);
        if keeps {
            tally.count(what);
        }
        keeps
    };
    Preserve {
        hard_links: keeps("kept: hard links", true),
        sparse: keeps("kept: holes", true),
        xattrs: keeps("kept: attributes", true),
        owners: keeps("kept: owners", is_root).then_some(Owners::Numeric),
        acls: keeps("kept: access control lists", trees::has_acls()),
        special_files: keeps("kept: pipes", true),
    }
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().flatten() {
        let (path, target): (PathBuf, PathBuf) = (entry.path(), to.join(entry.file_name()));
        if path.is_dir() {
            copy(&path, &target);
        } else {
            fs::copy(&path, &target).map(drop).unwrap()
        }
    }
}
