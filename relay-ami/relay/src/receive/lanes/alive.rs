//! The receiver's sign of life on each lane: without it the sender could not tell a receiver that waits from a path that is dead.

use std::sync::{Arc, Mutex, Weak};

use crate::defaults::{ALIVE_INTERVAL, BUSY_AFTER};
use crate::stop::Stop;
use crate::thread::lock;
use crate::transport::stream::Replies;
use crate::under_way::UnderWay;
use crate::wire::frame::Frame;

/// The lanes that are open.
#[derive(Default)]
pub struct Listeners(Mutex<Vec<Weak<Replies>>>);

impl Listeners {
    /// A lane begins; it is forgotten when it ends.
    pub fn add(&self, lane: &Arc<Replies>) {
        lock(&self.0).push(Arc::downgrade(lane));
    }

    /// One frame on every lane. One that is broken hears nothing, which its own thread finds.
    fn tell(&self, frame: &Frame) {
        let lanes: Vec<Arc<Replies>> = {
            let mut lanes = lock(&self.0);
            lanes.retain(|lane| lane.strong_count() > 0);
            lanes.iter().filter_map(Weak::upgrade).collect()
        };
        for lane in lanes {
            let _ = lane.send_unless_busy(frame);
        }
    }
}

/// Runs until the process is told to stop. It takes no lock that is held over a call of the file system or the control plane, so
/// neither of them silences it.
pub fn run(listeners: &Listeners, disk: &UnderWay, asked: &UnderWay, stop: &Stop) {
    let is_slow = |longest: Option<std::time::Duration>| longest.is_some_and(|time| time >= BUSY_AFTER);
    while !stop.sleep(ALIVE_INTERVAL) {
        let is_busy = is_slow(disk.longest_work()) || is_slow(asked.longest());
        listeners.tell(&Frame::Alive { is_busy });
    }
}
