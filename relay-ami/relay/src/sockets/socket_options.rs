//! Options of sockets that no crate we use has. The only unsafe code of the crate.

use std::io;
use std::net::TcpStream;
use std::os::fd::AsRawFd as _;
use std::time::Duration;

/// SO_RCVLOWAT: how much must have arrived before a reader is woken, bytes; 1 is the kernel's default.
#[allow(unsafe_code)]
pub fn set_low_water(socket: &TcpStream, bytes: i32) -> io::Result<()> {
    let size = libc::socklen_t::try_from(size_of::<i32>()).map_err(io::Error::other)?;
    // SAFETY: the descriptor is open while `socket` is borrowed; the kernel reads `size` bytes from the pointer to `bytes`,
    // which lives until the call returns, and keeps nothing of it.
    let result = unsafe { libc::setsockopt(socket.as_raw_fd(), libc::SOL_SOCKET, libc::SO_RCVLOWAT, (&raw const bytes).cast(), size) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// What the kernel counted of connections since they began (TCP_INFO).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Data was under way, microseconds.
    pub busy_us: u64,
    /// Of these: nothing more could go since the send buffer was full.
    pub send_buffer_limited_us: u64,
    /// The least round trip, microseconds; the largest number where none was seen.
    pub round_trip_us: u32,
}

impl Counters {
    /// Reads them; fails on a kernel before 4.10, which has none.
    #[allow(unsafe_code)]
    pub fn of(socket: &TcpStream) -> io::Result<Self> {
        let mut size = libc::socklen_t::try_from(size_of::<libc::tcp_info>()).map_err(io::Error::other)?;
        // SAFETY: `tcp_info` is plain numbers, for which all bits zero are valid.
        let mut info: libc::tcp_info = unsafe { std::mem::zeroed() };
        let pointer = (&raw mut info).cast();
        // SAFETY: the descriptor is open while `socket` is borrowed; the kernel writes `size` bytes at most to `info`, which lives
        // until the call returns, and says how many in `size`; the rest stays zero.
        let result = unsafe { libc::getsockopt(socket.as_raw_fd(), libc::IPPROTO_TCP, libc::TCP_INFO, pointer, &raw mut size) };
        if result != 0 {
            return Err(io::Error::last_os_error());
        }
        let needed = std::mem::offset_of!(libc::tcp_info, tcpi_sndbuf_limited) + size_of::<u64>();
        if usize::try_from(size).is_ok_and(|size| size < needed) {
            return Err(io::ErrorKind::Unsupported.into());
        }
        Ok(Self { busy_us: info.tcpi_busy_time, send_buffer_limited_us: info.tcpi_sndbuf_limited, round_trip_us: info.tcpi_min_rtt })
    }

    /// Those of several connections: times add up, of round trips the least counts.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            busy_us: self.busy_us + other.busy_us,
            send_buffer_limited_us: self.send_buffer_limited_us + other.send_buffer_limited_us,
            round_trip_us: self.round_trip_us.min(other.round_trip_us),
        }
    }

    /// What came since then; none where these are other connections.
    #[must_use]
    pub fn since(self, before: Self) -> Option<Self> {
        let busy_us = self.busy_us.checked_sub(before.busy_us)?;
        let send_buffer_limited_us = self.send_buffer_limited_us.checked_sub(before.send_buffer_limited_us)?;
        Some(Self { busy_us, send_buffer_limited_us, ..self })
    }

    /// The least round trip; none before one was seen, as after a repeated SYN.
    #[must_use]
    pub fn round_trip(self) -> Option<Duration> {
        (self.round_trip_us < u32::MAX).then(|| Duration::from_micros(u64::from(self.round_trip_us)))
    }

    /// Share of the busy time in which the send buffer was the limit.
    #[must_use]
    pub fn send_buffer_limited(self) -> f64 {
        self.send_buffer_limited_us as f64 / self.busy_us.max(1) as f64
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn the_kernel_counts_a_connection_that_waits_for_its_reader_as_busy() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut sender = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (_reader, _) = listener.accept().unwrap();
        let before = Counters::of(&sender).unwrap();
        assert_eq!(before.busy_us, 0);
        sender.set_write_timeout(Some(Duration::from_millis(50))).unwrap();
        while sender.write(&[0; 1 << 16]).is_ok() {}
        let after = Counters::of(&sender).unwrap().since(before).unwrap();
        assert!(after.busy_us >= 50_000, "{after:?}");
        assert!(after.round_trip().unwrap() < Duration::from_secs(1), "{after:?}");
    }

    #[test]
    fn counters_of_other_connections_are_not_compared() {
        let one = Counters { busy_us: 10, send_buffer_limited_us: 5, round_trip_us: 7 };
        let both = one.and(Counters { busy_us: 20, send_buffer_limited_us: 10, round_trip_us: 3 });
        assert_eq!(both, Counters { busy_us: 30, send_buffer_limited_us: 15, round_trip_us: 3 });
        assert_eq!(one.since(both), None);
        assert!((both.since(one).unwrap().send_buffer_limited() - 0.5).abs() < 1e-9);
    }
}
