//! The part of a lane that others see and steer.

use std::net::{Shutdown, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use super::pace::Speed;
use crate::control::Seat;
use crate::defaults::HEARD_WITHIN;
use crate::documents::text::PathId;
use crate::sockets::socket_options::Counters;
use crate::thread::lock;

/// The part of a lane that others see and steer.
#[derive(Debug)]
pub struct Handle {
    pub path: PathId,
    /// The receiver that it leads to.
    pub to: Seat,
    /// Behind the receiver the path goes on, to the store of a bucket.
    pub to_store: bool,
    /// Pull nothing more, leave when all is acknowledged.
    pub leave: AtomicBool,
    pub moved: AtomicU64,
    pub delivered: AtomicU64,
    /// Microseconds from Hello to Welcome, before the lane was loaded.
    pub round_trip: AtomicU64,
    pub socket: Mutex<Option<Arc<TcpStream>>>,
    /// Speed of the open stream.
    speed: Mutex<Option<Arc<Speed>>>,
    /// Time at which the receiver last spoke on this lane, or the lane began.
    heard_at: Mutex<Instant>,
    is_silent: AtomicBool,
}

impl Handle {
    /// Of a path to the only receiver.
    #[cfg(test)]
    #[must_use]
    pub fn new(path: PathId) -> Self {
        Self::towards(path, Seat::RECEIVER)
    }

    #[must_use]
    pub fn towards(path: PathId, to: Seat) -> Self {
        Self {
            path,
            to,
            to_store: false,
            leave: AtomicBool::default(),
            moved: AtomicU64::default(),
            delivered: AtomicU64::default(),
            round_trip: AtomicU64::default(),
            socket: Mutex::default(),
            speed: Mutex::default(),
            heard_at: Mutex::new(Instant::now()),
            is_silent: AtomicBool::default(),
        }
    }

    /// The same; whether its path goes on to a store.
    #[must_use]
    pub fn going_on(self, to_store: bool) -> Self {
        Self { to_store, ..self }
    }

    /// A stream is open: the receiver has just answered.
    pub fn begins(&self, speed: Arc<Speed>, now: Instant) {
        self.is_silent.store(false, Ordering::SeqCst);
        self.heard(now);
        *lock(&self.speed) = Some(speed);
    }

    /// The stream is closed, or broken.
    pub fn ends(&self) {
        lock(&self.speed).take();
    }

    /// What the kernel counted of the open stream; none without one.
    #[must_use]
    pub fn counters(&self) -> Option<Counters> {
        lock(&self.socket).as_ref().and_then(|socket| Counters::of(socket).ok())
    }

    #[must_use]
    pub fn is_connected(&self) -> bool {
        lock(&self.speed).is_some()
    }

    /// The receiver has spoken.
    pub fn heard(&self, now: Instant) {
        *lock(&self.heard_at) = now;
    }

    /// Since the receiver's last word.
    #[must_use]
    pub fn silence(&self, now: Instant) -> Duration {
        now.saturating_duration_since(*lock(&self.heard_at))
    }

    /// Returns whether it has no stream, for longer than to connect anew takes.
    #[must_use]
    pub fn is_cut_off(&self, now: Instant) -> bool {
        !self.is_connected() && self.silence(now) >= HEARD_WITHIN
    }

    /// Until it has brought over what it has; none without a stream, or before anything has come.
    #[must_use]
    pub fn time_left(&self, now: Instant) -> Option<Duration> {
        lock(&self.speed).as_ref().and_then(|speed| speed.time_for(0, now))
    }

    /// Breaks a stream on which the receiver is not heard.
    pub fn cut_for_silence(&self) {
        self.is_silent.store(true, Ordering::SeqCst);
        self.cut();
    }

    /// Returns whether the last stream was broken because it was silent.
    #[must_use]
    pub fn was_silent(&self) -> bool {
        self.is_silent.load(Ordering::SeqCst)
    }

    /// Breaks the stream, so that a blocked lane moves on.
    pub fn cut(&self) {
        if let Some(socket) = &*lock(&self.socket) {
            let _ = socket.shutdown(Shutdown::Both);
        }
    }
}
