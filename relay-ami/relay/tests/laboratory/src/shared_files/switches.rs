//! What is wrong with one client at present, and how often each call has come.

use std::collections::BTreeMap;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustix::io::Errno;

/// For a call that shall hang; then whoever waits for it hears that none came.
const LONGEST: Duration = Duration::from_secs(60);

/// What is to become of a call.
pub enum Fate {
    Served,
    /// It is not done.
    Failed(Errno),
    /// It is done, and its answer is this error.
    Lost(Errno),
}

#[derive(Default)]
pub struct Switches {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Clone, Copy, Default)]
pub struct Habits {
    /// How long the kernel may believe what it was told of names and attributes.
    pub stale: Duration,
    pub squashes_root: bool,
    /// How far the server's clock is ahead, in seconds.
    pub clock: i64,
    /// How long each call takes.
    pub slow: Duration,
    /// Times are told in steps of so many nanoseconds.
    pub step_ns: u32,
}

#[derive(Default)]
struct State {
    habits: Habits,
    lost: BTreeMap<String, (u64, Errno)>,
    failing: BTreeMap<String, (u64, Errno)>,
    hangs: bool,
    /// It begins to hang with the first call of this name.
    hangs_at: Option<String>,
    waiting: usize,
    served: BTreeMap<&'static str, u64>,
}

impl Switches {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn habits(&self) -> Habits {
        self.state().habits
    }

    /// A call has come. Returns when it is to be answered.
    pub fn arrive(&self, call: &'static str) -> Fate {
        let mut state = self.state();
        *state.served.entry(call).or_default() += 1;
        if state.hangs_at.as_deref() == Some(call) {
            state.hangs_at = None;
            state.hangs = true;
        }
        if state.hangs {
            state.waiting += 1;
            self.changed.notify_all();
            state = self.changed.wait_while(state, |state| state.hangs).unwrap_or_else(PoisonError::into_inner);
            state.waiting -= 1;
        }
        let fate = match counted(&mut state.failing, call) {
            Some(why) => Fate::Failed(why),
            None => counted(&mut state.lost, call).map_or(Fate::Served, Fate::Lost),
        };
        let slow = state.habits.slow;
        drop(state);
        if !slow.is_zero() {
            std::thread::sleep(slow);
        }
        fate
    }

    pub fn release(&self) {
        self.state().hangs = false;
        self.changed.notify_all();
    }

    /// A line of whoever started this. Calls have the names of FUSE's own: `rename`, `mkdir`, `setattr`, …
    pub fn told(&self, line: &str) -> Result<String, String> {
        let words: Vec<&str> = line.split_whitespace().collect();
        match &words[..] {
            // Names and attributes may be this old, in seconds; a file that is opened is looked at.
            ["stale", seconds] => self.state().habits.stale = Duration::from_secs(number(seconds)?),
            ["lose", call, times] => drop(self.state().lost.insert((*call).to_owned(), (number(times)?, usual(call)))),
            ["lose", call, times, why] => drop(self.state().lost.insert((*call).to_owned(), (number(times)?, errno(why)?))),
            ["fail", call, times, why] => drop(self.state().failing.insert((*call).to_owned(), (number(times)?, errno(why)?))),
            ["hang"] => self.state().hangs = true,
            ["hang", call] => self.state().hangs_at = Some((*call).to_owned()),
            // Answered once a call waits.
            ["hung"] => {
                let waited = self.changed.wait_timeout_while(self.state(), LONGEST, |state| state.waiting == 0);
                if waited.unwrap_or_else(PoisonError::into_inner).1.timed_out() {
                    return Err(format!("no call within {LONGEST:?}"));
                }
            }
            ["release"] => self.release(),
            ["slow", milliseconds] => self.state().habits.slow = Duration::from_millis(number(milliseconds)?),
            ["squash-root"] => self.state().habits.squashes_root = true,
            ["clock", seconds] => self.state().habits.clock = seconds.parse().map_err(|_| format!("no number: {seconds}"))?,
            ["time-step", nanoseconds] => self.state().habits.step_ns = number(nanoseconds)?,
            ["served"] => {
                let state = self.state();
                let each: Vec<String> = state.served.iter().map(|(call, times)| format!("{call}={times}")).collect();
                return Ok(each.join(" "));
            }
            ["served", call] => return Ok(self.state().served.get(call).copied().unwrap_or(0).to_string()),
            // How many answers of a call are still to be lost.
            ["left", call] => return Ok(self.state().lost.get(*call).map_or(0, |(left, _)| *left).to_string()),
            _ => return Err(format!("not understood: {line}")),
        }
        Ok(String::new())
    }
}

fn counted(of: &mut BTreeMap<String, (u64, Errno)>, call: &str) -> Option<Errno> {
    let (left, why) = of.get_mut(call)?;
    *left = left.checked_sub(1)?;
    Some(*why)
}

/// What a client says that asks again, since its answer was lost, for what is already done.
fn usual(call: &str) -> Errno {
    match call {
        "rename" | "unlink" | "rmdir" => Errno::NOENT,
        "mkdir" | "link" | "symlink" | "mknod" => Errno::EXIST,
        _ => Errno::IO,
    }
}

fn number<T: std::str::FromStr>(text: &str) -> Result<T, String> {
    text.parse().map_err(|_| format!("no number: {text}"))
}

fn errno(name: &str) -> Result<Errno, String> {
    Ok(match name {
        "EACCES" => Errno::ACCESS,
        "EDQUOT" => Errno::DQUOT,
        "EEXIST" => Errno::EXIST,
        "EIO" => Errno::IO,
        "ENOENT" => Errno::NOENT,
        "ENOLCK" => Errno::NOLCK,
        "ENOSPC" => Errno::NOSPC,
        "ENOSYS" => Errno::NOSYS,
        "EPERM" => Errno::PERM,
        "ESTALE" => Errno::STALE,
        "ETIMEDOUT" => Errno::TIMEDOUT,
        _ => return Err(format!("no error: {name}")),
    })
}
