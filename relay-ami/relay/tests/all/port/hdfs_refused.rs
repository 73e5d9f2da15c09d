//! What keeps HDFS from being an end is said by the survey, before anything costs money. With `make chaos`.

use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

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
        HdfsDestination::new(self.cluster(), path).storing(stored).tried_by("t-here".to_owned()).room()
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
fn a_trash_that_the_cluster_does_not_have_is_refused() {
    let Some(turn) = turn() else { return };
    let directory = Directory::of(turn.of);
    let room = HdfsDestination::new(turn.cluster(), &directory.path).into_trash(true).room();
    assert!(room.problem.is_some_and(|problem| problem.reason.contains("the cluster has no trash")));
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

/// The daemon's survey of a destination, as a process that has been started.
fn survey(turn: &Turn, path: &str, dry_run: bool) -> Child {
    let file = std::env::temp_dir().join(format!("cpt-survey-{}-{dry_run}.json", std::process::id()));
    let end = format!(r#"{{"kind":"hdfs","user":"{USER}","path":"{path}"}}"#);
    let head = r#""schemaVersion":1,"role":"scan","transferId":"t","side":"destination""#;
    std::fs::write(&file, format!(r#"{{{head},"end":{end},"dryRun":{dry_run}}}"#)).unwrap();
    let mut command = Command::new(std::env::var_os("CARGO_BIN_EXE_cpt-laboratory").expect("cargo sets it"));
    command.args(["scan", "--command"]).arg(&file).env("HADOOP_CONF_DIR", &turn.of.configuration);
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

#[test]
fn the_survey_of_a_dry_run_writes_nothing_not_even_for_a_moment() {
    let Some(turn) = turn() else { return };
    let said = |path: &str, dry_run| {
        let ended = survey(&turn, path, dry_run).wait_with_output().unwrap();
        String::from_utf8_lossy(&ended.stdout).into_owned() + &String::from_utf8_lossy(&ended.stderr)
    };
    // Where this user may write nothing, whoever tries is told so.
    let (tried, looked) = (said("/new", false), said("/new", true));
    assert!(tried.contains("Permission denied: user=etl, access=WRITE"), "{tried}");
    assert!(looked.contains(r#""freeBytes""#) && !looked.contains("denied"), "{looked}");
}

#[test]
fn a_survey_that_is_told_to_end_within_its_trial_leaves_no_file_and_a_killed_one_leaves_it_to_the_next() {
    let Some(turn) = turn() else { return };
    let directory = Directory::of(turn.of);
    let nodes = ["data-0", "data-1", "data-2"];
    for (signal, number, is_left) in [("TERM", 15, false), ("INT", 2, false), ("KILL", 9, true)] {
        nodes.iter().for_each(|node| turn.of.tell(&format!("halt {node}")));
        let mut begun = survey(&turn, &directory.path, false);
        while directory.names("").is_empty() {
            assert!(begun.try_wait().unwrap().is_none(), "it has ended before it tried");
            std::thread::sleep(Duration::from_millis(10));
        }
        let id = begun.id().to_string();
        assert!(Command::new("kill").args(["-s", signal, &id]).status().unwrap().success());
        let ended = begun.wait().unwrap();
        assert_eq!(ended.signal(), Some(number), "it ends by the signal: {ended}");
        assert_eq!(directory.names("").len(), usize::from(is_left), "{signal}");
        nodes.iter().for_each(|node| turn.of.tell(&format!("resume {node}")));
    }
    let again = survey(&turn, &directory.path, false).wait_with_output().unwrap();
    assert!(again.status.success(), "{}", String::from_utf8_lossy(&again.stderr));
    assert_eq!(directory.names(""), Vec::<String>::new());
}
