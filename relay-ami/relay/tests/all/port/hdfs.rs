//! HDFS for the suites of both ends.

use cpt_ends_hdfs::cluster::Cluster;
use cpt_ends_hdfs::destination::HdfsDestination;
use cpt_ends_hdfs::source::{Asked, HdfsSource};
use cpt_relay::documents::seat::Seat;
use cpt_relay::ends::{Destination, Source};

use super::hadoop::{Directory, USER};
use super::site::Site;
use super::source::Field;

/// A directory as a destination.
pub struct Hdfs {
    pub directory: Directory,
    pub end: HdfsDestination,
}

impl Hdfs {
    pub fn new() -> Option<Self> {
        let directory = Directory::new()?;
        let end = HdfsDestination::new(cluster(&directory), &directory.path);
        Some(Self { directory, end })
    }

    /// As one of several receivers has it.
    pub fn shared(&self, seat: Seat) -> HdfsDestination {
        HdfsDestination::new(cluster(&self.directory), &self.directory.path).received_by(seat).beside_others(true)
    }
}

fn cluster(directory: &Directory) -> Cluster {
    Cluster::of(&directory.of.configuration, USER, None).unwrap()
}

impl Site for Hdfs {
    fn destination(&self) -> &dyn Destination {
        &self.end
    }

    fn put(&self, path: &str, bytes: &[u8]) {
        let seconds = self.directory.time(path).map_or(1, |milliseconds| milliseconds / 1000);
        self.directory.write(path, bytes, seconds);
    }

    fn remove(&self, path: &str) {
        self.directory.remove(path);
    }

    /// Its parts are removed.
    fn replace_unfinished(&self, entry: u64) {
        let partial = ".cpt-partial-t";
        let plan = self.directory.names(partial).pop().unwrap();
        self.directory.remove(&format!("{partial}/{plan}/parts/{entry}"));
    }

    fn fill_up(&self) -> bool {
        false
    }

    fn is_tidy(&self) -> bool {
        self.directory.names("").iter().all(|name| !name.starts_with(".cpt-partial-"))
    }
}

/// A directory as a source.
pub struct OfHdfs(pub Directory, pub HdfsSource);

impl OfHdfs {
    pub fn new() -> Option<Self> {
        Directory::new().map(Self::of)
    }

    pub fn of(directory: Directory) -> Self {
        let asked = Asked { path: format!("{}/", directory.path), lands_as: None };
        let source = HdfsSource::new(cluster(&directory), vec![asked]);
        Self(directory, source)
    }
}

impl Field for OfHdfs {
    fn source(&self) -> &dyn Source {
        &self.1
    }

    fn write(&self, path: &str, bytes: &[u8]) {
        self.0.write(path, bytes, bytes.len() as u64);
    }

    fn write_quietly(&self, path: &str, bytes: &[u8]) {
        let seconds = self.0.time(path).unwrap() / 1000;
        self.0.write(path, bytes, seconds);
    }

    fn link(&self, _path: &str, _target: &str) {
        unreachable!("HDFS has no links");
    }

    fn remove(&self, path: &str) {
        self.0.remove(path);
    }
}
