//! A directory of HDFS that a receiver has open.

use std::collections::{BTreeMap, HashSet};
use std::io;
use std::sync::Arc;
use std::time::Duration;

use cpt_ends::problem::takes_nothing;
use cpt_ends::{Capabilities, Gathered, GoesOn, Heard, InPlace, LargeFile, Left, OpenDestination, Placed, SmallFile, View};
use cpt_process::thread::lock;
use cpt_wire::digest::{Digest, Proof};
use cpt_wire::documents::entry::Kind;
use cpt_wire::documents::seat::Seat;
use cpt_wire::documents::text::{PlanId, TransferId};
use cpt_wire::frame::SegmentHeader;

use super::dress::{Dress, begun_with};
use super::joining::kept_parts;
use super::large::Large;
use super::lines::Line;
use super::parts::digests;
use super::presence::Presence;
use super::shared::Shared;
use super::small::Small;
use super::stored::compare;
use super::view::Sight;
use super::{CAPABILITIES, HdfsDestination};
use crate::fault::{Meaning, in_the_way, of_name_node};
use crate::path::{PARTIAL, below, join, split};

/// From one note of what has come to the next: each is a file, which takes the name node four calls.
const PAUSE: Duration = Duration::from_millis(100);
/// How often all that is not in its place is removed, and how long after one another.
const REMOVALS: u32 = 20;
const REMOVED_AGAIN: Duration = Duration::from_secs(1);
/// Bytes in memory that wait for their place.
const UNSYNCED: u64 = 128 << 20;
/// What is below a directory, for one receiver.
pub struct Opened {
    pub shared: Arc<Shared>,
    presence: Presence,
    /// Earlier processes have put something into its place.
    knew_any: bool,
}

impl Opened {
    pub fn new(to: &HdfsDestination, transfer: &TransferId, (plan, part_size, proof): (&PlanId, u64, Proof)) -> io::Result<(Self, Left)> {
        let folder = join(&to.path, &format!("{PARTIAL}{transfer}"));
        let of = blake3::hash(format!("{plan} {part_size} {}", proof.as_str()).as_bytes()).to_hex();
        let of_plan = join(&folder, &of[..16]);
        let client = to.cluster.client();
        to.cluster.wait(client.mkdirs(&of_plan, 0o755, true)).map_err(|error| of_open(&of_name_node(&error, &of_plan)))?;
        let (shared, known) = Shared::begin(
            (to.cluster.clone(), to.path.clone(), folder.clone(), of_plan.clone()),
            (to.seat, to.has_others),
            part_size,
            to.stored,
        )
        .map_err(|error| of_open(&error))?;
        // Whoever was frozen since it began must not take away what is another one's by now.
        to.cluster.wait(client.get_file_info(&shared.own())).map_err(|error| of_open(&of_name_node(&error, shared.own())))?;
        // What is of another plan is nobody's.
        for other in shared.entries(&folder)?.iter().filter(|found| found.isdir && found.path != of_plan) {
            shared.remove(&other.path)?;
        }
        let mut begun = HashSet::new();
        for found in shared.entries(&join(&of_plan, "parts"))? {
            match split(&found.path).1.parse() {
                Ok(entry) if known.placed.contains(entry) => shared.remove(&found.path)?,
                Ok(entry) => drop(begun.insert(entry)),
                Err(_) => {}
            }
        }
        // Another receiver that gathers takes this one's own folder, and may not live to finish.
        let watched = if to.has_others { folder } else { shared.own() };
        let presence = Presence::new(&to.cluster, &watched);
        let knew_any = !known.placed.is_empty();
        Ok((Self { shared: Arc::new(shared), presence, knew_any }, Left { placed: known.placed, begun }))
    }

    /// The last notes. Where nothing has come, to this process or one before it, nothing stays.
    fn leave(&self) -> io::Result<()> {
        self.shared.flush()?;
        let nothing_came = !self.shared.has_others && !self.knew_any && lock(&self.shared.notes).is_empty();
        if nothing_came && self.shared.entries(&join(&self.shared.of_plan, "parts"))?.is_empty() {
            self.presence.is_over();
            self.shared.withdraw()?;
        }
        Ok(())
    }

    fn path(&self, header: &SegmentHeader) -> io::Result<String> {
        below(&self.shared.root, &header.path)
    }
}

/// Where a receiver is opened, whatever stands against it concerns all that comes.
fn of_open(error: &io::Error) -> io::Error {
    takes_nothing(error.to_string())
}

impl OpenDestination for Opened {
    fn capabilities(&self) -> Capabilities {
        CAPABILITIES
    }

    fn small(&self, header: &SegmentHeader) -> io::Result<Box<dyn SmallFile>> {
        let path = self.path(header)?;
        if header.kind == Kind::File {
            return Ok(Box::new(Small::new(&self.shared, header, path)));
        }
        Err(io::Error::new(io::ErrorKind::InvalidInput, "HDFS has files and directories only"))
    }

    fn large(&self, header: &SegmentHeader) -> io::Result<(Box<dyn LargeFile>, BTreeMap<u64, Digest>)> {
        let path = self.path(header)?;
        match self.shared.cluster.persist(|| self.shared.cluster.client().get_file_info(&path)) {
            Ok(there) if there.isdir => return Err(in_the_way()),
            Err(error) if !matches!(Meaning::of(&error), Meaning::Gone) => return Err(of_name_node(&error, &path)),
            _ => {}
        }
        let kept = kept_parts(&self.shared, header, &path)?;
        Ok((Box::new(Large::new(&self.shared, header, path, kept.clone())), digests(kept)))
    }

    fn directory(&self, header: &SegmentHeader) -> io::Result<()> {
        let (path, client, dress) = (self.path(header)?, self.shared.cluster.client(), Dress::of(header)?);
        let done = self.shared.cluster.wait(async {
            // Where something else is, this says so.
            client.mkdirs(&path, begun_with(header), true).await?;
            dress.put_on(client, &path).await
        });
        done.map_err(|error| of_name_node(&error, &path))
    }

    fn most_unsynced(&self) -> Option<u64> {
        Some(UNSYNCED)
    }

    fn pause(&self) -> Duration {
        PAUSE
    }

    /// What was ended was acknowledged by the data nodes.
    fn sync(&self) -> io::Result<()> {
        Ok(())
    }

    fn note(&self, entry: u64, placed: &Placed) -> io::Result<()> {
        lock(&self.shared.notes).add(&Line::placed(entry, placed, self.shared.sums.get(entry)));
        let mut joined = lock(&self.shared.joined);
        if joined.in_place.remove(&entry) {
            joined.noted.push(entry);
        }
        Ok(())
    }

    fn forget(&self, entry: u64) -> io::Result<()> {
        self.shared.sum(entry, None);
        lock(&self.shared.notes).add(&Line::Forgotten { entry });
        Ok(())
    }

    fn sync_notes(&self) -> io::Result<()> {
        let noted = std::mem::take(&mut lock(&self.shared.joined).noted);
        self.shared.flush()?;
        // What they were made of says no more than the note, and would be wrong once somebody has replaced the file.
        noted.iter().try_for_each(|entry| self.shared.remove(&self.shared.of_entry(*entry)))
    }

    fn abandon(&self, entry: u64) -> io::Result<()> {
        self.shared.remove(&self.shared.of_entry(entry))
    }

    fn view(&self) -> Box<dyn View + '_> {
        Box::new(Sight::opened(&self.shared.cluster, &self.shared.root))
    }

    fn tells_stored(&self) -> bool {
        true
    }

    fn compare_stored(&self, files: &[InPlace<'_>], proof: Proof, heard: Heard<'_>) -> Vec<Result<(), String>> {
        compare(&self.shared, files, proof, heard)
    }

    fn check_there(&self) -> io::Result<()> {
        self.presence.check()
    }

    fn gather(&self, in_doubt: &[Seat], goes_on: GoesOn<'_>) -> io::Result<Gathered> {
        if self.shared.has_others { self.take_over(in_doubt, goes_on) } else { Err(io::ErrorKind::Unsupported.into()) }
    }

    fn finish(&self, removed: &dyn Fn()) -> io::Result<()> {
        self.presence.is_over();
        let mut tries = 1;
        // An answer may be lost, and what is gone is gone.
        while let Err(error) = self.shared.remove(&self.shared.folder) {
            if tries == REMOVALS {
                return Err(error);
            }
            tries += 1;
            removed();
            std::thread::sleep(REMOVED_AGAIN);
        }
        removed();
        Ok(())
    }

    fn close(&self) {
        if let Err(error) = self.leave() {
            tracing::warn!(%error, "the last notes");
        }
    }
}
