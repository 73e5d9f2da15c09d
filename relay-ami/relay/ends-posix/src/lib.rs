//! A directory tree of this machine as an end.

#![deny(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used))]

mod answers;
mod attributes;
mod basis;
mod collisions;
mod defaults;
mod disk;
mod file_map;
mod first_names;
mod following;
mod gathering;
mod heads;
mod holes;
mod homes;
mod identity;
mod journal;
mod keep;
mod keeping;
mod listing;
mod mark;
mod measured;
mod mounts;
mod nameless;
mod parent;
mod partial;
mod path_list;
mod placer;
mod readback;
mod removal;
mod renewal;
mod room;
mod roots;
mod shards;
mod source;
mod staging;
mod tour;
mod tree;
mod unkept;
pub mod user;
mod view;
mod whereabouts;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};

use rustix::fs::{self, AtFlags};
use rustix::io::Errno;

pub use keep::Kept;
pub use mark::{is_marked, mark};
pub use nameless::nameless;
pub use room::refused;
pub use roots::{Access, check_kernel, enforce, enforce_hdfs, make, owner, quoted, read_owners_file};
pub use source::PosixSource;
pub use unkept::cannot_keep;

use gathering::Gathering;
use journal::{Known, Parts};
use keep::Keep;
use measured::Measured;
use partial::{Large, Small};
use removal::PosixRemover;
use roots::{Reached, reach};
use tour::PosixTour;
use tree::Tree;
use view::Sight;

use cpt_ends::above::leading;
use cpt_ends::{
    Basis, Capabilities, Destination, Gathered, GoesOn, LargeFile, Left, OpenDestination, Placed, Remover, Room, SmallFile, Tour, View,
};
use cpt_process::thread::lock;
use cpt_wire::digest::{Digest, Proof};
use cpt_wire::documents::seat::Seat;
use cpt_wire::documents::text::{DirectoryId, KeepName, LandingPath, PlanId, TransferId};
use cpt_wire::frame::SegmentHeader;

/// A directory that data goes to.
#[derive(Clone, Debug)]
pub struct PosixDestination {
    path: PathBuf,
    kept: Option<Kept>,
    /// Directories that lead to what arrives, and that no source has.
    leading: BTreeSet<Vec<u8>>,
    /// The receiver's seat, where others write into the directory too.
    seat: Option<Seat>,
}

impl PosixDestination {
    /// By an absolute path.
    #[must_use]
    pub const fn new(path: PathBuf) -> Self {
        Self { path, kept: None, leading: BTreeSet::new(), seat: None }
    }

    /// The same, where these directories and all above them lead to what arrives. Whoever makes one gives it no mode and no time of a
    /// source: it is made as the directories above the destination are, and one that is there stays as it is.
    #[must_use]
    pub fn making(self, directories: &[LandingPath]) -> Self {
        Self { leading: leading(directories.iter().map(|path| path.as_str().as_bytes())), ..self }
    }

    /// The same, of a receiver that has others beside it: files whose parts come to several of them wait until one gathers all.
    #[must_use]
    pub fn beside_others(self, seat: Option<Seat>) -> Self {
        Self { seat, ..self }
    }

    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The same, where what is replaced or removed is kept.
    #[must_use]
    pub fn keeping(self, name: Option<&KeepName>, transfer: &TransferId) -> Self {
        Self { kept: name.map(|name| Kept { name: name.clone(), transfer: transfer.clone() }), ..self }
    }
}

impl fmt::Display for PosixDestination {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.path.display().fmt(formatter)
    }
}

impl Destination for PosixDestination {
    fn capabilities(&self) -> Capabilities {
        let found = reach(self.path.as_os_str().as_bytes());
        found.map_or(Measured::ALL, |found| measured::unseen(&found.directory)).capabilities()
    }

    fn room(&self) -> Room {
        room::room(&self.path, self.kept.as_ref().map(|kept| &kept.name))
    }

    fn view(&self) -> io::Result<Box<dyn View + '_>> {
        Ok(Box::new(Sight::of_path(&self.path)?))
    }

    fn open(&self, transfer: &TransferId, plan: &PlanId, part_size: u64, proof: Proof) -> io::Result<(Box<dyn OpenDestination>, Left)> {
        let tree = Tree::open(&self.path, transfer, self.seat)?.leading(self.leading.clone()).keeping(self.kept.clone())?;
        let (open, left) = Open::new(self.path.clone(), tree, plan, part_size, proof)?;
        Ok((Box::new(open), left))
    }

    fn tour(&self) -> io::Result<Box<dyn Tour + '_>> {
        Ok(Box::new(PosixTour::begin(&self.path)?.sparing(self.kept.as_ref())))
    }

    fn remover(&self, directory: &DirectoryId) -> io::Result<Box<dyn Remover>> {
        Ok(Box::new(PosixRemover::open(&self.path, directory)?.keeping(self.kept.clone())?))
    }
}

/// The directory while a receiver has it.
struct Open {
    path: PathBuf,
    tree: Arc<Tree>,
    /// Parts that earlier receivers left of files of which none has come yet.
    left: Mutex<HashMap<u64, Parts>>,
    plan: PlanId,
    part_size: u64,
    proof: Proof,
}

impl Open {
    fn new(path: PathBuf, tree: Tree, plan: &PlanId, part_size: u64, proof: Proof) -> io::Result<(Self, Left)> {
        let Known { whole: placed, parts, linked, .. } = tree.journal.recall(plan, proof)?;
        *lock(&tree.linked) = linked;
        let (mut kept, mut gone) = (HashMap::new(), false);
        for (entry, parts) in parts {
            // Parts are noted before their file goes to its place. Without all of them it has been taken away.
            let all: Vec<Digest> = parts.digests.values().copied().collect();
            if tree.has_partial(entry) {
                kept.insert(entry, parts);
            } else if let Some(digest) = proof.merge(&all, parts.size, part_size) {
                placed.insert(entry, &Placed { digest, version: None });
            } else {
                tree.journal.forgotten(entry)?;
                gone = true;
            }
        }
        // Before a new partial file can be there, which would be taken for the one of these parts.
        if gone {
            tree.journal.sync()?;
        }
        if let Some(keep) = &tree.keep {
            placed.iter().filter_map(|(_, placed)| placed.version).for_each(|version| keep.placed(&version.into()));
        }
        let left = Left { placed, begun: kept.keys().copied().collect() };
        let (tree, plan) = (Arc::new(tree), plan.clone());
        Ok((Self { path, tree, left: Mutex::new(kept), plan, part_size, proof }, left))
    }

    /// The path leads to the directory that files go to. Whoever moves that away takes the files with it.
    fn check_path(&self) -> io::Result<()> {
        let away = |what| Err(io::Error::other(format!("{what} while the transfer ran; what has arrived is where that is now")));
        match reach(self.path.as_os_str().as_bytes()).and_then(Reached::whole) {
            Ok(found) if of_same_directory(&found, &self.tree.root)? => Ok(()),
            Ok(_) => away("another directory was put in place of the one that was there"),
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
                away("the directory was moved away")
            }
            // Another error says nothing of the directory.
            Err(_) => Ok(()),
        }
    }
}

fn of_same_directory(one: &OwnedFd, other: &OwnedFd) -> io::Result<bool> {
    let (one, other) = (fs::fstat(one)?, fs::fstat(other)?);
    Ok((one.st_dev, one.st_ino) == (other.st_dev, other.st_ino))
}

impl OpenDestination for Open {
    fn capabilities(&self) -> Capabilities {
        self.tree.measured().capabilities()
    }

    fn small(&self, header: &SegmentHeader) -> io::Result<Box<dyn SmallFile>> {
        self.tree.is_for_sources(&header.path)?;
        Ok(Box::new(Small::begin(&self.tree, header)?))
    }

    fn large(&self, header: &SegmentHeader) -> io::Result<(Box<dyn LargeFile>, BTreeMap<u64, Digest>)> {
        self.tree.is_for_sources(&header.path)?;
        // Said before the first byte, not after the last.
        self.tree.is_free(&header.path)?;
        let left = lock(&self.left).remove(&header.entry);
        if let Some(heads) = &self.tree.heads {
            heads.note(&self.plan, header)?;
        }
        let (file, kept) = Large::begin(&self.tree, header, left)?;
        Ok((Box::new(file), kept))
    }

    fn basis(&self, header: &SegmentHeader, fits: &mut dyn FnMut(&dyn Basis) -> bool) -> io::Result<Option<Box<dyn Basis>>> {
        basis::find(&self.tree, header, fits)
    }

    fn in_place(&self, header: &SegmentHeader) -> io::Result<Option<Box<dyn Basis>>> {
        basis::in_place(&self.tree, header)
    }

    fn nameless(&self) -> Option<File> {
        self.tree.journal.nameless()
    }

    fn sync(&self) -> io::Result<()> {
        // Who moved a directory away meanwhile shall not get what belongs in its place.
        lock(&self.tree.parents).clear();
        self.tree.keep.iter().for_each(Keep::forget);
        self.tree.sync()
    }

    fn directory(&self, header: &SegmentHeader) -> io::Result<()> {
        self.tree.is_for_sources(&header.path)?;
        self.tree.directory(&header.path, header.mode, header.mtime_ns, &partial::attributes(header)?)
    }

    fn note(&self, entry: u64, placed: &Placed) -> io::Result<()> {
        self.tree.journal.whole(entry, placed)
    }

    fn forget(&self, entry: u64) -> io::Result<()> {
        self.tree.journal.forgotten(entry)
    }

    fn sync_notes(&self) -> io::Result<()> {
        self.tree.journal.sync()
    }

    fn abandon(&self, entry: u64) -> io::Result<()> {
        lock(&self.left).remove(&entry);
        // Parts of which the partial file is gone would be taken for those of a file in its place.
        self.forget(entry)?;
        self.sync_notes()?;
        self.tree.discard(entry);
        Ok(())
    }

    fn view(&self) -> Box<dyn View + '_> {
        Box::new(Sight::new(self.tree.root.as_fd(), self.tree.staging.syncs_each, Arc::clone(&self.tree.linked)))
    }

    fn is_far(&self) -> bool {
        self.tree.staging.is_far()
    }

    fn check_there(&self) -> io::Result<()> {
        let own = fs::fstat(&self.tree.staging.directory)?;
        let is_own = |found: &fs::Stat| (found.st_dev, found.st_ino) == (own.st_dev, own.st_ino);
        match fs::statat(&self.tree.root, self.tree.own_name(), AtFlags::SYMLINK_NOFOLLOW) {
            Ok(found) if is_own(&found) => self.check_path(),
            Ok(_) | Err(Errno::NOENT) if !self.tree.is_tidied.load(Ordering::SeqCst) => {
                Err(io::Error::other(format!("{} was removed from it while the transfer ran", self.tree.partial_name)))
            }
            // Another error says nothing of the directory.
            Ok(_) | Err(_) => self.check_path(),
        }
    }

    fn kept(&self) -> io::Result<u64> {
        self.tree.keep.as_ref().map_or(Ok(0), Keep::count)
    }

    fn finish(&self, removed: &dyn Fn()) -> io::Result<()> {
        self.tree.remove_partial(removed)
    }

    fn gather(&self, in_doubt: &[Seat], goes_on: GoesOn<'_>) -> io::Result<Gathered> {
        self.sync_notes()?;
        lock(&self.left).clear();
        let Self { tree, plan, part_size, proof, .. } = self;
        Gathering { tree, plan, part_size: *part_size, proof: *proof, in_doubt }.run(goes_on)
    }

    fn close(&self) {
        // Where anything is in it, it stays.
        self.tree.remove_empty();
    }
}
