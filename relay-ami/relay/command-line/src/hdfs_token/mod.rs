//! The delegation token by which this process speaks to a cluster with Kerberos. A process beside it, which stays root and lives a moment
//! longer, fetches, renews and cancels it ([`keeper`]): it says by lines what this one speaks by.

pub mod identities;
pub mod keeper;
mod program;

use std::fs::File;
use std::io::{self, BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{ChildStdin, ChildStdout, Command as Process, Stdio};
use std::sync::OnceLock;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use serde::{Deserialize, Serialize};

use cpt_ends_hdfs::cluster::HeldToken;
use cpt_ends_hdfs::configuration::Configuration;
use cpt_ends_hdfs::token::Token;
use cpt_relay::documents::command::Command;
use cpt_relay::documents::end::{DestinationEnd, End, SourceEnd};
use cpt_relay::machine::watchdog;
use cpt_relay::thread;

/// Where the tokens of a transfer lie: in memory, and for root alone. A unit of the local cloud, whose machines share one file system,
/// has the variable.
const FOLDER: &str = "/run/cpt";
const VARIABLE: &str = "CPT_PRIVATE";
/// The unit wants a sign of life every six seconds.
const SIGN_OF_LIFE: Timespec = Timespec { tv_sec: 2, tv_nsec: 0 };

static HELD: OnceLock<HeldToken> = OnceLock::new();

/// What the keeper says, one a line.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
enum Said {
    /// The file of a token, in base64: speak by this one from now on.
    Token(String),
    /// There is none, and why.
    Refused(String),
}

/// The keeper of this process' token. It cancels it when this is gone.
pub struct Kept {
    held: HeldToken,
    lines: BufReader<ChildStdout>,
    open: ChildStdin,
}

/// The token by which this process speaks; none where the cluster asks for none.
pub fn held() -> Option<&'static HeldToken> {
    HELD.get()
}

/// Has a token fetched for the HDFS user of the command that a file holds, where this machine's configuration says that its cluster has Kerberos. To be called
/// while the process is the user who started it, and has no threads yet.
pub fn fetch(file: &Path, command: &Command) -> Result<Option<Kept>, String> {
    let user = match command.end() {
        Some(End::Source(SourceEnd::Hdfs(end))) => end.user.as_str(),
        Some(End::Destination(DestinationEnd::Hdfs(end))) => end.user.as_str(),
        _ => return Ok(None),
    };
    // Without a configuration whoever opens the cluster says what is missing.
    let Ok(configuration) = Configuration::of_machine() else { return Ok(None) };
    configuration.check().map_err(|error| error.to_string())?;
    if !configuration.has_kerberos() {
        return Ok(None);
    }
    let failed = |error: io::Error| format!("the keeper of the token of HDFS: {error}");
    let mut child = Process::new(std::env::current_exe().map_err(failed)?)
        .arg("hdfs-token")
        .args([folder(file).as_os_str(), user.as_ref()])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(failed)?;
    let (Some(open), Some(lines)) = (child.stdin.take(), child.stdout.take()) else { return Err("the keeper has no pipes".to_owned()) };
    let mut lines = BufReader::new(lines);
    wait_for_line(lines.get_ref()).map_err(failed)?;
    let token = match heard(&mut lines)? {
        Some(said) => said?,
        None => return Err("the keeper of the token of HDFS has ended; its last lines say why".to_owned()),
    };
    token.check_owner(user)?;
    let held = HeldToken::new(token);
    let _ = HELD.set(held.clone());
    Ok(Some(Kept { held, lines, open }))
}

impl Kept {
    /// Speaks by whatever token the keeper says, as long as this process lives.
    pub fn follow(self) -> io::Result<()> {
        let Self { held, mut lines, open } = self;
        thread::spawn("hdfs token", move || {
            loop {
                match heard(&mut lines) {
                    Ok(Some(Ok(token))) => held.replace(token),
                    Ok(Some(Err(why))) | Err(why) => tracing::error!(why, "token of HDFS"),
                    Ok(None) => break,
                }
            }
            tracing::error!("the keeper of the token of HDFS has ended: nobody renews it");
            // Until here it is open, by which the keeper knows that this process lives.
            drop(open);
        })
        .map(drop)
    }
}

/// The next line; none where the keeper has ended. The inner error is what it says instead of a token.
fn heard(lines: &mut BufReader<ChildStdout>) -> Result<Option<Result<Token, String>>, String> {
    let mut line = String::new();
    lines.read_line(&mut line).map_err(|error| format!("the keeper of the token of HDFS: {error}"))?;
    if line.is_empty() {
        return Ok(None);
    }
    let said = serde_json::from_str(&line).map_err(|_| "the keeper of the token of HDFS says what nobody understands".to_owned())?;
    Ok(Some(match said {
        Said::Refused(why) => Err(why),
        Said::Token(text) => STANDARD.decode(text).map_err(|_| "it is no base64".to_owned()).and_then(|file| Token::parse(&file)),
    }))
}

/// Waits until the keeper has said something, or has ended.
fn wait_for_line(lines: &ChildStdout) -> io::Result<()> {
    while poll(&mut [PollFd::new(lines, PollFlags::IN)], Some(&SIGN_OF_LIFE))? == 0 {
        watchdog::give_sign();
    }
    Ok(())
}

/// Where the tokens of a transfer lie: as its commands, in a folder with its name.
fn folder(command: &Path) -> PathBuf {
    let above = std::env::var_os(VARIABLE).map_or_else(|| FOLDER.into(), PathBuf::from);
    command.parent().and_then(Path::file_name).map_or(above.clone(), |transfer| above.join(transfer))
}

/// Says a line to whoever speaks by the token.
fn say(out: &mut impl io::Write, said: &Said) -> io::Result<()> {
    serde_json::to_writer(&mut *out, said)?;
    out.write_all(b"\n")?;
    out.flush()
}

/// What a file holds that a program has written here.
fn read(file: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    io::Read::read_to_end(&mut io::Read::take(File::open(file)?, LONGEST_BYTES), &mut bytes)?;
    Ok(bytes)
}

/// More than any token has.
const LONGEST_BYTES: u64 = 1 << 20;
