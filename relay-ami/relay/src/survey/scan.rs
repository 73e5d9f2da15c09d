//! Surveys of sources.

use std::collections::BTreeMap;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use crate::VERSION;
use crate::control::{Control, ControlError};
use crate::defaults::{FIRST_PART_LINES, PART_LINES, PROBLEMS_NAMED, UNKEPT_NAMED};
use crate::documents::command::Compress;
use crate::documents::entry::{Kind, ListingEntry};
use crate::documents::percent;
use crate::documents::selection::{Reason, Unselected};
use crate::documents::survey::{Announcement, Problem, Survey, UNSELECTED_FOLDER, listing_key};
use crate::documents::text::SchemaVersion1;
use crate::ends::{Halted, Listed, Source};
use crate::objects::lines::LineObjects;
use crate::survey::sample::Sample;

/// Extended attributes with names that are not told one by one.
const OTHERS: &str = "others";

/// What a scan does besides listing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options<'a> {
    /// Key, below the prefix, of the object that says what is listed so far.
    pub announce: Option<&'a str>,
    /// With `Auto`, it looks how well the data packs.
    pub compress: Compress,
}

impl<'a> Options<'a> {
    /// It says in this object what is listed so far.
    #[must_use]
    pub fn announcing(key: &'a str) -> Self {
        Self { announce: Some(key), ..Self::default() }
    }
}

/// Lists a source into objects `{prefix}listing/part-NNNNN.ndjson`.
pub fn source(source: &dyn Source, control: &dyn Control, prefix: &str, options: Options<'_>) -> Result<Survey, ControlError> {
    let Options { announce, compress } = options;
    let sample = (compress == Compress::Auto).then(Sample::default);
    let so_far = Announcement {
        schema_version: SchemaVersion1,
        daemon_version: VERSION,
        files: 0,
        directories: 0,
        symlinks: 0,
        bytes: 0,
        stored_bytes: 0,
        further_names: 0,
        largest_file_bytes: 0,
        parts: 0,
        listing_digest: String::new(),
        problem_count: 0,
        complete: false,
        kernel: source.kernel(),
        places: source.places(),
    };
    let (lines, largest, problems, digest) = (Vec::new(), String::new(), Vec::new(), blake3::Hasher::new());
    let full = FIRST_PART_LINES;
    let left_out = LineObjects::new(control, format!("{prefix}{UNSELECTED_FOLDER}"));
    let (reasons, unkept) = (BTreeMap::new(), BTreeMap::new());
    let mut listing =
        Listing { control, prefix, announce, lines, count: 0, full, digest, so_far, left_out, reasons, unkept, largest, sample, problems };
    let mut halted = Ok(());
    let mut keep = |error| {
        halted = Err(error);
        Halted
    };
    let _ = source.list(&mut |listed| listing.take(listed).map_err(&mut keep));
    halted?;
    listing.write()?;
    let (unselected_parts, unselected) = listing.left_out.finish()?;
    listing.tell(true)?;
    let Listing { so_far, reasons, unkept, largest, sample, problems, digest, .. } = listing;
    Ok(Survey::Source {
        schema_version: SchemaVersion1,
        daemon_version: VERSION,
        files: so_far.files,
        directories: so_far.directories,
        symlinks: so_far.symlinks,
        skipped: [Reason::Special, Reason::Leftover].iter().filter_map(|reason| reasons.get(reason)).sum(),
        unselected: reasons,
        unkept,
        unselected_parts,
        unselected_digest: (unselected_parts > 0).then(|| unselected.to_hex().to_string()),
        bytes: so_far.bytes,
        stored_bytes: so_far.stored_bytes,
        further_names: so_far.further_names,
        largest_file_bytes: so_far.largest_file_bytes,
        read_mb_s: percent::decode(&largest).ok().and_then(|key| source.read_rate(&key, so_far.largest_file_bytes)),
        packed_share: sample.and_then(|sample| sample.packed_share(source)),
        parts: so_far.parts,
        listing_digest: digest.finalize().to_hex().to_string(),
        kernel: so_far.kernel,
        places: so_far.places,
        problems,
        problem_count: so_far.problem_count,
    })
}

struct Listing<'a> {
    control: &'a dyn Control,
    prefix: &'a str,
    announce: Option<&'a str>,
    lines: Vec<u8>,
    count: usize,
    /// Lines of the object that is begun.
    full: usize,
    digest: blake3::Hasher,
    so_far: Announcement,
    /// What is left out, and how many by the reason.
    left_out: LineObjects<'a>,
    reasons: BTreeMap<Reason, u64>,
    /// Extended attributes that are not kept, and how many entries have them.
    unkept: BTreeMap<String, u64>,
    /// The largest file, as the listing has it.
    largest: String,
    /// None where nobody asks how well it packs.
    sample: Option<Sample>,
    problems: Vec<Problem>,
}

impl Listing<'_> {
    fn take(&mut self, listed: Listed) -> Result<(), ControlError> {
        let so_far = &mut self.so_far;
        match listed {
            Listed::Entry(entry) => {
                match entry.kind {
                    Kind::File => {
                        so_far.files += 1;
                        so_far.bytes += entry.size;
                        so_far.stored_bytes += entry.stored.map_or(entry.size, |stored| stored.min(entry.size));
                        if let Some(sample) = &mut self.sample {
                            sample.take(&entry.source, entry.size);
                        }
                        if entry.size > so_far.largest_file_bytes {
                            (so_far.largest_file_bytes, self.largest) = (entry.size, entry.source.clone());
                        }
                    }
                    Kind::Directory => so_far.directories += 1,
                    Kind::Symlink => so_far.symlinks += 1,
                    // Its bytes are counted by the first name.
                    Kind::Hardlink => {
                        so_far.files += 1;
                        so_far.further_names += 1;
                    }
                    Kind::Special => so_far.files += 1,
                }
                return self.line(&entry);
            }
            Listed::LeftOut(path, reason) => {
                let before = so_far.files + so_far.directories + so_far.symlinks;
                *self.reasons.entry(reason).or_default() += 1;
                return self.left_out.add(&Unselected { path: percent::encode(&path), reason, before });
            }
            Listed::Unkept(names) => {
                for name in names {
                    let name = percent::encode(&name);
                    let is_named = self.unkept.contains_key(&name) || self.unkept.len() < UNKEPT_NAMED;
                    *self.unkept.entry(if is_named { name } else { OTHERS.to_owned() }).or_default() += 1;
                }
            }
            Listed::Problem(path, reason) => {
                so_far.problem_count += 1;
                if self.problems.len() < PROBLEMS_NAMED {
                    self.problems.push(Problem::of(&path, reason));
                }
            }
        }
        Ok(())
    }

    fn line(&mut self, entry: &ListingEntry) -> Result<(), ControlError> {
        let text =
            serde_json::to_vec(entry).map_err(|error| ControlError::Malformed { what: "listing".to_owned(), why: error.to_string() })?;
        self.lines.extend_from_slice(&text);
        self.lines.push(b'\n');
        self.count += 1;
        if self.count < self.full {
            return Ok(());
        }
        self.full = PART_LINES.min(2 * self.full);
        self.write()?;
        self.tell(false)
    }

    fn write(&mut self) -> Result<(), ControlError> {
        if self.count == 0 {
            return Ok(());
        }
        let key = format!("{}{}", self.prefix, listing_key(self.so_far.parts));
        self.so_far.parts += 1;
        self.count = 0;
        self.digest.update(&self.lines);
        self.control.write_object(&key, std::mem::take(&mut self.lines))
    }

    fn tell(&mut self, complete: bool) -> Result<(), ControlError> {
        let Some(key) = self.announce else { return Ok(()) };
        self.so_far.complete = complete;
        self.so_far.listing_digest = self.digest.finalize().to_hex().to_string();
        let text = serde_json::to_vec(&self.so_far)
            .map_err(|error| ControlError::Malformed { what: "announcement".to_owned(), why: error.to_string() })?;
        self.control.write_object(&format!("{}{key}", self.prefix), text)
    }
}

/// A source that cannot be looked at.
#[must_use]
pub fn refused_source(path: &Path, reason: String) -> Survey {
    Survey::Source {
        schema_version: SchemaVersion1,
        daemon_version: VERSION,
        files: 0,
        directories: 0,
        symlinks: 0,
        skipped: 0,
        unselected: BTreeMap::new(),
        unkept: BTreeMap::new(),
        unselected_parts: 0,
        unselected_digest: None,
        bytes: 0,
        stored_bytes: 0,
        further_names: 0,
        largest_file_bytes: 0,
        read_mb_s: None,
        packed_share: None,
        parts: 0,
        listing_digest: blake3::hash(b"").to_hex().to_string(),
        kernel: None,
        places: Vec::new(),
        problems: vec![Problem::of(path.as_os_str().as_bytes(), reason)],
        problem_count: 1,
    }
}
