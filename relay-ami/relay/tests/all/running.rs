//! An end or a relay that runs as a thread.

use std::net::SocketAddrV4;
use std::thread::JoinHandle;

use cpt_relay::stop::Stop;

use super::wait_for;

pub struct Running<T> {
    pub stop: Stop,
    pub address: SocketAddrV4,
    pub(super) thread: JoinHandle<T>,
}

impl<T> Running<T> {
    pub fn is_finished(&self) -> bool {
        self.thread.is_finished()
    }

    pub fn join(self) -> T {
        wait_for("the end of a thread", || self.thread.is_finished().then_some(()));
        self.thread.join().unwrap()
    }

    /// Of one that cannot go on: why.
    pub fn failure(self) -> String {
        wait_for("the end of a thread", || self.thread.is_finished().then_some(()));
        *self.thread.join().err().expect("it went on").downcast::<String>().unwrap()
    }
}
