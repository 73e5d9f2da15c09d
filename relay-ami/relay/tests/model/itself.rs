//! Transfers whose ends see one directory. The product may refuse them; nothing that was there may change in any case.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::symlink;

use crate::ends::Home;
use crate::place::Place;
use crate::random::Random;
use crate::runs::Came;
use crate::seen::{Kind, Seen, list};
use crate::steps::{Mirror, Run};
use crate::trees;
use crate::wishes::Wish;
use crate::world::{World, Wrong};

impl World {
    pub fn onto_itself(&mut self, seed: u64) -> Wrong {
        let mut random = Random::new(seed);
        let name = format!("itself {}", self.next_serial());
        let path = self.home.path.join(name);
        let tree = path.join("tree");
        trees::make(&tree, seed);
        let how = random.below(3);
        self.tally.count("transfers onto themselves");
        let destination = match how {
            0 => tree.clone(),
            1 => {
                symlink("tree", path.join("link")).unwrap();
                path.join("link")
            }
            _ => tree.join("inner one"),
        };
        let home = Home {
            path,
            attempts: self.home.attempts,
            range_size: self.home.range_size,
            preserve: self.home.preserve,
            place: Place::Directory { path: destination, keeps: false, time_step_ns: 1 },
        };
        let mut world = Self::of(home, vec![tree.clone()], crate::tally::Tally::default());
        world.generation = self.generation;
        let before = list(&tree);
        let wish = Wish { compare: Wish::draw(&mut random, 0).compare, ..Wish::PLAIN };
        let (mut wrong, mut is_refused) = (world.plan(&wish), true);
        if wrong.is_empty() && world.current.is_some() {
            // It need not succeed.
            world.plans.iter_mut().for_each(|plan| plan.is_disturbed = true);
            let came;
            (came, wrong) = world.run(&Run::PLAIN, false);
            is_refused = !matches!(came, Came::Success | Came::LeftOut);
        }
        if wrong.is_empty() && how < 2 && !is_refused {
            wrong = world.mirror(&Mirror { between: None, is_tampered_with: false, again: false });
        }
        let after = list(&tree);
        for (path, was) in &before {
            if !after.get(path).is_some_and(|now| if is_refused { now.is_like(was) } else { has_what_arrives(now, was) }) {
                let now = after.get(path);
                wrong.push(format!("{:?} was {was:?} before it was sent to where it is, and is {now:?}", OsStr::from_bytes(path)));
            }
        }
        wrong
    }
}

/// Owners and attributes arrive only where that is asked for, and the times of directories change with what is put into them.
fn has_what_arrives(now: &Seen, was: &Seen) -> bool {
    let is_same = (now.kind, now.mode & 0o1777, now.digest) == (was.kind, was.mode & 0o1777, was.digest);
    is_same && (was.kind == Kind::Directory || now.mtime_ns == was.mtime_ns)
}
