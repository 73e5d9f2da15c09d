//! Power-off timer of a relay's machine, which terminates it unless this transfer's sender keeps it alive.
//!
//! The machine armed that at boot, before any command reached it. Here it is only put off, so a relay whose daemon never came,
//! whose sender ended or that nobody can reach goes away by itself.

use std::ffi::OsString;
use std::io;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::defaults::POWER_OFF;

/// Power-off timer of this machine. Each signed keepalive resets it.
#[derive(Clone, Debug)]
pub struct Lifetime {
    pub time_to_live: Duration,
    /// Program and arguments that arm the power-off; `+MINUTES` is put behind them.
    pub power_off: Vec<OsString>,
}

impl Lifetime {
    #[must_use]
    pub fn new(time_to_live: Duration) -> Self {
        Self { time_to_live, power_off: POWER_OFF.map(OsString::from).to_vec() }
    }

    /// Arms the power-off anew, in whole minutes, rounded up.
    pub fn renew(&self) -> io::Result<()> {
        self.arm(self.time_to_live.as_secs().div_ceil(60))
    }

    /// Powers the machine off now.
    pub fn end(&self) -> io::Result<()> {
        self.arm(0)
    }

    fn arm(&self, minutes: u64) -> io::Result<()> {
        let minutes = format!("+{minutes}");
        let (program, arguments) = self.power_off.split_first().ok_or(io::ErrorKind::InvalidInput)?;
        let done = Command::new(program).args(arguments).arg(minutes).stdin(Stdio::null()).output()?;
        if done.status.success() {
            return Ok(());
        }
        let said = String::from_utf8_lossy(&done.stderr);
        Err(io::Error::other(format!("{} ended with {}: {}", program.display(), done.status, said.trim())))
    }
}
