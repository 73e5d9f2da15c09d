//! Signs of life for the service manager: a process that is frozen, or gets no time, is ended and started again.

use std::time::Duration;

use sd_notify::NotifyState;

/// Gives a sign of life three times as often as the unit wants one, from a thread that waits for nothing else: neither a disk nor the
/// control plane may cost this process its life. Without a watchdog it does nothing.
pub fn start() -> std::io::Result<()> {
    let Some(limit) = sd_notify::watchdog_enabled() else { return Ok(()) };
    crate::thread::spawn("watchdog", move || live(limit / 3)).map(drop)
}

/// Gives one sign of life, of a process that has no threads yet and waits for something.
pub fn give_sign() {
    if let Err(error) = sd_notify::notify(&[NotifyState::Watchdog]) {
        tracing::warn!(%error, "watchdog");
    }
}

fn live(interval: Duration) {
    loop {
        give_sign();
        std::thread::sleep(interval);
    }
}
