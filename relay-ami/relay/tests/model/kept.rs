//! What was there before a run, or before a removal, is in its place or kept: nothing of it is ever lost.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;

use crate::planned::Listed;
use crate::seen::{Kind, Seen, Tree};
use crate::world::{World, Wrong};

/// A destination before a run, or as somebody left it in the midst of one.
pub struct Before {
    pub there: Tree,
    /// What was kept by then.
    pub kept: Tree,
}

impl World {
    /// `living`: files of a source that somebody has written into meanwhile.
    pub fn check_kept(&mut self, before: &Before, after: &Tree, living: &HashSet<u64>) -> Wrong {
        if !self.home.place.keeps() {
            return Wrong::new();
        }
        let kept = self.home.place.kept();
        let is_settled = |found: &Seen| found.kind != Kind::Directory && !living.contains(&found.inode);
        let is_changed = |path: &Vec<u8>, was: &Seen| !kept.get(path).is_some_and(|now| now.is_copy_of(was));
        let changed = before.kept.iter().filter(|(path, was)| is_settled(was) && is_changed(path, was));
        let mut wrong: Wrong = changed.map(|(path, _)| format!("{:?} was kept, and is not what it was", OsStr::from_bytes(path))).collect();
        let mut replaced = 0;
        for (path, was) in before.there.iter().filter(|(_, was)| is_settled(was)) {
            let is_there = after.get(path).is_some_and(|now| now.inode == was.inode && now.digest == was.digest);
            // Of what the transfers bring themselves nothing is lost.
            if is_there || self.is_brought(path, was) {
                continue;
            }
            if is_kept(&kept, path, was) {
                replaced += 1;
            } else {
                let now = after.get(path);
                wrong.push(format!("{:?} was replaced, and is not kept: {was:?} by {now:?}", OsStr::from_bytes(path)));
            }
        }
        if replaced > 0 {
            self.tally.count("runs: that kept what they replaced");
        }
        wrong
    }

    /// The same of what a mirror has removed, which is kept whoever has brought it.
    pub fn check_kept_of_removed(&self, before: &Tree, after: &Tree) -> Wrong {
        if !self.home.place.keeps() {
            return Wrong::new();
        }
        let kept = self.home.place.kept();
        let gone = before.iter().filter(|(path, was)| was.kind != Kind::Directory && !after.contains_key(*path));
        let lost = gone.filter(|(path, was)| !is_kept(&kept, path, was));
        lost.map(|(path, _)| format!("{:?} was removed, and is not kept", OsStr::from_bytes(path))).collect()
    }

    /// Whether a plan has brought this to its place, or may have.
    fn is_brought(&self, path: &[u8], was: &Seen) -> bool {
        let names = self.plans.iter().flat_map(|plan| plan.first_of(path).into_iter().chain([path.to_vec()]).map(move |name| (plan, name)));
        let is_it = |listed: &Listed| listed.contents.contains(&was.digest);
        // Moved by somebody within the second in which it was placed it still is what the transfer has placed.
        let is_moved = || self.home.place.is_coarse() && self.plans.iter().flat_map(|plan| &plan.listed).any(is_it);
        let is_hurried = self.hurried.contains(&was.inode);
        let is_spoiled = self.spoiled.contains(&was.digest) || self.spoiled_files.contains(&was.inode);
        was.kind == Kind::Pipe || is_spoiled || is_hurried || names.filter_map(|(plan, name)| plan.at(&name)).any(is_it) || is_moved()
    }
}

/// Whether it is kept at its path, in one of the transfer's directories.
fn is_kept(kept: &Tree, path: &[u8], was: &Seen) -> bool {
    let is_of = |at: &[u8]| {
        at.strip_suffix(path).is_some_and(|top| top.last() == Some(&b'/') && top[..top.len() - 1].iter().all(|byte| *byte != b'/'))
    };
    kept.iter().any(|(at, now)| {
        is_of(at) && now.kind == was.kind && now.inode == was.inode && now.digest == was.digest && now.mtime_ns == was.mtime_ns
    })
}
