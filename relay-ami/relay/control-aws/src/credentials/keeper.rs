//! The thread that asks for credentials, and again before they end.

use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use aws_credential_types::Credentials;
use tokio::sync::watch;

use super::super::aws::Aws;
use super::issuing::Issued;
use super::sealing::SealingKey;
use super::{Holder, Missing, Times};
use cpt_control::{Control as _, unix_now};
use cpt_process::stop::Stop;
use cpt_wire::documents::event::Event;
use cpt_wire::documents::text::SchemaVersion1;

/// How often the thread looks whether anybody still wants them.
const WANTED_LOOK: Duration = Duration::from_secs(10);
/// Signatures of keys that end sooner may come too late.
const LEAST_LEFT: Duration = Duration::from_secs(30);

/// What clients are given.
pub(super) enum Shown {
    Waiting,
    Keys(Credentials),
    Missing(Missing),
}

pub(super) struct Keeper {
    control: Arc<Aws>,
    holder: Holder,
    /// In records' names: seat and process.
    name: String,
    process: String,
    key: SealingKey,
    stop: Stop,
    times: Times,
    show: watch::Sender<Shown>,
    /// The end of those that are shown, Unix seconds.
    until: f64,
    refused: Option<String>,
}

impl Keeper {
    pub(super) fn new(control: Arc<Aws>, holder: Holder, key: SealingKey, stop: Stop, times: Times, show: watch::Sender<Shown>) -> Self {
        let process = key.process();
        let name = format!("{}-{process}", holder.seat);
        Self { control, holder, name, process, key, stop, times, show, until: 0.0, refused: None }
    }

    pub(super) fn run(mut self) {
        while !self.is_over() {
            match self.obtain() {
                Ok((keys, until)) => {
                    tracing::info!(holder = self.name, seconds = (until - unix_now()).round(), "credentials for the bucket");
                    (self.until, self.refused) = (until, None);
                    self.show.send_replace(Shown::Keys(keys));
                    self.pause(self.left().saturating_sub(self.times.renewal).max(self.times.look));
                }
                Err(missing) if !self.is_over() => {
                    tracing::warn!(%missing, "asked for again");
                    // Those that are there count until their end.
                    if self.left() < LEAST_LEFT {
                        self.show.send_replace(Shown::Missing(missing.clone()));
                    }
                    if let Missing::Refused(why) = missing {
                        self.refused = Some(why);
                        self.pause(self.times.refused);
                    }
                }
                Err(_) => {}
            }
        }
    }

    fn is_over(&self) -> bool {
        self.stop.is_requested() || self.show.is_closed()
    }

    /// Of the life of those that are shown.
    fn left(&self) -> Duration {
        Duration::try_from_secs_f64(self.until - unix_now()).unwrap_or_default()
    }

    fn pause(&self, time: Duration) {
        let until = Instant::now() + time;
        while !self.is_over() && Instant::now() < until {
            self.stop.sleep(WANTED_LOOK.min(until.saturating_duration_since(Instant::now())));
        }
    }

    /// Asks until some come that last longer than those that are shown.
    fn obtain(&self) -> Result<(Credentials, f64), Missing> {
        let (begun, mut asked) = (Instant::now(), None::<Instant>);
        let mut why = "the function cpt-issue-credentials has not answered".to_owned();
        while begun.elapsed() < self.times.late && !self.is_over() {
            if asked.is_none_or(|asked| asked.elapsed() >= self.times.again) {
                match self.ask() {
                    Ok(()) => asked = Some(Instant::now()),
                    Err(error) => why = error.to_string(),
                }
            }
            match self.control.issued(&self.name) {
                Ok(Some(Issued::Refused(words))) if self.refused.as_ref() != Some(&words) => return Err(Missing::Refused(words)),
                // The one that is known stands there until the next answer.
                Ok(Some(Issued::Refused(words))) => why = words,
                Ok(Some(Issued::Sealed { text, expires_at })) if expires_at > self.until => {
                    match self.key.open(&text, self.control.place.partition.as_str(), &self.name) {
                        Ok(keys) if keys.expiry().is_none_or(|end| end > SystemTime::now()) => return Ok((keys, expires_at)),
                        Ok(_) => why = "those that came have ended".to_owned(),
                        Err(error) => why = format!("what came {error}"),
                    }
                }
                Ok(_) => {}
                Err(error) => why = error.to_string(),
            }
            self.stop.sleep(self.times.look);
        }
        match &self.refused {
            Some(words) if *words == why => Err(Missing::Refused(why)),
            _ => Err(Missing::Late { seconds: self.times.late.as_secs(), why }),
        }
    }

    fn ask(&self) -> cpt_control::Result<()> {
        // Each time: whoever resumes a transfer removes what earlier processes have written, and it costs one write in an hour.
        self.control.publish_sealing_key(&self.name, &self.key.public_text(), self.holder.epoch)?;
        self.control.put_event(&Event::CredentialsWanted {
            schema_version: SchemaVersion1,
            transfer_id: self.holder.transfer.clone(),
            seat: self.holder.seat,
            process: self.process.clone(),
        })
    }
}
