//! A mark: an empty file of a name that nobody guesses, in a destination. Whoever sees it elsewhere sees the same directory.

use std::io;

use hdfs_native::WriteOptions;

use crate::cluster::Cluster;
use crate::fault::{Meaning, of_data, of_name_node};
use crate::path::{PARTIAL, join, plain, split};

/// It counts among partial files: no listing has it, and no mirror removes it.
fn file_name(name: &str) -> String {
    format!("{PARTIAL}mark-{name}")
}

/// Puts the mark into a destination, or into the deepest directory above it that exists, or takes it away. It may be there or gone already.
/// The directory keeps its modification time, which may be a source's.
pub fn mark(cluster: &Cluster, path: &[u8], name: &str, present: bool) -> io::Result<()> {
    let path = std::str::from_utf8(path).map_err(io::Error::other)?;
    let client = cluster.client();
    cluster.wait(async {
        let mut directory = plain(path);
        let found = loop {
            match client.get_file_info(&directory).await {
                Ok(found) => break found,
                Err(error) if Meaning::of(&error) == Meaning::Gone && directory != "/" => directory = split(&directory).0.to_owned(),
                Err(error) => return Err(of_data(&error, &directory)),
            }
        };
        let mark = join(&directory, &file_name(name));
        if present {
            let options = WriteOptions::default().overwrite(true).create_parent(false).permission(0o400);
            let mut file = client.create(&mark, options).await.map_err(|error| of_name_node(&error, &mark))?;
            file.close().await.map_err(|error| of_name_node(&error, &mark))?;
        } else {
            client.delete(&mark, false).await.map_err(|error| of_name_node(&error, &mark))?;
        }
        // Only the directory's owner may.
        let _ = client.set_times(&directory, found.modification_time, found.access_time).await;
        Ok(())
    })
}

/// Whether the mark is in a directory.
pub fn is_marked(cluster: &Cluster, directory: &[u8], name: &str) -> io::Result<bool> {
    let directory = std::str::from_utf8(directory).map_err(io::Error::other)?;
    let mark = join(&plain(directory), &file_name(name));
    match cluster.wait(cluster.client().get_file_info(&mark)) {
        Ok(_) => Ok(true),
        Err(error) if matches!(Meaning::of(&error), Meaning::Gone | Meaning::InTheWay) => Ok(false),
        Err(error) => Err(of_data(&error, &mark)),
    }
}
