//! What has come to all receivers of a transfer together.

use std::collections::BTreeMap;

use crate::entry_table::EntryTable;
use crate::{LargeFile, Placed};
use cpt_wire::digest::Digest;
use cpt_wire::frame::SegmentHeader;

/// What all receivers of one plan have left at a destination, once nobody else writes there any more.
#[derive(Default)]
pub struct Gathered {
    pub placed: EntryTable<Placed>,
    /// Large files that are not in their places.
    pub begun: Vec<Begun>,
    /// Bytes that were copied, since somebody who is not known to be gone may still write into the files that he knew.
    pub copied: u64,
}

/// A large file of which some parts are there.
pub struct Begun {
    pub header: SegmentHeader,
    pub file: Box<dyn LargeFile>,
    /// The digests of its parts, by their numbers.
    pub parts: BTreeMap<u64, Digest>,
}
