//! A stream between two ends of one process.

use std::net::TcpStream;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::Duration;

use crate::deadline::Deadline;
use crate::rate::RateRules;
use crate::secure::handshake;
use crate::secure::keys::Identity;
use crate::secure::outlet::Outlet;
use crate::secure::record::{Opener, Sealer};
use crate::transport::stream::{FrameReader, Replies};
use crate::wire::frame::Frame;

/// The sender's side and the receiver's, without ports, after their handshake; and the receiver's socket.
pub fn pair() -> ((Sealer, Opener), (Sealer, Opener), Arc<TcpStream>) {
    let (one, other) = UnixStream::pair().unwrap();
    let [one, other] = [one, other].map(|socket| Outlet::new(TcpStream::from(OwnedFd::from(socket)), &RateRules::default(), None));
    let socket = other.socket();
    let deadline = || Deadline::after(Duration::from_secs(60));
    let accepting = std::thread::spawn(move || handshake::accept(other, &Identity::generate().unwrap(), Arc::new(|_| true), deadline()));
    let sender = handshake::connect(one, &Identity::generate().unwrap(), Arc::new(|_| true), deadline()).unwrap();
    (sender, accepting.join().unwrap().unwrap(), socket)
}

/// One of two ends, frame by frame.
pub struct Speaker {
    pub sealer: Sealer,
    pub reader: FrameReader,
}

impl Speaker {
    /// The sender's side, and what a receiver has of its own.
    pub fn to_receiver() -> (Self, FrameReader, Arc<Replies>) {
        let ((sealer, opener), (replies, heard), _) = pair();
        (Self { sealer, reader: FrameReader::new(opener) }, FrameReader::new(heard), Arc::new(Replies::new(replies)))
    }

    pub fn say(&mut self, frames: &[Frame]) {
        for frame in frames {
            frame.encode(self.sealer.frames());
        }
        self.sealer.flush().unwrap();
    }

    /// Says a file's bytes, as they come.
    pub fn data(&mut self, bytes: &[u8]) {
        Frame::Data(bytes.len()).encode(self.sealer.frames());
        self.sealer.write(bytes).unwrap();
        self.sealer.flush().unwrap();
    }

    pub fn hears(&mut self) -> Frame {
        self.reader.expect().unwrap()
    }
}
