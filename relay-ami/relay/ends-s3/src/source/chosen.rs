//! Keys that a list names, each asked for by itself: what lies beside them is never listed.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;

use super::heads::Heads;
use super::keys::{Keys, Object, Page};
use super::pending::unasked;
use crate::fault::Meaning;
use cpt_ends::{Each, Halted, Listed};
use cpt_process::thread::lock;
use cpt_wire::documents::selection::Reason;

/// Keys that are asked for together: at 64 requests at once some half a second.
const MOST: usize = 1000;

/// Those of a bucket's objects whose keys are in a list.
pub struct Chosen<'a> {
    heads: &'a dyn Heads,
    /// In the order of their bytes, each once.
    keys: &'a [String],
    missing: Mutex<Missing>,
}

/// What of the list is no object, or none that can be looked at, and why.
#[derive(Default)]
struct Missing {
    gone: BTreeSet<String>,
    unasked: BTreeMap<String, String>,
}

impl<'a> Chosen<'a> {
    pub fn new(heads: &'a dyn Heads, keys: &'a [String]) -> Self {
        Self { heads, keys, missing: Mutex::default() }
    }

    /// Names keys that were asked for in vain.
    pub fn name_missing(&self, prefix: &str, each: Each<'_>) -> Result<(), Halted> {
        let missing = std::mem::take(&mut *lock(&self.missing));
        for key in missing.gone {
            let path = key.strip_prefix(prefix).unwrap_or(&key);
            each(Listed::LeftOut(path.as_bytes().to_vec(), Reason::Gone))?;
        }
        missing.unasked.into_iter().try_for_each(|(key, why)| each(Listed::Problem(key.into_bytes(), why)))
    }
}

impl Keys for Chosen<'_> {
    fn page(&self, prefix: &str, after: &str) -> Result<Page, String> {
        let mut from = self.keys.partition_point(|key| &**key <= after || &**key < prefix);
        let mut page = Page::default();
        // A page may be empty only where it is the last one.
        while page.objects.is_empty() && !page.is_last {
            let rest = self.keys.get(from..).unwrap_or_default();
            let asked: Vec<_> = rest.iter().map(|key| &**key).take_while(|key| key.starts_with(prefix)).take(MOST).collect();
            from += asked.len();
            page.is_last = self.keys.get(from).is_none_or(|next| !next.starts_with(prefix));
            for (key, answer) in asked.iter().zip(self.heads.heads(&asked)) {
                match answer {
                    Ok(head) => page.objects.push(Object {
                        key: (*key).to_owned(),
                        size: head.size,
                        tag: head.tag,
                        modified_ns: head.modified_ns,
                        archived: head.archived,
                    }),
                    Err(fault) if fault.meaning == Meaning::Gone => drop(lock(&self.missing).gone.insert((*key).to_owned())),
                    Err(fault) => drop(lock(&self.missing).unasked.insert((*key).to_owned(), unasked(&fault))),
                }
            }
        }
        Ok(page)
    }
}

#[cfg(test)]
#[path = "chosen_tests.rs"]
mod tests;
