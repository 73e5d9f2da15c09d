//! Hadoop's own `hdfs fetchdt`, run as a user of HDFS.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};

use super::identities::Identity;
use super::read;

/// It takes a second or two; a KDC that does not answer keeps it for minutes.
const MOST: Duration = Duration::from_secs(60);
/// Bytes of what it says of a failure: the end of it.
const LAST_WORDS: usize = 700;
/// They would have it speak as somebody else.
const NOT_PASSED_ON: [&str; 4] = ["HADOOP_TOKEN_FILE_LOCATION", "HADOOP_TOKEN", "HADOOP_USER_NAME", "HADOOP_PROXY_USER"];

/// Runs `hdfs fetchdt` with these words, in a folder for what it says. The error is the end of that.
pub fn fetchdt(identity: &Identity, folder: &Path, words: &[&OsStr]) -> Result<(), String> {
    let name = identity.program.display();
    let failed = |error: io::Error| format!("{name} fetchdt: {error}");
    let said = folder.join(format!("hdfs-{}.said", std::process::id()));
    let out = File::create(&said).map_err(failed)?;
    let mut command = Command::new(&identity.program);
    command.arg("fetchdt").args(words).stdin(Stdio::null()).stdout(out.try_clone().map_err(failed)?).stderr(out);
    NOT_PASSED_ON.iter().for_each(|variable| {
        command.env_remove(variable);
    });
    identity.environment().into_iter().for_each(|(variable, value)| {
        command.env(variable, value);
    });
    let mut child = command.spawn().map_err(failed)?;
    let handle = i32::try_from(child.id()).ok().and_then(Pid::from_raw).ok_or_else(|| format!("{name} has no process id"))?;
    let handle = pidfd_open(handle, PidfdFlags::empty()).map_err(|error| failed(error.into()))?;
    let most = Timespec { tv_sec: MOST.as_secs().cast_signed(), tv_nsec: 0 };
    let ended = poll(&mut [PollFd::new(&handle, PollFlags::IN)], Some(&most));
    let is_late = matches!(ended, Ok(0));
    if is_late {
        child.kill().map_err(failed)?;
    }
    let status = child.wait().map_err(failed)?;
    let text = read(&said).map_err(failed)?;
    let _ = std::fs::remove_file(&said);
    if status.success() {
        return Ok(());
    }
    let text = String::from_utf8_lossy(&text).trim().replace('\n', " / ");
    let from = text.char_indices().map(|(at, _)| at).find(|at| text.len() - at <= LAST_WORDS).unwrap_or_default();
    let end = text.get(from..).unwrap_or_default();
    let why = if is_late { format!("has not ended within {} s", MOST.as_secs()) } else { format!("ended with {status}") };
    Err(format!("{name} fetchdt {why}: {end}"))
}
