//! A directory of HDFS to which files are written.

mod dress;
mod gathering;
mod joining;
mod large;
mod lines;
mod notes;
mod opened;
mod parts;
mod presence;
mod removal;
mod room;
mod shared;
mod small;
mod stored;
mod tour;
mod trial;
mod view;
mod writing;

use std::fmt;
use std::io;

use cpt_ends::{Capabilities, Destination, Left, OpenDestination, Remover, Room, Tour, View};
use cpt_wire::digest::Proof;
use cpt_wire::documents::attributes::Preserve;
use cpt_wire::documents::seat::Seat;
use cpt_wire::documents::text::{DirectoryId, PlanId, TransferId};

use crate::attributes::Wanted;
use crate::cluster::Cluster;
use crate::path::plain;
use opened::Opened;
use removal::HdfsRemover;
use tour::HdfsTour;
use view::Sight;

/// What is kept of HDFS beside the default of the cluster.
#[derive(Clone, Copy, Debug, Default)]
pub struct Stored {
    /// Replicas of each block; none: what the cluster has for all.
    pub replication: Option<u32>,
    /// Bytes of a block; none: what the cluster has for all.
    pub block_bytes: Option<u64>,
}

/// Where files go.
#[derive(Clone)]
pub struct HdfsDestination {
    cluster: Cluster,
    path: String,
    stored: Stored,
    seat: Seat,
    has_others: bool,
    tried_by: Option<String>,
    into_trash: bool,
    wanted: Wanted,
}

impl HdfsDestination {
    #[must_use]
    pub fn new(cluster: Cluster, path: &str) -> Self {
        let (stored, wanted) = Default::default();
        let (seat, has_others, tried_by, into_trash) = (Seat::RECEIVER, false, None, false);
        Self { cluster, path: plain(path), stored, seat, has_others, tried_by, into_trash, wanted }
    }

    /// The same, whose files go into the user's trash where they are removed.
    #[must_use]
    pub fn into_trash(self, into_trash: bool) -> Self {
        Self { into_trash, ..self }
    }

    /// The same, whose entries are to get these attributes.
    #[must_use]
    pub fn preserving(self, preserve: &Preserve) -> Self {
        Self { wanted: Wanted::of_request(preserve), ..self }
    }

    /// The same, whose room is found out by writing a byte, too: of nobody else of this name at this time.
    #[must_use]
    pub fn tried_by(self, name: String) -> Self {
        Self { tried_by: Some(name), ..self }
    }

    /// The same, whose files are stored so.
    #[must_use]
    pub fn storing(self, stored: Stored) -> Self {
        Self { stored, ..self }
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

impl fmt::Display for HdfsDestination {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}{}", self.cluster, self.path)
    }
}

/// What any cluster can do.
const CAPABILITIES: Capabilities = Capabilities {
    parts: true,
    directories: true,
    modes: true,
    time_step_ns: Some(1_000_000),
    links: false,
    hard_links: false,
    special_files: false,
    attributes: true,
    holes: false,
};

impl Destination for HdfsDestination {
    fn capabilities(&self) -> Capabilities {
        CAPABILITIES
    }

    fn room(&self) -> Room {
        room::room(self)
    }

    fn view(&self) -> io::Result<Box<dyn View + '_>> {
        Ok(Box::new(Sight::new(&self.cluster, &self.path)?))
    }

    fn open(&self, transfer: &TransferId, plan: &PlanId, part_size: u64, proof: Proof) -> io::Result<(Box<dyn OpenDestination>, Left)> {
        let (opened, left) = Opened::new(self, transfer, (plan, part_size, proof))?;
        Ok((Box::new(opened), left))
    }

    fn tour(&self) -> io::Result<Box<dyn Tour + '_>> {
        Ok(Box::new(HdfsTour::begin(&self.cluster, &self.path)?))
    }

    fn remover(&self, directory: &DirectoryId) -> io::Result<Box<dyn Remover>> {
        Ok(Box::new(HdfsRemover::open(&self.cluster, &self.path, directory, self.into_trash)?))
    }
}
