//! What has been listed and not given yet: objects whose metadata are asked for, many at once, and what came between them.

use super::heads::{Head, Heads};
use crate::fault::{Fault, Meaning};
use crate::metadata::Kept;
use cpt_ends::{Each, Halted, Listed};
use cpt_wire::documents::attributes::{Attributes, Owner};
use cpt_wire::documents::entry::{Kind, ListingEntry};
use cpt_wire::documents::percent;
use cpt_wire::documents::selection::Reason;

/// Objects that are asked for together: as many as a page brings take half a second, and their keys a megabyte at most.
const MOST: usize = 1000;

/// Why an object could not be asked for. A request that does not bring the key of an object is refused without words.
pub fn unasked(fault: &Fault) -> String {
    let is_locked = fault.status == Some(400);
    if is_locked { "cannot be asked for: it is encrypted with a key of its owner's (SSE-C)".to_owned() } else { fault.to_string() }
}

enum Line {
    Listed(Listed),
    /// An entry with its key. A directory may arrive only with something in it.
    Entry(ListingEntry, String, bool),
}

/// Directories above what was given last that arrive only with something in them.
#[derive(Default)]
pub struct Waiting(Vec<ListingEntry>);

impl Waiting {
    fn give(&mut self, entry: ListingEntry, waits: bool, each: Each<'_>) -> Result<(), Halted> {
        let is_above = |above: &ListingEntry| entry.path.strip_prefix(&above.path).is_some_and(|rest| rest.starts_with('/'));
        self.0.retain(is_above);
        if waits {
            self.0.push(entry);
            return Ok(());
        }
        self.0.drain(..).try_for_each(|above| each(Listed::Entry(above)))?;
        each(Listed::Entry(entry))
    }
}

pub struct Pending<'a> {
    heads: Option<&'a dyn Heads>,
    has_owners: bool,
    lines: Vec<Line>,
}

impl<'a> Pending<'a> {
    pub const fn new(heads: Option<&'a dyn Heads>, has_owners: bool) -> Self {
        Self { heads, has_owners, lines: Vec::new() }
    }

    pub fn add(&mut self, listed: Listed) {
        self.lines.push(Line::Listed(listed));
    }

    pub fn leave_out(&mut self, path: &str, reason: Reason) {
        self.add(Listed::LeftOut(path.as_bytes().to_vec(), reason));
    }

    pub fn entry(&mut self, entry: ListingEntry, key: String, waits: bool) {
        self.lines.push(Line::Entry(entry, key, waits));
    }

    pub const fn is_full(&self) -> bool {
        self.lines.len() >= MOST || self.heads.is_none()
    }

    /// Gives all of it.
    pub fn give(&mut self, waiting: &mut Waiting, each: Each<'_>) -> Result<(), Halted> {
        let lines = std::mem::take(&mut self.lines);
        let keys = lines.iter().filter_map(|line| if let Line::Entry(_, key, _) = line { Some(&**key) } else { None });
        let mut heads = self.heads.map(|heads| heads.heads(&keys.collect::<Vec<_>>()).into_iter());
        for line in lines {
            let (mut entry, waits) = match line {
                Line::Listed(listed) => {
                    each(listed)?;
                    continue;
                }
                Line::Entry(entry, _, waits) => (entry, waits),
            };
            match heads.as_mut().and_then(Iterator::next) {
                None => {}
                Some(Ok(head)) => self.complete(&mut entry, &head),
                Some(Err(fault)) if fault.meaning == Meaning::Gone => {
                    each(Listed::LeftOut(percent::decode(&entry.path).unwrap_or_default(), Reason::Gone))?;
                    continue;
                }
                Some(Err(fault)) => {
                    let key = percent::decode(&entry.source).unwrap_or_default();
                    each(Listed::Problem(key, unasked(&fault)))?;
                    continue;
                }
            }
            waiting.give(entry, waits, each)?;
        }
        Ok(())
    }

    fn complete(&self, entry: &mut ListingEntry, head: &Head) {
        let Kept { mode, mtime_ns, owner } = head.kept;
        // It may be another object by now, and then it is listed as that.
        if entry.kind == Kind::File {
            entry.size = head.size;
        }
        entry.inode = head.tag;
        entry.mtime_ns = mtime_ns.unwrap_or(head.modified_ns);
        entry.mode = mode.unwrap_or(entry.mode);
        if let Some((uid, gid)) = owner.filter(|_| self.has_owners) {
            let owner = Some(Owner { uid, gid, user: None, group: None });
            entry.attributes = Some(Box::new(Attributes { owner, ..Attributes::default() }));
        }
    }
}
