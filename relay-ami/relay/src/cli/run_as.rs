//! Which user does a command's work.

use rustix::fs::fstat;

use crate::documents::command::Command;
use crate::documents::text::{AbsolutePath, UserText};
use crate::ends::posix::roots::reach;
use crate::user::{Accounts, User, UserError};

/// Makes the process the user that the command names. Without a name, what touches a destination becomes the owner of its
/// deepest existing directory: who may write there can point it at nothing that is not open to that owner anyway.
pub fn assume(command: &Command) -> Result<(), UserError> {
    let user = match command {
        Command::ScanSource(scan) => source(scan.run_as.as_ref()),
        Command::ScanDigests(scan) => source(scan.run_as.as_ref()),
        Command::Send(send) => source(send.run_as.as_ref()),
        Command::ScanDestination(scan) => destination(&scan.path, scan.run_as.as_ref()),
        Command::ScanComparison(scan) => destination(&scan.path, scan.run_as.as_ref()),
        Command::Receive(receive) => destination(&receive.destination, receive.run_as.as_ref()),
        Command::Relay(_) | Command::ProbeListen(_) | Command::ProbeConnect(_) => Ok(None),
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

fn source(name: Option<&UserText>) -> Result<Option<User>, UserError> {
    name.map(|name| Accounts::read()?.named(name.as_str(), None)).transpose()
}

fn destination(path: &AbsolutePath, name: Option<&UserText>) -> Result<Option<User>, UserError> {
    // One that cannot be reached is a problem for whoever opens it.
    let owner = reach(path.as_str().as_bytes()).and_then(|found| Ok(fstat(found.directory)?)).ok();
    match (name, owner) {
        (Some(name), owner) => Ok(Some(Accounts::read()?.named(name.as_str(), owner.map(|stat| stat.st_gid))?)),
        (None, Some(owner)) if rustix::process::geteuid().is_root() && owner.st_uid != 0 => {
            Ok(Some(Accounts::read()?.numbered(owner.st_uid, owner.st_gid)))
        }
        (None, _) => Ok(None),
    }
}
