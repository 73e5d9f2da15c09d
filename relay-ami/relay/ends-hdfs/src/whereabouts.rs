//! Where a path of HDFS is, as other machines can compare it.

use std::io;

use cpt_wire::documents::percent;
use cpt_wire::documents::survey::{FileSystem, Way};

use crate::cluster::Cluster;
use crate::fault::{Meaning, of_data};
use crate::path::{join, plain};

/// Directories that are told of one path: what SSM keeps of a scan's output has room for some hundred.
const MOST_DIRECTORIES: usize = 64;

/// The way to a path, which need not be there: the inodes of the directories that are.
pub fn way(cluster: &Cluster, path: &str) -> io::Result<Way> {
    let path = plain(path);
    let names: Vec<&str> = path.split('/').filter(|name| !name.is_empty()).collect();
    let mut directories = Vec::new();
    let mut at = "/".to_owned();
    for depth in 0..=names.len() {
        if depth > 0 {
            at = join(&at, names[depth - 1]);
        }
        match cluster.persist(|| cluster.client().get_file_info(&at)) {
            Ok(found) if found.isdir => directories.push(format!("{}:{}", device(cluster.name()), found.file_id)),
            Ok(_) => break,
            Err(error) if Meaning::of(&error) == Meaning::Gone => break,
            Err(error) => return Err(of_data(&error, &at)),
        }
    }
    let skipped = directories.len().saturating_sub(MOST_DIRECTORIES);
    directories.drain(..skipped);
    let names = names[skipped..].iter().map(|name| percent::encode(name.as_bytes())).collect();
    let file_system = FileSystem {
        kind: "hdfs".to_owned(),
        mount_point: "/".to_owned(),
        id: Some(percent::encode(cluster.name().as_bytes())),
        location: Some(percent::encode(path.as_bytes())),
    };
    Ok(Way { births: vec![0; directories.len()], directories, names, file_system: Some(file_system) })
}

/// Stands for a cluster where a directory's device does: no device of a machine has such a number, of more than 32 bits.
pub fn device(name: &str) -> u64 {
    let hash = blake3::hash(name.as_bytes());
    let (first, _) = hash.as_bytes().split_first_chunk::<8>().unwrap_or((&[0; 8], &[]));
    u64::from_le_bytes(*first) | 1 << 63
}
