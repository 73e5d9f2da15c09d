//! Snapshots of HDFS as a source. With `make chaos`.

use cpt_ends_hdfs::cluster::Cluster;
use cpt_ends_hdfs::source::{Asked, HdfsSource};
use cpt_relay::ends::Source;

use super::apart::turn;
use super::hadoop::{Directory, USER};
use super::hdfs::OfHdfs;
use super::source::{listed, read, segment};

#[test]
fn a_snapshot_is_read_as_it_was_taken_whatever_becomes_of_its_directory() {
    let Some(turn) = turn() else { return };
    let directory = Directory::of(turn.of);
    directory.write("changed", b"before", 1);
    directory.write("removed", b"gone since", 2);
    directory.snapshot("s1");
    directory.write("changed", b"afterwards", 3);
    directory.remove("removed");
    directory.write("new", b"", 4);
    let asked = Asked { path: format!("{}/.snapshot/s1/", directory.path), lands_as: None };
    let source = HdfsSource::new(Cluster::of(&turn.of.configuration, USER, None).unwrap(), vec![asked]);
    let field = OfHdfs(directory, source);
    let names: Vec<String> = listed(&field).into_iter().map(|entry| entry.path).collect();
    assert_eq!(names, ["changed", "removed"]);
    let bytes = |name: &str| read(&field.1 as &dyn Source, &segment(&field, name, None)).unwrap();
    assert_eq!((bytes("changed"), bytes("removed")), (b"before".to_vec(), b"gone since".to_vec()));
}
