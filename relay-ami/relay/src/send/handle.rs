//! What others see and steer of a lane.

use std::net::{Shutdown, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Arc, Mutex};

use crate::thread::lock;

/// What others see and steer of a lane.
#[derive(Default)]
pub struct Handle {
    /// Pull nothing more, leave when all is acknowledged.
    pub leave: AtomicBool,
    pub connected: AtomicBool,
    pub moved: AtomicU64,
    pub delivered: AtomicU64,
    /// Microseconds from Hello to Welcome, before the lane was loaded.
    pub round_trip: AtomicU64,
    pub socket: Mutex<Option<Arc<TcpStream>>>,
}

impl Handle {
    /// Breaks the stream, so that a blocked lane moves on.
    pub fn cut(&self) {
        if let Some(socket) = &*lock(&self.socket) {
            let _ = socket.shutdown(Shutdown::Both);
        }
    }
}
