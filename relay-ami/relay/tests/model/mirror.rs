//! Mirrors: what a destination has and its source does not is listed, confirmed and removed. What goes is exactly what was confirmed and
//! still is what it was.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;

use cpt_relay::control::{Control as _, Seat};
use cpt_relay::documents::command::Overwrite;
use cpt_relay::documents::entry;
use cpt_relay::documents::extras::{Deletion, Extra};
use cpt_relay::documents::percent;
use cpt_relay::documents::survey::{Survey, part_key};
use cpt_relay::documents::text::{DirectoryId, HexDigest, LandingPath};
use cpt_relay::mirror::{Confirmed, Extras, MirrorError};
use cpt_relay::select::Selector;

use crate::bucket::BucketPlace;
use crate::ends::Home;
use crate::interfere::{At, Op};
use crate::planned::Planned;
use crate::planning::LIAR_NAME;
use crate::s3_faults::Fault;
use crate::seen::{Kind, Seen, Tree, above};
use crate::steps::Mirror;
use crate::world::{World, Wrong};

const FOLDER: &str = "extras/1/";
const REMAINING: &str = "remaining/1/";

/// What counts of an extra: its kind, and of all but directories size and time.
type Mark = (Kind, Option<(u64, i64)>);

fn mark(found: &Seen) -> Mark {
    (found.kind, (found.kind != Kind::Directory).then_some((found.size, found.mtime_ns)))
}

impl World {
    pub fn mirror(&mut self, mirror: &Mirror) -> Wrong {
        let Some(current) = self.current.filter(|_| self.intact) else { return Wrong::new() };
        self.tally.count("mirrors");
        if self.home.place.bucket().is_some_and(BucketPlace::has_an_object_above_others) {
            self.tally.count("buckets: with an object and others below its key");
        }
        let look = |world: &Self| {
            let there = world.home.place.as_tree();
            (world.plans[current].extras(&there, &world.home), there)
        };
        let (mut expected, mut before) = look(self);
        if mirror.is_tampered_with && expected.is_empty() {
            self.interfere(At::Destination, Op::Add(current));
            (expected, before) = look(self);
        }
        let survey = self.extras(&self.plans[current]);
        let Survey::Extras { parts, digest, directory, files, directories, symlinks, .. } = &survey else { panic!("{survey:?}") };
        let given: BTreeMap<Vec<u8>, Mark> = self.confirmed(*parts);
        if given.len() as u64 != files + directories + symlinks {
            return vec![format!("a list of {} extras says that it has {files} + {directories} + {symlinks}", given.len())];
        }
        let wanted: BTreeMap<Vec<u8>, Mark> = expected.iter().map(|path| (path.clone(), mark(&before[path]))).collect();
        let text = |path: &Vec<u8>| OsStr::from_bytes(path).display().to_string();
        let mut wrong: Wrong =
            wanted.keys().filter(|path| !given.contains_key(*path)).map(|path| format!("{:?} is extra", text(path))).collect();
        wrong.extend(
            given.iter().filter(|(path, mark)| wanted.get(*path) != Some(mark)).map(|(path, _)| format!("{:?} is none", text(path))),
        );
        if !wrong.is_empty() {
            return wrong;
        }
        if let Some(op) = mirror.between {
            self.tally.count("mirrors: with changes before the removal");
            // Of what is to go, where there is such: it is not what was confirmed any more.
            let files: Vec<&Vec<u8>> = before.iter().filter(|(_, found)| found.kind == Kind::File).map(|(path, _)| path).collect();
            let one = files.iter().position(|path| given.contains_key(*path));
            self.interfere(At::Destination, one.filter(|_| mirror.again).map_or(op, Op::Append));
        }
        let before = self.home.place.as_tree();
        let (digest, directory) = (HexDigest::new(digest).unwrap(), DirectoryId::new(directory).unwrap());
        if mirror.is_tampered_with && *parts > 0 {
            self.tally.count("mirrors: with a list that is another one");
            return self.removed_by_another_list(&before, &digest, &directory, *parts);
        }
        if let Some(bucket) = self.home.place.bucket().filter(|_| !mirror.again) {
            bucket.meet("DeleteObject", 1, Fault::Lost);
        }
        let mut deletion = self.remove(&digest, &directory, *parts).map_err(|error| error.to_string());
        if self.home.place.bucket().is_some_and(BucketPlace::is_well_again) {
            self.tally.count("buckets: removals that were answered to nobody");
        }
        if mirror.again && deletion.is_ok() {
            self.tally.count("mirrors: removed twice");
            deletion = self.remove(&digest, &directory, *parts).map_err(|error| error.to_string());
        }
        match deletion {
            Ok(deletion) => self.check_removed(&before, &given, &deletion),
            Err(error) => vec![format!("nothing is removed: {error}")],
        }
    }

    fn extras(&self, plan: &Planned) -> Survey {
        let Survey::Source { parts, listing_digest, unselected_parts, unselected_digest, .. } = &plan.survey else { panic!() };
        let (control, rules) = (self.home.directory(), plan.wish.rules.clone().unwrap_or_default());
        let selector = Selector::new(&rules.request()).unwrap();
        let within: Option<Vec<LandingPath>> = plan.tops().map(|names| names.iter().map(|name| LandingPath::new(*name).unwrap()).collect());
        let (listing, unselected) =
            (HexDigest::new(listing_digest.as_str()).unwrap(), unselected_digest.clone().map(|hex| HexDigest::new(hex).unwrap()));
        let extras = Extras {
            control: &control,
            prefix: "",
            listing: (*parts, &listing),
            unselected: (*unselected_parts, unselected.as_ref()),
            within: within.as_deref(),
            apart: within.as_deref().unwrap_or_default(),
            above: &plan.wish.above(),
            selector: &selector,
            preserve: self.home.preserve,
            folder: FOLDER,
            overwrite: plan.wish.overwrite,
        };
        extras.list(&*self.home.place.destination()).unwrap()
    }

    /// The list as its lines have it.
    fn confirmed(&self, parts: u64) -> BTreeMap<Vec<u8>, Mark> {
        let text: Vec<u8> = (0..parts).flat_map(|part| self.home.directory().read_object(&part_key(FOLDER, part), None).unwrap()).collect();
        let lines = text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).map(|line| Extra::parse(line).unwrap());
        let kind = |kind| match kind {
            entry::Kind::File | entry::Kind::Hardlink => Kind::File,
            entry::Kind::Directory => Kind::Directory,
            entry::Kind::Symlink => Kind::Link,
            entry::Kind::Special => Kind::Pipe,
        };
        let name = |line: &Extra| {
            let path = percent::decode(&line.path).unwrap();
            if line.kind == entry::Kind::Directory { self.home.place.directory_name(&path) } else { path }
        };
        lines.map(|line| (name(&line), (kind(line.kind), line.mtime_ns.map(|at| (line.size, at))))).collect()
    }

    fn remove(&self, digest: &HexDigest, directory: &DirectoryId, parts: u64) -> Result<Deletion, MirrorError> {
        let control = self.home.directory();
        let epoch = control.key(Seat::RECEIVER).unwrap().map_or(1, |key| key.epoch);
        let remaining_folder = REMAINING;
        let remove = |in_the_way| {
            let confirmed =
                Confirmed { control: &control, prefix: "", folder: FOLDER, parts, digest, directory, epoch, remaining_folder, in_the_way };
            confirmed.remove(&*self.home.place.destination())
        };
        // What is in the way goes first. The second order takes it for gone, since something else is in its place then.
        let first = remove(true)?;
        let mut all = remove(false)?;
        all.entries -= first.remaining.values().sum::<u64>();
        for (reason, count) in first.remaining {
            *all.remaining.entry(reason).or_default() += count;
        }
        Ok(all)
    }

    /// Somebody adds to the list what the source has too: nothing goes then, not even what was confirmed.
    fn removed_by_another_list(&self, before: &Tree, digest: &HexDigest, directory: &DirectoryId, parts: u64) -> Wrong {
        let Some((path, found)) = before.iter().find(|(_, found)| found.kind == Kind::File) else { return Wrong::new() };
        let (control, key) = (self.home.directory(), part_key(FOLDER, parts - 1));
        let (path, kind, size, mtime_ns) = (percent::encode(path), entry::Kind::File, found.size, Some(found.mtime_ns));
        let mut text = control.read_object(&key, None).unwrap();
        text.extend(serde_json::to_vec(&Extra { path, kind, size, mtime_ns, in_the_way: false }).unwrap());
        text.push(b'\n');
        control.write_object(&key, text).unwrap();
        let mut wrong = Wrong::new();
        if let Ok(deletion) = self.remove(digest, directory, parts) {
            wrong.push(format!("a list that nobody has confirmed is obeyed: {deletion:?}"));
        }
        wrong.extend(changes(before, &self.home.place.as_tree(), |_| false));
        wrong
    }

    fn check_removed(&self, before: &Tree, confirmed: &BTreeMap<Vec<u8>, Mark>, deletion: &Deletion) -> Wrong {
        let after = self.home.place.as_tree();
        let may_go = |path: &[u8]| confirmed.get(path).is_some_and(|wanted| before.get(path).is_some_and(|found| mark(found) == *wanted));
        // Where keys alone tell of directories, one goes with the last that is in it.
        let is_told_of = |path: &[u8]| before.get(path).is_some_and(|found| found.kind == Kind::Directory && found.ctime_ns == 0);
        let mut wrong = changes(before, &after, |path| may_go(path) || self.home.place.bucket().is_some() && is_told_of(path));
        wrong.extend(self.check_kept_of_removed(before, &after));
        let stays = |path: &Vec<u8>| after.contains_key(path);
        for path in confirmed.keys().filter(|path| stays(path) && may_go(path)) {
            let below = [path.strip_suffix(b"/").unwrap_or(path), b"/"].concat();
            if !after.keys().any(|other| other != path && other.starts_with(&below)) {
                wrong.push(format!("{:?} was confirmed and stays", OsStr::from_bytes(path)));
            }
        }
        // What cannot be come to is said to have changed: a link or a file is in the place of a directory above it.
        let is_cut_off = |path: &[u8]| {
            let is_other = |above| before.get(above).is_some_and(|found: &Seen| found.kind != Kind::Directory);
            self.home.place.directory().is_some() && above(path).any(is_other)
        };
        let gone = confirmed.keys().filter(|path| !stays(path) && !is_cut_off(path)).count() as u64;
        let remaining: u64 = deletion.remaining.values().sum();
        if (deletion.entries, remaining) != (gone, confirmed.len() as u64 - gone) {
            wrong.push(format!("{gone} of {} are gone, and it says {deletion:?}", confirmed.len()));
        }
        wrong
    }
}

/// What is another one after a removal, or is gone and may not.
fn changes(before: &Tree, after: &Tree, may_go: impl Fn(&[u8]) -> bool) -> Wrong {
    let mut wrong = Wrong::new();
    for (path, was) in before {
        let what = match after.get(path) {
            None if may_go(path) => continue,
            None => "was not confirmed and is gone",
            Some(now) if now.is_like(was) => continue,
            Some(_) => "has changed by a removal",
        };
        wrong.push(format!("{:?} {what}", OsStr::from_bytes(path)));
    }
    let new = after.keys().filter(|path| !before.contains_key(*path));
    wrong.extend(new.map(|path| format!("{:?} has come by a removal", OsStr::from_bytes(path))));
    wrong
}

impl Planned {
    /// Where the sources land; none where what one holds lands at the top.
    fn tops(&self) -> Option<Vec<&'static str>> {
        let own = if self.wish.source == 0 { "source-0" } else { "source-1" };
        let name = self.wish.lands_as.or(self.wish.by_name.then_some(own))?;
        Some([Some(name), self.wish.with_liar.then_some(LIAR_NAME)].into_iter().flatten().collect())
    }

    /// What a destination has and the source does not, as a reader of the documents finds it.
    fn extras(&self, there: &Tree, home: &Home) -> BTreeSet<Vec<u8>> {
        let (with_pipes, place) = (home.preserve.special_files, &home.place);
        let (rules, tops, leading) = (self.wish.rules.clone().unwrap_or_default(), self.tops(), self.wish.above());
        let leads = |path: &[u8]| leading.iter().any(|leading| leading.as_str().as_bytes() == path);
        let (mut extras, mut passed, mut kept, mut replaced) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new(), Vec::new());
        for (name, found) in there {
            let is_directory = found.kind == Kind::Directory;
            let path = if is_directory { name.strip_suffix(b"/").unwrap_or(name) } else { name };
            if above(path).any(|above| passed.contains(above)) {
                continue;
            }
            let listed = self.at(path).map(|listed| listed.kind() == Kind::Directory).or(leads(path).then_some(true));
            // The source has something else there, which cannot come before this has gone.
            let is_replaced = listed.is_some_and(|is_listed_directory| is_listed_directory != is_directory);
            let is_brought = listed.is_some() && !is_replaced;
            // Nothing makes way then.
            let is_kept = is_replaced && self.wish.overwrite == Overwrite::Never;
            let is_top = |path: &[u8]| tops.as_ref().is_none_or(|tops| tops.iter().any(|top| top.as_bytes() == path));
            let is_mirrored = is_top(path) || above(path).any(is_top);
            // What leads to something that is mirrored is gone into, and stays.
            let is_way = is_directory && !is_mirrored && leads(path);
            let is_left_out = self.left_out.contains(path) || !is_brought && rules.leave_out(path, found);
            let is_spared = is_left_out || !is_brought && found.kind == Kind::Pipe && !with_pipes;
            let is_outside = is_directory && !rules.includes(path, true);
            if !is_mirrored || is_spared || is_brought || is_outside || is_kept {
                // All that holds it stays with it.
                kept.extend(above(path).map(|above| place.directory_name(above)));
                kept.insert(name.clone());
            } else {
                extras.insert(name.clone());
            }
            // An object is nothing that holds what is below its name.
            if place.bucket().is_some() && !is_directory {
                continue;
            }
            if !is_mirrored && !is_way || is_spared || !is_directory || is_replaced && is_outside || is_kept {
                passed.insert(path.to_vec());
            }
            if is_mirrored && is_replaced && is_directory && !is_kept {
                replaced.push(name);
            }
        }
        // What cannot be emptied makes no room: nothing that it holds goes.
        for held in replaced.into_iter().filter(|name| kept.contains(*name)) {
            extras.retain(|name| !above(name).any(|above| place.directory_name(above) == *held && name != held));
        }
        &extras - &kept
    }
}
