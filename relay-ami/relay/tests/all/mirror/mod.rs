//! What a destination has and its source does not: found, confirmed, removed.

mod extras;
mod folding;
mod in_the_way;
mod landing;
mod removal;
mod unreadable;

use std::fs::{self, File};
use std::path::PathBuf;
use std::time::{Duration, UNIX_EPOCH};

use cpt_ends_posix::{PosixDestination, PosixSource};
use cpt_laboratory::directory::Directory;
use cpt_laboratory::plan::RANGE_SIZE;
use cpt_relay::control::Control as _;
use cpt_relay::documents::attributes::Preserve;
use cpt_relay::documents::command::Overwrite;
use cpt_relay::documents::extras::{Deletion, Extra};
use cpt_relay::documents::selection::Selection;
use cpt_relay::documents::survey::part_key;
use cpt_relay::documents::text::{DirectoryId, HexDigest, LandingPath};
use cpt_relay::ends::Destination;
use cpt_relay::epoch::PROCESSES_PER_START;
use cpt_relay::mirror::{Confirmed, Extras, MirrorError};
use cpt_relay::select::Selector;
use cpt_relay::survey::scan;
use serde_json::Value;

const FOLDER: &str = "extras/1/";
const REMAINING: &str = "remaining/1/";

/// A source `from`, a destination `to`, and a control plane.
struct World {
    folder: tempfile::TempDir,
    control: Directory,
    /// Source paths, below `from`.
    paths: Vec<&'static str>,
    within: Option<Vec<LandingPath>>,
    /// Where each of the paths lands, if not under its own name.
    lands_as: Vec<Option<&'static str>>,
    above: Vec<LandingPath>,
    selection: Selection,
    special_files: bool,
    list_unreadable: bool,
    overwrite: Overwrite,
}

impl World {
    /// The source's contents are mirrored.
    fn new(source: &[&str], destination: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let control = Directory::open(folder.path().join("control"), RANGE_SIZE, None).unwrap();
        let (paths, selection) = (vec![""], Selection::default());
        let world = Self {
            folder,
            control,
            paths,
            within: None,
            lands_as: Vec::new(),
            above: Vec::new(),
            selection,
            special_files: false,
            list_unreadable: false,
            overwrite: Overwrite::Always,
        };
        for (end, paths) in [("from", source), ("to", destination)] {
            fs::create_dir(world.at(end)).unwrap();
            paths.iter().for_each(|path| world.write(&format!("{end}/{path}")));
        }
        world
    }

    fn selecting(mut self, selection: Value) -> Self {
        self.selection = serde_json::from_value(selection).unwrap();
        self
    }

    fn at(&self, path: &str) -> PathBuf {
        self.folder.path().join(path)
    }

    /// A file; with a slash at its end a directory.
    fn write(&self, path: &str) {
        let at = self.at(path);
        if path.ends_with('/') {
            return fs::create_dir_all(at).unwrap();
        }
        fs::create_dir_all(at.parent().unwrap()).unwrap();
        fs::write(&at, "12345").unwrap();
        File::open(at).unwrap().set_modified(UNIX_EPOCH + Duration::from_secs(1_000_000_000)).unwrap();
    }

    fn destination(&self) -> PosixDestination {
        PosixDestination::new(self.at("to"))
    }

    fn listed(&self) -> Value {
        let paths = self.paths.iter().map(|path| self.at("from").join(path)).collect();
        let preserve = Preserve { special_files: self.special_files, ..Preserve::default() };
        let source =
            PosixSource::new(paths).selecting(self.selection.clone()).preserving(preserve).listing_unreadable(self.list_unreadable);
        let source = source.landing_as(self.lands_as.iter().map(|path| path.map(|path| path.as_bytes().to_vec())));
        serde_json::to_value(scan::source(&source, &self.control, "", scan::Options::default()).unwrap()).unwrap()
    }

    fn survey(&self) -> Result<Value, MirrorError> {
        self.survey_of(&self.listed())
    }

    fn survey_of(&self, listed: &Value) -> Result<Value, MirrorError> {
        self.survey_at(listed, &self.destination())
    }

    fn survey_at(&self, listed: &Value, destination: &dyn Destination) -> Result<Value, MirrorError> {
        let digest = |name: &str| listed[name].as_str().map(|text| HexDigest::new(text).unwrap());
        let (listing, unselected) = (digest("listingDigest").unwrap(), digest("unselectedDigest"));
        let selector = Selector::new(&self.selection).unwrap();
        let extras = Extras {
            control: &self.control,
            prefix: "",
            listing: (listed["parts"].as_u64().unwrap(), &listing),
            unselected: (listed["unselectedParts"].as_u64().unwrap_or_default(), unselected.as_ref()),
            within: self.within.as_deref(),
            apart: self.within.as_deref().unwrap_or_default(),
            above: &self.above,
            selector: &selector,
            preserve: Preserve { special_files: self.special_files, ..Preserve::default() },
            folder: FOLDER,
            overwrite: self.overwrite,
        };
        extras.list(destination).map(|survey| serde_json::to_value(survey).unwrap())
    }

    fn lines(&self, folder: &str, parts: &Value) -> Vec<Vec<u8>> {
        let text = (0..parts.as_u64().unwrap()).flat_map(|part| self.control.read_object(&part_key(folder, part), None).unwrap());
        let text: Vec<u8> = text.collect();
        text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).map(<[u8]>::to_vec).collect()
    }

    /// Paths of the extras, and how many others stay for each reason.
    fn extras(&self) -> (Vec<String>, Value) {
        let survey = self.survey().unwrap();
        let extras = self.lines(FOLDER, &survey["parts"]).iter().map(|line| Extra::parse(line).unwrap().path).collect();
        (extras, survey["spared"].clone())
    }

    fn remove(&self, survey: &Value) -> Result<Deletion, MirrorError> {
        self.remove_from(survey, &self.destination())
    }

    /// Removes what is in the way of what the source has.
    fn make_way(&self, survey: &Value) -> Result<Deletion, MirrorError> {
        self.remove_some(survey, &self.destination(), true)
    }

    fn remove_from(&self, survey: &Value, destination: &dyn Destination) -> Result<Deletion, MirrorError> {
        self.remove_some(survey, destination, false)
    }

    fn remove_some(&self, survey: &Value, destination: &dyn Destination, in_the_way: bool) -> Result<Deletion, MirrorError> {
        let digest = HexDigest::new(survey["digest"].as_str().unwrap()).unwrap();
        let directory = DirectoryId::new(survey["directory"].as_str().unwrap()).unwrap();
        let confirmed = Confirmed {
            control: &self.control,
            prefix: "",
            folder: FOLDER,
            parts: survey["parts"].as_u64().unwrap(),
            digest: &digest,
            directory: &directory,
            epoch: PROCESSES_PER_START,
            remaining_folder: REMAINING,
            in_the_way,
        };
        confirmed.remove(destination)
    }

    /// All that is at the destination.
    fn left(&self) -> Vec<String> {
        let mut found = Vec::new();
        let mut folders = vec![self.at("to")];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
                found.push(entry.path().strip_prefix(self.at("to")).unwrap().to_string_lossy().into_owned());
                if entry.file_type().unwrap().is_dir() {
                    folders.push(entry.path());
                }
            }
        }
        found.sort();
        found
    }
}
