//! Entries that are left out because of a problem of their own, while everything beside them is sent.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use serde::Serialize;

use super::records::LeftOut;
use super::sent_journal::SentJournal;
use crate::control::{Control, ControlError};
use crate::defaults::{PART_LINES, SKIPPED_NAMED, SKIPPED_TEXT_BYTES};
use crate::documents::entry::{Kind, Segment};
use crate::documents::event::SkipReason;
use crate::thread::lock;

/// Entries that are tried once more, with some 300 bytes of each in memory.
const MOST_UNTRIED: usize = 10_000;

/// Why an entry is left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    pub reason: SkipReason,
    pub message: String,
}

/// The entries that are left out. Their numbers are kept of all, paths and messages as far as memory is set aside for them.
#[derive(Default)]
pub struct Skipped {
    state: Mutex<State>,
    /// Where it is noted for senders to come.
    journal: Arc<SentJournal>,
    /// The number of entries in `state`: whoever reads the source asks at every buffer.
    count: AtomicU64,
    /// Entries in a row that this process could not read.
    unread: AtomicU64,
}

#[derive(Default)]
struct State {
    entries: BTreeMap<u64, Entry>,
    /// Paths of those that have further names.
    linked: HashSet<String>,
    text_bytes: usize,
    /// Sizes of the files, as the listing has them.
    bytes: u64,
    /// Those that are not written down for another sender yet; none where there is no other.
    fresh: Option<Vec<LeftOut>>,
    /// What another machine, or an earlier process of this one, could not read, and this one is to try.
    untried: BTreeMap<u64, LeftOut>,
}

struct Entry {
    kind: Kind,
    reason: SkipReason,
    /// Path at the destination, percent-encoded, and message; none beyond `SKIPPED_TEXT_BYTES`.
    told: Option<(String, String)>,
}

/// Count and bytes of the entries that are left out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sum {
    pub entries: u64,
    pub bytes: u64,
}

/// One line of the list, contract `skipped-entry`.
#[derive(Serialize)]
struct Line<'a> {
    entry: u64,
    kind: Kind,
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<&'a str>,
    reason: SkipReason,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<&'a str>,
}

impl State {
    /// The same, unless the source is to blame as another process saw it: then this one is to try, as far as there is room to know that.
    fn take_or_try(&mut self, left_out: LeftOut) -> Option<LeftOut> {
        let is_sources = matches!(left_out.reason, SkipReason::SourceUnreadable | SkipReason::SourceChanged);
        if !is_sources || self.untried.len() >= MOST_UNTRIED {
            return Some(self.take(left_out));
        }
        self.untried.insert(left_out.entry, left_out);
        None
    }

    /// Returns what is to be noted of it, with as much text as there was room for.
    fn take(&mut self, mut left_out: LeftOut) -> LeftOut {
        let LeftOut { entry, kind, reason, .. } = left_out;
        if self.entries.len() < SKIPPED_NAMED {
            tracing::warn!(entry, path = left_out.path, reason = reason.as_str(), message = left_out.message, "left out");
        }
        if left_out.linked {
            self.linked.insert(left_out.path.clone());
        }
        let size = left_out.path.len() + left_out.message.len();
        let told = (!left_out.path.is_empty() && self.text_bytes + size <= SKIPPED_TEXT_BYTES)
            .then(|| (left_out.path.clone(), left_out.message.clone()));
        if told.is_some() {
            self.text_bytes += size;
        } else {
            left_out.message.clear();
            if !left_out.linked {
                left_out.path.clear();
            }
        }
        self.entries.insert(entry, Entry { kind, reason, told });
        self.bytes += left_out.bytes;
        if let Some(fresh) = &mut self.fresh {
            fresh.push(left_out.clone());
        }
        left_out
    }
}

impl Skipped {
    /// With what earlier senders of this seat have left out. `has_others`: it is written down for those of other seats.
    pub fn going_on_from(left_out: Vec<LeftOut>, journal: Arc<SentJournal>, has_others: bool) -> Self {
        let mut state = State { fresh: has_others.then(Vec::new), ..State::default() };
        for one in left_out {
            if has_others {
                state.take_or_try(one);
            } else {
                state.take(one);
            }
        }
        let count = AtomicU64::new(state.entries.len() as u64);
        Self { state: Mutex::new(state), journal, count, unread: AtomicU64::new(0) }
    }

    /// How many entries in a row this process could not read; where others can read them, it is its machine that fails.
    pub fn unread_in_a_row(&self) -> u64 {
        self.unread.load(Ordering::Relaxed)
    }

    /// An entry could be read.
    pub fn was_read(&self) {
        self.unread.store(0, Ordering::Relaxed);
    }

    /// Whether this process has left out something that another machine may be able to read.
    pub fn has_unread(&self) -> bool {
        lock(&self.state).entries.values().any(|entry| entry.reason == SkipReason::SourceUnreadable)
    }

    /// What is to be tried once more before it is left out.
    pub fn untried(&self) -> Vec<u64> {
        lock(&self.state).untried.keys().copied().collect()
    }

    /// All that was untried has been begun, but for what comes no more since there is no room for it: that is left out.
    pub fn tried(&self, comes_again: &BTreeSet<u64>) {
        let mut state = lock(&self.state);
        for (entry, left_out) in std::mem::take(&mut state.untried) {
            if !comes_again.contains(&entry) && !state.entries.contains_key(&entry) {
                let noted = state.take(left_out);
                self.journal.note_left_out(&noted);
            }
        }
        self.count.store(state.entries.len() as u64, Ordering::SeqCst);
    }

    /// Leaves an entry out from now on; the problem that was noted first stays.
    pub fn note(&self, segment: &Segment, reason: SkipReason, message: &str) {
        let mut state = lock(&self.state);
        if state.entries.contains_key(&segment.entry) {
            return;
        }
        if reason == SkipReason::SourceUnreadable {
            self.unread.fetch_add(1, Ordering::Relaxed);
        }
        let noted = state.take(LeftOut::of(segment, reason, message));
        self.journal.note_left_out(&noted);
        self.count.store(state.entries.len() as u64, Ordering::SeqCst);
    }

    /// What has been left out since this was last asked, to be written down for other senders.
    pub fn take_fresh(&self) -> Vec<LeftOut> {
        lock(&self.state).fresh.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Another sender has left these out. What it could not read may be readable here.
    pub fn left_out_elsewhere(&self, left_out: Vec<LeftOut>) {
        let mut state = lock(&self.state);
        for one in left_out {
            if !state.entries.contains_key(&one.entry)
                && let Some(noted) = state.take_or_try(one)
            {
                self.journal.note_left_out(&noted);
            }
        }
        self.count.store(state.entries.len() as u64, Ordering::SeqCst);
    }

    /// Returns whether the file is left out that this is a further name of: what is in its place may be an older one.
    pub fn holds_first_of(&self, segment: &Segment) -> bool {
        segment.kind == Kind::Hardlink
            && self.count.load(Ordering::SeqCst) > 0
            && segment.target.as_ref().is_some_and(|first| lock(&self.state).linked.contains(first))
    }

    /// Returns whether the entry is left out.
    pub fn holds(&self, entry: u64) -> bool {
        self.count.load(Ordering::SeqCst) > 0 && lock(&self.state).entries.contains_key(&entry)
    }

    /// Why the entry is left out; none where it is not.
    pub fn problem(&self, entry: u64) -> Option<Problem> {
        lock(&self.state).entries.get(&entry).map(|entry| Problem {
            reason: entry.reason,
            message: entry.told.as_ref().map(|(_, message)| message.clone()).unwrap_or_default(),
        })
    }

    /// Their numbers, ascending.
    pub fn entries(&self) -> Vec<(u64, SkipReason)> {
        lock(&self.state).entries.iter().map(|(number, entry)| (*number, entry.reason)).collect()
    }

    pub fn sum(&self) -> Sum {
        let state = lock(&self.state);
        Sum { entries: state.entries.len() as u64, bytes: state.bytes }
    }

    /// Writes `{folder}part-NNNNN.ndjson`, all entries ascending.
    pub fn upload(&self, control: &dyn Control, folder: &str) -> Result<(), ControlError> {
        let state = lock(&self.state);
        let mut entries = state.entries.iter().peekable();
        let mut part = 0;
        while entries.peek().is_some() {
            let mut text = Vec::new();
            for (number, entry) in entries.by_ref().take(PART_LINES) {
                let told = entry.told.as_ref();
                let (path, message) = (told.map(|(path, _)| path.as_str()), told.map(|(_, message)| message.as_str()));
                let line = Line { entry: *number, kind: entry.kind, path, reason: entry.reason, message };
                serde_json::to_writer(&mut text, &line)
                    .map_err(|error| ControlError::Malformed { what: format!("entry {number}"), why: error.to_string() })?;
                text.push(b'\n');
            }
            control.write_object(&format!("{folder}part-{part:05}.ndjson"), text)?;
            part += 1;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::digest::Proof;
    use crate::send::builders::{plan, segment};
    use crate::send::noted::sent_journal;

    #[test]
    fn the_first_problem_of_an_entry_is_the_one_that_is_told_and_without_its_path() {
        let skipped = Skipped::default();
        assert_eq!(skipped.problem(3), None);
        skipped.note(&segment(3, "a"), SkipReason::SourceChanged, "/s/a: size was 7");
        skipped.note(&segment(3, "a"), SkipReason::SourceUnreadable, "another");
        assert_eq!(skipped.problem(3), Some(Problem { reason: SkipReason::SourceChanged, message: "size was 7".to_owned() }));
        assert_eq!(skipped.problem(4), None);
        assert_eq!(skipped.sum(), Sum { entries: 1, bytes: 7 });
    }

    #[test]
    fn what_an_earlier_sender_has_left_out_stays_left_out_with_its_reason() {
        let folder = tempfile::tempdir().unwrap();
        let sender = || {
            let file = sent_journal::open(&folder.path().join("send.sent")).unwrap();
            let (journal, earlier) = SentJournal::go_on(Some(file), &plan().plan_id, Proof::Blake3);
            Skipped::going_on_from(earlier.left_out, Arc::new(journal), false)
        };
        let noted = sender();
        noted.note(&segment(3, "a"), SkipReason::SourceChanged, "/s/a: size was 7");
        noted.note(&segment(5, "b"), SkipReason::DestinationRefused, "no room for its name");
        let known = sender();
        assert_eq!((known.entries(), known.sum()), (noted.entries(), noted.sum()));
        assert_eq!([3, 4, 5].map(|entry| known.problem(entry)), [3, 4, 5].map(|entry| noted.problem(entry)));
        known.note(&segment(3, "a"), SkipReason::SourceUnreadable, "another");
        assert_eq!(sender().entries(), noted.entries());
    }

    #[test]
    fn all_numbers_are_kept_and_text_as_far_as_there_is_room_for_it() {
        let skipped = Skipped::default();
        let path = "x".repeat(1 << 20);
        let many = SKIPPED_TEXT_BYTES as u64 / (1 << 20) + 5;
        for entry in 0..many {
            skipped.note(&segment(entry, &path), SkipReason::SourceChanged, "it");
        }
        assert_eq!(skipped.entries().len() as u64, many);
        assert!(lock(&skipped.state).text_bytes <= SKIPPED_TEXT_BYTES);
        assert!(skipped.problem(many - 1).unwrap().message.is_empty());
    }
}
