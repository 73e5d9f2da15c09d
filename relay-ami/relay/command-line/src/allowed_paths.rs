//! What the owner of the machine lets a command reach.

use std::io;

use cpt_ends_posix::{self as posix, Access};
use cpt_relay::documents::command::Command;
use cpt_relay::documents::end::{DestinationEnd, End, SourceEnd};

/// Lets this process reach only what the owner allows for the command. To be called while it is the user who started it.
pub fn enforce(command: &Command) -> io::Result<()> {
    let access = match command.end() {
        Some(End::Source(SourceEnd::Machine(_))) => Access::Read,
        Some(End::Destination(DestinationEnd::Machine(_))) => Access::Write,
        Some(End::Source(SourceEnd::Hdfs(end))) => {
            return posix::enforce_hdfs(Access::Read, end.user.as_str(), end.paths.iter().map(|path| path.path().as_str()));
        }
        Some(End::Destination(DestinationEnd::Hdfs(end))) => {
            return posix::enforce_hdfs(Access::Write, end.user.as_str(), [end.path.as_str()]);
        }
        Some(End::Source(SourceEnd::Bucket(_)) | End::Destination(DestinationEnd::Bucket(_))) | None => return Ok(()),
    };
    posix::enforce(access)
}
