//! The room in a cluster, and what keeps a directory of it from taking anything.

use std::io;
use std::time::Duration;

use cpt_ends::Room;
use cpt_wire::documents::percent;
use cpt_wire::documents::survey::Problem;
use hdfs_native::client::Quota;
use tokio::time::timeout;

use super::HdfsDestination;
use super::trial::trial;
use crate::cluster::Cluster;
use crate::fault::{Meaning, of_data, words};
use crate::path::{PARTIAL, plain, split};
use crate::whereabouts::way;

/// Of a directory without a quota the name node counts what it holds, which may be hundreds of millions of files.
const COUNTING: Duration = Duration::from_secs(15);
/// Names that a transfer has beside the files: its folder, a plan's, and for each of 16 receivers that follow one another once four more.
const OWN_NAMES: u64 = 3 + 16 * 2 * 4;

pub fn room(of: &HdfsDestination) -> Room {
    let (cluster, path) = (&of.cluster, of.path.as_str());
    let looked = look(of);
    let mut room =
        looked.unwrap_or_else(|error| Room { problem: Some(Problem::of(path.as_bytes(), error.to_string())), ..Room::default() });
    match way(cluster, path) {
        Ok(way) => room.ways = vec![way],
        Err(error) => drop(room.problem.get_or_insert_with(|| Problem::of(path.as_bytes(), error.to_string()))),
    }
    room
}

fn look(of: &HdfsDestination) -> io::Result<Room> {
    let (cluster, path, stored) = (&of.cluster, of.path.as_str(), of.stored);
    let client = cluster.client();
    let failed = |error: hdfs_native::HdfsError| of_data(&error, path);
    if cluster.persist(|| client.is_in_safe_mode()).map_err(failed)? {
        return Err(io::Error::other("the name node is in safe mode and takes no changes"));
    }
    if of.into_trash && !cluster.persist(|| client.trash_enabled("/")).map_err(failed)? {
        return Err(io::Error::other("the cluster has no trash: its name node says 0 for fs.trash.interval"));
    }
    let (_, usual) = cluster.persist(|| client.defaults()).map_err(failed)?;
    let free = cluster.persist(|| client.free_bytes()).map_err(failed)?;
    let there = nearest(cluster, &plain(path))?;
    let mut replication = stored.replication.unwrap_or(usual);
    if let Some(name) = &of.tried_by {
        let replicas = trial(of, &there, name)?;
        if let Some(asked) = stored.replication.filter(|asked| replicas < *asked) {
            let why = format!("replication {asked} is asked for, and the name node finds {replicas} data nodes that take a block");
            return Err(io::Error::other(why));
        }
        // Where the cluster's own replication is more than it has nodes, each block has as many replicas as there are nodes.
        replication = replication.min(replicas);
    }
    let replication = u64::from(replication).max(1);
    let mut room = Room { bytes: Some(free / replication), ..Room::default() };
    for directory in above(&there) {
        limit(&mut room, &directory, quota(cluster, &directory), replication);
    }
    if there == plain(path) {
        let entries = client.list_status_iter(&there, false);
        while let Some(entry) = cluster.next(&entries) {
            if !split(&entry.map_err(failed)?.path).1.starts_with(PARTIAL) {
                room.occupied = true;
                break;
            }
        }
    }
    Ok(room)
}

/// The directory, or the nearest one above it that is there. Fails where nothing can be written in it.
fn nearest(cluster: &Cluster, path: &str) -> io::Result<String> {
    let mut at = path.to_owned();
    loop {
        match cluster.persist(|| cluster.client().get_file_info(&at)) {
            Ok(found) if !found.isdir => return Err(io::Error::other(format!("{at} is a file: name a directory"))),
            Ok(found) if found.is_encrypted => {
                let why = "is in an encryption zone, whose keys this daemon does not have";
                return Err(io::Error::other(format!("{at} {why}")));
            }
            Ok(found) if found.is_erasure_coded => {
                let why = "is erasure coded, and parts of such files cannot be joined";
                return Err(io::Error::other(format!("{at} {why}")));
            }
            Ok(_) => return Ok(at),
            Err(error) if Meaning::of(&error) == Meaning::Gone && at != "/" => at = split(&at).0.to_owned(),
            Err(error) => return Err(of_data(&error, path)),
        }
    }
}

/// A directory and those above it.
fn above(directory: &str) -> Vec<String> {
    let mut directories = Vec::new();
    let mut at = directory;
    while at != "/" {
        directories.push(at.to_owned());
        at = split(at).0;
    }
    directories.push("/".to_owned());
    directories
}

/// What a directory may hold; none where this user may not ask, or the name node counts for too long.
fn quota(cluster: &Cluster, directory: &str) -> Option<Quota> {
    let why = match cluster.wait(async { timeout(COUNTING, cluster.client().quota(directory)).await }) {
        Ok(Ok(quota)) => return Some(quota),
        Ok(Err(error)) => words(&error),
        Err(_) => format!("it was not answered within {} s", COUNTING.as_secs()),
    };
    tracing::warn!(directory, why, "its quota could not be told");
    None
}

/// Takes a directory's quota into the room, where that is less.
fn limit(room: &mut Room, directory: &str, quota: Option<Quota>, replication: u64) {
    let Some(quota) = quota else { return };
    let bytes = quota.bytes.map(|most| most.saturating_sub(quota.bytes_used) / replication);
    if bytes.is_some_and(|bytes| room.bytes.is_none_or(|others| bytes < others)) {
        room.bytes = bytes;
        room.bytes_quota_of = Some(percent::encode(directory.as_bytes()));
    }
    let names = quota.names.map(|most| most.saturating_sub(quota.names_used).saturating_sub(OWN_NAMES));
    if names.is_some_and(|names| room.entries.is_none_or(|others| names < others)) {
        room.entries = names;
        room.entries_quota_of = Some(percent::encode(directory.as_bytes()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smallest_quota_on_the_way_limits_and_is_named() {
        let quota = |bytes: Option<u64>, names: Option<u64>| Some(Quota { bytes, bytes_used: 100, names, names_used: 10 });
        let mut room = Room { bytes: Some(10_000), ..Room::default() };
        limit(&mut room, "/a/b", quota(Some(1_100), None), 2);
        limit(&mut room, "/a", quota(Some(5_100), Some(10 + OWN_NAMES + 7)), 2);
        limit(&mut room, "/", None, 2);
        assert_eq!((room.bytes, room.bytes_quota_of.as_deref()), (Some(500), Some("/a/b")));
        assert_eq!((room.entries, room.entries_quota_of.as_deref()), (Some(7), Some("/a")));
        limit(&mut room, "/", quota(Some(50), Some(5)), 2);
        assert_eq!((room.bytes, room.entries), (Some(0), Some(0)), "what is over its quota has no room");
    }

    #[test]
    fn directories_above_are_told_up_to_the_root() {
        assert_eq!(above("/a/b"), ["/a/b", "/a", "/"]);
        assert_eq!(above("/"), ["/"]);
    }
}
