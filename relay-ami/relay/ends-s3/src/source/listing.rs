//! The listing of what lies below a prefix.

use std::collections::BTreeMap;

use super::heads::Heads;
use super::keys::{Keys, Object};
use super::names::{Split, is_partial};
use super::ordered::Ordered;
use super::pending::{Pending, Waiting};
use super::pool::Pool;
use cpt_ends::above::is_kept_under;
use cpt_ends::select::Selector;
use cpt_ends::{Each, Halted, Listed};
use cpt_wire::documents::end::ArchivedRule;
use cpt_wire::documents::entry::{Kind, ListingEntry};
use cpt_wire::documents::percent;
use cpt_wire::documents::selection::Reason;
use cpt_wire::documents::text::KeepName;

/// Of files and directories whose mode nobody has noted.
pub const FILE_MODE: u32 = 0o644;
pub const DIRECTORY_MODE: u32 = 0o755;

/// What is listed, and how.
pub struct Wish<'a> {
    pub selector: &'a Selector,
    /// A name at the top of the destination that nothing may have.
    pub free: Option<&'a KeepName>,
    /// Asked for the metadata of each object; none where nobody wants them.
    pub heads: Option<&'a dyn Heads>,
    pub has_owners: bool,
    /// What becomes of objects that would have to be restored.
    pub archived: ArchivedRule,
}

/// Lists all that has the prefix, as many pages at a time. Fails in words where the bucket does not answer.
pub fn list(keys: &dyn Keys, listers: usize, prefix: &str, wish: &Wish<'_>, each: Each<'_>) -> Result<Result<(), String>, Halted> {
    std::thread::scope(|scope| {
        let pool = if listers > 1 { Pool::begin(keys, scope, listers) } else { Pool::none(keys) };
        list_by(&pool, prefix, wish, each)
    })
}

fn list_by(pool: &Pool<'_>, prefix: &str, wish: &Wish<'_>, each: Each<'_>) -> Result<Result<(), String>, Halted> {
    let mut listing = Listing {
        prefix,
        wish,
        keys: Ordered::new(pool, prefix),
        pending: Pending::new(wish.heads, wish.has_owners),
        waiting: Waiting::default(),
        last: String::new(),
        lone_marker: false,
        archived: Archived::default(),
    };
    let mut halted = Ok(());
    let listed = listing.all(&mut |listed| {
        halted = each(listed);
        halted
    });
    halted?;
    let archived = listing.archived.problem();
    if let (Ok(()), Some((first, why))) = (&listed, archived) {
        each(Listed::Problem(first.into_bytes(), why))?;
    }
    Ok(listed)
}

/// Why a listing has come to no end.
enum Ended {
    Halted,
    Failed(String),
}

impl From<Halted> for Ended {
    fn from(_: Halted) -> Self {
        Self::Halted
    }
}

impl From<String> for Ended {
    fn from(why: String) -> Self {
        Self::Failed(why)
    }
}

struct Listing<'a> {
    prefix: &'a str,
    wish: &'a Wish<'a>,
    keys: Ordered<'a>,
    pending: Pending<'a>,
    waiting: Waiting,
    /// The path that was looked at last.
    last: String,
    /// The next key is a directory's marker in which nothing lies, and a file has its name.
    lone_marker: bool,
    archived: Archived,
}

impl Listing<'_> {
    fn all(&mut self, each: Each<'_>) -> Result<(), String> {
        let mut run = || -> Result<(), Ended> {
            while let Some(object) = self.keys.take()? {
                self.take(object)?;
                if self.pending.is_full() {
                    self.pending.give(&mut self.waiting, each)?;
                }
            }
            Ok(self.pending.give(&mut self.waiting, each)?)
        };
        match run() {
            Err(Ended::Failed(why)) => Err(why),
            Ok(()) | Err(Ended::Halted) => Ok(()),
        }
    }

    fn take(&mut self, object: Object) -> Result<(), String> {
        let is_lone_marker = std::mem::take(&mut self.lone_marker);
        let path = object.key[self.prefix.len()..].to_owned();
        if path.is_empty() {
            // The marker of the prefix itself. Bytes in it have no name.
            if object.size > 0 {
                self.pending.leave_out("/", Reason::NoPath);
            }
            return Ok(());
        }
        let split = Split::of(&path);
        if let Some((above, reason)) = self.above(&split) {
            self.pending.leave_out(above, reason);
            self.keys.pass(&format!("{}{above}/", self.prefix));
            return Ok(());
        }
        path.clone_into(&mut self.last);
        if !split.is_path() || (split.ends_with_slash && (object.size > 0 || is_lone_marker)) {
            self.pending.leave_out(&path, Reason::NoPath);
            return Ok(());
        }
        let kind = if split.ends_with_slash { Kind::Directory } else { Kind::File };
        let selector = self.wish.selector;
        if let Some(reason) = selector.leaves_out(split.path.as_bytes(), Some(kind), object.size, Some(object.modified_ns)) {
            self.pending.leave_out(split.path, reason);
            return Ok(());
        }
        if self.wish.free.is_some_and(|name| is_kept_under(name, split.path.as_bytes())) {
            let why = "lands where $.keepReplaced keeps what is replaced: leave it out with $.select.exclude, or give that another name";
            self.pending.add(Listed::Problem(object.key.into_bytes(), why.to_owned()));
            return Ok(());
        }
        if kind == Kind::File {
            if self.is_below(&object.key)? && !selector.excludes(path.as_bytes(), true) {
                self.pending.leave_out(&path, Reason::NoPath);
                return Ok(());
            }
            if let Some(class) = object.archived {
                match self.wish.archived {
                    ArchivedRule::Restore => {}
                    ArchivedRule::Skip => {
                        self.pending.leave_out(&path, Reason::Archived);
                        return Ok(());
                    }
                    ArchivedRule::Refuse => {
                        self.archived.add(object, class);
                        return Ok(());
                    }
                }
            }
        }
        let waits = kind == Kind::Directory && !selector.includes(split.path.as_bytes(), true);
        self.pending.entry(entry(split.path, kind, &object), object.key, waits);
        Ok(())
    }

    /// The first directory above that has been come to just now and is left out with all that it holds.
    fn above<'p>(&self, split: &Split<'p>) -> Option<(&'p str, Reason)> {
        // What is no path is named key by key, and no rule is asked.
        let found = split.new_above(&self.last).chain(split.ends_with_slash.then_some(split.path)).find_map(|above| {
            let name = above.rsplit('/').next().unwrap_or_default();
            if is_partial(name) {
                return Some((above, Reason::Leftover));
            }
            (Split::of(above).is_path() && self.wish.selector.excludes(above.as_bytes(), true)).then_some((above, Reason::Excluded))
        });
        let is_file = !split.ends_with_slash && is_partial(split.path.rsplit('/').next().unwrap_or_default());
        found.or(is_file.then_some((split.path, Reason::Leftover)))
    }

    /// Whether something lies below a key and a slash: then it is a directory, and can be no file. A marker of a directory alone is left out
    /// itself, since what has content shall not be lost for it.
    fn is_below(&mut self, key: &str) -> Result<bool, String> {
        let below = format!("{key}/");
        let next = self.keys.peek(0)?.filter(|next| next.key.starts_with(&below));
        let Some(next) = next else { return Ok(false) };
        if next.key != below {
            return Ok(true);
        }
        let has_more = self.keys.peek(1)?.is_some_and(|next| next.key.starts_with(&below));
        self.lone_marker = !has_more;
        Ok(has_more)
    }
}

fn entry(path: &str, kind: Kind, object: &Object) -> ListingEntry {
    ListingEntry {
        path: percent::encode(path.as_bytes()),
        source: format!("/{}", percent::encode(object.key.as_bytes())),
        kind,
        size: if kind == Kind::File { object.size } else { 0 },
        mode: if kind == Kind::File { FILE_MODE } else { DIRECTORY_MODE },
        mtime_ns: object.modified_ns,
        inode: object.tag,
        target: None,
        attributes: None,
        basis: false,
        same: false,
        unreadable: false,
        stored: None,
    }
}

/// Objects that have to be restored before they can be read.
#[derive(Default)]
struct Archived {
    first: Option<String>,
    /// Objects and bytes, by storage class.
    classes: BTreeMap<&'static str, (u64, u64)>,
}

impl Archived {
    fn add(&mut self, object: Object, class: &'static str) {
        let (count, bytes) = self.classes.entry(class).or_default();
        (*count, *bytes) = (*count + 1, *bytes + object.size);
        self.first.get_or_insert(object.key);
    }

    /// The first of them, and what is to be done. The control plane reads the numbers of each class, and adds what restoring costs.
    fn problem(self) -> Option<(String, String)> {
        let (count, bytes) = self.classes.values().fold((0, 0), |sum, class| (sum.0 + class.0, sum.1 + class.1));
        let classes: Vec<_> = self.classes.iter().map(|(name, (count, bytes))| format!("{name}: {count} objects, {bytes} bytes")).collect();
        let why = format!("is archived, as are {count} objects of {bytes} bytes in all ({})", classes.join("; "));
        self.first.map(|first| (first, why))
    }
}

#[cfg(test)]
#[path = "listing_tests.rs"]
mod tests;
