//! A file of HDFS that is being written, and one that is read again.

use std::io;
use std::time::Duration;

use bytes::Bytes;
use futures::StreamExt as _;
use hdfs_native::file::FileWriter;
use tokio::time::timeout;

use cpt_ends::Heard;
use cpt_wire::digest::{ContentHasher, Digest};

use super::shared::Shared;
use crate::checksum::{Crc, Summing};
use crate::cluster::Cluster;
use crate::fault::{of_data, of_name_node};

/// Data nodes that acknowledge nothing are given up by the client itself after a minute, and others take their place. This is beyond it.
pub const STUCK: Duration = Duration::from_secs(90);

/// One that nobody else knows yet.
pub struct Writing {
    cluster: Cluster,
    pub path: String,
    file: FileWriter,
    summing: Summing,
}

/// A file whose bytes have come to as many data nodes as the name node asks for.
pub struct Ended {
    pub path: String,
    /// Its inode, which stays when it is renamed.
    pub file_id: u64,
    /// Of the bytes that were written.
    pub crc: Crc,
    /// What the name node has made of the mode that was asked for.
    pub mode: u32,
}

impl Writing {
    pub fn begin(of: &Shared, path: String, mode: u32) -> io::Result<Self> {
        let created = of.cluster.wait(of.cluster.client().create(&path, of.options(mode)));
        let file = created.map_err(|error| of_name_node(&error, &path))?;
        Ok(Self { cluster: of.cluster.clone(), path, file, summing: Summing::new() })
    }

    pub fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.summing.update(bytes);
        let (bytes, path) = (Bytes::copy_from_slice(bytes), &self.path);
        self.cluster.wait(async {
            let written = timeout(STUCK, self.file.write_bytes(bytes)).await.map_err(|_| stuck(path))?;
            written.map(drop).map_err(|error| of_data(&error, path))
        })
    }

    /// All that was written has come to the data nodes when this returns.
    pub fn end(mut self) -> io::Result<Ended> {
        let path = self.path;
        self.cluster.wait(async {
            let closed = timeout(STUCK, self.file.close()).await.map_err(|_| stuck(&path))?;
            closed.map_err(|error| of_data(&error, &path))
        })?;
        let (file_id, mode) = (self.file.file_id(), u32::from(self.file.permission()));
        Ok(Ended { path, file_id, crc: self.summing.end(), mode })
    }
}

fn stuck(path: &str) -> io::Error {
    io::Error::other(format!("{path}: the data nodes took nothing for {} s", STUCK.as_secs()))
}

/// Reads a file; fails where it has another digest.
pub fn read_back(cluster: &Cluster, path: &str, mut hasher: ContentHasher, digest: &Digest, heard: Heard<'_>) -> io::Result<()> {
    read(cluster, path, |bytes| {
        hasher.update(bytes);
        heard(bytes.len() as u64);
    })?;
    if hasher.digest() == *digest {
        return Ok(());
    }
    Err(io::Error::new(io::ErrorKind::InvalidData, "what is stored has another digest than what came"))
}

/// Gives all bytes of a file to `take`.
pub fn read(cluster: &Cluster, path: &str, mut take: impl FnMut(&[u8])) -> io::Result<()> {
    cluster.wait(async {
        let reader = cluster.client().read(path).await.map_err(|error| of_data(&error, path))?;
        let mut stream = Box::pin(reader.read_range_stream(0, reader.file_length()));
        while let Some(bytes) = stream.next().await {
            take(&bytes.map_err(|error| of_data(&error, path))?);
        }
        Ok(())
    })
}
