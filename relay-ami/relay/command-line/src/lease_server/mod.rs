//! A node of the pool: runs each lease that is written for it as a unit of its own, and stops those that have ended.
//!
//! The script that does so is the one of the Run Command documents, so a lease's daemon has their properties, and no right that a
//! relay of one transfer does not have. This process reads items and starts scripts; data passes through it never.

use std::collections::{BTreeMap, HashMap};
use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::process::{Command, ExitCode, Output, Stdio};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use super::options::Options;
use super::roles::control_error;
use super::{CliError, Failure};
use cpt_control_aws::clients::Setup;
use cpt_control_aws::pool::{Lease, NodeItems, NodePlace, Said, Standing};
use cpt_relay::machine::watchdog;
use cpt_relay::relay::{Lifetime, steering};
use cpt_relay::stop::Stop;
use cpt_relay::thread;

/// Between two looks at the items: a lease's relay is to be there a second after its transfer's first byte.
const LOOK: Duration = Duration::from_millis(500);
/// The same while a lease waits for its command, or a script runs: for a lease this is some seconds.
const LOOK_SOON: Duration = Duration::from_millis(100);
/// Between two words that the node lives: the pool's own look is each minute.
const SAYING: Duration = Duration::from_secs(10);
/// Between two words about the bytes of a lease; that it applies a limit is said at once.
const COUNTING: Duration = Duration::from_secs(10);
/// Between two renewals of the power-off, which counts in minutes.
const RENEWING: Duration = Duration::from_secs(30);

/// Of a megabyte.
const MEGABITS: f64 = 8.0;

/// Serves until it is told to stop; units of leases go on without it.
pub(super) fn serve(options: &Options) -> Result<ExitCode, CliError> {
    let [script] = options.paths.as_slice() else { return Err(CliError::Usage("serve-leases needs one script".to_owned())) };
    let place = options.to.as_ref().ok_or_else(|| CliError::Usage("serve-leases needs --to PLACE".to_owned()))?;
    let place: NodePlace = place.parse().map_err(|why| CliError::Usage(format!("--to: {why}")))?;
    let stop = Stop::on_signals().map_err(|error| CliError::failed(Failure::Signals, error))?;
    let items = NodeItems::new(place, &stop, &Setup::AWS).map_err(control_error)?;
    let lifetime = options.seconds.map(|seconds| Lifetime::new(Duration::from_secs_f64(seconds)));
    let home = std::env::var_os("CPT_HOME").map_or_else(|| PathBuf::from("/opt/cpt"), PathBuf::from);
    let mut server = Server { script: script.clone(), run: home.join("run"), leases: HashMap::new(), steered: HashMap::new() };
    let (mut said_at, mut renewed_at, mut unreadable) = (None, None, BTreeMap::new());
    let mut look = LOOK;
    loop {
        watchdog::give_sign();
        match items.read() {
            Ok(standing) => {
                // Each look finds the same ones.
                if unreadable != standing.unreadable {
                    unreadable.clone_from(&standing.unreadable);
                    tracing::error!(?unreadable, "nothing runs of leases that cannot be read");
                }
                let told = server.look(&standing, now());
                look = if server.is_busy(&standing, now()) { LOOK_SOON } else { LOOK };
                for (record, said) in told {
                    tracing::info!(record, ?said, "lease");
                    // What is not written now is said again at the next look.
                    match items.say(&record, said.borrowed(), now()) {
                        Ok(_) => server.was_told(&record, &said),
                        Err(error) => tracing::warn!(%error, "not said"),
                    }
                }
                for (record, number, bytes) in server.counted(&standing) {
                    match items.say(&record, Said::Applies { number, bytes }, now()) {
                        Ok(_) => server.was_counted(&record, number, bytes),
                        Err(error) => tracing::warn!(%error, "not said"),
                    }
                }
                let is_needed = now() < standing.wanted_until || standing.leases.iter().any(|lease| is_wanted(lease, now()));
                if is_needed && is_due(renewed_at, RENEWING) {
                    renew(lifetime.as_ref());
                    renewed_at = Some(Instant::now());
                }
            }
            Err(error) => tracing::warn!(%error, "the node's items cannot be read"),
        }
        if is_due(said_at, SAYING) {
            match items.say_alive(now(), cpt_relay::VERSION) {
                Ok(()) => said_at = Some(Instant::now()),
                Err(error) => tracing::warn!(%error, "not said"),
            }
        }
        if stop.sleep(look) {
            return Ok(ExitCode::SUCCESS);
        }
    }
}

/// What the node has to say of a lease.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Word {
    Listening,
    Failed(String),
    Stopped,
}

impl Word {
    fn borrowed(&self) -> Said<'_> {
        match self {
            Self::Listening => Said::Listening,
            Self::Failed(why) => Said::Failed(why),
            Self::Stopped => Said::Stopped,
        }
    }
}

enum Step {
    Starting(JoinHandle<io::Result<Output>>),
    /// Its script has ended; `Some` until the table has it.
    Started(Option<Word>),
    Stopping(JoinHandle<io::Result<Output>>),
    Stopped(Option<Word>),
}

/// What a lease's daemon was told of its limit, and what of it was said.
#[derive(Default)]
struct Steered {
    limit: Option<String>,
    said: Option<(u64, u64, Instant)>,
}

struct Server {
    script: PathBuf,
    /// Beneath it each transfer has a folder.
    run: PathBuf,
    leases: HashMap<String, (Lease, Step)>,
    steered: HashMap<String, Steered>,
}

impl Server {
    /// Starts and stops what is due, and returns what there is to say.
    fn look(&mut self, standing: &Standing, now: f64) -> Vec<(String, Word)> {
        for lease in &standing.leases {
            let later = is_wanted(lease, now).then(|| later_one(lease, standing, now)).flatten();
            if let Some(later) = later {
                self.give_way(lease, later);
            } else if is_wanted(lease, now) {
                // One unit, one folder and one limit of a transfer: another lease of it stops first.
                if !self.is_held(lease) {
                    self.steer(lease, now);
                    self.step(lease, true);
                }
            } else {
                self.step(lease, false);
            }
        }
        self.steered.retain(|record, _| standing.leases.iter().any(|lease| lease.record == *record));
        // An item that has gone is nobody's lease any more.
        let gone: Vec<_> =
            self.leases.keys().filter(|record| standing.leases.iter().all(|lease| lease.record != **record)).cloned().collect();
        for record in gone {
            let Some((lease, step)) = self.leases.remove(&record) else { continue };
            if !matches!(step, Step::Stopped(_)) {
                // Nobody reads what is said of it.
                match self.stopped(&lease, step) {
                    Step::Stopped(_) => {}
                    step => drop(self.leases.insert(record, (lease, step))),
                }
            }
        }
        let word = |step: &Step| match step {
            Step::Started(word) | Step::Stopped(word) => word.clone(),
            Step::Starting(_) | Step::Stopping(_) => None,
        };
        self.leases.iter().filter_map(|(record, (_, step))| Some((record.clone(), word(step)?))).collect()
    }

    /// Whether something is about to change that a transfer waits for.
    fn is_busy(&self, standing: &Standing, now: f64) -> bool {
        let awaits = |lease: &Lease| lease.command.is_none() && !lease.is_ended && now < lease.until;
        standing.leases.iter().any(awaits) || self.leases.values().any(|(_, step)| matches!(step, Step::Starting(_) | Step::Stopping(_)))
    }

    /// The table has it.
    fn was_told(&mut self, record: &str, said: &Word) {
        if let Some((_, Step::Started(word) | Step::Stopped(word))) = self.leases.get_mut(record)
            && word.as_ref() == Some(said)
        {
            *word = None;
        }
    }

    /// Tells the daemon of a lease what it may send, before it starts and whenever that changes.
    fn steer(&mut self, lease: &Lease, now: f64) {
        let folder = self.run.join(lease.transfer.as_str());
        let text = format!("{}", lease.may_send(now) * MEGABITS);
        let steered = self.steered.entry(lease.record.clone()).or_default();
        if steered.limit.as_ref() != Some(&text) {
            let written = std::fs::create_dir_all(&folder).and_then(|()| steering::write(&folder, steering::LIMIT_FILE, &text));
            match written {
                Ok(()) => steered.limit = Some(text),
                Err(error) => tracing::warn!(lease.record, %error, "the limit cannot be written"),
            }
        }
    }

    /// Limits that daemons apply, and bytes that they have moved, of leases of which that is to be said.
    fn counted(&self, standing: &Standing) -> Vec<(String, u64, u64)> {
        let of = |lease: &Lease| {
            let number = lease.limit.number;
            let (applied, bytes) = steering::applied(&self.run.join(lease.transfer.as_str()))?;
            let steered = self.steered.get(&lease.record)?;
            if steered.limit.as_ref() != Some(&applied) {
                return None;
            }
            let is_news = steered.said.is_none_or(|(said, before, at)| said != number || (before != bytes && at.elapsed() >= COUNTING));
            is_news.then(|| (lease.record.clone(), number, bytes))
        };
        standing
            .leases
            .iter()
            .filter(|lease| matches!(self.leases.get(&lease.record), Some((_, Step::Started(None)))))
            .filter_map(of)
            .collect()
    }

    /// The table has it.
    fn was_counted(&mut self, record: &str, number: u64, bytes: u64) {
        if let Some(steered) = self.steered.get_mut(record) {
            steered.said = Some((number, bytes, Instant::now()));
        }
    }

    /// Stops a lease for a later one of its transfer, or does not start it, and says why.
    fn give_way(&mut self, lease: &Lease, later: &Lease) {
        let why = format!("{} is another lease of the transfer on this node, and a later one", later.record);
        let next = match self.leases.remove(&lease.record) {
            None => Step::Stopped(Some(Word::Failed(why))),
            Some((_, stopped @ Step::Stopped(_))) => stopped,
            Some((_, step)) => self.stopped(lease, step),
        };
        self.leases.insert(lease.record.clone(), (lease.clone(), next));
    }

    /// Whether another lease of the transfer has its unit.
    fn is_held(&self, lease: &Lease) -> bool {
        let others = self.leases.values().filter(|(other, _)| other.transfer == lease.transfer && other.record != lease.record);
        others.into_iter().any(|(_, step)| !matches!(step, Step::Stopped(_)))
    }

    fn step(&mut self, lease: &Lease, is_wanted: bool) {
        let next = match self.leases.remove(&lease.record) {
            // It may run: this process may have been started anew since.
            None if is_wanted => self.starting(lease),
            None if lease.is_stopped || !(lease.is_ended || lease.command.is_some()) => return,
            // What runs by that name is the other one's.
            None if self.is_held(lease) => Step::Stopped(Some(Word::Stopped)),
            None => self.stopping(lease),
            // Another run of the same transfer has a lease of the same name.
            Some((_, Step::Stopped(_))) if is_wanted => self.starting(lease),
            Some((_, step)) if is_wanted => Self::started(step),
            Some((_, step)) => self.stopped(lease, step),
        };
        self.leases.insert(lease.record.clone(), (lease.clone(), next));
    }

    fn started(step: Step) -> Step {
        match step {
            Step::Starting(script) if script.is_finished() => {
                let word = failure(script).map_or(Word::Listening, Word::Failed);
                Step::Started(Some(word))
            }
            as_it_was => as_it_was,
        }
    }

    fn stopped(&self, lease: &Lease, step: Step) -> Step {
        match step {
            Step::Started(_) => self.stopping(lease),
            Step::Starting(script) if script.is_finished() => self.stopping(lease),
            Step::Stopping(script) if script.is_finished() => match failure(script) {
                None => Step::Stopped(Some(Word::Stopped)),
                Some(why) => {
                    tracing::warn!(lease.record, why, "not stopped; tried again");
                    self.stopping(lease)
                }
            },
            as_it_was => as_it_was,
        }
    }

    fn starting(&self, lease: &Lease) -> Step {
        match self.run("start", lease) {
            Ok(script) => Step::Starting(script),
            Err(error) => Step::Started(Some(Word::Failed(error.to_string()))),
        }
    }

    fn stopping(&self, lease: &Lease) -> Step {
        // Without a thread now there is one at a later look.
        self.run("stop", lease).map_or(Step::Started(None), Step::Stopping)
    }

    fn run(&self, action: &'static str, lease: &Lease) -> io::Result<JoinHandle<io::Result<Output>>> {
        let mut program = Command::new("sh");
        program.args([self.script.clone().into_os_string(), OsString::from(action)]).stdin(Stdio::null());
        program.env("SSM_TransferId", lease.transfer.as_str()).env("SSM_Command", lease.command.as_deref().unwrap_or_default());
        thread::spawn("lease", move || program.output())
    }
}

fn is_wanted(lease: &Lease, now: f64) -> bool {
    lease.command.is_some() && !lease.is_ended && !lease.is_stopped && now < lease.until
}

/// Of the leases of one transfer the one that counts, where that is another one than this: a table that was restored from an earlier
/// state may have two.
fn later_one<'a>(lease: &Lease, standing: &'a Standing, now: f64) -> Option<&'a Lease> {
    let order = |one: &Lease| (one.epoch, one.record.clone());
    let same = standing.leases.iter().filter(|other| other.transfer == lease.transfer && is_wanted(other, now));
    same.filter(|other| order(other) > order(lease)).max_by_key(|other| order(other))
}

/// Why a script has failed; None where it has not.
fn failure(script: JoinHandle<io::Result<Output>>) -> Option<String> {
    match script.join() {
        Ok(Ok(output)) if output.status.success() => None,
        Ok(Ok(output)) => Some(format!("{}: {}", output.status, String::from_utf8_lossy(&output.stderr).trim())),
        Ok(Err(error)) => Some(error.to_string()),
        Err(_) => Some("its thread has panicked".to_owned()),
    }
}

fn renew(lifetime: Option<&Lifetime>) {
    if let Some(Err(error)) = lifetime.map(Lifetime::renew) {
        tracing::warn!(%error, "the power-off is not put off");
    }
}

fn is_due(last: Option<Instant>, interval: Duration) -> bool {
    last.is_none_or(|last| last.elapsed() >= interval)
}

fn now() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64()
}

#[cfg(test)]
mod tests;
