//! Mode, time and attributes of a file or directory, as HDFS takes them.

use std::io;

use hdfs_native::Client;

use cpt_ends::KEPT_MODE;
use cpt_wire::frame::SegmentHeader;

use crate::attributes::Given;
use crate::fault::Meaning;

/// To HDFS this means that a time stays.
pub const AS_IT_IS: u64 = u64::MAX;
/// The owner's right to write: without it HDFS lets nobody but a superuser set a time.
const WRITABLE: u32 = 0o200;

#[derive(Clone, Debug)]
pub struct Dress {
    pub mode: u32,
    /// Since 1970.
    pub milliseconds: u64,
    given: Given,
}

impl Dress {
    /// Fails for the one time that HDFS does not keep.
    pub fn of(header: &SegmentHeader) -> io::Result<Self> {
        let mode = mode_of(header);
        match header.mtime_ns.div_euclid(1_000_000).cast_unsigned() {
            AS_IT_IS => {
                Err(io::Error::new(io::ErrorKind::InvalidInput, "HDFS does not keep the last millisecond of 1969: set another time"))
            }
            milliseconds => Ok(Self { mode, milliseconds, given: Given::parse(&header.attributes)? }),
        }
    }

    /// The same for what is there, whoever has made it. The time comes first, since the mode may take the right to set it away.
    pub async fn put_on(&self, client: &Client, path: &str) -> hdfs_native::Result<()> {
        match self.put_on_before_mode(client, path).await {
            Err(error) if Meaning::of(&error) == Meaning::Refused => {
                client.set_permission(path, self.mode | WRITABLE).await?;
                self.put_on_before_mode(client, path).await?;
            }
            done => done?,
        }
        client.set_permission(path, self.mode).await?;
        self.given.put_on_after_mode(client, path).await
    }

    /// The same for a file that was begun with a mode of [`begun_with`], which the name node has made `is`.
    pub async fn put_on_new(&self, client: &Client, path: &str, is: u32) -> hdfs_native::Result<()> {
        self.put_on_before_mode(client, path).await?;
        if is != self.mode {
            client.set_permission(path, self.mode).await?;
        }
        self.given.put_on_after_mode(client, path).await
    }

    async fn put_on_before_mode(&self, client: &Client, path: &str) -> hdfs_native::Result<()> {
        client.set_times(path, self.milliseconds, AS_IT_IS).await?;
        self.given.put_on_before_mode(client, path).await
    }
}

fn mode_of(header: &SegmentHeader) -> u32 {
    u32::from(header.mode) & KEPT_MODE
}

/// The mode that a file is begun with: its own, and its owner may set its time.
pub fn begun_with(header: &SegmentHeader) -> u32 {
    mode_of(header) | WRITABLE
}
