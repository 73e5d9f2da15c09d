//! The listing of a source's paths.

use std::ffi::OsStr;
use std::fmt::Display;
use std::fs::File;
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;

use rustix::fs::{Access, AtFlags, FileType, Stat, accessat, readlinkat};
use rustix::io::Errno;

use super::collisions::leave_out_collisions;
use super::first_names::FirstNames;
use super::following::{Following, Way};
use super::identity::modified_ns;
use super::keeping;
use super::path_list::PathList;
use super::roots::{Astray, Root, Step};
use super::tree::PARTIAL;
use crate::user::Accounts;
use cpt_ends::Halted;
use cpt_ends::above::{above, is_kept_under, order};
use cpt_ends::select::Selector;
use cpt_ends::{Each, Listed};
use cpt_wire::documents::attributes::Preserve;
use cpt_wire::documents::entry::{Kind, ListingEntry};
use cpt_wire::documents::percent;
use cpt_wire::documents::selection::{Links, Reason, Selection};
use cpt_wire::documents::text::KeepName;

/// Permission to read for everybody.
const READABLE: u32 = 0o444;

/// What is listed, and how.
pub struct Wish<'a> {
    pub selection: &'a Selection,
    pub preserve: &'a Preserve,
    /// Files that cannot be read are no problems of the listing.
    pub list_unreadable: bool,
    /// Entries beneath directories that links lead to, where those are followed.
    pub most_followed: u64,
    /// For first names of files that have no room in memory.
    pub overflow: Option<&'a File>,
    /// A name at the top of the destination that nothing may have.
    pub free: Option<&'a KeepName>,
}

/// A path of the request, and where it lands if not under its own name.
pub type Asked = (PathBuf, Option<Vec<u8>>);

/// Lists what of `paths` is selected, with what of it is to be kept.
pub fn list(paths: &[Asked], selector: &Selector, wish: &Wish<'_>, each: Each<'_>) -> Result<(), Halted> {
    let Wish { selection, preserve, list_unreadable, most_followed, overflow, free } = *wish;
    // All of their names before the first line: nothing may be announced of a listing that is refused.
    let mut brought = Vec::new();
    for (path, lands_as) in paths {
        match Root::open(path).and_then(|root| Ok((root.names()?, root.landing_as(lands_as.clone())))) {
            Ok(((names, leftovers), root)) => {
                leftovers.iter().try_for_each(|name| each(Listed::LeftOut(root.landing(name).into_owned(), Reason::Leftover)))?;
                brought.push((root, names));
            }
            Err(error) => each(problem(path.as_os_str().as_bytes(), error))?,
        }
    }
    leave_out_collisions(&mut brought, each)?;
    let listed = match &selection.paths_from {
        None => None,
        Some(file) => match PathList::read(file.as_str().as_ref(), &brought) {
            Ok(list) => Some(list),
            Err(why) => return each(problem(file.as_str().as_bytes(), format!("$.select.pathsFrom: {why}"))),
        },
    };
    let mut keeping = Keeping {
        preserve,
        list_unreadable,
        accounts: keeping::accounts(preserve),
        links: selection.links,
        first: FirstNames::new(overflow.and_then(|file| file.try_clone().ok())),
    };
    let devices = brought.iter().map(|(root, _)| if selection.one_file_system { root.device().ok() } else { None });
    let numbered = brought.iter().zip(devices).enumerate();
    let tops = numbered.flat_map(|(number, ((root, names), device))| names.iter().map(move |name| (number, root, device, name)));
    let mut tops: Vec<_> = tops.collect();
    // In one order, whatever that of the paths is: so a listing can be read in step with another tree, a line at a time.
    tops.sort_by(|(_, one, _, name), (_, other, _, other_name)| order(&one.landing(name), &other.landing(other_name)));
    let follows = selection.links == Links::Follow;
    let mut following = Following::new(brought.iter().map(|(root, _)| root).collect(), follows.then_some(most_followed));
    for (number, root, device, name) in tops {
        let lands_as = root.landing(name);
        // Directories that no source has are directories all the same: what one holds goes by the rules with it.
        if above(&lands_as).any(|above| selector.excludes(above, true)) {
            each(Listed::LeftOut(lands_as.into_owned(), Reason::Excluded))?;
            continue;
        }
        let mut selected = Selected { root, selector, listed: listed.as_ref(), device, free, waiting: Vec::new() };
        let mut way = Way::new(&mut following, number, root, name.clone());
        while let Some(step) = way.step() {
            match step {
                Step::Entry(stat) if way.follows() && is_link(&stat) => selected.follow(&mut way, list_unreadable, each)?,
                Step::Entry(stat) => selected.take(&mut way, &stat, &mut keeping, each)?,
                Step::Problem(error) => each(selected.without_a_look(&way, &error, list_unreadable))?,
                Step::Broken(error) => each(problem(&way.source(), error))?,
            }
        }
    }
    let missing = listed.iter().flat_map(|list| list.missing(following.roots(), follows));
    missing.into_iter().try_for_each(|path| each(problem(&path, "is named in $.select.pathsFrom; no such file or directory")))
}

/// What is given of a walk.
struct Selected<'a> {
    root: &'a Root,
    selector: &'a Selector,
    listed: Option<&'a PathList>,
    /// The only file system that is listed, where there is but one.
    device: Option<u64>,
    /// What is replaced at the destination is kept there.
    free: Option<&'a KeepName>,
    /// Directories above what was looked at last that arrive only with something in them.
    waiting: Vec<ListingEntry>,
}

impl Selected<'_> {
    /// What is given of an entry that cannot be looked at.
    fn without_a_look(&self, walk: &Way<'_, '_>, error: &std::io::Error, list_unreadable: bool) -> Listed {
        let path = walk.path().into_owned();
        let is_named = self.root.is_at(&path);
        // Whether it is a directory is not known: what a rule says of either is what its owner meant.
        if self.selector.excludes(&path, false) || self.selector.excludes(&path, true) {
            return Listed::LeftOut(path, Reason::Excluded);
        }
        if is_gone(error) && !is_named {
            return Listed::LeftOut(path, Reason::Gone);
        }
        if list_unreadable && !is_named {
            tracing::warn!(path = %OsStr::from_bytes(&path).display(), %error, "is left out");
            return Listed::LeftOut(path, Reason::Unreadable);
        }
        problem(&walk.source(), error)
    }

    /// Goes where a link leads, or says why not. What of it is listed is decided once it is known what it leads to.
    fn follow(&self, walk: &mut Way<'_, '_>, list_unreadable: bool, each: Each<'_>) -> Result<(), Halted> {
        let path = walk.path().into_owned();
        if is_partial(&path) {
            return each(Listed::LeftOut(path, Reason::Leftover));
        }
        if self.listed.is_some_and(|list| !list.has(&path) && !list.leads_to(&path)) {
            return Ok(());
        }
        let astray = match walk.follow() {
            Ok(()) => return Ok(()),
            Err(astray) => astray,
        };
        if let Some(reason) = self.selector.leaves_out_unseen(&path) {
            return each(Listed::LeftOut(path, reason));
        }
        let (reason, why) = match astray {
            Astray::Unreadable(error) => return each(self.without_a_look(walk, &error, list_unreadable)),
            Astray::Outside => (Reason::LinkOutside, "to nothing that lies beneath $.source.paths: name there what it leads to"),
            Astray::Dangling => (Reason::LinkDangling, "to nothing: make what it should lead to"),
            Astray::Loop => (Reason::LinkLoop, "to a directory that it lies in, or to itself: name there what is meant"),
        };
        each(if self.root.is_at(&path) {
            problem(&walk.source(), format!("is a symbolic link, and $.links is \"follow\"; it leads {why}"))
        } else {
            Listed::LeftOut(path, reason)
        })
    }

    fn take(&mut self, walk: &mut Way<'_, '_>, stat: &Stat, keeping: &mut Keeping<'_>, each: Each<'_>) -> Result<(), Halted> {
        let path = walk.path().into_owned();
        let is_named = self.root.is_at(&path);
        if is_partial(&path) {
            walk.pass();
            return each(Listed::LeftOut(path, Reason::Leftover));
        }
        let kind = kind_of(stat, keeping.preserve);
        let is_directory = kind == Some(Kind::Directory);
        let named = self.listed.is_none_or(|list| list.has(&path));
        let leads = is_directory && self.listed.is_some_and(|list| list.leads_to(&path));
        if !named && !leads {
            walk.pass();
            return Ok(());
        }
        let size = u64::try_from(stat.st_size).unwrap_or_default();
        if let Some(reason) = self.selector.leaves_out(&path, kind, size, modified_ns(stat)) {
            walk.pass();
            return each(Listed::LeftOut(path, reason));
        }
        if self.free.is_some_and(|name| is_kept_under(name, &path)) {
            walk.pass();
            let why = "lands where $.keepReplaced keeps what is replaced: leave it out with $.select.exclude, or give that another name";
            return each(problem(&walk.source(), why));
        }
        let Some(kind) = kind else {
            return each(if is_named { problem(&walk.source(), no_kind(stat)) } else { Listed::LeftOut(path, Reason::Special) });
        };
        let Some(mut found) = entry(walk, stat, kind, keeping, each)? else { return Ok(()) };
        let is_beyond = is_directory && self.device.is_some_and(|device| device != stat.st_dev);
        if is_directory && !is_beyond && keeping.list_unreadable && !is_named {
            match walk.enter() {
                Ok(()) => {}
                Err(error) if is_gone(&error) => return gone(walk, each).map(drop),
                Err(error) => {
                    tracing::warn!(path = found.path, %error, "is left out");
                    found.unreadable = true;
                }
            }
        }
        let encoded = found.path.as_bytes();
        self.waiting.retain(|above| encoded.strip_prefix(above.path.as_bytes()).is_some_and(|rest| rest.starts_with(b"/")));
        // What cannot be looked into may hold something of what is selected.
        if is_directory && !found.unreadable && !(named && self.selector.includes(&path, true)) {
            self.waiting.push(found);
        } else {
            self.waiting.drain(..).try_for_each(|above| each(Listed::Entry(above)))?;
            each(Listed::Entry(found))?;
        }
        if is_beyond {
            walk.pass();
            return each(Listed::LeftOut(path, Reason::OtherFileSystem));
        }
        Ok(())
    }
}

/// Whether the last name is that of partial files.
fn is_partial(path: &[u8]) -> bool {
    path.rsplit(|byte| *byte == b'/').next().is_some_and(|name| name.starts_with(PARTIAL))
}

fn is_link(stat: &Stat) -> bool {
    FileType::from_raw_mode(stat.st_mode) == FileType::Symlink
}

fn is_gone(error: &std::io::Error) -> bool {
    [Errno::NOENT, Errno::STALE].iter().any(|errno| error.raw_os_error() == Some(errno.raw_os_error()))
}

/// Returns the kind that this is listed as; none of a pipe, socket or device that is not kept.
fn kind_of(stat: &Stat, preserve: &Preserve) -> Option<Kind> {
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => Some(Kind::File),
        FileType::Directory => Some(Kind::Directory),
        FileType::Symlink => Some(Kind::Symlink),
        _ => preserve.special_files.then_some(Kind::Special),
    }
}

/// Why a path that the request names is not moved.
fn no_kind(stat: &Stat) -> String {
    let what = named(FileType::from_raw_mode(stat.st_mode));
    format!("is a {what}, and no file, directory or link: name one of these, or ask for preserve.specialFiles")
}

/// What is kept besides bytes, modes and times.
struct Keeping<'a> {
    preserve: &'a Preserve,
    list_unreadable: bool,
    accounts: Option<Accounts>,
    links: Links,
    /// Where the first names of files land that have several.
    first: FirstNames,
}

impl Keeping<'_> {
    /// Returns where the first name of this file lands, if this is another one.
    fn first(&mut self, stat: &Stat, path: &str) -> Option<String> {
        #[allow(clippy::useless_conversion, reason = "on arm64 it has 32 bits")]
        let names = u64::from(stat.st_nlink);
        if !self.preserve.hard_links || names < 2 || FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
            return None;
        }
        // A link that is followed brings a name that the file does not count.
        let names = if self.links == Links::Follow { u64::MAX } else { names };
        self.first.first((stat.st_dev, stat.st_ino), names, path)
    }
}

fn entry(walk: &Way<'_, '_>, stat: &Stat, kind: Kind, keeping: &mut Keeping<'_>, each: Each<'_>) -> Result<Option<ListingEntry>, Halted> {
    let (source, (directory, name)) = (walk.source(), walk.place());
    let (mode, path) = (stat.st_mode & 0o7777, percent::encode(&walk.path()));
    let Some(mtime_ns) = modified_ns(stat) else {
        let why =
            format!("its modification time, {} s from 1970, is not within 1677-09-21 and 2262-04-11: set it with touch", stat.st_mtime);
        return each(problem(&source, why)).map(|()| None);
    };
    if let Some(first) = keeping.first(stat, &path) {
        let (inode, source) = (stat.st_ino, percent::encode(&source));
        let (kind, target) = (Kind::Hardlink, Some(first));
        return Ok(Some(ListingEntry {
            path,
            source,
            kind,
            size: 0,
            mode,
            mtime_ns,
            inode,
            target,
            attributes: None,
            basis: false,
            same: false,
            unreadable: false,
            stored: None,
        }));
    }
    let mut target = None;
    match kind {
        // What everybody may read needs no second look.
        Kind::File if mode & READABLE != READABLE && !keeping.list_unreadable => {
            match accessat(directory, name, Access::READ_OK, AtFlags::empty()) {
                Ok(()) => {}
                Err(Errno::NOENT) => return gone(walk, each),
                Err(error) => each(problem(&source, std::io::Error::from(error)))?,
            }
        }
        Kind::File | Kind::Directory | Kind::Hardlink | Kind::Special => {}
        Kind::Symlink => match readlinkat(directory, name, Vec::new()) {
            Ok(found) => target = Some(percent::encode(found.as_bytes())),
            Err(Errno::NOENT | Errno::INVAL) => return gone(walk, each),
            Err(error) => return each(problem(&source, std::io::Error::from(error))).map(|()| None),
        },
    }
    let attributes = match keeping::read(&directory, name, stat, keeping.preserve, keeping.accounts.as_ref()) {
        Ok(attributes) => attributes,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return gone(walk, each),
        Err(error) => return each(problem(&source, error)).map(|()| None),
    };
    match keeping::unkept(&directory, name, keeping.preserve) {
        Ok(unkept) if !unkept.is_empty() => each(Listed::Unkept(unkept))?,
        // What cannot be asked for was told above.
        Ok(_) | Err(_) => {}
    }
    let is_sparse = attributes.as_ref().is_some_and(|attributes| attributes.sparse);
    let stored = is_sparse.then(|| u64::try_from(stat.st_blocks).unwrap_or_default().saturating_mul(512));
    Ok(Some(ListingEntry {
        path,
        source: percent::encode(&source),
        kind,
        size: if kind == Kind::File { u64::try_from(stat.st_size).unwrap_or_default() } else { 0 },
        mode,
        mtime_ns,
        inode: stat.st_ino,
        target,
        attributes,
        basis: false,
        same: false,
        unreadable: false,
        stored,
    }))
}

/// It has vanished, or has become something else, since it was looked at.
fn gone(walk: &Way<'_, '_>, each: Each<'_>) -> Result<Option<ListingEntry>, Halted> {
    each(Listed::LeftOut(walk.path().into_owned(), Reason::Gone)).map(|()| None)
}

const fn named(kind: FileType) -> &'static str {
    match kind {
        FileType::Fifo => "pipe",
        FileType::Socket => "socket",
        FileType::CharacterDevice | FileType::BlockDevice => "device",
        _ => "thing of unknown kind",
    }
}

pub fn problem(path: &[u8], reason: impl Display) -> Listed {
    Listed::Problem(path.to_vec(), reason.to_string())
}
