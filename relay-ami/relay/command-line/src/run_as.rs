//! The user that does a command's work.

use cpt_ends_posix as posix;
use cpt_ends_posix::user::{Accounts, User, UserError};
use cpt_relay::documents::command::Command;
use cpt_relay::documents::end::{DestinationEnd, End, SourceEnd};
use cpt_relay::documents::text::{AbsolutePath, UserText};

/// Makes the process the user that the command names. Without a name, what touches a destination becomes the owner of its
/// deepest existing directory: who may write there can point it at nothing that is not open to that owner anyway.
pub fn assume(command: &Command) -> Result<(), UserError> {
    let user = match command.end() {
        Some(End::Source(SourceEnd::Machine(machine))) => named(machine.run_as.as_ref()),
        Some(End::Destination(DestinationEnd::Machine(machine))) => destination(&machine.path, machine.run_as.as_ref()),
        Some(End::Source(SourceEnd::Hdfs(hdfs))) => named(hdfs.run_as.as_ref()),
        Some(End::Destination(DestinationEnd::Hdfs(hdfs))) => named(hdfs.run_as.as_ref()),
        // A bucket has no users of this machine; its daemon stays who it was started as.
        Some(End::Source(SourceEnd::Bucket(_)) | End::Destination(DestinationEnd::Bucket(_))) | None => Ok(None),
    };
    match user? {
        Some(user) => {
            user.assume()?;
            tracing::info!(uid = user.uid, gid = user.gid, "runs as");
            Ok(())
        }
        None => Ok(()),
    }
}

fn named(name: Option<&UserText>) -> Result<Option<User>, UserError> {
    name.map(|name| Accounts::read()?.named(name.as_str(), None)).transpose()
}

fn destination(path: &AbsolutePath, name: Option<&UserText>) -> Result<Option<User>, UserError> {
    // One that cannot be reached is a problem for whoever opens it.
    let owner = posix::owner(path.as_str().as_bytes());
    match (name, owner) {
        (Some(name), owner) => Ok(Some(Accounts::read()?.named(name.as_str(), owner.map(|(_, group)| group))?)),
        (None, Some((user, group))) if rustix::process::geteuid().is_root() && user != 0 => {
            Ok(Some(Accounts::read()?.numbered(user, group)))
        }
        (None, _) => Ok(None),
    }
}
