//! Signals that end the process, held back while something is there that has to be removed first.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag::{register, register_conditional_default};
use signal_hook::low_level::emulate_default_handler;

/// While it lives, SIGTERM and SIGINT end nothing. Dropped, it ends the process by the one that has come. One at a time.
pub struct HeldSignals(&'static Flags);

struct Flags {
    ends: Arc<AtomicBool>,
    terminated: Arc<AtomicBool>,
    interrupted: Arc<AtomicBool>,
}

impl Flags {
    fn new() -> io::Result<Self> {
        let flags = Self { ends: Arc::default(), terminated: Arc::default(), interrupted: Arc::default() };
        for (signal, has_come) in [(SIGTERM, &flags.terminated), (SIGINT, &flags.interrupted)] {
            register(signal, Arc::clone(has_come))?;
            register_conditional_default(signal, Arc::clone(&flags.ends))?;
        }
        Ok(flags)
    }
}

impl HeldSignals {
    /// # Errors
    ///
    /// If the system takes no handler.
    pub fn hold() -> io::Result<Self> {
        static FLAGS: OnceLock<Flags> = OnceLock::new();
        let flags = match FLAGS.get() {
            Some(flags) => flags,
            None => FLAGS.get_or_init({
                let made = Flags::new()?;
                || made
            }),
        };
        flags.ends.store(false, Ordering::SeqCst);
        Ok(Self(flags))
    }

    /// Returns whether the process has been told to end.
    #[must_use]
    pub fn have_come(&self) -> bool {
        [&self.0.terminated, &self.0.interrupted].iter().any(|come| come.load(Ordering::SeqCst))
    }
}

impl Drop for HeldSignals {
    fn drop(&mut self) {
        self.0.ends.store(true, Ordering::SeqCst);
        for (signal, come) in [(SIGTERM, &self.0.terminated), (SIGINT, &self.0.interrupted)] {
            if come.swap(false, Ordering::SeqCst) {
                let _ = emulate_default_handler(signal);
            }
        }
    }
}
