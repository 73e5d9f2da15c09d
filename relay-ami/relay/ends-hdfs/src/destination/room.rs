//! The room in a cluster, and what keeps a directory of it from taking anything.

use std::io;

use cpt_ends::Room;
use cpt_wire::documents::survey::Problem;

use super::Stored;
use crate::cluster::Cluster;
use crate::fault::{Meaning, of_data};
use crate::path::{PARTIAL, plain, split};
use crate::whereabouts::way;

pub fn room(cluster: &Cluster, path: &str, stored: Stored) -> Room {
    let looked = look(cluster, path, stored);
    let mut room =
        looked.unwrap_or_else(|error| Room { problem: Some(Problem::of(path.as_bytes(), error.to_string())), ..Room::default() });
    match way(cluster, path) {
        Ok(way) => room.ways = vec![way],
        Err(error) => drop(room.problem.get_or_insert_with(|| Problem::of(path.as_bytes(), error.to_string()))),
    }
    room
}

fn look(cluster: &Cluster, path: &str, stored: Stored) -> io::Result<Room> {
    let client = cluster.client();
    let failed = |error: hdfs_native::HdfsError| of_data(&error, path);
    if cluster.wait(client.is_in_safe_mode()).map_err(failed)? {
        return Err(io::Error::other("the name node is in safe mode and takes no changes: wait until it has left it, or take it out"));
    }
    let (_, usual) = cluster.wait(client.defaults()).map_err(failed)?;
    let replication = u64::from(stored.replication.unwrap_or(usual)).max(1);
    let free = cluster.wait(client.free_bytes()).map_err(failed)?;
    let mut room = Room { bytes: Some(free / replication), ..Room::default() };
    let mut at = plain(path);
    loop {
        match cluster.wait(client.get_file_info(&at)) {
            Ok(found) if !found.isdir => return Err(io::Error::other(format!("{at} is a file: name a directory"))),
            Ok(found) if found.is_encrypted => {
                return Err(io::Error::other(format!(
                    "{at} is an encryption zone, whose keys this daemon does not have: copy with DistCp"
                )));
            }
            Ok(found) if found.is_erasure_coded => {
                let why = "is erasure coded, and parts of such files cannot be joined: name a directory that is replicated";
                return Err(io::Error::other(format!("{at} {why}")));
            }
            Ok(_) => break,
            Err(error) if Meaning::of(&error) == Meaning::Gone && at != "/" => at = split(&at).0.to_owned(),
            Err(error) => return Err(failed(error)),
        }
    }
    if at == plain(path) {
        let entries = client.list_status_iter(&at, false);
        while let Some(entry) = cluster.wait(entries.next()) {
            if !split(&entry.map_err(failed)?.path).1.starts_with(PARTIAL) {
                room.occupied = true;
                break;
            }
        }
    }
    Ok(room)
}
