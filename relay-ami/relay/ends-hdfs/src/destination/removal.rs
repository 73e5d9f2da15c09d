//! Entries of HDFS that are removed.

use std::io;

use cpt_ends::{Found, Removal, Remover};
use cpt_wire::documents::extras::Stayed;
use cpt_wire::documents::text::DirectoryId;

use super::dress::AS_IT_IS;
use super::tour::{found, identity};
use crate::cluster::Cluster;
use crate::fault::{Meaning, of_data, of_name_node, words};
use crate::path::{PARTIAL, below, split};

pub struct HdfsRemover {
    cluster: Cluster,
    root: String,
    directory: DirectoryId,
    /// Files go into the user's trash; a directory that is removed is empty.
    into_trash: bool,
}

impl HdfsRemover {
    /// Fails where it is another directory than the one that was walked over.
    pub fn open(cluster: &Cluster, root: &str, directory: &DirectoryId, into_trash: bool) -> io::Result<Self> {
        let remover = Self { cluster: cluster.clone(), root: root.to_owned(), directory: directory.clone(), into_trash };
        remover.check_there()?;
        Ok(remover)
    }
}

impl Remover for HdfsRemover {
    fn check_there(&self) -> io::Result<()> {
        if identity(&self.cluster, &self.root)? == self.directory {
            return Ok(());
        }
        Err(io::Error::other(format!("{}: what was confirmed is of another directory or cluster", self.root)))
    }

    fn remove(&mut self, path: &[u8], is: &dyn Fn(&Found) -> bool) -> io::Result<Removal> {
        let (path, client) = (below(&self.root, path)?, self.cluster.client());
        let (parent, name) = split(&path);
        let there = match self.cluster.persist(|| client.get_file_info(&path)) {
            Ok(there) => there,
            Err(error) => {
                return match Meaning::of(&error) {
                    Meaning::Gone => Ok(Removal::Gone),
                    // A file is above it.
                    Meaning::InTheWay => Ok(Removal::Stays(Stayed::Changed, None)),
                    _ => Err(of_data(&error, &path)),
                };
            }
        };
        if !is(&found(&there)) || name.starts_with(PARTIAL) {
            return Ok(Removal::Stays(Stayed::Changed, None));
        }
        let above = self.cluster.persist(|| client.get_file_info(parent)).map_err(|error| of_data(&error, parent))?;
        // A directory goes only when it is empty, whatever has come into it since the look.
        let taken = self.cluster.wait(async {
            // What lies in the trash already has no other one to go to.
            let is_kept = self.into_trash && !there.isdir && client.trash(&path).await?.is_some();
            if is_kept { Ok(true) } else { client.delete(&path, false).await }
        });
        let removed = match taken {
            Ok(true) => Removal::Removed,
            Ok(false) => Removal::Gone,
            Err(error) if words(&error).contains("PathIsNotEmptyDirectoryException") => Removal::Stays(Stayed::NotEmpty, None),
            Err(error) => match Meaning::of(&error) {
                Meaning::Gone => Removal::Gone,
                Meaning::InTheWay | Meaning::Refused => Removal::Stays(Stayed::Refused, Some(words(&error))),
                Meaning::TakesNothing | Meaning::Passing => return Err(of_name_node(&error, &path)),
            },
        };
        if removed == Removal::Removed {
            // Its time is the source's, and a removal changes it. Only the directory's owner may put it back.
            let _ = self.cluster.wait(client.set_times(parent, above.modification_time, AS_IT_IS));
        }
        Ok(removed)
    }

    fn sync(&self) -> io::Result<()> {
        Ok(())
    }
}
