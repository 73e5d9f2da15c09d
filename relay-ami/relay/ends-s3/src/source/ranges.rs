//! All keys with a prefix, in the order of their bytes, asked for by many at once.
//!
//! A page says where the next one begins, so that one lister asks for one page after the other. Others begin ahead of it, at keys that are
//! guessed from how close together those lie that have come: S3 takes any key as a beginning. What each of them brings waits until
//! those before it have brought theirs. Where keys lie closer than was guessed, the range is split again, in the earliest range first,
//! since that is the one that everything waits for. A wrong guess costs a request that brings little, and never a key.

use std::collections::VecDeque;
use std::sync::mpsc::{Receiver, Sender, channel};

use super::guess::{Alphabet, Number, common_directory};
use super::keys::{Object, Page};
use super::pool::{Job, Pool};

/// Pages of one range, as far as that can be told.
const PAGES_OF_RANGE: u64 = 5;
/// A range behind one of which nothing has come has twice as many: keys may begin again far away, and one guess should reach that.
const MOST_PAGES: u64 = 80;
/// A range of fewer pages is not split.
const LEAST_SPLIT: f64 = 6.0;
/// Of so many keys of a page one is looked at for its characters.
const LEARNT: usize = 50;
/// Keys that wait for others, for each lister: with 20, 200 000 of some 150 bytes.
const KEYS_AHEAD: usize = 10_000;

pub struct Ranges {
    prefix: String,
    ranges: VecDeque<Range>,
    alphabet: Alphabet,
    sent: Sender<(u64, Result<Page, String>)>,
    came: Receiver<(u64, Result<Page, String>)>,
    /// From one directory to the next.
    jump: Option<Number>,
    /// Ranges that have been begun.
    begun: u64,
    /// Pages that have come; so many listers may be at work at the next time, up to all.
    pages: usize,
    asked: usize,
    waiting: usize,
}

struct Range {
    id: u64,
    /// All up to here has come.
    after: String,
    /// Its last key, if it does not go on to the end.
    until: Option<String>,
    ready: VecDeque<Object>,
    is_asked: bool,
    is_ended: bool,
    /// What a page was wide, here or in the range before it.
    width: Option<Number>,
    /// Of what is split off at its beginning; directories where it begins between two.
    pages: u64,
    /// It begins between directories, and nothing has come of it.
    is_between: bool,
    /// What all keys of the last page begin with, to its last slash.
    directory: String,
}

impl Ranges {
    pub fn new(prefix: &str, after: String) -> Self {
        let (sent, came) = channel();
        let first = Range {
            id: 0,
            after,
            until: None,
            ready: VecDeque::new(),
            is_asked: false,
            is_ended: false,

            width: None,
            pages: PAGES_OF_RANGE,
            is_between: false,
            directory: String::new(),
        };
        Self {
            prefix: prefix.to_owned(),
            ranges: VecDeque::from([first]),
            alphabet: Alphabet::default(),
            jump: None,
            sent,
            came,
            begun: 1,
            pages: 0,
            asked: 0,
            waiting: 0,
        }
    }

    /// The next keys; none at the end.
    pub fn next(&mut self, pool: &Pool<'_>) -> Result<Option<VecDeque<Object>>, String> {
        loop {
            self.ask(pool);
            let Some(first) = self.ranges.front_mut() else { return Ok(None) };
            if !first.ready.is_empty() {
                self.waiting -= first.ready.len();
                return Ok(Some(std::mem::take(&mut first.ready)));
            }
            if first.is_ended {
                self.ranges.pop_front();
                continue;
            }
            let (id, page) = self.came.recv().map_err(|error| error.to_string())?;
            self.take(id, page?);
        }
    }

    /// Leaves out what comes up to this key.
    pub fn pass(&mut self, after: &str) {
        while self.ranges.front().is_some_and(|first| first.until.as_deref().is_some_and(|until| until <= after)) {
            let passed = self.ranges.pop_front();
            self.waiting -= passed.map_or(0, |passed| passed.ready.len());
        }
        if let Some(first) = self.ranges.front_mut() {
            let passed = first.ready.partition_point(|object| &*object.key <= after);
            first.ready.drain(..passed);
            self.waiting -= passed;
            if &*first.after < after {
                after.clone_into(&mut first.after);
            }
        }
    }

    fn take(&mut self, id: u64, page: Page) {
        self.asked -= 1;
        self.pages += 1;
        // Of one that was passed meanwhile.
        let Some(at) = self.ranges.iter().position(|range| range.id == id) else { return };
        let mut objects = VecDeque::from(page.objects);
        let range = &mut self.ranges[at];
        range.is_asked = false;
        let from = self.prefix.len();
        if let (Some(first), Some(last)) = (objects.front(), objects.back()) {
            objects.iter().step_by(LEARNT).chain([last]).for_each(|object| self.alphabet.learn(&object.key[from..]));
            // Behind the end of a directory is the next one.
            if let Some(before) = range.after.strip_suffix(char::MAX)
                && let Some(next) = first.key.rfind('/').map(|at| &first.key[from..=at])
            {
                let [before, next] = [&before[from..], next].map(|directory| self.alphabet.number(directory));
                self.jump = Some(self.alphabet.between(&before, &next));
            }
            range.directory = common_directory(&first.key, &last.key).get(from..).unwrap_or_default().to_owned();
            let [first, last] = [first, last].map(|object| self.alphabet.number(&object.key[from..]));
            (range.width, range.pages, range.is_between) = (Some(self.alphabet.between(&first, &last)), PAGES_OF_RANGE, false);
        }
        // It may have been given some of these by the range before it.
        let passed = objects.partition_point(|object| object.key <= range.after);
        objects.drain(..passed);
        self.give(at, objects, page.is_last);
    }

    /// Gives a range what comes next in it, and the ranges behind it what is theirs, if nothing has come there.
    fn give(&mut self, mut at: usize, mut objects: VecDeque<Object>, is_last: bool) {
        loop {
            let range = &mut self.ranges[at];
            let count = range.until.as_ref().map_or(objects.len(), |until| objects.partition_point(|object| object.key <= *until));
            let rest = objects.split_off(count);
            if let Some(last) = objects.back() {
                last.key.clone_into(&mut range.after);
            }
            self.waiting += objects.len();
            range.ready.append(&mut objects);
            if rest.is_empty() {
                range.is_ended |= is_last || range.until.as_ref().is_some_and(|until| *until <= range.after);
                if is_last {
                    // Those behind it have begun where nothing is.
                    self.ranges.truncate(at + 1);
                }
                return;
            }
            range.is_ended = true;
            let until = range.until.clone();
            at += 1;
            if self.ranges.get(at).is_none_or(|next| Some(&next.after) != until.as_ref()) {
                return;
            }
            objects = rest;
        }
    }

    /// Gives work to those who have none.
    fn ask(&mut self, pool: &Pool<'_>) {
        let most = pool.threads.min(1 + 2 * self.pages);
        while self.asked < most {
            let is_full = self.waiting >= pool.threads * KEYS_AHEAD;
            // Everything waits for the first.
            let rest = self.ranges.iter().position(|range| !range.is_asked && !range.is_ended).filter(|at| *at == 0 || !is_full);
            let Some(at) = rest.or_else(|| if is_full || pool.threads == 1 { None } else { self.split() }) else { return };
            let range = &mut self.ranges[at];
            range.is_asked = true;
            self.asked += 1;
            pool.ask(Job { prefix: self.prefix.clone(), after: range.after.clone(), range: range.id, to: self.sent.clone() });
        }
    }

    /// Begins a range within the earliest one that is large; returns its place.
    fn split(&mut self) -> Option<usize> {
        let (at, middle, width) =
            self.ranges.iter().enumerate().find_map(|(at, range)| Some((at, self.middle(range)?, range.width.clone())))?;
        let range = self.ranges.get_mut(at)?;
        let is_between = range.is_between || middle.ends_with(char::MAX);
        let pages = if is_between && !range.is_between { 1 } else { MOST_PAGES.min(2 * range.pages) };
        let until = range.until.replace(middle.clone());
        let (ready, id) = (VecDeque::new(), self.begun);
        self.begun += 1;
        self.ranges.insert(
            at + 1,
            Range { id, after: middle, until, ready, is_asked: false, is_ended: false, width, pages, is_between, directory: String::new() },
        );
        Some(at + 1)
    }

    /// A key by which a range is split: a few pages ahead in its directory, the end of that, or some directories further on.
    fn middle(&self, range: &Range) -> Option<String> {
        if range.is_ended {
            return None;
        }
        let from = self.prefix.len();
        // A key beyond those with the prefix has none, and nothing to be guessed.
        let after = range.after.get(from..)?;
        let key = if range.is_between {
            self.alphabet.ahead(&self.alphabet.number(after.trim_end_matches(char::MAX)), self.jump.as_ref()?, range.pages)?
        } else {
            self.further_on(range, after)?
        };
        let key = format!("{}{key}", self.prefix);
        (key > range.after && range.until.as_ref().is_none_or(|until| key < *until)).then_some(key)
    }

    fn further_on(&self, range: &Range, after: &str) -> Option<String> {
        let (width, cursor) = (range.width.as_ref()?, self.alphabet.number(after));
        let left = match &range.until {
            Some(until) => self.alphabet.steps(&cursor, &self.alphabet.number(until.get(self.prefix.len()..)?), width)?,
            None => f64::INFINITY,
        };
        if left < LEAST_SPLIT {
            return None;
        }
        let pages = if left < 2.0 * range.pages as f64 { (left / 2.0) as u64 } else { range.pages };
        let key = self.alphabet.ahead(&cursor, width, pages.max(1)).filter(|key| key.starts_with(&range.directory));
        // Nothing says where names begin in the next one.
        key.or_else(|| Some(format!("{}{}", range.directory, char::MAX)).filter(|_| !range.directory.is_empty()))
    }
}

#[cfg(test)]
#[path = "ranges_tests.rs"]
mod tests;
