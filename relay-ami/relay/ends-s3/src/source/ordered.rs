//! A bucket's keys in the order of a walk over a tree.
//!
//! S3 gives keys in the order of their bytes, and there a slash comes after thirty-odd characters that names may have: `a-b`, `a.txt` and
//! then `a/c`. A walk comes to `a/c` first, since it comes to `a` before it comes to `a-b`. So a key is given once it is known that
//! nothing comes after it that begins with one of its own beginnings and a slash, where it has one of those characters itself. Nearly always
//! the page that it lies in knows: keys that follow are beyond that. Where it does not, one request asks for what is there; and if
//! there is more than fits into memory, it is listed by itself, and left out when the bytes' order comes to it.

use std::collections::VecDeque;

use super::keys::Object;
use super::pool::Pool;
use super::ranges::Ranges;

/// Keys that are looked at ahead before a request asks what is below one of their beginnings.
const MOST_READY: usize = 2000;
/// Directories within each other that are listed by themselves, of which the keys ahead stay in memory. They are asked for again in others.
const DEEP: usize = 8;

/// All keys with a prefix, each when its turn comes.
pub struct Ordered<'a> {
    pool: Pool<'a>,
    levels: Vec<Level>,
    /// Those that were looked at before their turn.
    next: VecDeque<Object>,
    most_ready: usize,
}

/// What is listed by itself.
struct Level {
    prefix: String,
    ready: VecDeque<Object>,
    /// What comes after those; none at the end, and while it is lent to what is listed within this.
    rest: Option<Ranges>,
    /// It goes back to the one around this, with what has another prefix.
    is_lent: bool,
    /// The key that was looked at last.
    last: String,
    /// The one that was given last.
    given: String,
    /// Lengths of its beginnings with which and a slash nothing comes any more that has not been given.
    done: Vec<usize>,
}

impl Level {
    const fn new(prefix: String, ready: VecDeque<Object>, rest: Option<Ranges>, is_lent: bool) -> Self {
        Self { prefix, ready, rest, is_lent, last: String::new(), given: String::new(), done: Vec::new() }
    }

    /// Leaves out all that begins with this, without asking for it.
    fn pass(&mut self, prefix: &str) {
        while self.ready.front().is_some_and(|object| object.key.starts_with(prefix)) {
            self.ready.pop_front();
        }
        if self.ready.is_empty()
            && let Some(rest) = &mut self.rest
        {
            rest.pass(&beyond(prefix));
        }
    }

    /// Looks at the first key that is ready: a length of it for which it is not known what comes below that and a slash.
    fn undecided(&mut self) -> Option<usize> {
        let key = &self.ready.front()?.key;
        if *key != self.last {
            let same = key.bytes().zip(self.last.bytes()).take_while(|(one, other)| one == other).count();
            self.done.retain(|length| *length <= same);
            key.clone_into(&mut self.last);
        }
        let from = self.prefix.len();
        let low = key.bytes().enumerate().skip(from).filter(|(_, byte)| *byte < b'/').map(|(at, _)| at);
        low.into_iter().find(|at| !self.done.contains(at))
    }

    /// The beginning of the first key with which and a slash nothing comes any more, where that key itself begins so.
    fn passed(&self) -> Option<String> {
        let key = &self.ready.front()?.key;
        let length = self.done.iter().find(|length| key.as_bytes().get(**length) == Some(&b'/'))?;
        Some(key[..=*length].to_owned())
    }
}

/// A key behind nearly all that begin with `prefix`.
fn beyond(prefix: &str) -> String {
    format!("{prefix}{}", char::MAX)
}

impl<'a> Ordered<'a> {
    pub fn new(pool: &Pool<'a>, prefix: &str) -> Self {
        Self::looking_ahead(pool, prefix, MOST_READY)
    }

    fn looking_ahead(pool: &Pool<'a>, prefix: &str, most_ready: usize) -> Self {
        let rest = Ranges::new(prefix, String::new());
        let levels = vec![Level::new(prefix.to_owned(), VecDeque::new(), Some(rest), false)];
        Self { pool: pool.clone(), levels, next: VecDeque::new(), most_ready }
    }

    pub fn take(&mut self) -> Result<Option<Object>, String> {
        match self.next.pop_front() {
            Some(object) => Ok(Some(object)),
            None => self.find(),
        }
    }

    /// The so-many-th of those whose turn comes.
    pub fn peek(&mut self, number: usize) -> Result<Option<&Object>, String> {
        while self.next.len() <= number {
            match self.find()? {
                Some(object) => self.next.push_back(object),
                None => return Ok(None),
            }
        }
        Ok(self.next.get(number))
    }

    /// Leaves out all that begins with `prefix`, which ends with a slash: what was taken last does.
    pub fn pass(&mut self, prefix: &str) {
        while self.next.front().is_some_and(|object| object.key.starts_with(prefix)) {
            self.next.pop_front();
        }
        if !self.next.is_empty() {
            return;
        }
        // What is listed by itself within it is not gone on with.
        while self.levels.len() > 1 && self.levels.last().is_some_and(|level| level.prefix.starts_with(prefix)) {
            self.leave();
        }
        if let Some(level) = self.levels.last_mut() {
            level.pass(prefix);
        }
    }

    fn find(&mut self) -> Result<Option<Object>, String> {
        loop {
            let Some(level) = self.levels.last_mut() else { return Ok(None) };
            if level.ready.is_empty() {
                if level.rest.is_none() {
                    self.leave();
                } else {
                    self.fetch()?;
                }
                continue;
            }
            let undecided = level.undecided();
            if let Some(prefix) = level.passed() {
                level.pass(&prefix);
            } else if let Some(length) = undecided {
                self.decide(length)?;
            } else {
                let object = level.ready.pop_front();
                if let Some(object) = &object {
                    object.key.clone_into(&mut level.given);
                }
                return Ok(object);
            }
        }
    }

    /// Gets more of what comes next.
    fn fetch(&mut self) -> Result<(), String> {
        let Some(level) = self.levels.last_mut() else { return Ok(()) };
        match level.rest.as_mut().map_or(Ok(None), |rest| rest.next(&self.pool))? {
            Some(more) => level.ready.extend(more),
            None => level.rest = None,
        }
        // What lies in none of those within each other goes to the one around.
        for at in (1..self.levels.len()).rev() {
            let level = &mut self.levels[at];
            let inside = level.ready.partition_point(|object| object.key.starts_with(&level.prefix));
            if !level.is_lent || inside == level.ready.len() {
                break;
            }
            let (others, rest) = (level.ready.split_off(inside), level.rest.take());
            let around = &mut self.levels[at - 1];
            around.ready.extend(others);
            around.rest = rest;
        }
        Ok(())
    }

    /// Goes on with what is around the innermost.
    fn leave(&mut self) {
        if let Some(Level { rest: Some(rest), is_lent: true, .. }) = self.levels.pop()
            && let Some(around) = self.levels.last_mut()
        {
            around.rest = Some(rest);
        }
    }

    /// Finds out what comes below this beginning of the next key and a slash. If anything does, it is its turn.
    fn decide(&mut self, length: usize) -> Result<(), String> {
        let Some(level) = self.levels.last_mut() else { return Ok(()) };
        let below = format!("{}/", &level.last[..length]);
        level.done.push(length);
        let is_deep = self.levels.len() >= DEEP;
        let mut inner = loop {
            let Some(level) = self.levels.last_mut() else { return Ok(()) };
            let at = level.ready.partition_point(|object| object.key < below);
            let end = level.ready.partition_point(|object| object.key < below || object.key.starts_with(&below));
            if end < level.ready.len() || level.rest.is_none() {
                break Level::new(below, level.ready.drain(at..end).collect(), None, false);
            }
            if level.ready.len() < self.most_ready {
                self.fetch()?;
                continue;
            }
            if at < end {
                let inside = level.ready.drain(at..).collect();
                break Level::new(below, inside, level.rest.take(), true);
            }
            let page = self.pool.page(&below, "")?;
            let rest = page.objects.last().filter(|_| !page.is_last).map(|last| Ranges::new(&below, last.key.clone()));
            break Level::new(below, page.objects.into(), rest, false);
        };
        if inner.rest.is_none() && inner.ready.is_empty() {
            return Ok(());
        }
        if let Some(level) = self.levels.last_mut().filter(|_| is_deep) {
            level.ready.clear();
            if inner.is_lent {
                let after = inner.ready.back().map(|last| last.key.clone()).unwrap_or_default();
                (inner.rest, inner.is_lent) = (Some(Ranges::new(&inner.prefix, after)), false);
            }
            level.rest = Some(Ranges::new(&level.prefix, level.given.clone()));
        }
        self.levels.push(inner);
        Ok(())
    }
}

#[cfg(test)]
#[path = "ordered_tests.rs"]
mod tests;
