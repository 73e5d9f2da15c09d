//! Snapshots of HDFS as a source. With `make chaos`.

use cpt_ends_hdfs::cluster::Cluster;
use cpt_ends_hdfs::source::{Asked, HdfsSource};
use cpt_relay::documents::end::SnapshotDiff;
use cpt_relay::ends::{Listed, Source};

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

#[test]
fn what_changed_between_two_snapshots_is_listed_with_the_directories_above_it() {
    let Some(turn) = turn() else { return };
    let directory = Directory::of(turn.of);
    for name in ["a/same", "a/deep/changed", "b/gone", "c/renamed", "d/moved/x"] {
        directory.write(name, b"before", 1);
    }
    directory.snapshot("s0");
    directory.write("a/deep/changed", b"afterwards", 2);
    directory.remove("b/gone");
    let rename = |from: &str, to: &str| {
        let at = |name: &str| format!("{}/{name}", directory.path);
        directory.wait(turn.of.client().rename(&at(from), &at(to), false)).unwrap();
    };
    rename("c/renamed", "c/again");
    rename("d/moved", "e");
    directory.write("f/new/deep", b"new", 3);
    directory.write("e/x", b"and changed", 4);
    directory.snapshot("s1");
    directory.write("later", b"", 5);
    let cluster = Cluster::of(&turn.of.configuration, USER, None).unwrap();
    let source = |path: String, from: &str| {
        let diff: SnapshotDiff = serde_json::from_str(&format!(r#"{{"from":"{from}","to":"s1"}}"#)).unwrap();
        HdfsSource::new(cluster.clone(), vec![Asked { path, lands_as: None }]).between(Some(diff))
    };
    let names = |source: &HdfsSource| {
        let mut found = Vec::new();
        source
            .list(&mut |listed| {
                found.push(match listed {
                    Listed::Entry(entry) => entry.path,
                    Listed::Problem(_, why) => why,
                    _ => panic!("something is left out"),
                });
                Ok(())
            })
            .unwrap();
        found
    };
    let field = OfHdfs(Directory::of(turn.of), source(format!("{}/", directory.path), "s0"));
    assert_eq!(names(&field.1), ["a", "a/deep", "a/deep/changed", "b", "c", "c/again", "d", "e", "e/x", "f", "f/new", "f/new/deep"]);
    assert_eq!(read(&field.1 as &dyn Source, &segment(&field, "e/x", None)).unwrap(), b"and changed");
    let below = directory.path.trim_start_matches('/');
    let named = names(&source(directory.path.clone(), "s0"));
    assert_eq!((&*named[0], named[2].as_str()), (below, format!("{below}/a/deep").as_str()));
    assert_eq!(names(&source(format!("{}/a", directory.path), "s0")), ["a", "a/deep", "a/deep/changed"], "of a directory below");
    let below = OfHdfs(Directory::of(turn.of), source(format!("{}/a", directory.path), "s0"));
    assert_eq!(read(&below.1 as &dyn Source, &segment(&below, "a/deep/changed", None)).unwrap(), b"afterwards");
    for (path, from, word) in [(directory.path.clone(), "s9", "s9"), (format!("{}/none", directory.path), "s0", "not found")] {
        let why = names(&source(path, from));
        assert!(why.len() == 1 && why[0].contains(word), "{why:?}");
    }
}
