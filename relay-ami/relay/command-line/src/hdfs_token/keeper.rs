//! The process that has a token of HDFS for another one: it stays root where that one becomes somebody else, and lives until the token is
//! cancelled, however the other one has ended.

use std::ffi::OsStr;
use std::fs::{self, DirBuilder};
use std::io::{self, stdin, stdout};
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use cpt_ends_hdfs::cluster::HeldToken;
use cpt_ends_hdfs::configuration::Configuration;
use cpt_ends_hdfs::token::Token;

use super::identities::Identity;
use super::program::fetchdt;
use super::{Said, read, say};
use crate::options::Options;
use crate::{CliError, Failure, kinds};

/// In an interval of renewal that many are tried.
const TRIES: u32 = 4;
/// So long a renewal that has failed is not tried again, at most.
const AGAIN: Duration = Duration::from_secs(60);

struct Keeper {
    user: String,
    identity: Identity,
    folder: PathBuf,
    /// How long a token holds until it is renewed.
    interval: Duration,
    /// The last one is spoken by.
    tokens: Vec<(PathBuf, Token)>,
    fetched: usize,
}

/// Keeps a token as long as standard input is open: `hdfs-token FOLDER USER`.
pub fn keep(options: &Options) -> Result<ExitCode, CliError> {
    let [folder, user] = options.paths.as_slice() else { return Err(CliError::Usage("hdfs-token needs FOLDER and USER".to_owned())) };
    let failed = |error: io::Error| CliError::failed(Failure::Signals, error);
    // Whoever stops the unit means the other process; this one ends when that has ended.
    outlive_signals().map_err(failed)?;
    // What Hadoop writes is for nobody else.
    rustix::process::umask(0o077.into());
    let made = Keeper::new(folder, &user.to_string_lossy()).and_then(|mut keeper| keeper.fetch().map(|()| keeper));
    let mut keeper = match made {
        Ok(keeper) => keeper,
        Err(why) => {
            say(&mut stdout(), &Said::Refused(why)).map_err(failed)?;
            return Ok(ExitCode::SUCCESS);
        }
    };
    let mut pause = keeper.interval / TRIES;
    while !is_closed_within(pause) {
        pause = match keeper.renew() {
            Ok(()) => keeper.interval / TRIES,
            Err(why) => {
                tracing::error!(why, "the token of HDFS is not renewed");
                (keeper.interval / TRIES).min(AGAIN)
            }
        };
    }
    keeper.cancel();
    Ok(ExitCode::SUCCESS)
}

/// Has a signal that ends processes change nothing.
fn outlive_signals() -> io::Result<()> {
    for signal in [SIGTERM, SIGINT, SIGHUP] {
        signal_hook::flag::register(signal, Arc::default())?;
    }
    Ok(())
}

/// Waits until nobody has the other end of standard input, or for so long. Nobody writes to it.
fn is_closed_within(pause: Duration) -> bool {
    let pause = Timespec { tv_sec: pause.as_secs().cast_signed(), tv_nsec: pause.subsec_nanos().into() };
    match poll(&mut [PollFd::new(&stdin(), PollFlags::IN)], Some(&pause)) {
        Ok(count) => count > 0,
        Err(error) => error != rustix::io::Errno::INTR,
    }
}

impl Keeper {
    fn new(folder: &Path, user: &str) -> Result<Self, String> {
        let identity = Identity::of(user)?;
        let configuration = Configuration::of_machine().map_err(|error| error.to_string())?;
        let failed = |error: io::Error| format!("{}: {error}", folder.display());
        DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(failed)?;
        fs::set_permissions(folder, fs::Permissions::from_mode(0o700)).map_err(failed)?;
        // Whoever cancels what a keeper that was killed has left needs the program.
        fs::write(folder.join("program"), identity.program.as_os_str().as_encoded_bytes()).map_err(failed)?;
        let interval = configuration.renewed_within();
        Ok(Self { user: user.to_owned(), identity, folder: folder.to_owned(), interval, tokens: Vec::new(), fetched: 0 })
    }

    /// Fetches a token and says it.
    fn fetch(&mut self) -> Result<(), String> {
        self.fetched += 1;
        let file = self.folder.join(format!("hdfs-{}-{}.token", std::process::id(), self.fetched));
        let words: [&OsStr; 3] = ["--renewer".as_ref(), self.user.as_ref(), file.as_ref()];
        fetchdt(&self.identity, &self.folder, &words)?;
        let failed = |why: String| format!("what {} fetchdt has written: {why}", self.identity.program.display());
        let bytes = read(&file).map_err(|error| failed(error.to_string()))?;
        let token = Token::parse(&bytes).map_err(failed)?;
        let owned = token.check_owner(&self.user);
        self.tokens.push((file, token));
        if let Err(why) = owned {
            self.cancel();
            return Err(why);
        }
        say(&mut stdout(), &Said::Token(STANDARD.encode(bytes))).map_err(|error| error.to_string())
    }

    /// Renews the token; one that cannot be renewed for another interval is followed by another one, and cancelled a while later.
    fn renew(&mut self) -> Result<(), String> {
        while self.tokens.len() > 1 {
            let (file, token) = self.tokens.remove(0);
            self.cancel_one(&file, &token);
        }
        let Some((file, token)) = self.tokens.last() else { return self.fetch() };
        if token.left(SystemTime::now()) < self.interval {
            return self.fetch();
        }
        fetchdt(&self.identity, &self.folder, &["--renew".as_ref(), file.as_ref()]).or_else(|why| {
            tracing::warn!(why, "another token of HDFS is fetched");
            self.fetch()
        })
    }

    /// Ends all tokens. What could not be cancelled stays for whoever stops the transfer.
    fn cancel(&mut self) {
        for (file, token) in std::mem::take(&mut self.tokens) {
            self.cancel_one(&file, &token);
        }
    }

    fn cancel_one(&self, file: &Path, token: &Token) {
        let held = HeldToken::new(token.clone());
        let cancelled = kinds::cluster_of(token.owner_name(), Some(&held)).and_then(|cluster| cluster.cancel(token));
        match cancelled {
            Ok(()) => {
                tracing::info!(user = self.user, "the token of HDFS is cancelled");
                let _ = fs::remove_file(file);
                let _ = fs::remove_file(file.with_file_name(format!(".{}.crc", file.file_name().unwrap_or_default().to_string_lossy())));
            }
            Err(error) => tracing::error!(user = self.user, %error, "the token of HDFS is not cancelled"),
        }
    }
}
