//! What must hold after each run, and at the end of a sequence.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use cpt_relay::documents::command::Compare;
use cpt_relay::documents::percent;
use cpt_relay::send::sent_journal::SentJournal;

use crate::interfere::{At, Op};
use crate::promised::{Skips, skips};
use crate::runs::Came;
use crate::seen::{Kind, Seen, Tree};
use crate::steps::{Mirror, Run};
use crate::wishes::Wish;
use crate::world::{World, Wrong};

/// Runs that nobody disturbs and that may be needed to the end.
const TRIES: usize = 3;
/// What a file system may need for a file beside its blocks of data: a block at each end of a hole, and one of its own.
const ROUNDED_BYTES: u64 = 32 << 10;

impl World {
    /// What must hold however a run has ended: nothing half-written stands under a name, and what no plan names is as it was. `living` are
    /// files of a source that somebody has written into meanwhile: names of theirs at the destination show that, as they must.
    pub fn check_always(&self, before: &Tree, after: &Tree, living: &HashSet<u64>) -> Wrong {
        let mut wrong = Wrong::new();
        let is_own = |path: &[u8]| !self.shared.contains(path);
        let is_settled = |found: &Seen| found.kind == Kind::File && !living.contains(&found.inode);
        for (path, found) in after.iter().filter(|(path, found)| is_settled(found) && is_own(path)) {
            // Another name of a file has whatever that has.
            let firsts = self.plans.iter().filter_map(|plan| plan.first_of(path));
            let mut names = std::iter::once(path.clone()).chain(firsts);
            let is_known = names.any(|name| self.whole.get(&name).is_some_and(|contents| contents.contains(&found.digest)));
            if !is_known && !self.spoiled.contains(&found.digest) {
                wrong.push(format!("{:?} has a content that was never whole", OsStr::from_bytes(path)));
            }
        }
        let planned: HashSet<&[u8]> = self.plans.iter().flat_map(|plan| &plan.listed).map(|listed| &*listed.path).collect();
        let is_other = |path: &[u8]| is_own(path) && !planned.contains(path);
        let may_change = |was: &Seen| was.kind == Kind::Directory || living.contains(&was.inode);
        for (path, was) in before.iter().filter(|(path, was)| !may_change(was) && is_other(path)) {
            if !after.get(path).is_some_and(|now: &Seen| now.is_copy_of(was)) {
                wrong.push(format!("{:?} is in no plan and has changed", OsStr::from_bytes(path)));
            }
        }
        wrong
    }

    /// What the ends have named as left out of the plan that is under way.
    pub fn skips(&self) -> Skips {
        self.transfer_plan().map(|plan| skips(&self.home.control(), plan.plan_id.as_str())).unwrap_or_default()
    }

    /// What it means that both ends have the same.
    pub fn check_agreed(&self, after: &Tree, with_directory_times: bool, skips: &Skips) -> Wrong {
        let Some(current) = self.current else { return vec!["success without a whole plan".to_owned()] };
        let can = self.home.place.capabilities();
        let mut wrong = self.plans[current].wrong(after, with_directory_times, &can, &self.home.preserve, skips);
        wrong.extend(self.home.place.leftovers().iter().map(|name| format!("{name:?} was left")));
        wrong
    }

    /// Without interference a transfer gets there: what is under way if it still can, and a new one in any case.
    pub fn finish(&mut self) -> Wrong {
        if self.can_go_on() {
            let wrong = self.must_succeed("what was begun", false);
            if !wrong.is_empty() {
                return wrong;
            }
        }
        // Half of the sequences end with a comparison.
        let compare = self.next_serial().is_multiple_of(2).then_some(Compare::Digest);
        let mut wrong = self.plan(&Wish { compare, ..Wish::PLAIN });
        if self.current.is_none() {
            return vec!["the last plan was refused".to_owned()];
        }
        if wrong.is_empty() {
            // It moves the change times of what was found equal, and nothing else.
            self.interfere(At::Destination, Op::Snapshot);
            wrong = self.must_succeed("a new plan", true);
        }
        // What is equal may have no holes.
        if wrong.is_empty() && compare.is_none() {
            wrong = self.check_holes();
        }
        if wrong.is_empty() {
            wrong = self.mirror(&Mirror { between: None, is_tampered_with: false, again: false });
        }
        wrong
    }

    /// Whether what is under way can succeed, as far as anybody can tell from outside.
    fn can_go_on(&self) -> bool {
        let Some(plan) = self.current.map(|current| &self.plans[current]) else { return false };
        let (can, there) = (self.home.place.capabilities(), self.home.place.list());
        self.intact
            && plan.is_source_untouched()
            && !self.has_failed_chunks()
            && plan.has_what_was_equal(&there, &can, &self.home.preserve)
            && !self.has_left_something_out(&plan.must_be_left_out(&can))
    }

    pub fn must_succeed(&mut self, what: &str, with_directory_times: bool) -> Wrong {
        let (can, there) = (self.home.place.capabilities(), self.home.place.list());
        for path in self.current.map(|current| self.plans[current].in_the_way(&there, &can)).unwrap_or_default() {
            self.home.place.remove(&path);
        }
        let mut reasons = Vec::new();
        for _ in 0..TRIES {
            let (came, wrong) = self.run(&Run::PLAIN, with_directory_times);
            if !wrong.is_empty() || matches!(came, Came::Success | Came::LeftOut) {
                return if wrong.is_empty() { self.check_left_out(what) } else { wrong };
            }
            reasons.push(format!("{came:?}"));
        }
        vec![format!("{what} does not succeed though nobody interferes: {}", reasons.join("; "))]
    }

    /// Where nobody interferes nothing is left out but what must be.
    pub fn check_left_out(&self, what: &str) -> Wrong {
        let Some(plan) = self.current.map(|current| &self.plans[current]) else { return Wrong::new() };
        let must = plan.must_be_left_out(&self.home.place.capabilities());
        let more = self.skips();
        let more = more.keys().filter(|path| !must.contains(&&***path));
        more.map(|path| format!("{what} has left out {:?}", OsStr::from_bytes(path))).collect()
    }

    /// Holes are kept where that is asked for: a sparse file uses no more blocks than it used.
    fn check_holes(&self) -> Wrong {
        let Some((root, plan)) = self.home.place.directory().zip(self.current.map(|current| &self.plans[current])) else {
            return Wrong::new();
        };
        let blocks = |path: &Path| path.symlink_metadata().map_or(0, |found| found.blocks() * 512);
        let mut wrong = Wrong::new();
        for listed in plan.listed.iter().filter(|listed| listed.attributes().sparse) {
            let source = self.sources[plan.wish.source].join(OsStr::from_bytes(&listed.source));
            let (had, has) = (blocks(&source), blocks(&root.join(OsStr::from_bytes(&listed.path))));
            if has > had + ROUNDED_BYTES {
                wrong.push(format!("{:?} has {has} bytes of blocks, its source {had}", OsStr::from_bytes(&listed.path)));
            }
        }
        wrong
    }

    /// Whether a sender has ended this plan with files left out that need not be: that holds for all who come after it.
    fn has_left_something_out(&self, must: &[&[u8]]) -> bool {
        let Some(plan) = self.transfer_plan() else { return false };
        let (_, earlier) = SentJournal::go_on(Some(self.home.sent_journal()), &plan.plan_id, self.proof());
        earlier.left_out.iter().any(|left_out| {
            let left_out = serde_json::to_value(left_out).unwrap();
            let path = left_out["path"].as_str().map(|path| percent::decode(path).unwrap()).unwrap_or_default();
            !must.contains(&&*path)
        })
    }

    pub fn has_failed_chunks(&self) -> bool {
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
    let files = std::fs::read_dir(control.join("chunks")).into_iter().flatten().flatten();
    files.filter_map(|entry| std::fs::read_to_string(entry.path()).ok()).collect()
}
