//! One deadline for a whole exchange: who sends a byte now and then gets no more time than who sends nothing.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// The time at which an exchange must be over.
#[derive(Clone, Copy, Debug)]
pub struct Deadline(Instant);

impl Deadline {
    #[must_use]
    pub fn after(time: Duration) -> Self {
        Self(Instant::now() + time)
    }

    /// Returns what is left; an error once nothing is.
    pub fn left(self) -> io::Result<Duration> {
        match self.0.saturating_duration_since(Instant::now()) {
            Duration::ZERO => Err(overdue()),
            left => Ok(left),
        }
    }

    /// The socket, read and written only until the deadline. Its timeouts stay set: whoever goes on with it clears them.
    #[must_use]
    pub const fn on(self, socket: &TcpStream) -> Timed<'_> {
        Timed { socket, deadline: self }
    }
}

/// A socket under a deadline.
pub struct Timed<'a> {
    socket: &'a TcpStream,
    deadline: Deadline,
}

impl Read for Timed<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut socket = self.socket;
        self.until_the_deadline(|left| {
            socket.set_read_timeout(Some(left))?;
            socket.read(buffer)
        })
    }
}

impl Write for Timed<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut socket = self.socket;
        self.until_the_deadline(|left| {
            socket.set_write_timeout(Some(left))?;
            socket.write(bytes)
        })
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Timed<'_> {
    /// Kernels count a socket's timeout in ticks of up to 10 ms, so it may end a little before the deadline.
    fn until_the_deadline(&self, mut call: impl FnMut(Duration) -> io::Result<usize>) -> io::Result<usize> {
        loop {
            match call(self.deadline.left()?) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => (),
                answer => return answer,
            }
        }
    }
}

fn overdue() -> io::Error {
    io::Error::new(io::ErrorKind::TimedOut, "the exchange took longer than it may")
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, TcpListener};

    use super::*;

    #[test]
    fn bytes_that_drip_buy_no_time() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let mut peer = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (socket, _) = listener.accept().unwrap();
        let time = Duration::from_millis(300);
        let start = Instant::now();
        let dripping = std::thread::spawn(move || {
            while peer.write_all(b"x").is_ok() {
                std::thread::sleep(time / 30)
            }
        });
        let error = Deadline::after(time).on(&socket).read_exact(&mut [0; 1 << 20]).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut, "{error}");
        assert!(start.elapsed() >= time, "cut too early");
        drop(socket);
        dripping.join().unwrap();
    }

    #[test]
    fn a_peer_that_does_not_read_is_left_at_the_deadline() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let peer = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (socket, _) = listener.accept().unwrap();
        let mut timed = Deadline::after(Duration::from_millis(200)).on(&socket);
        let error = loop {
            if let Err(error) = timed.write_all(&[0; 1 << 16]) {
                break error;
            }
        };
        assert_eq!(error.kind(), io::ErrorKind::TimedOut, "{error}");
        drop(peer);
    }
}
