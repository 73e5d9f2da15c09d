//! Options of all commands.

use std::ffi::OsString;
use std::path::PathBuf;

use cpt_relay::documents::text::TransferId;

#[derive(Debug, Default)]
pub struct Options {
    pub role: String,
    pub command: Option<PathBuf>,
    pub ready: Option<PathBuf>,
    /// How long to wait.
    pub seconds: Option<f64>,
    /// Instance id of this machine: which part of a command for several is its own.
    pub machine: Option<String>,
    /// Where the answer is written.
    pub to: Option<String>,
    /// Where a relay is told its limit while it runs.
    pub steer: Option<PathBuf>,
    pub paths: Vec<PathBuf>,
}

const ROLES: [&str; 11] =
    ["scan", "delete", "receive", "send", "relay", "probe", "answer", "make-destination", "await-ready", "serve-leases", "hdfs-token"];
/// Longest wait for a ready file: nobody waits a day for a daemon to start.
const MAX_SECONDS: f64 = 86_400.0;

impl Options {
    /// Reads the arguments after the program's name; the refusal names the argument and what would be right.
    pub fn parse(arguments: Vec<OsString>) -> Result<Self, String> {
        let mut arguments = arguments.into_iter();
        let role = arguments.next().ok_or("name a command")?;
        let role = role.into_string().map_err(|role| format!("{} is no command", role.display()))?;
        if !ROLES.contains(&role.as_str()) {
            return Err(format!("{role:?} is no command; one of {} is", ROLES.join(", ")));
        }
        let mut options = Self { role, ..Self::default() };
        while let Some(argument) = arguments.next() {
            match argument.to_str() {
                Some(name) if name.starts_with("--") => {
                    let value = arguments.next().ok_or_else(|| format!("{name} needs a value"))?;
                    options.set(name, value)?;
                }
                _ => options.paths.push(argument.into()),
            }
        }
        Ok(options)
    }

    fn set(&mut self, name: &str, value: OsString) -> Result<(), String> {
        match name {
            "--command" => self.command = Some(value.into()),
            "--steer" => self.steer = Some(value.into()),
            "--ready" => self.ready = Some(value.into()),
            "--machine" => self.machine = Some(value.into_string().map_err(|value| format!("--machine is {value:?}; it must be text"))?),
            "--to" => self.to = Some(value.into_string().map_err(|value| format!("--to is {value:?}; it must be text"))?),
            "--seconds" => {
                let seconds = value.to_str().and_then(|text| text.parse::<f64>().ok()).filter(|seconds| *seconds >= 0.0);
                let wrong = || format!("--seconds is {value:?}; it must be a number of at least 0");
                self.seconds = Some(seconds.ok_or_else(wrong)?.min(MAX_SECONDS));
            }
            _ => return Err(format!("{name} is no option")),
        }
        Ok(())
    }

    /// The transfer's id for the log, before the command is read in earnest.
    pub fn transfer_hint(&self) -> Option<TransferId> {
        #[derive(serde::Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Hint {
            transfer_id: TransferId,
        }
        let text = std::fs::read(self.command.as_ref()?).ok()?;
        Some(serde_json::from_slice::<Hint>(&text).ok()?.transfer_id)
    }
}
