//! One wish to stop, from a signal, a fence or the end of the work; it wakes whoever polls.

use std::io;
use std::net::{TcpListener, TcpStream};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use rustix::io::Errno;

use crate::EXIT_TIMEOUT;

#[derive(Clone, Debug)]
pub struct Stop {
    wanted: Arc<AtomicBool>,
    /// Time at which that was first seen.
    since: Arc<OnceLock<Instant>>,
    wake: Arc<OwnedFd>,
}

impl Stop {
    pub fn new() -> io::Result<Self> {
        Ok(Self {
            wanted: Arc::default(),
            since: Arc::default(),
            wake: Arc::new(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?),
        })
    }

    /// Stops on SIGTERM and SIGINT. `EXIT_TIMEOUT` later the process exits whatever still hangs, with code 0 as after any stop:
    /// only a thread inside a system call that the kernel does not interrupt outlives that.
    pub fn on_signals() -> io::Result<Self> {
        let stop = Self::new()?;
        for signal in [signal_hook::consts::SIGTERM, signal_hook::consts::SIGINT] {
            // The flag first: whoever the second handler wakes finds it set.
            signal_hook::flag::register(signal, Arc::clone(&stop.wanted))?;
            let told = stop.clone();
            let (reader, writer) = std::os::unix::net::UnixStream::pair()?;
            signal_hook::low_level::pipe::register(signal, writer)?;
            crate::thread::spawn("signals", move || {
                let _ = io::Read::read(&mut &reader, &mut [0]);
                told.request();
                std::thread::sleep(EXIT_TIMEOUT);
                tracing::error!(seconds = EXIT_TIMEOUT.as_secs(), "told to stop, and something hangs: the process exits without it");
                std::process::exit(0);
            })?;
        }
        Ok(stop)
    }

    pub fn request(&self) {
        self.wanted.store(true, Ordering::SeqCst);
        self.since.get_or_init(Instant::now);
        let _ = rustix::io::write(&*self.wake, &1u64.to_ne_bytes());
    }

    #[must_use]
    pub fn is_requested(&self) -> bool {
        self.wanted.load(Ordering::SeqCst)
    }

    /// Returns what is left of `time` since the stop was wanted; all of it before that.
    #[must_use]
    pub fn left(&self, time: Duration) -> Duration {
        if !self.is_requested() {
            return time;
        }
        time.saturating_sub(self.since.get_or_init(Instant::now).elapsed())
    }

    /// Waits for a connection, at most `timeout`; `None` when there is none or the stop is wanted.
    pub fn accept(&self, listeners: &[TcpListener], timeout: Duration) -> io::Result<Option<TcpStream>> {
        let mut fds: Vec<PollFd<'_>> = listeners.iter().map(|listener| PollFd::from_borrowed_fd(listener.as_fd(), PollFlags::IN)).collect();
        fds.push(PollFd::from_borrowed_fd(self.wake.as_fd(), PollFlags::IN));
        wait(&mut fds, timeout)?;
        if self.is_requested() {
            return Ok(None);
        }
        let ready = fds.iter().take(listeners.len()).position(|fd| !fd.revents().is_empty());
        let Some(listener) = ready.and_then(|at| listeners.get(at)) else { return Ok(None) };
        match listener.accept() {
            Ok((stream, _)) => Ok(Some(stream)),
            // The client left again before it was taken.
            Err(error) if matches!(error.kind(), io::ErrorKind::ConnectionAborted | io::ErrorKind::Interrupted) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Sleeps, at most until the stop is wanted, which it returns.
    pub fn sleep(&self, time: Duration) -> bool {
        let until = Instant::now() + time;
        while !self.is_requested() {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() || wait(&mut [PollFd::from_borrowed_fd(self.wake.as_fd(), PollFlags::IN)], left).is_err() {
                break;
            }
        }
        self.is_requested()
    }
}

fn wait(fds: &mut [PollFd<'_>], timeout: Duration) -> io::Result<()> {
    let timeout = Timespec { tv_sec: timeout.as_secs().try_into().unwrap_or(i64::MAX), tv_nsec: timeout.subsec_nanos().into() };
    match poll(fds, Some(&timeout)) {
        Ok(_) | Err(Errno::INTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}
