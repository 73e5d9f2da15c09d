//! What keeps HDFS from being an end is said by the survey, before anything costs money. With `make chaos`.

use cpt_ends_hdfs::cluster::Cluster;
use cpt_ends_hdfs::destination::{HdfsDestination, Stored};
use cpt_ends_hdfs::source::{Asked, HdfsSource};
use cpt_relay::ends::{Destination, Listed, Room, Source};

use super::apart::{Turn, turn};
use super::hadoop::{Directory, USER};

const MIB: u64 = 1 << 20;

impl Turn {
    fn cluster(&self) -> Cluster {
        Cluster::of(&self.of.configuration, USER, None).unwrap()
    }

    fn room(&self, path: &str, replication: Option<u32>) -> Room {
        let stored = Stored { replication, block_bytes: None };
        HdfsDestination::new(self.cluster(), path).storing(stored).room()
    }

    /// Why nothing can be written there.
    fn refusal(&self, path: &str, replication: Option<u32>) -> String {
        self.room(path, replication).problem.map_or_else(String::new, |problem| problem.reason)
    }
}

#[test]
fn an_encryption_zone_is_refused_at_either_end() {
    let Some(turn) = turn() else { return };
    let zone = Directory::of(turn.of);
    turn.of.hdfs(&["key", "create", "secret", "-size", "128"]);
    // It knows the keys that were there when it started.
    ["kill name", "start name", "whole"].iter().for_each(|line| turn.of.tell(line));
    turn.of.hdfs(&["crypto", "-createZone", "-keyName", "secret", "-path", &zone.path]);
    for path in [zone.path.clone(), format!("{}/not/there/yet", zone.path)] {
        assert_eq!(turn.refusal(&path, None), format!("{} is in an encryption zone, whose keys this daemon does not have", zone.path));
    }
    let source = HdfsSource::new(turn.cluster(), vec![Asked { path: zone.path.clone(), lands_as: None }]);
    let mut found = Vec::new();
    source
        .list(&mut |listed| {
            found.push(listed);
            Ok(())
        })
        .unwrap();
    let [Listed::Problem(path, why)] = &found[..] else { panic!("{} entries", found.len()) };
    assert_eq!((path.as_slice(), why.as_str()), (zone.path.as_bytes(), "lies in an encryption zone, whose keys this daemon does not have"));
}

#[test]
fn a_name_node_in_safe_mode_is_refused_and_taken_again_after_it() {
    let Some(turn) = turn() else { return };
    let directory = Directory::of(turn.of);
    turn.of.hdfs(&["dfsadmin", "-safemode", "enter"]);
    let refusal = turn.refusal(&directory.path, None);
    turn.of.hdfs(&["dfsadmin", "-safemode", "leave"]);
    assert_eq!(refusal, "the name node is in safe mode and takes no changes");
    assert_eq!(turn.refusal(&directory.path, None), "");
}

#[test]
fn more_replicas_than_data_nodes_take_are_refused_also_where_a_node_has_just_died() {
    let Some(turn) = turn() else { return };
    let directory = Directory::of(turn.of);
    let why =
        |asked: u32, found: u32| format!("replication {asked} is asked for, and the name node finds {found} data nodes that take a block");
    assert_eq!(turn.refusal(&directory.path, Some(3)), "");
    assert_eq!(turn.refusal(&directory.path, Some(4)), why(4, 3));
    turn.of.tell("kill data-0");
    // The name node takes it for alive.
    assert_eq!(turn.refusal(&directory.path, Some(3)), why(3, 2));
    assert_eq!(turn.refusal(&directory.path, Some(2)), "");
    assert_eq!(directory.names(""), Vec::<String>::new(), "nothing stays of the trials");
}

#[test]
fn an_erasure_coded_directory_is_refused() {
    let Some(turn) = turn() else { return };
    let directory = Directory::of(turn.of);
    turn.of.hdfs(&["ec", "-enablePolicy", "-policy", "XOR-2-1-1024k"]);
    turn.of.hdfs(&["ec", "-setPolicy", "-policy", "XOR-2-1-1024k", "-path", &directory.path]);
    let why = format!("{} is erasure coded, and parts of such files cannot be joined", directory.path);
    assert_eq!(turn.refusal(&format!("{}/below", directory.path), None), why);
}

#[test]
fn quotas_bound_the_room_by_the_replicas_asked_for_and_full_ones_are_refused() {
    let Some(turn) = turn() else { return };
    let directory = Directory::of(turn.of);
    let below = format!("{}/below", directory.path);
    turn.of.hdfs(&["dfsadmin", "-setSpaceQuota", &(90 * MIB).to_string(), &directory.path]);
    turn.of.hdfs(&["dfsadmin", "-setQuota", "1000", &directory.path]);
    let of = Some(directory.path.clone());
    let room = turn.room(&below, Some(3));
    assert_eq!((room.bytes, room.bytes_quota_of, room.problem), (Some(30 * MIB), of.clone(), None));
    assert!(room.entries.is_some_and(|entries| (800..1000).contains(&entries)), "{:?}", room.entries);
    assert_eq!(room.entries_quota_of, of);
    assert_eq!(turn.room(&below, Some(1)).bytes, Some(90 * MIB));
    directory.write("file", &vec![7; 20 * 1024 * 1024], 1);
    assert_eq!(turn.room(&below, Some(1)).bytes, Some(50 * MIB), "two replicas of it count");
    turn.of.hdfs(&["dfsadmin", "-setSpaceQuota", &(41 * MIB).to_string(), &directory.path]);
    let refusal = turn.refusal(&below, Some(2));
    assert!(refusal.contains("DSQuotaExceededException"), "not even a block is left: {refusal}");
    turn.of.hdfs(&["dfsadmin", "-setQuota", "2", &directory.path]);
    let refusal = turn.refusal(&below, Some(1));
    assert!(refusal.contains("NSQuotaExceededException"), "{refusal}");
}

#[test]
fn a_directory_that_the_user_may_not_write_is_refused() {
    let Some(turn) = turn() else { return };
    let refusal = turn.refusal("/new", None);
    assert!(refusal.contains("Permission denied: user=etl, access=WRITE"), "{refusal}");
}
