//! A destination with directories that lead to what arrives and that no source has. Whoever makes one gives it no mode and no time of a
//! source: it is made as the directories above the destination are, and one that is there stays as it is.

use std::collections::BTreeSet;
use std::fmt;
use std::io;

use super::tree::Tree;
use super::{Open, PosixDestination};
use crate::above::leading;
use crate::documents::survey::Survey;
use crate::documents::text::{DirectoryId, LandingPath, PlanId, TransferId};
use crate::ends::{Capabilities, Destination, Left, OpenDestination, Remover, Tour, View};

impl PosixDestination {
    /// The same, where these directories and all above them lead to what arrives.
    #[must_use]
    pub fn making(self, directories: &[LandingPath]) -> Box<dyn Destination> {
        let leading = leading(directories.iter().map(|path| path.as_str().as_bytes()));
        if leading.is_empty() { Box::new(self) } else { Box::new(Making { destination: self, leading }) }
    }

    pub(super) fn open_making(
        &self,
        leading: BTreeSet<Vec<u8>>,
        transfer: &TransferId,
        plan: &PlanId,
        part_size: u64,
    ) -> io::Result<(Box<dyn OpenDestination>, Left)> {
        let tree = Tree::open(&self.0, transfer)?.leading(leading);
        let (open, left) = Open::new(self.0.clone(), tree, plan, part_size)?;
        Ok((Box::new(open), left))
    }
}

struct Making {
    destination: PosixDestination,
    leading: BTreeSet<Vec<u8>>,
}

impl fmt::Display for Making {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.destination.fmt(formatter)
    }
}

impl Destination for Making {
    fn capabilities(&self) -> Capabilities {
        self.destination.capabilities()
    }

    fn survey(&self) -> Survey {
        self.destination.survey()
    }

    fn view(&self) -> io::Result<Box<dyn View + '_>> {
        self.destination.view()
    }

    fn open(&self, transfer: &TransferId, plan: &PlanId, part_size: u64) -> io::Result<(Box<dyn OpenDestination>, Left)> {
        self.destination.open_making(self.leading.clone(), transfer, plan, part_size)
    }

    fn tour(&self) -> io::Result<Box<dyn Tour + '_>> {
        self.destination.tour()
    }

    fn remover(&self, directory: &DirectoryId) -> io::Result<Box<dyn Remover>> {
        self.destination.remover(directory)
    }
}
