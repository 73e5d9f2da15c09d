//! A plan as `cpt-relay plan` and the scans make one, with smaller chunks, held against what this model reads of the source and of the
//! destination.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use cpt_ends_posix::PosixSource;
use cpt_laboratory::plan;
use cpt_relay::control::Control as _;
use cpt_relay::documents::attributes::Preserve;
use cpt_relay::documents::command::{Compare, Overwrite};
use cpt_relay::documents::entry;
use cpt_relay::documents::percent;
use cpt_relay::documents::selection::{Links, Selection, Unselected};
use cpt_relay::documents::survey::{Survey, UNSELECTED_FOLDER, part_key};
use cpt_relay::documents::text::TransferId;
use cpt_relay::survey::compare::{Listing, Rule};
use cpt_relay::survey::scan;

use crate::followed::followed;
use crate::interfere::Op;
use crate::planned::{Planned, lines};
use crate::seen::{Kind, Tree, list, seen};
use crate::watched::{Change, Of, Watched};
use crate::wishes::{When, Wish};
use crate::world::{World, Wrong};

/// Says of itself that it has no bytes, and has some, which never change.
const LIAR: &str = "/proc/version";
pub const LIAR_NAME: &str = "version";
const CHANGED: &str = "changed/1/";
const EQUAL: &str = "equal/1/";

/// A source's tree as it lands.
fn landing(tree: &Tree, root: &Path, wish: &Wish) -> Tree {
    let mut landing = Tree::new();
    let followed = if wish.follows { followed(tree, root) } else { tree.clone() };
    let tree = &followed;
    if wish.by_name || wish.lands_as.is_some() {
        let name = wish.lands_as.map_or_else(|| root.file_name().unwrap_or_default().as_bytes(), str::as_bytes).to_vec();
        landing.extend(tree.iter().map(|(path, found)| ([&*name, b"/", path].concat(), found.clone())));
        landing.extend(seen(root).filter(|_| wish.by_name).map(|found| (name, found)));
    } else {
        landing = followed;
    }
    if wish.with_liar {
        landing.extend(seen(Path::new(LIAR)).map(|found| (LIAR_NAME.as_bytes().to_vec(), found)));
    }
    landing
}

impl World {
    pub fn plan(&mut self, wish: &Wish) -> Wrong {
        let mut wish = wish.clone();
        // Without a comparison there is nothing to leave alone, and beside further names a request is refused.
        if wish.compare.is_none() || self.home.preserve.hard_links {
            wish.overwrite = Overwrite::Always;
        }
        let wish = &wish;
        wish.count(&mut self.tally);
        let control = self.home.directory();
        control.clear().unwrap();
        let _ = std::fs::remove_file(self.home.control().join(plan::PLAN_KEY));
        (self.current, self.intact) = (None, false);
        self.unseen.clear();
        let (root, serial) = (self.sources[wish.source].clone(), self.next_serial());
        let mut paths = vec![if wish.by_name { root.clone() } else { root.join("") }];
        paths.extend(wish.with_liar.then(|| PathBuf::from(LIAR)));
        let names: Vec<String> = paths.iter().map(|path| percent::encode(path.as_os_str().as_bytes())).collect();
        control.write_object("sources.json", serde_json::to_vec(&names).unwrap()).unwrap();
        let rules = wish.rules.clone().unwrap_or_default();
        let links = if wish.follows { Links::Follow } else { Links::Keep };
        let selection = Selection { links, ..rules.request() };
        let lands_as = wish.lands_as.map(|path| path.as_bytes().to_vec());
        let source = PosixSource::new(paths.clone()).landing_as([lands_as]).preserving(self.home.preserve).selecting(selection);
        let mut trees = vec![list(&root)];
        let before = landing(&trees[0], &root, wish);
        let survey = match wish.meanwhile {
            Some((When::Listing(at), op)) => {
                let watched = Watched::new(source, root.clone(), Change { of: Of::Listed, at, op, serial });
                scan::source(&watched, &control, "", scan::Options::default()).unwrap()
            }
            _ => scan::source(&source, &control, "", scan::Options::default()).unwrap(),
        };
        let Survey::Source { parts, problem_count, .. } = survey else { panic!("{survey:?}") };
        if problem_count > 0 {
            self.source_changed();
            return Wrong::new();
        }
        trees.push(list(&root));
        let after = landing(&trees[1], &root, wish);
        let change = |when: When, trees: &mut Vec<Tree>| {
            if let Some((_, op)) = wish.meanwhile.filter(|(due, _)| *due == when) {
                let _ = Op::apply(op, &root, serial);
                trees.push(list(&root));
            }
        };
        change(When::Listed, &mut trees);
        let mut selected = rules.select(&before, self.home.preserve.special_files, !wish.follows);
        // They are directories of no source.
        selected.listed.retain(|listed| !wish.above().iter().any(|path| path.as_str().as_bytes() == listed));
        if wish.follows && before.values().any(|found| found.kind == Kind::Link) {
            self.tally.count("plans: that leave links out which lead nowhere");
        }
        let mut planned = Planned::read(&self.home.control(), survey.clone(), wish, &root, &trees);
        planned.listed.iter_mut().for_each(|listed| listed.is_unnamable = self.home.place.refuses(&listed.path));
        let mut wrong = Wrong::new();
        let lives_while_listed = matches!(wish.meanwhile, Some((When::Listing(_), _)));
        if !lives_while_listed {
            wrong.extend(wrongly_listed(&planned, &before, &selected.listed, &self.home.preserve));
        }
        let named = named_as_left_out(&self.home.control(), &survey);
        planned.left_out = left_out(selected.left_out, &named, &before, &after);
        if !lives_while_listed && named != planned.left_out {
            wrong.push(format!("{named:?} is named as left out, and is {:?}", planned.left_out));
        }
        let mut comparison = None;
        if let Some(by) = wish.compare {
            let listing = Listing { control: &control, prefix: "", parts };
            let source = PosixSource::new(paths);
            if by == Compare::Digest {
                listing.digests(&source).unwrap();
            }
            let digested = list(&root);
            change(When::Digested, &mut trees);
            trees.last().into_iter().for_each(|tree| planned.source_changed(&root, tree));
            let (there, destination) = (self.home.place.list(), self.home.place.destination());
            let rule = Rule { overwrite: wish.overwrite, ..by.into() };
            let found = listing.with_destination(&*destination, rule, CHANGED, EQUAL).unwrap();
            let Survey::Comparison { parts, .. } = &found else { panic!("{found:?}") };
            let left = lines(&self.home.control(), CHANGED, *parts);
            wrong.extend(planned.compared(&left, &digested, &there, by, &self.home.place.capabilities(), &self.home.preserve));
            self.count_compared(&planned, by);
            comparison = Some(found);
        } else {
            change(When::Digested, &mut trees);
            trees.last().into_iter().for_each(|tree| planned.source_changed(&root, tree));
        }
        let comparison = comparison.as_ref().map(|found| (found, CHANGED, EQUAL));
        plan::make_of(&control, &TransferId::new("local").unwrap(), &survey, comparison, planned.chunk_bytes(), 2).unwrap();
        planned.is_disturbed = wish.meanwhile.is_some();
        // What is done while this one is made is done to the source of those before it, which may come back.
        if wish.meanwhile.is_some() {
            self.source_changed();
        }
        (self.current, self.intact) = (Some(self.plans.len()), true);
        self.plans.push(planned);
        self.note_contents();
        self.destination_changed(false);
        wrong
    }

    fn count_compared(&mut self, planned: &Planned, by: Compare) {
        let is_file = |listed: &&crate::planned::Listed| listed.entry.kind == entry::Kind::File;
        for listed in planned.listed.iter().filter(is_file) {
            self.tally.count(match (listed.is_planned, by) {
                _ if listed.is_left_alone => "compared: files that are left alone",
                (true, _) => "compared: files that differ",
                (false, Compare::SizeTime) => "compared: files of one size and time",
                (false, Compare::Digest) => "compared: files of one content",
            });
        }
    }
}

/// What was named as left out.
fn named_as_left_out(control: &Path, survey: &Survey) -> BTreeSet<Vec<u8>> {
    let Survey::Source { unselected_parts, .. } = survey else { return BTreeSet::new() };
    let parts = (0..*unselected_parts).flat_map(|part| std::fs::read(control.join(part_key(UNSELECTED_FOLDER, part))).unwrap());
    let text: Vec<u8> = parts.collect();
    let lines = text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    let lines = lines.map(|line| serde_json::from_slice::<Unselected>(line).unwrap());
    lines.map(|line| percent::decode(&line.path).unwrap()).collect()
}

/// What was left out: by the rules, and of what changed while it was listed, what is named. Whether that was come to before or after it
/// changed nobody else can tell.
fn left_out(by_rules: BTreeSet<Vec<u8>>, named: &BTreeSet<Vec<u8>>, before: &Tree, after: &Tree) -> BTreeSet<Vec<u8>> {
    let has_changed = |path: &Vec<u8>| match (before.get(path), after.get(path)) {
        (Some(was), Some(is)) => !is.is_like(was),
        _ => true,
    };
    let unchanged = by_rules.into_iter().filter(|path| !has_changed(path));
    unchanged.chain(named.iter().filter(|path| has_changed(path)).cloned()).collect()
}

/// What the listing has that it should not, or has otherwise than it is.
fn wrongly_listed(planned: &Planned, landing: &Tree, selected: &BTreeSet<Vec<u8>>, preserve: &Preserve) -> Wrong {
    let mut wrong = Wrong::new();
    let listed: BTreeSet<Vec<u8>> = planned.listed.iter().map(|listed| listed.path.clone()).collect();
    let text = |path: &Vec<u8>| OsStr::from_bytes(path).display().to_string();
    wrong.extend(selected.difference(&listed).map(|path| format!("{:?} is selected and not listed", text(path))));
    wrong.extend(listed.difference(selected).map(|path| format!("{:?} is listed and not selected", text(path))));
    for listed in planned.listed.iter().filter(|listed| listed.entry.kind != entry::Kind::Hardlink) {
        let Some(found) = landing.get(&listed.path) else { continue };
        let (entry, attributes) = (&listed.entry, listed.attributes());
        let owner = attributes.owner.map(|owner| (owner.uid, owner.gid));
        let same = found.kind == listed.kind()
            && (found.kind != Kind::File || found.size == entry.size)
            && (found.mode, found.mtime_ns) == (entry.mode, entry.mtime_ns)
            && owner == preserve.owners.map(|_| found.owner)
            && attributes.xattrs == preserve.xattrs.then(|| found.xattrs.clone())
            && attributes.acls == (preserve.acls && found.kind != Kind::Link).then(|| found.acls.clone());
        if !same && !listed.is_liar {
            wrong.push(format!("{:?} is listed as {entry:?} and is {found:?}", text(&listed.path)));
        }
    }
    wrong
}
