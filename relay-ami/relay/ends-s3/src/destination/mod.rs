//! A bucket to which objects are written.

mod entity;
mod gathering;
mod large;
mod lines;
mod notes;
mod opened;
mod others;
mod part;
mod path;
mod presence;
mod removal;
mod resuming;
mod room;
mod small;
mod tour;
mod under_way;
mod view;

use std::fmt;
use std::io;

use cpt_ends::{Capabilities, Destination, Left, OpenDestination, Remover, Room, Tour, View};
use cpt_wire::digest::Proof;
use cpt_wire::documents::attributes::Preserve;
use cpt_wire::documents::seat::Seat;
use cpt_wire::documents::text::{DirectoryId, PlanId, TransferId};

use super::client::Bucket;
use opened::Opened;
use removal::BucketRemover;
use tour::{BucketTour, identity};
use view::Sight;

/// Beginning of the names below which receivers keep what those to come need; no entry of a transfer has such a name.
pub const PARTIAL: &str = ".cpt-partial-";

/// Objects that a comparison asks about at once, and ahead: metadata are in no listing.
const COMPARED_AHEAD: usize = 256;

/// Where objects are put.
#[derive(Clone)]
pub struct BucketDestination {
    bucket: Bucket,
    preserve: Preserve,
    seat: Seat,
    has_others: bool,
}

impl BucketDestination {
    #[must_use]
    pub fn new(bucket: Bucket) -> Self {
        Self { bucket, preserve: Preserve::default(), seat: Seat::RECEIVER, has_others: false }
    }

    #[must_use]
    pub const fn bucket(&self) -> &Bucket {
        &self.bucket
    }

    /// The same, of which more than the default is asked.
    #[must_use]
    pub fn preserving(self, preserve: Preserve) -> Self {
        Self { preserve, ..self }
    }

    /// The same for this receiver.
    #[must_use]
    pub fn received_by(self, seat: Seat) -> Self {
        Self { seat, ..self }
    }

    /// The same, to which other receivers write too.
    #[must_use]
    pub fn beside_others(self, has_others: bool) -> Self {
        Self { has_others, ..self }
    }
}

impl fmt::Display for BucketDestination {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.bucket.fmt(formatter)
    }
}

/// What any bucket can do.
const CAPABILITIES: Capabilities = Capabilities {
    parts: true,
    directories: false,
    modes: true,
    time_step_ns: Some(1),
    links: false,
    hard_links: false,
    special_files: false,
    attributes: false,
    holes: false,
};

impl Destination for BucketDestination {
    fn capabilities(&self) -> Capabilities {
        CAPABILITIES
    }

    fn room(&self) -> Room {
        room::room(&self.bucket, self.preserve)
    }

    fn view(&self) -> io::Result<Box<dyn View + '_>> {
        Ok(Box::new(Sight::new(&self.bucket, COMPARED_AHEAD)))
    }

    fn open(&self, transfer: &TransferId, plan: &PlanId, part_size: u64, proof: Proof) -> io::Result<(Box<dyn OpenDestination>, Left)> {
        let (opened, left) = Opened::new(&self.bucket, transfer, (self.seat, self.has_others), (plan, part_size, proof))?;
        Ok((Box::new(opened), left))
    }

    fn tour(&self) -> io::Result<Box<dyn Tour + '_>> {
        Ok(Box::new(BucketTour::new(&self.bucket)?))
    }

    fn remover(&self, directory: &DirectoryId) -> io::Result<Box<dyn Remover>> {
        if identity(self.bucket.place())? != *directory {
            return Err(io::Error::other("what was confirmed is of another bucket or prefix"));
        }
        Ok(Box::new(BucketRemover(self.bucket.clone())))
    }
}
