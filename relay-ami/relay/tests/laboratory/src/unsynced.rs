//! A destination that is never synced, for measuring what syncing costs. What it calls delivered may be lost.

use std::collections::BTreeMap;
use std::fmt;
use std::fs::File;
use std::io;

use cpt_relay::digest::{Digest, Proof};
use cpt_relay::documents::text::{DirectoryId, PlanId, TransferId};
use cpt_relay::ends::{Capabilities, Destination, LargeFile, Left, OpenDestination, Placed, Remover, Room, SmallFile, Tour, View};
use cpt_relay::wire::frame::SegmentHeader;

pub struct Unsynced<D>(pub D);

impl<D: Destination> fmt::Display for Unsynced<D> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

impl<D: Destination> Destination for Unsynced<D> {
    fn capabilities(&self) -> Capabilities {
        self.0.capabilities()
    }

    fn room(&self) -> Room {
        self.0.room()
    }

    fn view(&self) -> io::Result<Box<dyn View + '_>> {
        self.0.view()
    }

    fn open(&self, transfer: &TransferId, plan: &PlanId, part_size: u64, proof: Proof) -> io::Result<(Box<dyn OpenDestination>, Left)> {
        let (open, left) = self.0.open(transfer, plan, part_size, proof)?;
        Ok((Box::new(Open(open)), left))
    }

    fn tour(&self) -> io::Result<Box<dyn Tour + '_>> {
        self.0.tour()
    }

    fn remover(&self, directory: &DirectoryId) -> io::Result<Box<dyn Remover>> {
        self.0.remover(directory)
    }
}

struct Open(Box<dyn OpenDestination>);

impl OpenDestination for Open {
    fn capabilities(&self) -> Capabilities {
        self.0.capabilities()
    }

    fn sync(&self) -> io::Result<()> {
        Ok(())
    }

    fn sync_notes(&self) -> io::Result<()> {
        Ok(())
    }

    fn small(&self, header: &SegmentHeader) -> io::Result<Box<dyn SmallFile>> {
        self.0.small(header)
    }

    fn large(&self, header: &SegmentHeader) -> io::Result<(Box<dyn LargeFile>, BTreeMap<u64, Digest>)> {
        self.0.large(header)
    }

    fn directory(&self, header: &SegmentHeader) -> io::Result<()> {
        self.0.directory(header)
    }

    fn note(&self, entry: u64, placed: &Placed) -> io::Result<()> {
        self.0.note(entry, placed)
    }

    fn forget(&self, entry: u64) -> io::Result<()> {
        self.0.forget(entry)
    }

    fn nameless(&self) -> Option<File> {
        self.0.nameless()
    }

    fn abandon(&self, entry: u64) -> io::Result<()> {
        self.0.abandon(entry)
    }

    fn view(&self) -> Box<dyn View + '_> {
        self.0.view()
    }

    fn check_there(&self) -> io::Result<()> {
        self.0.check_there()
    }

    fn finish(&self, removed: &dyn Fn()) -> io::Result<()> {
        self.0.finish(removed)
    }

    fn close(&self) {
        self.0.close();
    }
}
