//! One sequence: what is there, what each step does to it, and what must hold after each.

use std::collections::{HashMap, HashSet};
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use cpt_laboratory::plan;
use cpt_relay::control::Control as _;
use cpt_relay::digest::Digest;
use cpt_relay::documents::attributes::{Owners, Preserve};
use cpt_relay::documents::percent;
use cpt_relay::documents::plan::TransferPlan;
use cpt_relay::documents::survey::Survey;
use cpt_relay::documents::text::TransferId;
use cpt_relay::ends::posix::PosixSource;
use cpt_relay::scan;

use crate::ends::Home;
use crate::interfere::{At, Op, Spoil, added, remove};
use crate::planned::Planned;
use crate::random::Random;
use crate::runs::{Came, Tally};
use crate::steps::{Run, Step};
use crate::trees::{self, Kind, PARTIAL, Tree, list};

/// Attempts of a chunk: a stream that a killed end breaks costs one.
const ATTEMPTS: u32 = 4;
/// Runs that nobody disturbs and that may be needed to the end.
const TRIES: usize = 3;

/// What is wrong, in words.
pub type Wrong = Vec<String>;

pub struct World {
    pub home: Home,
    pub plans: Vec<Planned>,
    /// The plan that the control directory holds, and whether it holds all of it.
    pub current: Option<usize>,
    pub intact: bool,
    backup: Option<(Option<usize>, bool)>,
    /// Contents that were whole at some time, by path: nothing else may ever stand under a final name.
    whole: HashMap<Vec<u8>, HashSet<Digest>>,
    /// Contents that somebody gave to partial files, which may go to any place.
    spoiled: HashSet<Digest>,
    /// Names that somebody gave to partial files: what is received into those shows there too, as it must.
    shared: HashSet<Vec<u8>>,
    serial: u64,
    pub generation: u64,
    pub tally: Tally,
}

impl World {
    pub fn new(path: &Path, seed: u64) -> Self {
        trees::make(&path.join("source-0"), seed);
        // Nearly the same, as a source is a week later.
        trees::make(&path.join("source-1"), seed);
        let mut random = Random::new(seed ^ 1);
        for serial in 0..6 {
            let _ = Op::draw(&mut random).apply(&path.join("source-1"), 1_000_000 + serial);
        }
        fs::create_dir(path.join("destination")).unwrap();
        let owners = rustix::process::geteuid().is_root().then_some(Owners::Numeric);
        let all = Preserve { hard_links: true, sparse: true, xattrs: true, owners, ..Preserve::default() };
        let preserve = if random.one_in(2) { all } else { Preserve::default() };
        Self {
            home: Home { path: path.to_path_buf(), attempts: ATTEMPTS, preserve },
            plans: Vec::new(),
            current: None,
            intact: false,
            backup: None,
            whole: HashMap::new(),
            spoiled: HashSet::new(),
            shared: HashSet::new(),
            serial: 0,
            generation: 0,
            tally: Tally::default(),
        }
    }

    pub fn step(&mut self, step: &Step) -> Wrong {
        match step {
            Step::Plan { source, chunk_kib, by_name } => self.plan(*source, *chunk_kib, *by_name),
            Step::Run(run) => return self.run(run, false).1,
            Step::Interfere(at, op) => self.interfere(*at, *op),
            Step::Drop(part) => {
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
                    let _ = fs::remove_dir_all(self.home.control());
                    copy(&self.home.path.join("backup"), &self.home.control());
                    (self.current, self.intact) = (current, intact);
                }
            }
        }
        Wrong::new()
    }

    /// As `cpt-relay plan` does, with smaller chunks than it makes.
    fn plan(&mut self, source: usize, chunk_kib: u64, by_name: bool) {
        let control = self.home.directory();
        control.clear().unwrap();
        self.current = None;
        let mut path = self.home.path.join(format!("source-{source}"));
        if !by_name {
            path.push("");
        }
        let sources = serde_json::to_vec(&[percent::encode(path.as_os_str().as_bytes())]).unwrap();
        control.write_object("sources.json", sources).unwrap();
        let survey =
            scan::source(&PosixSource::new(vec![path]).preserving(self.home.preserve), &control, "", scan::Options::default()).unwrap();
        let Survey::Source { parts, problem_count, .. } = &survey else { panic!("{survey:?}") };
        if *problem_count > 0 {
            return;
        }
        plan::make(&control, &TransferId::new("local").unwrap(), &survey, chunk_kib << 10, 2).unwrap();
        let planned = Planned::read(&self.home.control(), *parts);
        (self.current, self.intact) = (Some(self.plans.len()), true);
        self.plans.push(planned);
        self.note_contents();
    }

    pub fn transfer_plan(&self) -> Option<TransferPlan> {
        let text = self.home.directory().read_object(plan::PLAN_KEY, None).ok()?;
        TransferPlan::parse(&text).ok()
    }

    pub fn interfere(&mut self, at: At, op: Op) {
        let name = if at == At::Source { "source-0" } else { "destination" };
        self.serial += 1;
        // A receiver at work may have taken something of its own away meanwhile.
        let _ = op.apply(&self.home.path.join(name), self.serial);
        if at == At::Source {
            self.plans.iter_mut().for_each(Planned::source_changed);
            self.note_contents();
        } else {
            if matches!(op, Op::Partial(_, Spoil::HardLink)) {
                self.shared.insert(added(self.serial).into_bytes());
            }
            self.note_destination(matches!(op, Op::Partial(..)));
        }
    }

    fn note_contents(&mut self) {
        for listed in self.plans.iter().flat_map(|plan| &plan.listed) {
            self.whole.entry(listed.path.clone()).or_default().extend(&listed.contents);
        }
    }

    fn note_destination(&mut self, is_partial_spoiled: bool) {
        for (path, found) in list(&self.home.destination()) {
            self.whole.entry(path).or_default().insert(found.digest);
        }
        if !is_partial_spoiled {
            return;
        }
        let ours = fs::read_dir(self.home.destination()).into_iter().flatten().flatten();
        let partial =
            ours.map(|entry| entry.path()).filter(|path| path.file_name().is_some_and(|name| name.as_bytes().starts_with(PARTIAL)));
        self.spoiled.extend(partial.flat_map(|path| list(&path)).map(|(_, found)| found.digest));
    }

    /// What must hold however a run has ended: nothing half-written stands under a name, and what no plan names is as it was.
    pub fn check_always(&self, before: &Tree, after: &Tree) -> Wrong {
        let mut wrong = Wrong::new();
        let is_own = |path: &[u8]| !self.shared.contains(path);
        for (path, found) in after.iter().filter(|(path, found)| found.kind == Kind::File && is_own(path)) {
            // Another name of a file has whatever that has.
            let firsts = self.plans.iter().flat_map(|plan| plan.first_of(path));
            let mut names = std::iter::once(&**path).chain(firsts);
            let is_known = names.any(|name| self.whole.get(name).is_some_and(|contents| contents.contains(&found.digest)));
            if !is_known && !self.spoiled.contains(&found.digest) {
                wrong.push(format!("{:?} has a content that was never whole", OsStr::from_bytes(path)));
            }
        }
        let planned: HashSet<&[u8]> = self.plans.iter().flat_map(|plan| &plan.listed).map(|listed| &*listed.path).collect();
        let is_other = |path: &[u8]| is_own(path) && !planned.contains(path);
        for (path, was) in before.iter().filter(|(path, was)| was.kind != Kind::Directory && is_other(path)) {
            let same = |now: &trees::Seen| (now.kind, now.mode, now.mtime_ns, now.digest) == (was.kind, was.mode, was.mtime_ns, was.digest);
            if !after.get(path).is_some_and(same) {
                wrong.push(format!("{:?} is in no plan and has changed", OsStr::from_bytes(path)));
            }
        }
        wrong
    }

    /// What success means.
    pub fn check_success(&self, after: &Tree, with_directory_times: bool) -> Wrong {
        let Some(current) = self.current else { return vec!["success without a whole plan".to_owned()] };
        let mut wrong = self.plans[current].wrong(after, with_directory_times);
        for entry in fs::read_dir(self.home.destination()).unwrap().flatten() {
            if entry.file_name().as_bytes().starts_with(PARTIAL) {
                wrong.push(format!("{:?} was left", entry.file_name()));
            }
        }
        wrong
    }

    /// Without interference a transfer gets there: what is under way if it still can, and a new one in any case.
    pub fn finish(&mut self) -> Wrong {
        let whole = self.intact && self.current.is_some_and(|current| self.plans[current].is_source_untouched());
        if whole && !self.has_failed_chunks() {
            let wrong = self.must_succeed("what was begun", false);
            if !wrong.is_empty() {
                return wrong;
            }
        }
        self.plan(0, 32, false);
        if self.current.is_none() {
            return vec!["the last plan was refused".to_owned()];
        }
        self.must_succeed("a new plan", true)
    }

    fn must_succeed(&mut self, what: &str, with_directory_times: bool) -> Wrong {
        for path in self.current.map(|current| self.plans[current].in_the_way(&list(&self.home.destination()))).unwrap_or_default() {
            remove(&self.home.destination().join(OsStr::from_bytes(&path))).unwrap();
        }
        let mut reasons = Vec::new();
        for _ in 0..TRIES {
            let (came, wrong) = self.run(&Run::PLAIN, with_directory_times);
            if !wrong.is_empty() || came == Came::Success {
                return wrong;
            }
            reasons.push(format!("{came:?}"));
        }
        vec![format!("{what} does not succeed though nobody interferes: {}", reasons.join("; "))]
    }

    fn has_failed_chunks(&self) -> bool {
        chunk_files(&self.home.control()).iter().any(|text| text.contains("\"FAILED\""))
    }

    /// For whoever looks into a hang.
    pub fn states(&self) -> String {
        let mut states: Vec<String> = chunk_files(&self.home.control())
            .iter()
            .map(|text| {
                let item: serde_json::Value = serde_json::from_str(text).unwrap_or_default();
                format!("{} {} {} failed {}", item["chunk"], item["state"], item["attempt"], item["failedAttempt"])
            })
            .collect();
        states.sort();
        states.join(", ")
    }

    pub fn delivered_chunks(&self) -> u64 {
        chunk_files(&self.home.control()).iter().filter(|text| text.contains("\"DELIVERED\"")).count() as u64
    }
}

fn chunk_files(control: &Path) -> Vec<String> {
    let files = fs::read_dir(control.join("chunks")).into_iter().flatten().flatten();
    files.filter_map(|entry| fs::read_to_string(entry.path()).ok()).collect()
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
