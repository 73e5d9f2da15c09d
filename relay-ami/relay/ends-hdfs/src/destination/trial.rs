//! A trial of writing: one byte in a file that is removed at once. What would keep a transfer from writing is said before it costs anything:
//! a permission, attributes that the cluster does not keep, a full quota, and data nodes that are not there, have no room, or cannot be reached from this machine.

use std::io;
use std::time::Duration;

use bytes::Bytes;
use cpt_process::held::HeldSignals;
use hdfs_native::{HdfsError, WriteOptions};
use tokio::time::{sleep, timeout};

use super::HdfsDestination;
use super::dress::AS_IT_IS;
use crate::fault::{of_data, of_name_node};
use crate::path::{PARTIAL, join};

/// The name node reserves a whole block of a quota for the first byte, and takes no blocks that are smaller, as it usually is set.
const BLOCK_BYTES: u64 = 1 << 20;
/// Three data nodes of one pipeline that are asked for, do not answer, and are done without.
const LONGEST: Duration = Duration::from_secs(90);

/// A user of HDFS is any name: only a superuser gives files away.
const ANOTHER: &str = "cpt-trial";
/// How soon a signal is heard that has come in the meantime.
const HEARD: Duration = Duration::from_millis(50);

/// Returns the number of data nodes that have taken a block in this directory, one for each replica. A process that is told to end
/// removes the file first. One that is killed leaves it, and whoever tries again by this name replaces and removes it.
pub fn trial(of: &HdfsDestination, directory: &str, name: &str) -> io::Result<u32> {
    let (cluster, stored, client) = (&of.cluster, of.stored, of.cluster.client());
    let before = cluster.persist(|| client.get_file_info(directory)).map_err(|error| of_data(&error, directory))?;
    let path = join(directory, &format!("{PARTIAL}trial-{name}"));
    let options = WriteOptions::default().permission(0o600).create_parent(false).overwrite(true);
    let options = WriteOptions { replication: stored.replication, block_size: Some(stored.block_bytes.unwrap_or(BLOCK_BYTES)), ..options };
    let writing = async {
        let mut file = client.create(&path, options).await?;
        file.write_bytes(Bytes::from_static(b"?")).await?;
        let replicas = file.replicas().unwrap_or_default();
        file.close().await?;
        if of.wanted.xattrs {
            client.xattrs(&path).await?;
        }
        if of.wanted.acls {
            client.get_acl_status(&path).await?;
        }
        if of.wanted.owner {
            client.set_owner(&path, Some(ANOTHER), None).await?;
        }
        Ok::<usize, HdfsError>(replicas)
    };
    let signals = HeldSignals::hold()?;
    let told = async {
        while !signals.have_come() {
            sleep(HEARD).await;
        }
    };
    let written = cluster.wait(async {
        tokio::select! {
            written = timeout(LONGEST, writing) => Some(written),
            () = told => None,
        }
    });
    let _ = cluster.wait(async {
        let _ = client.delete(&path, false).await;
        // Its time may be a source's. Only the directory's owner may put it back.
        client.set_times(directory, before.modification_time, AS_IT_IS).await
    });
    drop(signals);
    let written = written.ok_or(io::ErrorKind::Interrupted)?;
    let stuck = |_| io::Error::other(format!("{directory}: a byte was not taken within {} s", LONGEST.as_secs()));
    let replicas = written.map_err(stuck)?.map_err(|error| of_name_node(&error, directory))?;
    Ok(u32::try_from(replicas).unwrap_or(u32::MAX))
}
