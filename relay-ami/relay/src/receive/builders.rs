//! A receiver's parts as its tests want them, over a directory.

use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::Receiver;

use cpt_ends_posix::PosixDestination;

use super::commit::{CommitQueue, Verified};
use super::files::{Files, Site};
use super::lanes::Intake;
use crate::digest::Proof;
use crate::documents::attributes::Preserve;
use crate::documents::entry::Kind;
use crate::documents::text::{PlanId, TransferId};
use crate::ends::Destination as _;
use crate::progress::Counters;
use crate::under_way::UnderWay;
use crate::wire::frame::SegmentHeader;

pub const PART: u64 = 1024;

pub fn site(folder: &Path) -> Arc<Site> {
    let (transfer, plan) = (TransferId::new("t").unwrap(), PlanId::new("0".repeat(32)).unwrap());
    let place = PosixDestination::new(folder.to_owned());
    let name = place.to_string();
    let (destination, left) = place.open(&transfer, &plan, PART, Proof::Blake3).unwrap();
    let (capabilities, files) = (destination.capabilities(), Files::going_on_from(left, Proof::Blake3));
    let (disk, counters) = (UnderWay::default(), Counters::default());
    Arc::new(Site { destination, name, capabilities, files, part_bytes: PART, disk, counters })
}

/// Takes chunks into the folder, of a plan of any size; and what comes out of it.
pub fn intake(folder: &Path) -> (Intake, Receiver<Verified>) {
    let (verified, queue) = CommitQueue::new(8, 1 << 20, None);
    let (site, verified) = (site(folder), Arc::new(verified));
    (Intake { site, verified, proof: Proof::Blake3, preserve: Preserve::default(), total_bytes: u64::MAX }, queue)
}

/// A whole file of so many bytes.
pub fn header(entry: u64, path: &str, length: u64) -> SegmentHeader {
    let (path, target, attributes) = (path.as_bytes().to_vec(), Vec::new(), Vec::new());
    SegmentHeader { entry, kind: Kind::File, mode: 0o644, mtime_ns: 0, size: length, offset: 0, length, path, target, attributes }
}
