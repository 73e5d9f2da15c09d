//! Measuring between relays along the path that data will take.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::{Duration, Instant};

use crate::defaults::{DATA_BYTES, HANDSHAKE_TIMEOUT};
use crate::net::Outlet;
use crate::secure::keys::random;
use crate::wire::route::{Challenge, MAX_HEADER_BYTES, RESULT_BYTES};

/// Reads for so long from the first byte on, then answers bytes and nanoseconds.
pub fn sink(socket: &mut TcpStream, milliseconds: u32) -> io::Result<()> {
    let time = Duration::from_millis(milliseconds.into());
    socket.set_read_timeout(Some(HANDSHAKE_TIMEOUT))?;
    let mut buffer = vec![0; DATA_BYTES];
    let mut bytes = socket.read(&mut buffer)? as u64;
    let start = Instant::now();
    let mut last = start;
    while bytes > 0 && start.elapsed() < time {
        match socket.read(&mut buffer)? {
            0 => break,
            count => bytes += count as u64,
        }
        last = Instant::now();
    }
    let nanoseconds = u64::try_from((last - start).as_nanos()).unwrap_or(u64::MAX);
    socket.write_all(&[bytes.to_be_bytes(), nanoseconds.to_be_bytes()].concat())?;
    // What is still under way is read and dropped: closing on it would reset the connection and lose the answer.
    while socket.read(&mut buffer)? > 0 {}
    Ok(())
}

/// Hands the next hop's challenge back and the answer on, sends filler for so long, hands the result back.
pub fn source(socket: &mut TcpStream, mut onward: Outlet, milliseconds: u32) -> io::Result<()> {
    let next = onward.socket();
    next.set_read_timeout(Some(HANDSHAKE_TIMEOUT + Duration::from_millis(milliseconds.into())))?;
    let mut challenge: Challenge = [0; 32];
    (&*next).read_exact(&mut challenge)?;
    socket.write_all(&challenge)?;
    let mut length = [0; 2];
    socket.read_exact(&mut length)?;
    let size = usize::from(u16::from_be_bytes(length));
    if size > MAX_HEADER_BYTES {
        return Err(io::Error::new(io::ErrorKind::InvalidData, format!("header of {size} bytes for the next hop")));
    }
    let mut header = vec![0; size];
    socket.read_exact(&mut header)?;
    (&*next).write_all(&[&length[..], &header].concat())?;
    let mut status = [0];
    (&*next).read_exact(&mut status)?;
    socket.write_all(&status)?;
    if status[0] == crate::wire::route::STATUS_OK {
        send_filler(&mut onward, milliseconds)?;
        let mut result = [0; RESULT_BYTES];
        (&*next).read_exact(&mut result)?;
        socket.write_all(&result)?;
    }
    Ok(())
}

/// Sends bytes that do not compress for so long, then ends its side.
pub fn send_filler(outlet: &mut Outlet, milliseconds: u32) -> io::Result<()> {
    let filler: Vec<u8> = random::<4096>().map_err(io::Error::other)?.repeat(DATA_BYTES / 4096);
    let end = Instant::now() + Duration::from_millis(milliseconds.into());
    let socket = outlet.socket();
    // A peer that stops reading must not hold us longer than it should take.
    socket.set_write_timeout(Some(HANDSHAKE_TIMEOUT))?;
    while Instant::now() < end {
        outlet.write_paced(&filler)?;
    }
    socket.shutdown(Shutdown::Write)
}
