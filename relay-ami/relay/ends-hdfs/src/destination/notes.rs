//! What receivers to come are told of entries in their places: lines in small files, of which the last one is written again until it is large.

use std::io;

use futures::StreamExt as _;
use hdfs_native::WriteOptions;
use tokio::time::timeout;

use cpt_ends::problem::takes_nothing;

use super::lines::{Known, Line};
use super::writing::STUCK;
use crate::cluster::Cluster;
use crate::fault::{Meaning, of_data, of_name_node};
use crate::path::{join, split};

/// Bytes of a file after which the next one is begun: what is written again with each batch is not much more.
const LARGE: usize = 256 << 10;
/// While it is written.
const NEW: &str = ".new";

/// The notes of one process. Whoever takes its folder away keeps it from noting anything more.
pub struct Notes {
    cluster: Cluster,
    /// None before there is one.
    folder: Option<String>,
    number: u64,
    text: Vec<u8>,
    /// So much of it is in HDFS.
    written: usize,
}

impl Notes {
    pub fn nowhere(cluster: &Cluster) -> Self {
        Self { cluster: cluster.clone(), folder: None, number: 0, text: Vec::new(), written: 0 }
    }

    pub fn in_folder(cluster: &Cluster, folder: String) -> Self {
        Self { folder: Some(folder), ..Self::nowhere(cluster) }
    }

    /// Returns whether nothing was noted.
    pub fn is_empty(&self) -> bool {
        self.number == 0 && self.text.is_empty()
    }

    /// Adds a line, which is in HDFS after the next flush.
    pub fn add(&mut self, line: &Line) {
        // Of such types nothing fails.
        let _ = serde_json::to_writer(&mut self.text, line);
        self.text.push(b'\n');
    }

    /// All lines that were added are in HDFS when this returns.
    pub fn flush(&mut self) -> io::Result<()> {
        let Some(folder) = self.folder.as_ref().filter(|_| self.text.len() > self.written) else { return Ok(()) };
        let file = join(folder, &format!("{:08}", self.number));
        let new = format!("{file}{NEW}");
        let client = self.cluster.client();
        let text = bytes::Bytes::copy_from_slice(&self.text);
        let writing = async {
            let options = WriteOptions::default().overwrite(true).create_parent(false).permission(0o600);
            let mut writer = client.create(&new, options).await?;
            writer.write_bytes(text).await?;
            writer.close().await?;
            client.rename(&new, &file, true).await
        };
        // The clock is the runtime's: it is asked for there.
        let done = self.cluster.wait(async { timeout(STUCK, writing).await });
        let done = done.map_err(|_| takes_nothing(format!("the notes of this receiver were not taken for {} s", STUCK.as_secs())))?;
        done.map_err(|error| of_name_node(&error, "the notes of this receiver"))?;
        self.written = self.text.len();
        if self.written > LARGE {
            (self.number, self.written) = (self.number + 1, 0);
            self.text.clear();
        }
        Ok(())
    }

    /// Adds what was noted in a folder, as far as it was written to its end.
    pub fn read(cluster: &Cluster, folder: &str, known: &mut Known) -> io::Result<()> {
        let client = cluster.client();
        let mut found = match cluster.wait(client.list_status(folder, false)) {
            Ok(found) => found,
            Err(error) if Meaning::of(&error) == Meaning::Gone => return Ok(()),
            Err(error) => return Err(of_data(&error, folder)),
        };
        found.retain(|file| split(&file.path).1.bytes().all(|byte| byte.is_ascii_digit()));
        found.sort_by(|one, other| one.path.cmp(&other.path));
        for file in found {
            let text = cluster.wait(async {
                let reader = client.read(&file.path).await?;
                let (mut stream, mut text) = (Box::pin(reader.read_range_stream(0, reader.file_length())), Vec::new());
                while let Some(bytes) = stream.next().await {
                    text.extend_from_slice(&bytes?);
                }
                Ok(text)
            });
            let text = text.map_err(|error| of_data(&error, &file.path))?;
            let lines = text.split(|byte| *byte == b'\n').map_while(|line| serde_json::from_slice::<Line>(line).ok());
            lines.for_each(|line| known.note(line));
        }
        Ok(())
    }
}
